"""Costs of placements under a reading of Chen et al. 2017: path times of every combination."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product

import numpy as np

from placewise.choose.legality import Legality
from placewise.machine.machine import Machine, Memory
from placewise.memory.reuse.histogram import ReuseHistogram, cache_groups, reuse_histogram
from placewise.memory.reuse.profile import ArrayProfile, Profile
from placewise.memory.reuse.staging import staging_traffic
from placewise.memory.reuse.stream import STORE, ArrayStream
from placewise.reproduce.porple_reading import ALPHA, CONSTANT_ALPHA, TableReading
from placewise.space import MemorySpace, Placement, Way

TIE = 5e-4
"""Relative difference of two times below which they count as equal."""
_LANES = np.arange(32, dtype=np.uint32)


def by_thread(stream: ArrayStream) -> ArrayStream:
    """The stream with one entry for the access of each thread; those of a warp are in the order of
    its lanes."""
    addresses = stream.base[:, None] + stream.stride[:, None].astype(np.int64) * _LANES
    irregular = stream.row >= 0
    addresses[irregular] = stream.offsets[stream.row[irregular]]
    active = (stream.mask[:, None] >> _LANES & 1).astype(np.bool_)
    of = np.broadcast_to(np.arange(len(stream))[:, None], addresses.shape)[active]
    count = len(of)
    return ArrayStream(
        addresses[active].astype(np.int64),
        np.zeros(count, np.int32),
        np.ones(count, np.uint32),
        np.full(count, -1, np.int32),
        stream.offsets,
        stream.lane_bytes[of],
        stream.site[of],
        stream.sm[of],
        stream.tag[of],
        stream.late[of],
    )


Ranked = list[tuple[tuple[float, ...], tuple[str, ...]]]
"""(times of all paths, the longest first; space of every array), best first."""


def first_of(ranked: Ranked, present: tuple[str, ...], reading: TableReading) -> tuple[str, ...]:
    """Spaces of the placement that ``reading`` chooses among the best and equally good ones.
    ``present`` are the arrays' present spaces."""
    equals = [spaces for times, spaces in ranked if times[0] <= ranked[0][0][0] * (1 + TIE)]
    if reading.ties == "paths":
        return equals[0]

    def moves(spaces: tuple[str, ...]) -> int:
        return sum(a != b for a, b in zip(spaces, present, strict=True))

    return min(equals, key=moves)


class PlacementCosts:
    """T(p) of every placement of a profiled kernel (section 3.1.2), under one reading.

    ``profile`` must be made for the machine under that reading. Caches are used only by the traced
    blocks.
    """

    def __init__(self, profile: Profile, legality: Legality, reading: TableReading) -> None:
        self._profile = profile
        self._legality = legality
        self._machine: Machine = profile.machine
        self._reading = reading
        self._streams: dict[str, ArrayStream] = {}
        self._histograms: dict[tuple[str, str], ReuseHistogram] = {}
        self._costs: dict[tuple[float, str, str, tuple[int, ...]], Mapping[str, float]] = {}

    def ranked(self, *, shared: bool, alpha: float = ALPHA) -> Ranked:
        """Every placement that fits, sorted by the time of the longest path, then of the next one.
        ``shared``: arrays may also go to shared memory. ``alpha`` is the concurrency factor of all
        memories but constant."""
        names = self._legality.arrays
        choices = [
            [
                s
                for s in self._legality.spaces(name)
                if shared or self._machine.space(s).way is not Way.KERNEL_BUFFER
            ]
            for name in names
        ]
        found = []
        for spaces in product(*choices):
            placement = Placement(tuple(zip(names, spaces, strict=True)))
            if self._legality.fits(placement) is None:
                found.append((self.path_times(names, spaces, alpha), spaces))
        return sorted(found)

    def path_times(
        self, names: tuple[str, ...], spaces: tuple[str, ...], alpha: float = ALPHA
    ) -> tuple[float, ...]:
        """Times of all data paths under a placement, the longest first."""
        sharers = Counter(
            level for space in spaces for level in self._machine.space(space).levels[:-1]
        )
        times = {space.path: 0.0 for space in self._machine.spaces}
        for name, space in zip(names, spaces, strict=True):
            for path, time in self._cost(name, self._machine.space(space), sharers, alpha).items():
                times[path] += time
        return tuple(sorted(times.values(), reverse=True))

    def _cost(
        self, name: str, space: MemorySpace, sharers: Counter[str], alpha: float
    ) -> Mapping[str, float]:
        key = (alpha, name, space.name, tuple(sharers[level] for level in space.levels[:-1]))
        if key not in self._costs:
            self._costs[key] = self._reckon(self._profile.array(name), space, sharers, alpha)
        return self._costs[key]

    def _reckon(
        self, array: ArrayProfile, space: MemorySpace, sharers: Counter[str], alpha: float
    ) -> Mapping[str, float]:
        memories = [self._machine.memory(level) for level in space.levels]
        in_tile = space.way is Way.KERNEL_BUFFER
        reach = 1.0
        time = 0.0
        for memory in memories:
            missed = 0.0
            if memory is not memories[-1]:
                missed = min(reach, self._missed(array, memory, sharers[memory.name]))
            counted = memories[0] if self._reading.transactions_of_nearest else memory
            transactions = self._transactions(array, counted, in_tile=in_tile)
            factor = self._concurrency(memory, alpha)
            time += transactions * (reach - missed) * memory.latency_cycles * factor
            reach = missed
        times = {space.path: time}
        if in_tile and array.tile is not None:
            staged = staging_traffic(self._profile, self._machine, array, array.tile, memories[-1])
            fill = 0.0
            for level in staged.levels:
                memory = self._machine.memory(level.memory)
                fill += (
                    level.transactions * memory.latency_cycles * self._concurrency(memory, alpha)
                )
            path = self._machine.direct_space.path
            times[path] = times.get(path, 0.0) + fill
        return times

    def _transactions(self, array: ArrayProfile, memory: Memory, *, in_tile: bool) -> float:
        sampled = array.sampled.sum()
        if not sampled:
            return 0.0
        counted = self._profile.transactions(array.name, memory, in_tile=in_tile).sum()
        return float(counted / sampled * sum(array.requests))

    def _missed(self, array: ArrayProfile, cache: Memory, sharers: int) -> float:
        """Share of the array's accesses that miss a cache whose capacity ``sharers`` arrays share
        equally."""
        if array.stream is None or (array.requests[STORE] and not cache.writable):
            return 1.0
        key = (array.name, cache.scope)
        if key not in self._histograms:
            if array.name not in self._streams:
                self._streams[array.name] = by_thread(array.stream)
            stream = self._streams[array.name]
            self._histograms[key] = reuse_histogram(
                stream,
                array_bytes=array.bytes,
                block_bytes=array.element_bytes,
                groups=cache_groups(stream, cache.scope, self._machine.processor.sms_per_tpc),
                limit=array.bytes // array.element_bytes + 1,
            )
        histogram = self._histograms[key]
        elements = (cache.size_bytes or 0) / max(1, sharers) / array.element_bytes
        touches = histogram.touches.sum()
        return float((histogram.far(elements).sum() + histogram.cold.sum()) / touches)

    def _concurrency(self, memory: Memory, alpha: float) -> float:
        spaces = [s for s in self._machine.spaces if memory.name in s.levels]
        if any(s.way is not Way.HOST_BUFFER for s in spaces):
            return alpha
        home = any(s.levels[-1] == memory.name for s in spaces)
        return CONSTANT_ALPHA if home or self._reading.serial_constant_caches else alpha
