"""What each wave did, from counts up to the ends of waves."""

import numpy as np

from placewise.memory.simulate.metrics.wave_counts import Closed, Counts, wave_counts
from placewise.memory.simulate.requests.streams import LOAD, STORE, STREAM


def counts(
    requests: list[int], asked: list[int], misses: list[int], written: int, lines: int
) -> Counts:
    """Of two threads that counted half each, sectors asked of the first cache being ten times the
    warp accesses, and one level of constant memory."""
    half = np.zeros((2, len(requests)), np.int64)
    return Counts(
        accesses=np.array(requests),
        sectors=np.array(requests) * 10,
        l1_overfetch=half + 1,
        asked=half + np.array(asked) // 2,
        misses=half + np.array(misses) // 2,
        l2_overfetch=half + 2,
        constant=np.full((2, 1, len(requests)), lines),
        written=written,
        dirtied=2 * written,
    )


def test_a_wave_did_what_came_on_top_of_the_one_before() -> None:
    # A third pair, of the second instruction, is first seen in the second wave.
    rows = np.zeros(3, STREAM)
    rows["site"] = 0, 1, 1
    rows["kind"] = LOAD, STORE, LOAD
    closed = [
        Closed(0, 8, counts([10, 4], [20, 8], [6, 8], 3, 1)),
        Closed(2, 5, counts([15, 4, 7], [40, 8, 30], [10, 8, 20], 4, 5)),
    ]
    first, second = wave_counts(closed, rows, 2, np.array([True, False, False]))
    assert (first.wave, first.blocks, first.counted) == (0, 8, True)
    assert (second.wave, second.blocks, second.counted) == (2, 5, False)
    assert (first.written, first.dirtied, second.written, second.dirtied) == (3, 6, 1, 2)
    for wave, requests, l1, asked, l2, dram in (
        # Of 100 sectors L2 was asked for 20, of which 2 came on top of those that L1 lacked.
        (first, [10, 4], [82, 0], [20, 0], [14, 0], [10, 0]),
        (second, [5, 7], [30, 42], [20, 30], [16, 10], [4, 24]),
    ):
        assert wave.requests.tolist() == requests
        assert wave.l1_hits.tolist() == l1
        assert wave.l2_asked.tolist() == asked
        assert wave.l2_hits.tolist() == l2
        assert wave.dram.tolist() == dram
    assert first.constant.tolist() == [[[1, 1]], [[1, 1]]]
    assert second.constant.tolist() == [[[4, 9]], [[4, 9]]]


def test_no_wave_no_counts() -> None:
    assert wave_counts([], np.zeros(0, STREAM), 1, np.ones(1, np.bool_)) == []
