"""Machine code read through L2: by hand, and against a list that forgets."""

from types import SimpleNamespace

import numpy as np
import pytest

from placewise.kernel.launch import Launch
from placewise.machine import load_machine, parse_machine
from placewise.memory.simulate.instructions import (
    FETCHING_ALIKE,
    FETCHING_VARIED,
    code_traffic,
    exceeds_cache,
    instruction_cache,
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
    return SimpleNamespace(instruction_counts=lambda: counts)


def run(executions, blocks, resident, machine=TINY, **options):
    launch = Launch((blocks, 1, 1), (32, 1, 1))
    held = SimpleNamespace(blocks=resident)
    return code_traffic(code_of(executions, blocks), launch, held, machine, 32, **options)


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
    """Ten lines in turn through eight places that LRU replaces: each fetching block misses all."""
    found = run([1] * 10, blocks=1000, resident=2, machine=SHARED)
    assert found.first == 10 * LINE / 32
    passes = 1000 * FETCHING_ALIKE
    assert found.sectors() == pytest.approx(passes * 10 * LINE / 32)
    varied = run([1] * 10, blocks=1000, resident=2, machine=SHARED, alike=False)
    assert varied.sectors() / found.sectors() == pytest.approx(FETCHING_VARIED / FETCHING_ALIKE)
    assert run([1] * 8, blocks=1000, resident=2, machine=SHARED).later == 0


def test_code_that_exceeds_the_cache():
    assert not exceeds_cache(code_of([1] * 8, 5), TINY)
    assert exceeds_cache(code_of([1] * 9, 5), TINY)
    assert not exceeds_cache(code_of([1] * 8 + [0] * 9, 5), TINY)
    assert not exceeds_cache(code_of([1] * 9, 5), load_machine("K20c"))


def test_against_a_cache_of_a_list():
    machine = load_machine("RTX2080Ti")
    cache = instruction_cache(machine)
    places, caches = cache.size_bytes // LINE, cache.detail.partitions
    rng = np.random.default_rng(0)
    for lines in (places // 2, places + 90, 2 * places):
        held, missed = [], 0
        for _ in range(40):
            for line in range(lines):
                if line not in held:
                    missed += 1
                    if len(held) == places:
                        held[rng.integers(places)] = line
                    else:
                        held.append(line)
        blocks = round(40 * caches / FETCHING_ALIKE)
        found = run([1] * lines, blocks=blocks, resident=1, machine=machine)
        assert found.sectors() / caches * 32 / LINE == pytest.approx(missed, rel=0.06)


def test_a_machine_whose_instruction_caches_are_not_known():
    assert run([1] * 99, 4, 1, load_machine("K20c")).sectors() == 0
