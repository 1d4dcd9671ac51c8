"""Launches whose blocks have different amounts of work: the longest one ends last."""

import numpy as np
import pytest

from placewise import load_machine, make_case, predict_time
from placewise.model.evidence.warp_paths import WarpPaths
from placewise.model.timeline.launch import alone, course, ready_to_run
from placewise.model.timeline.schedule import Row
from placewise.model.timeline.warps import Pace

PACE = Pace(1, 1.0, 0.0, 200.0, 400.0, 5, 1.0, 10.0, 0.0)
MATH = Row(0, 2.0, 0, 0.0, 0.0, 0.0, 4.0, -1, -1, 0, 0, 0.0, 0.0, 0.0, 0.0)
TABLE, OFFSETS = np.array([MATH], np.float64), np.zeros(1, np.int64)


def paths_of(lengths):
    """A block of one warp for each length."""
    length = np.array(lengths)
    return WarpPaths(
        np.zeros(length.sum(), np.int64), np.cumsum(length) - length, length,
        np.arange(len(length))[:, None], frozenset(), 1.0,
    )  # fmt: skip


def test_a_wave_takes_as_long_as_its_longest_block():
    # 4 cycles an instruction, one block on each of 20 SMs.
    paths = paths_of(range(100, 2100, 100))
    assert course(TABLE, paths, OFFSETS, 1, 20, 20, PACE).total == pytest.approx(2000 * 4, rel=0.01)
    assert alone(TABLE, paths, OFFSETS, PACE, longest=True) == pytest.approx(2000 * 4, rel=0.01)
    assert alone(TABLE, paths, OFFSETS, PACE, longest=False) == pytest.approx(1050 * 4, rel=0.01)
    # More instructions than are run of blocks that are alike.
    budget = 5_000
    found = course(TABLE, paths, OFFSETS, 1, 20, 20, PACE, budget)
    assert found.total == pytest.approx(2000 * 4, rel=0.01)


def test_blocks_that_stand_for_others_are_spread_over_the_launch():
    own = ready_to_run(TABLE, paths_of(range(1, 10)), OFFSETS, PACE, 1)
    assert own.order_of(np.zeros(3, np.uint8)).tolist() == [1, 4, 7]
    assert own.order_of(np.zeros(9, np.uint8)).tolist() == list(range(9))
    assert own.order_of(np.zeros(18, np.uint8)).tolist() == [n // 2 for n in range(18)]


def test_first_blocks_wait_for_parameters_and_for_the_block_scheduler():
    paths = paths_of([100])
    one = course(TABLE, paths, OFFSETS, 1, 1, 1, PACE).total
    late = PACE._replace(parameters=300.0)
    assert course(TABLE, paths, OFFSETS, 1, 1, 1, late).total == one + 300
    # The fourth block of an SM starts after four turns of the scheduler.
    turns = PACE._replace(start=50.0, partitions=4)
    wave = course(TABLE, paths, OFFSETS, 4, 4, 1, PACE._replace(partitions=4)).total
    assert course(TABLE, paths, OFFSETS, 4, 4, 1, turns).total == wave + 4 * 50


SEARCH = """
__global__ void first_above(const double *sums, const double *wanted, int *found, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int at = 0;
#pragma unroll 1
    while (at < n - 1 && sums[at] < wanted[i]) at++;
    found[i] = at;
}
"""


def test_a_search_takes_as_long_as_its_last_block_walks():
    n = 16 * 128
    sums = np.arange(n, dtype=np.float64)

    def milliseconds(wanted):
        arrays = [sums, wanted, np.zeros(n, np.int32), np.int32(n)]
        case = make_case("first_above", SEARCH, arrays, block=128, grid=16, arch="sm_80")
        return predict_time(case, load_machine("A100")).milliseconds

    # Block b walks 128 b elements; or every block walks as far as the last one.
    uneven, even = milliseconds(sums.copy()), milliseconds(np.full(n, n - 1.0))
    assert uneven == pytest.approx(even, rel=0.05)
