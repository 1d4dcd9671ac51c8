"""All caches of a machine through a launch: waves of line requests go in, counts come out."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.machine.machine import Machine
from placewise.memory.simulate.caches.cache import held_sectors, new_caches
from placewise.memory.simulate.caches.constant_caches import new_constant_caches
from placewise.memory.simulate.caches.hierarchy import Hierarchy
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
    """What a launch needs of the caches beyond the common case."""

    constant: bool = False
    """There are loads that go through caches of constant memory."""
    evicts_first: bool = False
    """There are loads whose lines are evicted before others."""
    keeps: bool = False
    """There are loads whose lines an SM's cache evicts last."""
    prefetched_bytes: int = 0
    """Most bytes that L2 fetches together for a load that asks for it."""
    window: PolicyWindow = NO_WINDOW
    """Lines that L2 keeps a share of."""
    set_aside: float = 0.0
    """Part of L2 that may hold lines kept by the window."""
    slices: bool = False
    """Count what L2 is asked by slice."""
    arrived: int = 0
    """Keep the numbers of so many of the first lines that L2 is asked for."""


class Levels:
    """State of all caches, and counts by access stream from the launch's start on."""

    # The state of every cache in turn, in the order of the path from an SM to DRAM.
    def __init__(
        self,
        machine: Machine,
        hierarchy: Hierarchy,
        sizes: Sizes,
        streams: Streams,
        seed: int,
        wanted: Wanted,
    ) -> None:
        """``hierarchy`` are the machine's caches; ``seed`` that of random replacement."""
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
        # Each thread simulates half the sets, if their number is even and no line is fetched
        # together with one of the other half.
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
            shape = replace(
                shape,
                evicts_first=wanted.evicts_first or windowed,
                kept_ways=max(1, int(h.last.ways * wanted.set_aside)) if windowed else 0,
            )
            self._last = [
                L2Shard(
                    n, new_caches([shape], seed + 1 + n, per_line), per_line, h.last.write,
                    streams, self._missed, self._counts[n], self._logs[n], work[n], wanted.window,
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
        # One line request can miss in a longer line of constant memory, which is several here.
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
        """Make room for so many line requests that the SMs' caches miss."""
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
        """Count DRAM traffic where there is no L2: DRAM is asked for all that the SMs' caches miss,
        and gets what stores and atomics write."""
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
        """Count address translation and slices, where the machine's file has them; keep lines."""
        if len(self._tlbs.level) or self._slices.facts.any() or len(self._arrived.line):
            m = self._missed
            work = np.empty(m.length.size, np.int64)
            run_arrivals(m, self._streams, self._tlbs, self._slices, self._arrived, work)

    def close(self) -> None:
        """End the threads; nothing more will be run."""
        self._pool.shutdown()

    def counts(self) -> Counts:
        """A copy of what was counted so far."""
        n = int(self._streams.used[0])
        rows, constant = self._streams.rows[:n], (self._constant.asked, self._constant.missed)
        lines = np.zeros((2, 0, n), np.int64)
        if self.constant_levels:
            lines = np.array([c[..., :n].sum(0) for c in constant])
        written = sum(int(c.written[0]) for c in self._counts)
        return Counts(
            accesses=rows["accesses"].copy(),
            sectors=rows["sectors"].copy(),
            l1_overfetch=np.array([c.overfetch[:n] for c in self._first]),
            asked=np.array([c.asked[:n] for c in self._counts]),
            misses=np.array([c.misses[:n] for c in self._counts]),
            l2_overfetch=np.array([c.overfetch[:n] for c in self._counts]),
            constant=lines,
            written=written,
            dirtied=written + sum(int(shard.cache.dirty[0]) for shard in self._last),
        )

    @property
    def constant_levels(self) -> int:
        """Levels of caches of constant memory that are simulated."""
        return len(self._constant.sectors)

    def close_wave(self) -> None:
        """What was run since the last call is one wave."""
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
        """What the banks of the DRAM are asked in the whole launch, of which ``part`` was traced
        last; None where their mapping is not known. To be called once. ``lines``, ``ends`` and
        ``distance`` are as for :meth:`placewise.memory.simulate.dram.arrivals.Arrivals.traffic`."""
        if not self._banks:
            return None
        shifts = self._sizes.line_shift, self._sizes.sector_shift
        return self._arrivals.traffic(
            self._banks, self._rounds, part, lines, ends, distance, shifts
        )

    @property
    def tlb_names(self) -> tuple[str, ...]:
        """The levels of address translation that are simulated, nearest first."""
        return tuple(t.name for t in simulated_tlbs(self._machine))

    @property
    def tlb_asked(self) -> NDArray[np.int64]:
        """(levels, streams) lines whose page each level of address translation was asked for."""
        return self._tlbs.requests

    @property
    def tlb_hits(self) -> NDArray[np.int64]:
        """(levels, streams) lines whose page each level of address translation had."""
        return self._tlbs.hits

    @property
    def arrived(self) -> NDArray[np.int64]:
        """The first lines that L2 is asked for, in order: as many as are kept."""
        return self._arrived.line[: int(self._arrived.used[0])].copy()

    @property
    def slices(self) -> SliceTraffic | None:
        """What the slices of L2 were asked; None where they are not counted."""
        return slice_traffic(self._slices)

    @property
    def held(self) -> float:
        """Sectors that L2 holds when full."""
        return sum(held_sectors(shard.cache) for shard in self._last)
