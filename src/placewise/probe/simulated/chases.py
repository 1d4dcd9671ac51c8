"""A simulated device: any hierarchy of caches and TLBs, timed with noise and outliers.

It answers chases as the kernel of Mei et al. 2014 does on a GPU, so that what is inferred can be
judged against what was put in. Caches are those of :mod:`placewise.memory.simulate.caches.cache`,
here with sets of unequal size and any mapping of lines to sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.compiled_code import compiled
from placewise.memory.simulate.caches.cache import Caches, access, new_caches
from placewise.memory.simulate.caches.geometry import Geometry
from placewise.probe.chase import Chase, Timings

BLOCK, SECTOR, RUN, FIRST_LABEL, PERIOD, FIRST_SET, HASH_BITS = range(7)
"""Columns of a level's row."""
_SLICE_LINE = 128
"""Bytes in a row that lie in one slice."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio (Knuth's multiplicative hashing)."""


@dataclass(frozen=True)
class SimulatedCache:
    """A cache, or a TLB whose lines are pages."""

    line_bytes: int
    """Bytes of a line (of a TLB: of a page), a power of two."""
    ways: tuple[int, ...]
    """Ways of each set."""
    cycles: float
    """Time of a load that hits here; of a TLB: what such a hit adds."""
    sector_bytes: int | None = None
    """Bytes that are fetched at a time; the whole line where None."""
    policy: str = "lru"
    probabilities: tuple[float, ...] = ()
    """Odds of each way to be replaced, for the policy ``weighted`` (all sets alike)."""
    run: int = 1
    """Lines in a row that lie in the same set."""
    table: tuple[int, ...] = ()
    """Set of each line number, repeated; modulo the sets where empty."""
    hashed: bool = False
    """The set is the exclusive or of all parts of the line number; sets are a power of two."""

    @property
    def capacity_bytes(self) -> int:
        return sum(self.ways) * self.line_bytes


@dataclass(frozen=True)
class SimulatedHierarchy:
    """Levels nearest to the cores first."""

    caches: tuple[SimulatedCache, ...]
    memory_cycles: float
    """Time of a load that no cache holds."""
    tlbs: tuple[SimulatedCache, ...] = ()
    walk_cycles: float = 0.0
    """Cycles that a load takes longer if no TLB holds its page."""
    translated_after: int = 0
    """Cache levels that hold virtual addresses: their hits ask no TLB."""
    slices: tuple[float, ...] = ()
    """Cycles that a load beyond the cores' own cache takes longer, by the slice of the last cache
    that its line lies in: slices are not equally far from an SM. Lines are spread over them by a
    hash."""
    memory_slices: tuple[float, ...] = ()
    """Cycles that a load from DRAM takes longer, by the slice of DRAM that serves it."""
    memory_spread: float = 0.0
    """Standard deviation of DRAM latency beside the noise, as a share of the latency."""


@dataclass(frozen=True)
class Noise:
    """Noise of the timings."""

    spread: float = 0.02
    """Standard deviation, as a share of the time."""
    outliers: float = 0.002
    """Share of the loads that take ``outlier_cycles`` more."""
    outlier_cycles: tuple[float, float] = (50.0, 2000.0)


class SimulatedDevice:
    """Answers chases from a hierarchy; see :class:`placewise.probe.chase.ProbeDevice`."""

    def __init__(
        self,
        hierarchy: SimulatedHierarchy,
        *,
        noise: Noise = Noise(),
        reach_bytes: int = 1 << 28,
        bypasses: int = 0,
        seed: int = 0,
    ) -> None:
        self.hierarchy = hierarchy
        self.noise = noise
        self.reach_bytes = reach_bytes
        self.bypasses = bypasses
        self.loads = 0
        """Loads so far."""
        self._random = np.random.default_rng(seed)
        levels = (*hierarchy.caches, *hierarchy.tlbs)
        self._geometries, self._rows, self._table, self._sets = _layout(levels)
        self._cycles = np.array([c.cycles for c in hierarchy.caches] + [hierarchy.memory_cycles])
        self._adds = np.array([t.cycles for t in hierarchy.tlbs] + [hierarchy.walk_cycles])
        if not hierarchy.tlbs:
            self._adds = np.zeros(1)
        self._slices = _added(hierarchy)

    def run(self, chase: Chase) -> Timings:
        """Time the loads of ``chase``, from empty caches and TLBs.

        Raises IndexError for an address beyond ``reach_bytes``: no device has memory there.
        """
        for addresses in (chase.lap, chase.before):
            if len(addresses) and not 0 <= addresses.min() <= addresses.max() < self.reach_bytes:
                raise IndexError(f"a chase goes to byte {addresses.max()} of {self.reach_bytes}")
        caches = new_caches(self._geometries, int(self._random.integers(1, 1 << 30)))
        timed = np.empty((chase.laps, len(chase.lap)), np.float32)
        now = 0
        parts = [(chase.before, 1, 0), (chase.lap, chase.warm, 0), (chase.lap, chase.laps, 1)]
        for addresses, laps, kept in parts:
            now = _walk(
                caches,
                self._rows,
                self._table,
                self._sets,
                len(self.hierarchy.caches),
                np.ascontiguousarray(addresses, np.int64),
                laps,
                chase.bypass,
                self.hierarchy.translated_after,
                self._cycles,
                self._adds,
                self._slices,
                timed if kept else timed[:0],
                now,
            )
        self.loads += now
        return Timings(chase.lap, self._noisy(timed))

    def _noisy(self, cycles: NDArray[np.float32]) -> NDArray[np.float32]:
        random, noise = self._random, self.noise
        flat = cycles.reshape(-1)
        if self.hierarchy.memory_spread:
            slow = np.flatnonzero(flat >= self.hierarchy.memory_cycles)
            factor = random.standard_normal(len(slow), dtype=np.float32)
            flat[slow] *= np.float32(1) + np.float32(self.hierarchy.memory_spread) * np.abs(factor)
        if noise.spread:
            factor = random.standard_normal(flat.size, dtype=np.float32)
            flat *= np.float32(1) + np.float32(noise.spread) * factor
        hit = random.integers(0, flat.size, random.binomial(flat.size, noise.outliers))
        flat[hit] += random.uniform(*noise.outlier_cycles, hit.size).astype(np.float32)
        rounded: NDArray[np.float32] = np.rint(flat).reshape(cycles.shape)
        return rounded


def _added(hierarchy: SimulatedHierarchy) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What slices of the last cache and of memory add."""
    return np.array(hierarchy.slices or (0.0,)), np.array(hierarchy.memory_slices or (0.0,))


def _layout(
    levels: tuple[SimulatedCache, ...],
) -> tuple[list[Geometry], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Caches of one set each, rows of the levels, sets of lines, and the cache of each set."""
    geometries: list[Geometry] = []
    rows, table, sets = [], [np.zeros(0, np.int64)], [np.zeros((0, 2), np.int64)]
    label = place = 0
    for level in levels:
        ways = np.array(level.ways)
        of_set = np.empty((len(ways), 2), np.int64)
        for size in np.unique(ways):
            alike = np.flatnonzero(ways == size)
            of_set[alike, 0] = len(geometries)
            of_set[alike, 1] = np.arange(len(alike))
            geometries.append(Geometry(len(alike), 1, int(size), level.policy, level.probabilities))
        sets.append(of_set)
        labels = np.array(level.table, np.int64)
        table.append(labels)
        bits = len(ways).bit_length() - 1 if level.hashed else 0
        sector = level.sector_bytes or level.line_bytes
        shifts = level.line_bytes.bit_length() - 1, sector.bit_length() - 1
        period = len(labels) or -len(ways)
        rows.append([*shifts, level.run, label, period, place, bits])
        label += len(labels)
        place += len(ways)
    table_of = np.array(rows, np.int64).reshape(-1, HASH_BITS + 1)
    return geometries, table_of, np.concatenate(table), np.concatenate(sets)


@compiled(nogil=True)
def _misses(
    caches: Caches,
    row: NDArray[np.int64],
    table: NDArray[np.int64],
    sets: NDArray[np.int64],
    address: Any,
) -> Any:
    """Whether one level lacks an address; it holds it afterwards."""
    line = address >> row[BLOCK]
    part = line // row[RUN]
    if row[HASH_BITS]:
        label = np.int64(0)
        rest = part
        while rest:
            label ^= rest & ((np.int64(1) << row[HASH_BITS]) - 1)
            rest >>= row[HASH_BITS]
    elif row[PERIOD] < 0:
        label = part % -row[PERIOD]
    else:
        label = table[row[FIRST_LABEL] + part % row[PERIOD]]
    place = row[FIRST_SET] + label
    within = (address >> row[SECTOR]) - (line << (row[BLOCK] - row[SECTOR]))
    missing, _, _ = access(
        caches,
        sets[place, 0],
        sets[place, 1],
        line,
        np.int64(1) << within,
        np.int64(16),
        np.int64(1),
    )
    return missing != 0


# Compiled by Numba: the state of all caches and TLBs, one array each.
@compiled(nogil=True)
def _walk(
    caches: Caches,
    rows: NDArray[np.int64],
    table: NDArray[np.int64],
    sets: NDArray[np.int64],
    levels: int,
    addresses: NDArray[np.int64],
    laps: int,
    bypass: int,
    translated_after: int,
    cycles: NDArray[np.float64],
    adds: NDArray[np.float64],
    slices: tuple[NDArray[np.float64], NDArray[np.float64]],
    out: NDArray[np.float32],
    loads: int,
) -> int:
    """Load ``laps`` times; times go to ``out`` where it has rows. Returns ``loads`` and those."""
    for lap in range(laps):
        for k in range(len(addresses)):
            loads += 1
            address = addresses[k]
            level = bypass
            while level < levels and _misses(caches, rows[level], table, sets, address):
                level += 1
            took = cycles[level]
            if level >= min(1, levels - 1):
                line = np.uint64(address // _SLICE_LINE)
                some = slices[1 if level == levels else 0]
                took += some[np.int64((line * _GOLDEN) >> np.uint64(40)) % len(some)]
            if level >= translated_after:
                tlb = 0
                while tlb < len(rows) - levels and _misses(
                    caches, rows[levels + tlb], table, sets, address
                ):
                    tlb += 1
                took += adds[tlb]
            if len(out):
                out[lap, k] = took
    return loads
