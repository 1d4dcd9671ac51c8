"""Simulates all caches of a machine through a launch, from waves of line requests to counts."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.machine.machine import Machine
from placewise.memory.simulate.caches.cache import WRITE_BACK, held_sectors, new_caches
from placewise.memory.simulate.caches.constant_caches import new_constant_caches
from placewise.memory.simulate.caches.hierarchy import Hierarchy
from placewise.memory.simulate.caches.last_level.dirty_lines import new_dirty_lines
from placewise.memory.simulate.caches.last_level.l2 import L2Counts, L2Shard, run_l2
from placewise.memory.simulate.caches.last_level.l2_arrivals import new_arrived, run_arrivals
from placewise.memory.simulate.caches.last_level.policy_window import NO_WINDOW, PolicyWindow
from placewise.memory.simulate.caches.last_level.slices import (
    SliceTraffic,
    new_slices,
    slice_traffic,
)
from placewise.memory.simulate.caches.miss_queue import Missed
from placewise.memory.simulate.caches.sm_caches import SmCaches, new_workspace
from placewise.memory.simulate.caches.tlb import new_tlbs, simulated_tlbs
from placewise.memory.simulate.dram.arrivals import Arrivals, Part, new_issued
from placewise.memory.simulate.dram.banks import BankTraffic, new_banks, new_log
from placewise.memory.simulate.metrics.wave_counts import Counts
from placewise.memory.simulate.requests.line_requests import (
    MOST_STREAMS,
    SECTOR_BIT,
    SECTORS,
    STREAM_BIT,
    Buffer,
    Sizes,
)
from placewise.memory.simulate.requests.streams import LOAD, Streams
from placewise.memory.simulate.schedule import wave as wv

THREADS = 2
"""Threads that share the simulation: half the SMs each, then half the sets of L2 each."""


class Wanted(NamedTuple):
    """Optional features of the caches that a launch needs."""

    constant: bool = False
    """Whether there are loads that go through caches of constant memory."""
    evicts_first: bool = False
    """Whether there are loads whose lines are evicted before others."""
    keeps: bool = False
    """Whether there are loads whose lines an SM's cache evicts last."""
    prefetched_bytes: int = 0
    """Most bytes that L2 fetches together for a load that asks for it."""
    window: PolicyWindow = NO_WINDOW
    """The access policy window: L2 keeps a share of its lines."""
    set_aside: float = 0.0
    """Part of L2 that may hold lines kept by the window."""
    slices: bool = False
    """Whether to count requests to L2 by slice."""
    arrived: int = 0
    """How many of the first lines that L2 is asked for are recorded."""


class Levels:
    """State of all caches, and counts by access stream since the launch's start."""

    # Sets up the state of every cache, in the order of the path from an SM to DRAM.
    def __init__(
        self,
        machine: Machine,
        hierarchy: Hierarchy,
        sizes: Sizes,
        streams: Streams,
        seed: int,
        wanted: Wanted,
    ) -> None:
        """``hierarchy`` has the machine's caches; ``seed`` is the seed of random replacement."""
        h, sms, count = hierarchy, machine.processor.sms, len(streams.rows)
        self._sizes, self._streams = sizes, streams
        self._machine = machine
        lines = (h.line_bytes, h.sector_bytes)
        per_line = h.line_bytes // h.sector_bytes
        shapes = [
            replace(
                g.geometry(sms, *lines),
                evicts_first=wanted.evicts_first,
                kept_ways=g.ways if wanted.keeps else 0,
            )
            for g in h.first
        ]
        # Each thread simulates half of the sets, if their number is even and lines of both halves
        # are never fetched together.
        alone = wanted.prefetched_bytes <= h.line_bytes
        shards = THREADS if h.last and h.last.sets % THREADS == 0 and alone else 1
        self._missed = Missed(
            np.empty(0, np.int64),
            np.empty(0, np.int32),
            *np.zeros((2, shards, sms), np.int64),
            *np.zeros((2, sms), np.int64),
        )
        self._rounds = 0
        self._banks = new_banks(machine.dram)
        self._logs = [new_log(0) for _ in range(2)]
        self._arrivals = Arrivals()
        self._tlbs = new_tlbs(machine, h.line_bytes, count, seed)
        self._slices = new_slices(machine, h if wanted.slices else None, seed)
        self._arrived = new_arrived(wanted.arrived)
        constant = h.constant if wanted.constant else ()
        self._constant = new_constant_caches(constant, sms, *lines, count)
        self._most_misses = int(self._constant.window[0]) // per_line
        self._counts = [
            L2Counts(*(np.zeros(n, np.int64) for n in (count, count, count, 1)))
            for _ in range(THREADS)
        ]
        per_sm = sizes.resident * sizes.warps
        allocates = [g.allocates for g in h.first]
        work = [new_workspace(per_sm, sms, count, shards, allocates) for _ in range(THREADS)]
        first = new_caches(shapes, seed, per_line)
        self._first = [
            SmCaches(first, self._constant, per_line, self._missed, np.zeros(count, np.int64), w)
            for w in work
        ]
        self._last: list[L2Shard] = []
        if h.last:
            shape = h.last.geometry(1, *lines, shards=shards)
            windowed = wanted.window.end > 0
            most_dirty = None if h.last.write != WRITE_BACK else h.last.memory.detail.most_dirty
            shape = replace(
                shape,
                evicts_first=wanted.evicts_first or windowed,
                kept_ways=max(1, int(h.last.ways * wanted.set_aside)) if windowed else 0,
            )
            self._last = [
                L2Shard(
                    n, new_caches([shape], seed + 1 + n, per_line), per_line, h.last.write,
                    streams, self._missed, self._counts[n], self._logs[n], work[n], wanted.window,
                    new_dirty_lines(shape, most_dirty, per_line),
                )
                for n in range(shards)
            ]  # fmt: skip
        self._pool = ThreadPoolExecutor(THREADS - 1)

    def run(self, buffer: Buffer) -> None:
        """Run the line requests that a buffer holds through all caches."""
        requests, segments = (int(n) for n in buffer.used)
        if not segments:
            return
        sizes = self._sizes
        slots = sizes.sms * sizes.resident * sizes.warps
        wave = wv.Wave(
            buffer.request,
            np.empty(slots + 1, np.int64),
            np.empty((segments, 3), np.int64),
            np.empty(sizes.sms + 1, np.int64),
            new_issued(),
        )
        wv.sort_segments(buffer, wave, np.empty(slots, np.int64))
        if self._banks:
            of_sms = np.diff(wave.sm_requests)
            most = int(of_sms.argmax())
            wave = wave._replace(issued=new_issued(most, int(of_sms[most])))
        # A line request may miss in a longer line of a constant cache, which is several line
        # requests here.
        wave.sm_requests[:] *= self._most_misses
        self._make_room(requests * self._most_misses)
        bounds = [sizes.sms * n // THREADS for n in range(THREADS + 1)]

        def first_caches(t: int) -> None:
            own = bounds[t], bounds[t + 1]
            wv.run_sms(*own, wave, self._streams, sizes.warps, self._first[t])

        def last_cache(t: int) -> None:
            run_l2(self._last[t], self._rounds)

        self._at_once(first_caches, THREADS)
        if self._last:
            self._at_once(last_cache, len(self._last))
        else:
            self._count_missed()
        self._arrive()
        if self._banks:
            self._arrivals.keep(self._logs, wave.issued, self._rounds)
        self._rounds += int(self._missed.rounds.max())

    def _make_room(self, requests: int) -> None:
        """Make room for ``requests`` line requests that the SMs' caches miss."""
        size = requests * self._missed.length.shape[0]
        if len(self._missed.request) >= size:
            return
        new = np.empty(size, np.int64), np.empty(size, np.int32)
        self._missed = self._missed._replace(request=new[0], end=new[1])
        if self._banks:
            # A line request can have as many lines of L2 as sectors, each of which evicts one.
            per_line = self._first[0].per_line
            self._logs = [new_log(2 * requests * per_line) for _ in range(2)]
        self._first = [caches._replace(missed=self._missed) for caches in self._first]
        self._last = [
            shard._replace(missed=self._missed, log=log)
            for shard, log in zip(self._last, self._logs, strict=False)
        ]

    def _count_missed(self) -> None:
        """Count DRAM traffic where there is no L2: all requests that miss the SMs' caches, stores
        and atomics go to DRAM."""
        m, counts = self._missed, self._counts[0]
        stretches = zip(m.first[0], m.length[0], strict=True)
        requests = np.concatenate([m.request[first : first + n] for first, n in stretches])
        sectors = np.bitwise_count((requests >> SECTOR_BIT) & SECTORS)
        asked = np.bincount(
            (requests >> STREAM_BIT) & MOST_STREAMS, sectors, minlength=len(counts.asked)
        ).astype(np.int64)
        counts.asked[:] += asked
        counts.misses[:] += asked
        counts.written[0] += int(asked[self._streams.rows["kind"] != LOAD].sum())

    def _at_once(self, work: Callable[[int], None], count: int) -> None:
        jobs = [self._pool.submit(work, n) for n in range(1, count)]
        work(0)
        for job in jobs:
            job.result()

    def _arrive(self) -> None:
        """Count address translation and slices, if the machine file describes them, and record
        lines."""
        if len(self._tlbs.level) or self._slices.facts.any() or len(self._arrived.line):
            m = self._missed
            work = np.empty(m.length.size, np.int64)
            run_arrivals(m, self._streams, self._tlbs, self._slices, self._arrived, work)

    def close(self) -> None:
        """End the threads. Nothing can be run afterwards."""
        self._pool.shutdown()

    def counts(self) -> Counts:
        """A copy of the counts so far."""
        n = int(self._streams.used[0])
        rows, constant = self._streams.rows[:n], (self._constant.asked, self._constant.missed)
        lines = np.zeros((2, 0, n), np.int64)
        if self.constant_levels:
            lines = np.array([c[..., :n].sum(0) for c in constant])
        written = sum(int(c.written[0]) for c in self._counts)
        if any(shard.dirty.counted for shard in self._last):
            dirtied = sum(int(shard.dirty.dirtied[0]) for shard in self._last)
        else:
            dirtied = written + sum(int(shard.cache.dirty[0]) for shard in self._last)
        return Counts(
            accesses=rows["accesses"].copy(),
            sectors=rows["sectors"].copy(),
            l1_overfetch=np.array([c.overfetch[:n] for c in self._first]),
            asked=np.array([c.asked[:n] for c in self._counts]),
            misses=np.array([c.misses[:n] for c in self._counts]),
            l2_overfetch=np.array([c.overfetch[:n] for c in self._counts]),
            constant=lines,
            written=written,
            dirtied=dirtied,
        )

    @property
    def constant_levels(self) -> int:
        """Number of levels of constant caches that are simulated."""
        return len(self._constant.sectors)

    def close_wave(self) -> None:
        """End a wave: everything that was run since the last call belongs to it."""
        self._arrivals.close_wave()

    @property
    def has_banks(self) -> bool:
        """Whether the machine's file maps addresses to banks of DRAM."""
        return self._banks is not None

    def banks(
        self,
        part: Part,
        lines: NDArray[np.int64],
        ends: NDArray[np.int64],
        distance: NDArray[np.float64] | None,
    ) -> BankTraffic | None:
        """Requests to the banks of DRAM in the whole launch, of which ``part`` was traced last;
        None where the address mapping is not known. To be called once. ``lines`` and ``ends``
        (arrays,) are the first line of each array and the line after its last; ``distance``
        (streams,) is the number of instructions between bursts, as
        :meth:`placewise.memory.simulate.dram.arrivals.Arrivals.traffic` takes it."""
        if not self._banks:
            return None
        shifts = self._sizes.line_shift, self._sizes.sector_shift
        return self._arrivals.traffic(
            self._banks, self._rounds, part, lines, ends, distance, shifts
        )

    @property
    def tlb_names(self) -> tuple[str, ...]:
        """Names of the levels of address translation that are simulated, nearest first."""
        return tuple(t.name for t in simulated_tlbs(self._machine))

    @property
    def tlb_asked(self) -> NDArray[np.int64]:
        """(levels, streams) number of lines whose page each level of address translation was asked
        for."""
        return self._tlbs.requests

    @property
    def tlb_hits(self) -> NDArray[np.int64]:
        """(levels, streams) number of lines whose page each level of address translation had."""
        return self._tlbs.hits

    @property
    def arrived(self) -> NDArray[np.int64]:
        """The recorded first lines that L2 is asked for, in order."""
        return self._arrived.line[: int(self._arrived.used[0])].copy()

    @property
    def slices(self) -> SliceTraffic | None:
        """Sectors asked of the slices of L2; None where they are not counted."""
        return slice_traffic(self._slices)

    @property
    def held(self) -> float:
        """Number of sectors that L2 holds when full."""
        return sum(held_sectors(shard.cache) for shard in self._last)
