"""How much less than others some blocks do."""

import numpy as np
import pytest

from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.memory.simulate.schedule.block_divergence import block_divergence, neighbours

SCALE = """
extern "C" __global__ void scale(float *a, int width) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < width) a[blockIdx.y * width + x] *= 2.0f;
}
"""
BATCH_ROUNDS = """
extern "C" __global__ void rounds(float *a) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < 10 + 100 * blockIdx.x; k++) sum = sum * sum + 0.5f;
    a[x] = sum;
}
"""
WAIT = """
extern "C" __global__ void wait(volatile int *flag) {
    while (flag[0] == 0) {}
    flag[0] = blockIdx.x;
}
"""


def case(tmp_path, name, source, arrays, grid):
    path = tmp_path / f"{name}.cu"
    path.write_text(source)
    return make_case(name, path, arrays, block=(32, 1), grid=grid)


@pytest.mark.parametrize(("width", "lack"), [(96, 0.0), (80, 0.5)])
def test_rows_of_blocks_with_and_without_a_rest(tmp_path, width, lack):
    """Of the last of three blocks of 32 threads 16 write; all of them execute most of the code."""
    arrays = {"a": np.ones(width * 8, np.float32), "width": np.int32(width)}
    made = case(tmp_path, "scale", SCALE, arrays, (3, 8))
    assert block_divergence(compile_case(made), made.launch, made.inputs) == lack


def test_a_block_without_work(tmp_path):
    arrays = {"a": np.ones(64 * 8, np.float32), "width": np.int32(64)}
    made = case(tmp_path, "scale", SCALE, arrays, (3, 8))
    assert block_divergence(compile_case(made), made.launch, made.inputs) == 1.0


def test_the_end_of_a_single_row_does_not_count(tmp_path):
    arrays = {"a": np.ones(1000, np.float32), "width": np.int32(1000)}
    made = case(tmp_path, "scale", SCALE, arrays, (32, 1))
    assert block_divergence(compile_case(made), made.launch, made.inputs) == 0.0


def test_blocks_that_execute_less_and_write_as_much(tmp_path):
    made = case(tmp_path, "rounds", BATCH_ROUNDS, {"a": np.ones(64, np.float32)}, (2, 8))
    assert 0.5 < block_divergence(compile_case(made), made.launch, made.inputs) < 1.0


def test_blocks_that_wait_for_others_lack_everything(tmp_path):
    made = case(tmp_path, "wait", WAIT, {"flag": np.zeros(1, np.int32)}, (3, 1))
    assert block_divergence(compile_case(made), made.launch, made.inputs) == 1.0


def test_neighbours():
    assert neighbours((5, 4, 1)) == (10, 12, 14)
    assert neighbours((1, 6, 1)) == (3,)
    assert neighbours((9, 1, 1)) == (3, 4, 5)
    assert neighbours((1, 1, 1)) == (0,)
    assert neighbours((2, 1, 1)) == (0, 1)
