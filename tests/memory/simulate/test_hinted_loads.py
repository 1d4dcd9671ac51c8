"""Traffic of loads with cache hints, against caches of plain sets."""

from dataclasses import replace

import numpy as np
import pytest
from numba import njit

from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.launch import AccessWindow
from placewise.machine import load_machine
from placewise.memory.simulate.caches.cache import EVICT_FIRST, KEEP
from placewise.memory.simulate.caches.last_level.policy_window import (
    NO_WINDOW,
    policy_window,
    priority_in,
)
from placewise.memory.simulate.launch import simulate_launch

ONE_BY_ONE = """
__device__ float asked(const float *p) {{
    float v;
    asm volatile("ld.global.{qualifiers}.f32 %0, [%1];" : "=f"(v) : "l"(p));
    return v;
}}
__device__ float plain(const float *p) {{
    float v;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(p));
    return v;
}}
extern "C" __global__ void k(const float *a, const int *place, float *o, int n) {{
    float s = 0;
    for (int k = 0; k < n; k++)
        s += place[k] < 0 ? asked(a - place[k]) : plain(a + place[k]);
    *o = s;
}}
"""
WORDS = 1 << 12
SECTOR = 8
"""Floats."""


def traffic(source, arguments, machine, block=1, grid=1, window=None):
    case = make_case("k", source, arguments, block=block, grid=grid, arch="sm_80")
    launch = replace(case.launch, window=window)
    run = simulate_launch(compile_case(case), launch, named_case(case).inputs, machine)
    assert run.from_machine_code
    return [s for s in run.traffic.sites if s.array == "a" and s.site.kind == "load"]


def loads(qualifiers, places):
    """(hinted, plain) traffic of one thread that loads from these places one after another, of
    which those below zero are hinted."""
    source = ONE_BY_ONE.format(qualifiers=qualifiers)
    arguments = [np.ones(WORDS, np.float32), places, np.zeros(1, np.float32)]
    sites = traffic(source, [*arguments, np.int32(len(places))], load_machine("A100"))
    hinted = [s for s in sites if ".NA" in s.site.opcode]
    return hinted, [s for s in sites if s not in hinted]


def total(sites, name):
    return sum(getattr(s, name).value for s in sites)


@pytest.mark.parametrize("bytes_", [64, 128, 256])
def test_a_miss_in_l2_brings_its_neighbourhood(bytes_):
    rng = np.random.default_rng(bytes_)
    places = -rng.integers(1, WORDS, 600, dtype=np.int32)
    hinted, plain = loads(f"L1::no_allocate.L2::{bytes_}B", places)
    assert not total(plain, "dram_sectors")
    known, fetched, found = set(), 0, 0
    group = bytes_ // 32
    for place in places.tolist():
        sector = -place // SECTOR
        if sector in known:
            found += 1
            continue
        first = sector // group * group
        new = set(range(first, first + group)) - known
        fetched += len(new)
        known |= new
    assert total(hinted, "dram_sectors") == fetched
    assert total(hinted, "l2_hits") == found
    assert total(hinted, "l1_hits") == 0


def test_what_is_not_allocated_is_only_found_where_others_brought_it():
    rng = np.random.default_rng(3)
    places = rng.integers(1, WORDS, 600, dtype=np.int32) * rng.choice([-1, 1], 600).astype(np.int32)
    hinted, plain = loads("L1::no_allocate", places)
    known, lines, found = set(), set(), {True: 0, False: 0}
    for place in places.tolist():
        sector = abs(place) // SECTOR
        found[place < 0] += sector in known
        if place > 0:
            lines.add(sector // 4)
        if sector // 4 in lines:
            known.add(sector)
    assert total(hinted, "l1_hits") == found[True]
    assert total(plain, "l1_hits") == found[False]


ROUNDS = """
extern "C" __global__ void k(const float *a, const float *stream, float *o, int n, int m,
                             int rounds) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    float s = 0;
    for (int r = 0; r < rounds; r++) {
        for (int i = t; i < n; i += all) s += __ldcg(a + i);
        for (int i = t; i < m; i += all) s += __ldcg(stream + r * m + i);
    }
    o[t] = s;
}
"""
MEGABYTE = 1 << 18
"""Floats."""


@pytest.fixture(scope="module")
def rounds():
    """Sectors of a table of 1 MB that DRAM delivers over 4 rounds, each with a stream of 4 MB
    through an L2 of 3 MB, by the launch's window."""
    machine = load_machine("RTX3060")
    assert machine.memory("L2").size_bytes == 3 << 20
    arguments = [np.ones(n, np.float32) for n in (MEGABYTE, 16 * MEGABYTE, 28 * 1024)]
    arguments += [np.int32(n) for n in (MEGABYTE, 4 * MEGABYTE, 4)]

    def delivered(window):
        return total(traffic(ROUNDS, arguments, machine, 1024, 28, window), "dram_sectors")

    return delivered


def test_a_window_keeps_the_table(rounds):
    once = MEGABYTE // SECTOR
    # L2 replaces any of its old lines, so that a few of the table's outlive the stream.
    assert 3.9 * once < rounds(None) <= 4 * once, "the stream drives it out"
    window = AccessWindow("a", 4 * MEGABYTE, 1.0, 9 << 18)
    assert rounds(window) == once
    half = rounds(replace(window, hit_ratio=0.5))
    assert half == pytest.approx(once + 3 * once / 2, rel=0.05)
    part = rounds(replace(window, size_bytes=MEGABYTE))
    assert part == pytest.approx(once + 3 * 0.75 * once, rel=0.03)


def test_a_set_aside_that_is_too_small_keeps_what_it_holds(rounds):
    once = MEGABYTE // SECTOR
    window = AccessWindow("a", 4 * MEGABYTE, 1.0, 3 << 18)
    kept = 4 - rounds(window) / once
    assert 0 < kept < 3, "sets keep the lines used last, which the next round uses last"


@njit
def priorities(window, lines):
    return [priority_in(window, line) for line in lines]


@pytest.mark.parametrize("ratio", [0.0, 0.25, 0.6, 1.0])
def test_the_hit_ratio_is_the_share_of_the_lines(ratio):
    window = policy_window(AccessWindow("a", 128 * 10_000, ratio, 1), 500, 128)
    found = np.array(priorities(window, np.arange(0, 11_000)))
    inside = found[500:10_500]
    assert not found[:500].any()
    assert not found[10_500:].any()
    assert set(inside) <= {KEEP, EVICT_FIRST}
    assert np.mean(inside == KEEP) == pytest.approx(ratio, abs=0.01)
    assert not any(priorities(NO_WINDOW, np.arange(100)))
