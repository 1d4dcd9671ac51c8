"""Different sectors that a launch touches, beside those that NumPy counts over all its threads."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.executor.slice_interpreter import slice_launch
from placewise.executor.slice_interpreter.trace_chunk import chunk_of
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch, ScalarArgument
from placewise.machine import load_machine
from placewise.memory.occupancy import occupancy
from placewise.model.evidence.block_kinds import blocks_by_kind
from placewise.model.evidence.touched import touched_sectors

MACHINE = load_machine("A4000")
N = 1024
SECTOR, LINE = 32, 128
SOURCE = """extern "C" __global__ void touch(const float *a, float *to, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float value = a[%s];
    if (value == 12345.0f) *to = value; }"""


def touched(element, grid, block):
    kernel = compile_kernel(
        SOURCE % element, "t.cu", "touch", CompileOptions(arch="sm_86", nvrtc="12.3")
    )
    arrays = ArrayArgument("a", np.zeros((N, N), np.float32)), ArrayArgument("to", np.zeros(8))
    inputs = Inputs((*arrays, ScalarArgument("n", np.int32(N))))
    launch = Launch((*grid, 1), (*block, 1))
    blocks = blocks_by_kind(
        launch, MACHINE, occupancy(launch, MACHINE, registers=16, shared_bytes=0)
    )
    assert not blocks.sample.complete
    seen = slice_launch(replace(kernel, machine_code=True), launch, inputs, blocks.numbers)
    whole = {name: size / SECTOR for name, size in inputs.array_bytes}
    return touched_sectors(seen, chunk_of(seen), blocks, launch, whole, SECTOR, LINE)


def counted(index, grid, block):
    """(sectors, lines) that all threads of the launch touch."""
    y, x = np.mgrid[: grid[1] * block[1], : grid[0] * block[0]].astype(np.int64)
    at = 4 * index(x, y, N)
    return len(np.unique(at // SECTOR)), len(np.unique(at // LINE))


WIDE = ((32, 64), (32, 16))


@pytest.mark.parametrize(
    ("element", "index", "shape", "rel"),
    [
        ("y * n + x", lambda x, y, n: y * n + x, WIDE, 0.0),
        ("y * n", lambda x, y, n: y * n + 0 * x, WIDE, 0.01),
        ("x", lambda x, y, n: x + 0 * y, WIDE, 0.01),
        ("7", lambda x, y, n: 7 + 0 * x + 0 * y, WIDE, 0.01),
        ("y * n / 4 + x + 1", lambda x, y, n: y * n // 4 + x + 1, ((8, 64), (32, 16)), 0.05),
        ("2 * (y * n / 4 + x)", lambda x, y, n: 2 * (y * n // 4 + x), ((8, 32), (32, 16)), 0.01),
    ],
)
def test_what_a_regular_launch_touches(element, index, shape, rel):
    found = touched(element, *shape)
    sectors, lines = counted(index, *shape)
    assert found.sectors["a"] == pytest.approx(sectors, rel=rel)
    assert found.full["a"] == pytest.approx(sectors * SECTOR / (lines * LINE), rel=0.1)
    assert found.sectors["to"] == 2.0


def test_rows_that_few_blocks_in_a_row_share_are_not_taken_for_one_row():
    """A grid of one dimension that stands for two: neighbours read the same row, others do not."""
    grid, block = (4096, 1), (256, 1)
    found = touched("(x / 1024) * n + x % 8", grid, block)
    sectors, _ = counted(lambda x, y, n: (x // 1024) * n + x % 8 + 0 * y, grid, block)
    assert sectors <= found.sectors["a"] <= N * N * 4 / SECTOR
