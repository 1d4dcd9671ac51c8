"""Machine code read through L2: by hand, and against a list that forgets."""

from types import SimpleNamespace

import numpy as np
import pytest

from placewise.kernel.launch import Launch
from placewise.machine import load_machine, parse_machine
from placewise.memory.simulate.caches.instruction_cache import (
    APART,
    FETCH_CYCLES,
    TOGETHER,
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


def shared(limits=""):
    """Twenty SMs share one such cache."""
    text = MACHINE.replace("<> <> sm ?", "<> <> die ?").replace("policy = lru", "partitions = 1")
    text = text.replace("die = 2 tpc", "die = 20 tpc")
    return parse_machine(f"{text} limits {{ {limits} }}" if limits else text, "shared.msl")


SHARED = shared()


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
    assert run([1] * 8, blocks=1000, resident=2, machine=SHARED).later == 0


def share(resident, warps, wavefronts_per_line, machine=SHARED, **options):
    """Of the misses of blocks at unrelated places, how many there are: of twelve lines four."""
    blocks = 1000
    moved = wavefronts_per_line * 12 * warps * blocks
    options |= {"machine": machine, "warps": warps, "shared_wavefronts": moved}
    later = run([1] * 12, blocks, resident, **options).later
    return later / ((blocks - 1) * 4 * LINE / 32)


def test_what_sets_the_pace_keeps_blocks_together():
    """A line is eight instructions, one scheduler's cycles and, here, wavefronts' cycles each."""
    few = int(FETCH_CYCLES) // 8
    assert share(1, few, 0) == pytest.approx(TOGETHER)
    assert share(1, few + 1, 0) == pytest.approx(APART)
    assert share(few + 1, 1, 0) == pytest.approx(APART)
    assert share(1, few + 1, 21) == pytest.approx(TOGETHER)
    assert share(1, few + 1, 19) == pytest.approx(APART)
    assert share(2, few + 1, 21) == pytest.approx(TOGETHER)
    assert share(3, few + 1, 21) == pytest.approx(APART)


def test_blocks_of_fewer_warps_than_schedulers_lose_their_rhythm_sooner():
    four = shared("schedulers_per_sm = 4;")
    assert share(4, 4, 30, four) == pytest.approx(TOGETHER)
    assert share(3, 5, 30, four) == pytest.approx(TOGETHER)
    assert share(4, 5, 30, four) == pytest.approx(APART)
    assert share(4, 3, 30, four) == pytest.approx(APART)
    assert share(2, 3, 30, four) == pytest.approx(TOGETHER)


def test_blocks_that_lack_work_bring_others_out_of_step():
    assert share(1, 1, 0, divergence=0.5) == pytest.approx((TOGETHER + APART) / 2)
    assert share(1, 1, 0, divergence=1.0) == pytest.approx(APART)


def test_blocks_that_lack_work_change_nothing_for_those_that_drift_apart():
    four = shared("schedulers_per_sm = 4;")
    assert share(4, 5, 30, four, divergence=0.5) == pytest.approx(APART)


def test_no_block_fetches_less_than_its_part_of_what_all_need_once():
    """Twenty SMs with one block each: a twentieth of all lines. Of 40 lines 32 are missed, and the
    share of blocks that stay together is more; of nine lines one is, and that share less."""
    many = run([1] * 40, 1000, 1, machine=SHARED)
    assert many.later == pytest.approx(999 * TOGETHER * 32 * LINE / 32)
    few = run([1] * 9, 1000, 1, machine=SHARED)
    assert few.later == pytest.approx(999 * 9 / 20 * LINE / 32)


def test_where_dram_sets_the_pace_code_is_fetched_once_for_all():
    slow = shared("dram_bandwidth = 1 GB/s; clock = 1000 MHz;")
    issuing = 1000 * 12 * 8 * 9 / 20
    assert share(1, 9, 0, slow, dram_sectors=0.9 * issuing / 32) == pytest.approx(APART)
    assert share(1, 9, 0, slow, dram_sectors=1.1 * issuing / 32) == pytest.approx(12 / 20 / 4)


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
