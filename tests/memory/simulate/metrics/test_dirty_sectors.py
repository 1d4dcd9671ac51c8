"""How much of what a launch writes is still dirty in L2 when it ends."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch, ScalarArgument
from placewise.machine import load_machine
from placewise.memory.simulate.launch import simulate_launch

MACHINE = load_machine("RTX2080Ti")
HALF = 5632 * 1024 // 32 // 2
SOURCE = """extern "C" __global__ void fill(const float *from, float *to, int reads) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int r = 0; r < reads; r++) sum += from[i + r * gridDim.x * blockDim.x];
    to[i] = sum; }"""


def written(n, reads):
    kernel = compile_kernel(SOURCE, "f.cu", "fill", CompileOptions(arch="sm_75"))
    inputs = Inputs(
        (
            ArrayArgument("from", np.zeros(max(1, n * reads), np.float32)),
            ArrayArgument("to", np.zeros(n, np.float32)),
            ScalarArgument("reads", np.int32(reads)),
        )
    )
    launch = Launch((n // 256, 1, 1), (256, 1, 1))
    traffic = simulate_launch(kernel, launch, inputs, MACHINE).traffic
    return traffic, traffic.dram_sectors_written().value


@pytest.mark.parametrize("reads", [0, 2])
def test_half_of_l2_stays_dirty_however_much_is_read(reads):
    # 8 MB are written through an L2 of 5.5 MB.
    _, found = written(1 << 21, reads)
    assert found == (1 << 21) * 4 // 32 - HALF


def test_what_half_of_l2_holds_is_not_written_back():
    traffic, found = written(1 << 19, 1)
    assert found == 0.0
    # Ten such launches in a row write more than L2 keeps.
    assert traffic.dram_sectors_written(10).value == 10 * (1 << 19) * 4 // 32 - HALF


def test_where_the_share_is_not_known_l2_keeps_what_came_in_last():
    traffic, _ = written(1 << 21, 2)
    unknown = replace(traffic, most_dirty=None, traced=0.5)
    # A third of what comes in is written, and so a third of what L2 holds.
    left = unknown.dirtied.value - unknown.dram_sectors_written().value
    assert left == pytest.approx(5632 * 1024 / 32 / 3, rel=0.02)


@pytest.mark.parametrize(("each", "times"), [(4, 1), (16, 3)])
def test_data_stored_again_and_again_is_written_each_time_if_half_of_l2_cannot_hold_it(each, times):
    # 1 MB or 4.25 MB, of 5.5 MB that L2 holds, half of them dirty.
    source = """extern "C" __global__ void again(volatile float *to, int each, int rounds) {
        int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
        for (int r = 0; r < rounds; r++)
            for (int k = 0; k < each; k++) to[i + k * n] = r; }"""
    n = 68 * 1024
    kernel = compile_kernel(source, "f.cu", "again", CompileOptions(arch="sm_75"))
    scalars = (ScalarArgument("each", np.int32(each)), ScalarArgument("rounds", np.int32(3)))
    inputs = Inputs((ArrayArgument("to", np.zeros(n * each, np.float32)), *scalars))
    traffic = simulate_launch(
        kernel, Launch((n // 256, 1, 1), (256, 1, 1)), inputs, MACHINE
    ).traffic
    # Of 4.25 MB some sectors are still dirty, since which line is written back is drawn at random.
    assert traffic.dirtied.value == pytest.approx(times * n * each * 4 // 32, rel=0.05)
