"""Structures found against those that a simulated device hides."""

import numpy as np
import pytest

from placewise.errors import MachineError
from placewise.probe import Plan, infer_hierarchy
from placewise.probe.chase import Chase, Timings
from placewise.probe.infer.averages import saavedra, saavedra_line, wong, wong_line
from placewise.probe.simulated.chases import (
    Noise,
    SimulatedCache,
    SimulatedDevice,
    SimulatedHierarchy,
)

KB = 1024
MB = 1024 * KB


def found(*caches, memory=600.0, bypasses=0, reach=1 << 24, seed=1):
    hierarchy = SimulatedHierarchy(caches, memory)
    device = SimulatedDevice(hierarchy, bypasses=bypasses, reach_bytes=reach, seed=seed)
    return infer_hierarchy(device, Plan(tlbs=False))


@pytest.mark.parametrize("policy", ["lru", "fifo", "plru", "random"])
@pytest.mark.parametrize("hashed", [False, True])
def test_sets_lines_and_policy_of_one_cache(policy, hashed):
    (cache,) = found(
        SimulatedCache(128, (4,) * 16, 40.0, 32, policy, hashed=hashed), memory=200.0
    ).caches
    assert cache.confidence == "high"
    assert cache.capacity_bytes == 8 * KB
    assert (cache.sector_bytes, cache.line_bytes) == (32, 128)
    assert cache.ways == (4,) * 16
    assert cache.policy == policy
    assert cache.index == ("hashed" if hashed else "modulo")
    assert cache.latency_cycles == pytest.approx(40.0, rel=0.02)


def test_fermis_l1_has_one_hot_way():
    odds = (1 / 6, 1 / 2, 1 / 6, 1 / 6)
    (cache,) = found(SimulatedCache(128, (4,) * 32, 116.0, None, "weighted", odds)).caches
    assert cache.policy == "weighted"
    assert cache.way_probabilities == pytest.approx(odds, abs=0.05)


def test_sets_of_unequal_size_and_their_lines():
    ways = (5, 2, 2)
    table = (0, 1, 2, 0, 2, 1, 0, 0, 0)
    (cache,) = found(SimulatedCache(64, ways, 50.0, table=table)).caches
    assert sorted(cache.ways) == sorted(ways)
    assert cache.labels == table
    assert cache.index == "table"


def test_a_cache_behind_another_that_cannot_be_passed_by():
    inner, outer = found(
        SimulatedCache(64, (4,) * 8, 30.0),
        SimulatedCache(256, (4,) * 32, 100.0),
        memory=300.0,
    ).caches
    assert (inner.capacity_bytes, inner.line_bytes, inner.ways) == (2 * KB, 64, (4,) * 8)
    assert (outer.capacity_bytes, outer.line_bytes, outer.ways) == (32 * KB, 256, (4,) * 32)
    assert outer.policy == inner.policy == "lru"


@pytest.mark.slow
def test_tlbs_of_fermi_and_kepler():
    table = tuple(k % 7 for k in range(56)) + (0,) * 9
    tlbs = (
        SimulatedCache(2 * MB, (16,), 0.0),
        SimulatedCache(2 * MB, (17, 8, 8, 8, 8, 8, 8), 90.0, table=table),
    )
    hierarchy = SimulatedHierarchy(
        (SimulatedCache(128, (16,) * 256, 230.0, 32),), 360.0, tlbs, 250.0
    )
    device = SimulatedDevice(hierarchy, reach_bytes=1 << 28)
    probed = infer_hierarchy(device)
    first, second = probed.tlbs
    assert (first.ways, first.line_bytes, first.policy) == ((16,), 2 * MB, "lru")
    assert (second.ways, second.line_bytes) == ((17, 8, 8, 8, 8, 8, 8), 2 * MB)
    assert second.labels == table
    assert second.latency_cycles == pytest.approx(90.0, abs=5.0)
    assert probed.walk_cycles == pytest.approx(250.0, abs=10.0)


@pytest.mark.slow
def test_slices_and_partitions_that_are_not_equally_far_are_one_level():
    # As mt4g's raw chases show the V100's L2 (217 or 239 cycles), the H100's DRAM (700 or 880).
    hierarchy = SimulatedHierarchy(
        (SimulatedCache(128, (4,) * 16, 30.0, 32), SimulatedCache(128, (16,) * 256, 215.0, 32)),
        690.0,
        (SimulatedCache(2 * MB, (16,), 0.0),),
        120.0,
        1,
        slices=(0.0, 1.0, 2.0, 22.0, 23.0),
        memory_slices=(0.0, 10.0, 180.0, 190.0),
        memory_spread=0.1,
    )
    device = SimulatedDevice(hierarchy, reach_bytes=1 << 28, bypasses=1)
    probed = infer_hierarchy(device)
    first, second = probed.caches
    assert [cache.confidence for cache in probed.caches] == ["high", "high"]
    assert (first.capacity_bytes, second.capacity_bytes) == (8 * KB, 512 * KB)
    assert 215 <= second.latency_cycles <= 238
    assert [(tlb.line_bytes, tlb.ways) for tlb in probed.tlbs] == [(2 * MB, (16,))]


def test_levels_that_take_little_longer_are_two_where_one_fits_and_the_other_does_not():
    near, far = found(
        SimulatedCache(128, (4,) * 64, 200.0), SimulatedCache(128, (4,) * 512, 250.0)
    ).caches
    assert (near.latency_cycles, far.latency_cycles) == pytest.approx((200, 250), rel=0.02)


def test_an_odd_set_among_many_that_are_not_all_looked_at_is_never_sure():
    # 12 is twice 6: the sum of the sets fits as well without the odd one.
    ways = (12,) + (6,) * 130
    rounds = [
        np.random.default_rng(3).permutation(np.flatnonzero(np.array(ways) > k)) for k in range(12)
    ]
    table = tuple(np.concatenate(rounds).tolist())
    (cache,) = found(SimulatedCache(64, ways, 50.0, policy="fifo", table=table)).caches
    assert sorted(cache.ways) == sorted(ways) or cache.confidence == "low"


def test_mapping_that_consecutive_lines_do_not_fill_is_doubted():
    (cache,) = found(SimulatedCache(32, (2,) * 8, 50.0, run=4)).caches
    assert cache.confidence == "low"


@pytest.mark.parametrize(
    ("ways", "seed"),
    [
        ((17,) + (8,) * 6, 1),
        ((17,) + (8,) * 6, 2),
        ((8, 8, 17, 8, 8, 8, 8), 1),
        ((20, 12, 12, 12), 1),
    ],
)
def test_sets_of_unequal_size_are_found_where_pages_go_round_them(ways, seed):
    """Pages go to sets modulo their number, so that consecutive pages leave the large sets partly
    empty; Mei et al. 2014 found 17 entries in one set and 8 in each of six others."""
    tlbs = (SimulatedCache(2 * MB, (16,), 0.0), SimulatedCache(2 * MB, ways, 90.0))
    hierarchy = SimulatedHierarchy(
        (SimulatedCache(128, (16,) * 256, 230.0, 32),), 360.0, tlbs, 250.0
    )
    device = SimulatedDevice(hierarchy, reach_bytes=1 << 28, seed=seed)
    _, second = infer_hierarchy(device, Plan(levels=0)).tlbs
    assert second.ways == ways
    assert second.capacity_bytes == sum(ways) * 2 * MB
    assert (second.index, second.confidence) == ("modulo", "high")


def test_averages_contradict_each_other_on_the_texture_cache():
    hierarchy = SimulatedHierarchy((SimulatedCache(32, (96,) * 4, 110.0, run=4),), 240.0)
    device = SimulatedDevice(hierarchy)
    assert saavedra_line(saavedra(device, 48 * KB, 2 ** np.arange(2, 10))) == 32
    assert wong_line(wong(device, 12 * KB + np.arange(-2, 34) * 16, 16)) == 128
    (cache,) = infer_hierarchy(device, Plan(tlbs=False)).caches
    assert (cache.line_bytes, cache.ways, cache.run) == (32, (96,) * 4, 4)


def test_simulated_loads_hit_and_miss_as_by_hand():
    hierarchy = SimulatedHierarchy((SimulatedCache(32, (2,), 10.0),), 100.0)
    device = SimulatedDevice(hierarchy, noise=Noise(0.0, 0.0))
    lap = np.array([0, 4, 32, 0, 64, 32, 0])
    assert device.run(Chase(lap)).cycles.tolist() == [[100, 10, 100, 10, 100, 100, 100]]
    assert device.run(Chase(lap, bypass=1)).cycles.tolist() == [[100] * 7]


class OddDevice:
    """Timings that no cache gives."""

    reach_bytes = 1 << 22
    bypasses = 1

    def __init__(self, kind):
        self.kind = kind
        self.random = np.random.default_rng(1)
        self.runs = 0

    def run(self, chase):
        shape = (chase.laps, len(chase.lap))
        self.runs += 1
        cycles = {
            "flat": lambda: np.full(shape, 300.0),
            "zero": lambda: np.zeros(shape),
            "noise": lambda: self.random.lognormal(5, 1, shape),
            "two": lambda: np.where(self.random.random(shape) < 0.5, 40.0, 400.0),
            "drift": lambda: np.full(shape, 40.0 + self.runs),
            "outliers": lambda: np.where(self.random.random(shape) < 0.2, 60000.0, 40.0),
            "four": lambda: self.random.choice([30.0, 200.0, 600.0, 900.0], shape),
        }[self.kind]()
        return Timings(chase.lap, cycles.astype(np.float32))


@pytest.mark.parametrize("kind", ["flat", "zero", "noise", "two", "drift", "outliers", "four"])
def test_odd_timings_give_nothing_or_low_confidence(kind):
    try:
        probed = infer_hierarchy(OddDevice(kind), Plan(levels=2, tlbs=False))
    except MachineError:
        return
    assert all(cache.confidence == "low" for cache in probed.caches)
