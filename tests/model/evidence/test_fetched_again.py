"""What leaves L2 and is fetched again, from a few blocks and from a run of the whole launch."""

import numpy as np
import pytest

from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch, ScalarArgument
from placewise.machine import load_machine
from placewise.memory.simulate.launch import simulate_launch
from placewise.model.evidence import evidence as evidence_module
from placewise.model.evidence.evidence import evidence_of

MACHINE = load_machine("A4000")
ROW = """extern "C" __global__ void rows(const float *a, float *sums, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    #pragma unroll 1
    for (int c = 0; c < columns; c++) sum += a[i * columns + c];
    sums[i] = sum; }"""


@pytest.fixture(autouse=True)
def _sampled(monkeypatch):
    """No launch is small enough for all of its accesses to be simulated."""
    monkeypatch.setattr(evidence_module, "SMALL_WARPS", 0)


def traffics(threads, columns):
    """Traffic of a launch whose threads each walk along a row, from a sample and from all."""
    kernel = compile_kernel(ROW, "r.cu", "rows", CompileOptions(arch="sm_86", nvrtc="12.3"))
    inputs = Inputs(
        (
            ArrayArgument("a", np.zeros(threads * columns, np.float32)),
            ArrayArgument("sums", np.zeros(threads, np.float32)),
            ScalarArgument("columns", np.int32(columns)),
        )
    )
    launch = Launch((threads // 256, 1, 1), (256, 1, 1))
    few = evidence_of(kernel, launch, inputs, MACHINE).simulated("test")
    assert few.notes, "a sample"
    whole = simulate_launch(kernel, launch, inputs, MACHINE)
    return few.traffic, whole.traffic


def fetched(traffic):
    return sum(t.dram_sectors.value for t in traffic.sites if t.array == "a")


def test_rows_of_more_than_l2_are_fetched_several_times():
    few, whole = traffics(65536, 40)
    assert fetched(whole) > 1.5 * 65536 * 40 * 4 / 32
    assert fetched(few) == pytest.approx(fetched(whole), rel=0.1)


def test_rows_that_fit_l2_are_fetched_once():
    few, whole = traffics(65536, 8)
    assert fetched(whole) == fetched(few) == 65536 * 8 * 4 / 32


def test_what_is_loaded_and_stored_comes_in_once():
    few, _ = traffics(65536, 8)
    assert few.came_in == pytest.approx(65536 * 8 * 4 / 32 + 65536 * 4 / 32, rel=0.01)
    assert few.dram_sectors_written().value == 0.0
