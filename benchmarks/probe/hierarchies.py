"""Hierarchies to be found out: four machines', and any number at random, half of them sliced.

The machines' are modelled on what is published of them (Fermi and Kepler: Mei et al. 2014; Turing
and Hopper: sizes from NVIDIA's documents). Where nothing is known, as of most policies and set
mappings, something was chosen: what counts here is that it is hidden, not that it is true.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from placewise.probe.simulated.chases import SimulatedCache, SimulatedHierarchy

KB, MB = 1 << 10, 1 << 20
BIG_SET = tuple(k % 7 for k in range(56)) + (0,) * 9
"""Sets of 65 pages, of which the first has 17 and the others 8."""
H100_SLICES = (0.0, 0.0, 3.0, 4.0, 6.0, 8.0, 33.0, 36.0)
"""Cycles, after mt4g's raw chases of an H100 80GB HBM3: loads that miss L1 and hit L2 take 265 to
280 cycles or, one in four, 295 to 310."""
H100_MEMORY = (0.0, 5.0, 10.0, 15.0, 170.0, 180.0, 190.0)
"""Likewise its loads from DRAM: 680 to 720 cycles or 850 to 910, and a tail."""


@dataclass(frozen=True)
class Hidden:
    """A hierarchy, and what a probe may use of it."""

    name: str
    hierarchy: SimulatedHierarchy
    bypasses: int
    reach_bytes: int = 1 << 28


def machines() -> tuple[Hidden, ...]:
    """Global and texture path of Fermi, global path of the others."""
    l1_tlb = SimulatedCache(2 * MB, (16,), 0.0)
    l2_tlb = SimulatedCache(2 * MB, (17, 8, 8, 8, 8, 8, 8), 90.0, table=BIG_SET)
    fermi_l1 = SimulatedCache(
        128, (4,) * 32, 116.0, policy="weighted", probabilities=(1 / 6, 1 / 2, 1 / 6, 1 / 6)
    )
    texture_l1 = SimulatedCache(32, (96,) * 4, 240.0, run=4)
    fermi_l2 = SimulatedCache(128, (16,) * 384, 404.0, 32)
    kepler_l2 = SimulatedCache(128, (16,) * 768, 230.0, 32)
    tlbs = (l1_tlb, l2_tlb)
    fermi = SimulatedHierarchy((fermi_l1, fermi_l2), 640.0, tlbs, 290.0, 1)
    texture = SimulatedHierarchy((texture_l1, fermi_l2), 720.0, tlbs, 290.0, 1)
    kepler = SimulatedHierarchy((kepler_l2,), 360.0, tlbs, 250.0)
    turing = SimulatedHierarchy(
        (
            SimulatedCache(128, (128,) * 4, 32.0, 32),
            SimulatedCache(64, (16,) * 4096, 188.0, 32, hashed=True),
        ),
        296.0 + 140.0,
        (SimulatedCache(2 * MB, (16,), 0.0), SimulatedCache(32 * MB, (32,), 70.0)),
        300.0,
        1,
    )
    hopper = SimulatedHierarchy(
        (
            SimulatedCache(128, (32,) * 64, 38.0, 32, policy="plru"),
            SimulatedCache(128, (25,) * 16384, 269.0, 32, hashed=True),
        ),
        690.0,
        (SimulatedCache(2 * MB, (32,), 0.0), SimulatedCache(32 * MB, (8,) * 8, 110.0)),
        420.0,
        1,
        slices=H100_SLICES,
        memory_slices=H100_MEMORY,
        memory_spread=0.1,
    )
    return (
        Hidden("Fermi, global", fermi, 1),
        Hidden("Fermi, texture", texture, 1),
        Hidden("Kepler, global", kepler, 0),
        Hidden("Turing, global", turing, 1, 1 << 32),
        Hidden("Hopper, global", hopper, 1, 1 << 33),
    )


def some_hierarchy(random: np.random.Generator, number: int) -> Hidden:
    """One to two caches with or without a TLB of one or two levels."""
    caches = []
    cycles = float(random.uniform(20, 120))
    size = 2 ** random.uniform(11, 14.5)
    line = 32
    for _ in range(int(random.integers(1, 3))):
        line = int(max(line, random.choice([32, 64, 128, 256])))
        cache = _some_cache(random, size, line, cycles, sectored=True)
        caches.append(cache)
        size = cache.capacity_bytes * float(random.uniform(6, 20))
        cycles *= float(random.uniform(1.35, 3.0))
    bypasses = len(caches) - 1
    tlbs: list[SimulatedCache] = []
    walk = 0.0
    if caches[-1].capacity_bytes >= 512 * KB and len(caches) == 2 and caches[-1].ways[0] >= 8:
        page = int(random.choice([256 * KB, 1 * MB, 2 * MB]))
        for level in range(int(random.integers(0, 3))):
            entries = int(random.integers(8, 33)) if level == 0 else int(random.integers(48, 90))
            ways = (entries,) if level == 0 else _some_ways(random, entries)
            tlbs.append(SimulatedCache(page, ways, walk, table=_table(random, ways)))
            walk += float(random.uniform(0.25, 0.6)) * cycles
    hierarchy = SimulatedHierarchy(tuple(caches), cycles, tuple(tlbs), walk, len(caches) - 1)
    if len(caches) > 1 and number % 2:
        added = random.uniform(0.0, 0.12, 8) * caches[-1].cycles
        hierarchy = replace(hierarchy, slices=tuple(added.tolist()), memory_slices=tuple(added))
    return Hidden(f"random {number}", hierarchy, bypasses, 1 << 29 if tlbs else 1 << 26)


def _some_cache(
    random: np.random.Generator, size: float, line: int, cycles: float, *, sectored: bool
) -> SimulatedCache:
    ways = int(random.choice([1, 2, 3, 4, 6, 8, 12, 16]))
    policy = str(random.choice(["lru", "lru", "fifo", "random", "plru", "weighted"]))
    if policy in ("plru", "weighted"):
        ways = int(random.choice([2, 4, 8]))
    sets = max(1, round(size / line / ways))
    hashed = bool(random.random() < 0.25)
    if hashed:
        sets = 1 << max(1, round(np.log2(sets)))
    of_sets: tuple[int, ...] = (ways,) * sets
    table: tuple[int, ...] = ()
    if not hashed and policy in ("lru", "fifo", "random") and sets <= 64 and random.random() < 0.3:
        of_sets = _some_ways(random, ways * sets)
        table = _table(random, of_sets)
    probabilities: tuple[float, ...] = ()
    if policy == "weighted":
        weights = np.ones(ways)
        weights[random.integers(0, ways)] = random.uniform(2.0, 4.0)
        probabilities = tuple((weights / weights.sum()).tolist())
    sectors = int(random.choice([1, 1, 2, 4])) if sectored and line >= 128 else 1
    return SimulatedCache(
        line,
        of_sets,
        cycles,
        line // sectors,
        policy,
        probabilities,
        run=1 if table else int(random.choice([r for r in (1, 1, 2, 4) if ways % r == 0])),
        table=table,
        hashed=hashed,
    )


def _some_ways(random: np.random.Generator, entries: int) -> tuple[int, ...]:
    """Sets of one size, and one larger one."""
    ways = int(random.choice([4, 6, 8]))
    sets = max(2, entries // ways)
    return (ways + int(random.integers(1, 10)),) + (ways,) * (sets - 1)


def _table(random: np.random.Generator, ways: tuple[int, ...]) -> tuple[int, ...]:
    """Lines go round the sets until all are full, in an order of its own each time."""
    if len(ways) == 1:
        return ()
    order = np.concatenate(
        [random.permutation(np.flatnonzero(np.array(ways) > k)) for k in range(max(ways))]
    )
    return tuple(order.tolist())
