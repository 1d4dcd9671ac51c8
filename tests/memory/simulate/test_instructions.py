"""Machine code read through L2: by hand, and against a list that forgets."""

from types import SimpleNamespace

import numpy as np
import pytest

from placewise.kernel.launch import Launch
from placewise.machine import load_machine, parse_machine
from placewise.memory.simulate.instructions import (
    APART,
    FETCH_CYCLES,
    TOGETHER,
    VARIED,
    code_traffic,
    exceeds_cache,
    missed_apart,
)

LINE = 128
MACHINE = """
machine Tiny;
die = 2 tpc; tpc = 1 sm; sm = 32 core;
globalMem 1 Y RW na 1GB 32B ? 400clk <> <> die ?
  warp{floor(address1/blockSize) != floor(address2/blockSize)};
code 2 N R na 1KB 128B ? 30clk <> <> sm ? warp{address1 != address2};
detail code { holds = instructions; policy = lru; }
space global G direct <globalMem> global RW;
"""
TINY = parse_machine(MACHINE, "tiny.msl")
"""Two SMs whose caches hold eight lines of code."""


SHARED = parse_machine(
    MACHINE.replace("<> <> sm ?", "<> <> die ?").replace("policy = lru", "partitions = 1"),
    "shared.msl",
)
"""The two SMs share one such cache."""


def code_of(executions, blocks):
    """``executions``: how often each warp executes each line."""
    counts = [
        SimpleNamespace(place=n * LINE + 16 * k, warps=times * blocks)
        for n, times in enumerate(executions)
        for k in range(8)
        if times
    ]
    issued = sum(count.warps for count in counts)
    return SimpleNamespace(instruction_counts=lambda: counts, warp_instructions=issued)


def run(executions, blocks, resident, machine=TINY, warps=1, **options):
    launch = Launch((blocks, 1, 1), (32 * warps, 1, 1))
    held = SimpleNamespace(blocks=resident)
    return code_traffic(code_of(executions, blocks * warps), launch, held, machine, 32, **options)


def test_code_that_fits_is_read_once_by_each_sm():
    found = run([1, 1, 100, 100, 1, 0, 1], blocks=40, resident=2)
    assert found.first == 2 * 6 * LINE / 32
    assert found.later == 0
    assert found.sectors(10) == found.first


def test_fewer_blocks_than_sms():
    assert run([1, 1], blocks=1, resident=2).sectors() == 2 * LINE / 32


def test_lru_finds_nothing_of_longer_code():
    """Ten lines in turn through eight places: all miss, once for both blocks together."""
    found = run([1] * 10, blocks=40, resident=2)
    assert found.first == 2 * 10 * LINE / 32
    assert found.later == 2 * 9 * 10 * LINE / 32


def test_long_loops_are_read_in_every_round():
    """Nine of ten lines are gone through five times: 10 + 4 * 9 misses."""
    found = run([1] + [5] * 9, blocks=2, resident=1)
    assert found.sectors() == 2 * (10 + 4 * 9) * LINE / 32


def test_sms_that_share_a_cache_fetch_for_one_another():
    """Of ten lines eight are held: two are missed by blocks at unrelated places."""
    found = run([1] * 10, blocks=1000, resident=2, machine=SHARED)
    assert found.first == 10 * LINE / 32
    assert found.later == pytest.approx(999 * TOGETHER * 2 * LINE / 32)
    varied = run([1] * 10, blocks=1000, resident=2, machine=SHARED, alike=False)
    assert varied.later / found.later == pytest.approx(1 + VARIED / TOGETHER)
    assert run([1] * 8, blocks=1000, resident=2, machine=SHARED).later == 0


def share(resident, warps, wavefronts_per_line):
    """Of the misses of blocks at unrelated places, how many there are."""
    blocks = 1000
    moved = wavefronts_per_line * 10 * warps * blocks
    options = {"machine": SHARED, "warps": warps, "shared_wavefronts": moved}
    later = run([1] * 10, blocks, resident, **options).later
    return later / ((blocks - 1) * 2 * LINE / 32)


def test_what_sets_the_pace_keeps_blocks_together():
    """A line is eight instructions, one scheduler's cycles and, here, wavefronts' cycles each."""
    few = int(FETCH_CYCLES) // 8
    assert share(1, few, 0) == pytest.approx(TOGETHER)
    assert share(1, few + 1, 0) == pytest.approx(APART)
    assert share(few + 1, 1, 0) == pytest.approx(APART)
    assert share(1, few + 1, 25) == pytest.approx(TOGETHER)
    assert share(1, few + 1, 23) == pytest.approx(APART)
    assert share(2, few + 1, 25) == pytest.approx(TOGETHER)
    assert share(3, few + 1, 25) == pytest.approx(APART)


def test_code_that_exceeds_the_cache():
    assert not exceeds_cache(code_of([1] * 8, 5), TINY)
    assert exceeds_cache(code_of([1] * 9, 5), TINY)
    assert not exceeds_cache(code_of([1] * 8 + [0] * 9, 5), TINY)
    assert not exceeds_cache(code_of([1] * 9, 5), load_machine("K20c"))


@pytest.mark.parametrize("times", [(1,), (1, 3)], ids=["alike", "loop"])
def test_against_a_cache_of_a_list(times):
    """Lines asked for in no order, as often as blocks execute them, in a list whose places are
    overwritten at random."""
    rng = np.random.default_rng(0)
    executed = np.repeat(np.array(times, float), 60)
    held = 48
    places = list(rng.permutation(len(executed))[:held])
    asked = rng.choice(len(executed), 60_000, p=executed / executed.sum())
    missed = 0
    for line in asked.tolist():
        if line not in places:
            missed += 1
            places[rng.integers(held)] = line
    blocks = len(asked) / executed.sum()
    assert missed_apart(executed, held) == pytest.approx(missed / blocks, rel=0.03)


def test_lines_that_fit_are_never_missed():
    assert missed_apart(np.full(9, 2.0), 9) == 0
    assert missed_apart(np.full(10, 2.0), 8) == pytest.approx(2 * 2)


def test_a_machine_whose_instruction_caches_are_not_known():
    assert run([1] * 99, 4, 1, load_machine("K20c")).sectors() == 0
