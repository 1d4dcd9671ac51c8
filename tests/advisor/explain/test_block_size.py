"""What small blocks waste: lanes of warps, and warps of an SM."""

import numpy as np
import pytest

from placewise import advise, make_case
from placewise.advisor.explain.block_size import (
    block_size_in_words,
    grid_in_words,
    lanes_per_thread,
    warps_missing,
)
from placewise.kernel.launch import Launch
from placewise.machine import load_machine
from placewise.memory.occupancy import occupancy

A100 = load_machine("A100")
"""108 SMs of at most 64 warps, 32 blocks."""
KERNEL = """__global__ void add(const float *a, float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i] + 1;
}"""


def said(grid, block, registers=16):
    launch = Launch((grid, 1, 1), block)
    return block_size_in_words(
        launch, A100, occupancy(launch, A100, registers=registers, shared_bytes=0)
    )


@pytest.mark.parametrize(
    ("threads", "lanes"), [(32, 1.0), (1024, 1.0), (4, 8.0), (48, 64 / 48), (200, 224 / 200)]
)
def test_lanes_come_by_warps(threads, lanes):
    assert lanes_per_thread(Launch((9, 1, 1), (threads, 1, 1))) == lanes


@pytest.mark.parametrize(
    ("blocks", "start"), [(16, "16 blocks leave 92 of the 108"), (1, "One block leaves 107 of")]
)
def test_a_grid_that_leaves_sms_without_work_is_told(blocks, start):
    said = grid_in_words(Launch((blocks, 1, 1), (256, 1, 1)), A100)
    assert said.startswith(start)
    assert said.endswith("too small to fill the GPU.")


def test_a_grid_with_a_block_for_each_sm_gets_no_word():
    assert grid_in_words(Launch((54, 2, 1), (32, 1, 1)), A100) == ""


def test_blocks_that_fill_their_warps_and_sms_get_no_word():
    assert said(100_000, (256, 1, 1)) == ""
    assert said(100_000, (16, 16, 1)) == ""
    # An eighth of the lanes is not worth a word, nor is a single small block.
    assert said(100_000, (200, 1, 1)) == ""
    assert said(1, (4, 1, 1)) == ""


def test_idle_lanes_and_empty_warps_are_named():
    assert said(200, (48, 1, 1)).startswith(
        "Blocks of 48 threads leave 16 of the 64 lanes of their warps idle: launch larger blocks"
    )
    # 32 blocks of one warp are all that an SM holds.
    assert said(100_000, (32, 1, 1)).startswith(
        "Blocks of 32 threads leave 32 of an SM's 64 warps empty, since an SM holds 32 blocks: "
    )
    both = said(100_000, (4, 1, 1))
    assert "28 of the 32 lanes of their warps idle and 32 of an SM's 64 warps empty" in both


def test_warps_are_missed_only_where_blocks_wait():
    few = Launch((108 * 32, 1, 1), (32, 1, 1))
    assert warps_missing(few, A100, occupancy(few, A100, registers=16, shared_bytes=0)) == 1.0
    more = Launch((108 * 32 + 1, 1, 1), (32, 1, 1))
    assert warps_missing(more, A100, occupancy(more, A100, registers=16, shared_bytes=0)) == 2.0
    # Registers limit the blocks, too: 255 let 8 warps onto an SM.
    assert warps_missing(more, A100, occupancy(more, A100, registers=255, shared_bytes=0)) == 1.0


def test_advice_says_so_after_what_limits_the_kernel():
    a, b = np.ones(32768, np.float32), np.zeros(32768, np.float32)
    case = make_case("add", KERNEL, [a, b, np.int32(32768)], grid=4096, block=8)
    why = advise(case, "A100", finalists=1).why
    assert "launch larger blocks, of a multiple of 32 threads." in why
    assert why.index("limit") < why.index("launch larger blocks")
