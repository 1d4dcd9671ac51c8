"""Arrivals at the DRAM of a few warps, worked by hand, and their variation."""

import numpy as np
import pytest

from placewise.reproduce.closed_loop import (
    BURST,
    CHANNELS,
    DRAM,
    FIRST_HIT,
    LAST_HIT,
    PIECE,
    ROW_CYCLE,
    SMS,
    WarpAccesses,
    bank_of,
    simulate_arrivals,
    variations,
)


def accesses(*warps, per_block=1, resident=1, instructions=10.0):
    return WarpAccesses(tuple(warps), per_block, resident, instructions)


def test_a_warp_waits_for_each_of_its_loads():
    """Lines 0 and 12 lie in one row of one channel; line 0 comes again from the first cache."""
    found = simulate_arrivals(accesses((((0,), True), ((0,), True), ((12,), True))))
    # 10 instructions, then half of the way to the DRAM; back after the row has been opened.
    first = 10 + LAST_HIT / 2
    answered = first + (ROW_CYCLE - BURST) + BURST + DRAM
    second = answered + 10 + FIRST_HIT + 10 + LAST_HIT / 2
    assert found.cycle.tolist() == pytest.approx([first, second])
    assert found.instruction.tolist() == [10, 30]
    assert found.address.tolist() == [0, 12 * 128]


def test_a_store_is_not_waited_for():
    found = simulate_arrivals(accesses((((0,), False), ((12,), True))))
    assert found.cycle.tolist() == [10 + LAST_HIT / 2, 10 + 1 + 10 + LAST_HIT / 2]


def test_warps_of_an_sm_issue_one_after_another():
    warps = [(((12 * n,), True),) for n in range(4)]
    found = simulate_arrivals(accesses(*warps, per_block=4))
    assert np.diff(found.cycle).tolist() == [10, 10, 10]


def test_a_block_begins_where_another_ends():
    """One block more than SMs: the last begins when the first has its data."""
    warps = [(((24 * n,), True),) for n in range(SMS + 1)]
    found = simulate_arrivals(accesses(*warps))
    assert (found.cycle[:SMS] == 10 + LAST_HIT / 2).all()
    assert found.cycle[SMS] > found.cycle[0] + DRAM


def test_all_banks_lie_within_384_kb():
    address = np.arange(0, 2 * 384 * 1024, PIECE)
    banks = bank_of(address)
    assert len(set(banks[: len(banks) // 2].tolist())) == 96
    assert (banks[: len(banks) // 2] == banks[len(banks) // 2 :]).all()
    assert banks[:CHANNELS].tolist() == [16 * channel for channel in range(CHANNELS)]


def test_variation_is_one_for_exponential_and_none_for_regular_arrivals():
    random = np.random.default_rng(1)
    times = np.cumsum(random.exponential(3.0, 200_000))
    assert variations(times, np.zeros(len(times), np.int64)) == pytest.approx([1.0], abs=0.02)
    regular = np.arange(100.0)
    assert variations(regular, np.arange(100) % 2).tolist() == pytest.approx([0.0, 0.0])
    # Pairs at once, then a pause: gaps of 0 and 2 in turn, whose deviation is their mean.
    pairs = np.repeat(np.arange(0.0, 202.0, 2.0), 2)[1:]
    assert variations(pairs, np.zeros(len(pairs), np.int64)) == pytest.approx([1.0])
