"""The caches of a machine through a launch: waves of requests go in, hits and traffic come out."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from placewise.machine.machine import Machine
from placewise.memory.simulate.caches.cache import held_sectors, new_caches
from placewise.memory.simulate.caches.constant_caches import new_constant_caches
from placewise.memory.simulate.caches.hierarchy import Hierarchy
from placewise.memory.simulate.caches.l2 import run_l2
from placewise.memory.simulate.caches.l2_arrivals import new_arrived, run_arrivals
from placewise.memory.simulate.caches.miss_queue import Missed
from placewise.memory.simulate.caches.slices import SliceTraffic, new_slices, slice_traffic
from placewise.memory.simulate.caches.sm_caches import new_room
from placewise.memory.simulate.caches.tlb import new_tlbs, simulated_tlbs
from placewise.memory.simulate.dram.banks import (
    BankTraffic,
    bank_traffic,
    new_banks,
    new_log,
    run_banks,
)
from placewise.memory.simulate.metrics.wave_counts import Counts
from placewise.memory.simulate.requests.collect import LOAD, Pairs
from placewise.memory.simulate.requests.line_requests import (
    MOST_PAIRS,
    PAIR_BIT,
    SECTOR_BIT,
    SECTORS,
    Buffer,
    Cut,
)
from placewise.memory.simulate.schedule import wave as wv

THREADS = 2
"""SMs, and sets of L2, are shared out among so many threads."""


class Levels:
    """State and counts of all caches. What is counted is counted by pair of instruction and array,
    from the launch's start on."""

    def __init__(
        self,
        machine: Machine,
        hierarchy: Hierarchy,
        cut: Cut,
        pairs: Pairs,
        seed: int,
        *,
        constant: bool = False,
        evicts_first: bool = False,
        slices: bool = False,
        arrived: int = 0,
    ) -> None:
        """``constant``: there are loads that go through caches of constant memory;
        ``evicts_first``: loads whose lines are to be driven out before others; ``slices``: what the
        cache of the die is asked is told apart by its slices; ``arrived``: of how many of the first
        lines that it is asked for the numbers are kept."""
        h, sms = hierarchy, machine.processor.sms
        self._cut, self._pairs = cut, pairs
        self._per_line = h.line_bytes // h.sector_bytes
        lines = (h.line_bytes, h.sector_bytes)
        shapes = [g.geometry(sms, *lines) for g in h.first]
        shapes = [replace(g, evicts_first=evicts_first) for g in shapes]
        self._first = new_caches(shapes, seed, self._per_line)
        # Half the sets are simulated by each thread, if the sets are an even number.
        shares = THREADS if h.last and h.last.sets % THREADS == 0 else 1
        last = [h.last.geometry(1, *lines, shares=shares)] if h.last else []
        last = [replace(g, evicts_first=evicts_first) for g in last]
        numbers = range(shares if last else 0)
        self._last = [new_caches(last, seed + 1 + n, self._per_line) for n in numbers]
        self._shares = shares
        self._missed = Missed(
            np.empty(0, np.int64),
            np.empty(0, np.int32),
            *np.zeros((2, shares, sms), np.int64),
            *np.zeros((2, sms), np.int64),
        )
        self._machine = machine
        self._write = h.last.write if h.last else 0
        self._rounds = 0
        self._banks = new_banks(machine.dram)
        self._logs = [new_log(0) for _ in range(2)]
        self._tlbs = new_tlbs(machine, h.line_bytes, len(pairs.rows), seed)
        self._slices = new_slices(machine, h if slices else None, seed)
        self._arrived = new_arrived(arrived)
        count = len(pairs.rows)
        own = h.constant if constant else ()
        self._constant = new_constant_caches(own, sms, *lines, count)
        self._passed = int(self._constant.window[0]) // self._per_line
        self._l1_beyond = np.zeros((THREADS, count), np.int64)
        self._asked = np.zeros((THREADS, count), np.int64)
        self._lacking = np.zeros((THREADS, count), np.int64)
        self._l2_beyond = np.zeros((THREADS, count), np.int64)
        self._written = np.zeros((THREADS, 1), np.int64)
        per_sm = cut.resident * cut.warps
        allocates = [g.allocates for g in h.first]
        self._room = [new_room(per_sm, sms, count, shares, allocates) for _ in range(THREADS)]
        self._pool = ThreadPoolExecutor(THREADS - 1)

    def run(self, buffer: Buffer) -> None:
        """Run what a buffer holds."""
        parts, segments = (int(n) for n in buffer.used)
        if not segments:
            return
        cut = self._cut
        seats = cut.sms * cut.resident * cut.warps
        wave = wv.Wave(
            buffer.part,
            np.empty(seats + 1, np.int64),
            np.empty((segments, 3), np.int64),
            np.empty(cut.sms + 1, np.int64),
        )
        wv.sort_segments(buffer, wave, np.empty(seats, np.int64))
        # A part can have so many lines of requests fetched.
        parts *= self._passed
        wave.sm_part[:] *= self._passed
        room = parts * self._shares
        if len(self._missed.part) < room:
            new = np.empty(room, np.int64), np.empty(room, np.int32)
            self._missed = self._missed._replace(part=new[0], end=new[1])
            if self._banks:
                # A part can have as many lines of the last cache as sectors, each driving one out.
                self._logs = [new_log(2 * parts * self._per_line) for _ in range(2)]
        bounds = [cut.sms * n // THREADS for n in range(THREADS + 1)]

        def first_caches(t: int) -> None:
            wv.run_sms(
                bounds[t], bounds[t + 1], wave, self._pairs, self._first, self._per_line,
                cut.warps, self._missed, self._l1_beyond[t], self._room[t], self._constant,
            )  # fmt: skip

        def last_cache(t: int) -> None:
            run_l2(
                self._pairs, self._missed, self._last[t], self._per_line, t,
                self._asked[t], self._lacking[t], self._l2_beyond[t], self._written[t],
                self._room[t], self._write, self._rounds, self._logs[t],
            )  # fmt: skip

        self._at_once(first_caches, THREADS)
        if self._last:
            self._at_once(last_cache, len(self._last))
        else:
            self._count_missed()
        self._arrive()
        if self._banks:
            run_banks(*self._logs, self._banks, cut.line_shift, cut.sector_shift)
        self._rounds += int(self._missed.rounds.max())

    def _count_missed(self) -> None:
        """Without a cache of the die DRAM is asked for all that caches of the SMs pass on, and gets
        what stores and atomics write."""
        m = self._missed
        stretches = zip(m.first[0], m.length[0], strict=True)
        parts = np.concatenate([m.part[first : first + n] for first, n in stretches])
        sectors = np.bitwise_count((parts >> SECTOR_BIT) & SECTORS)
        counts = np.bincount(
            (parts >> PAIR_BIT) & MOST_PAIRS, sectors, minlength=self._asked.shape[1]
        )
        self._asked[0] += counts.astype(np.int64)
        self._lacking[0] += counts.astype(np.int64)
        self._written[0] += int(counts[self._pairs.rows["kind"] != LOAD].sum())

    def _at_once(self, work: Callable[[int], None], count: int) -> None:
        jobs = [self._pool.submit(work, n) for n in range(1, count)]
        work(0)
        for job in jobs:
            job.result()

    def _arrive(self) -> None:
        """Address translation and slices, where they are known, and lines where they are kept."""
        if len(self._tlbs.level) or self._slices.facts.any() or len(self._arrived.line):
            m = self._missed
            room = np.empty(m.length.size, np.int64)
            run_arrivals(m, self._pairs, self._tlbs, self._slices, self._arrived, room)

    def close(self) -> None:
        """Nothing more will be run."""
        self._pool.shutdown()

    def counts(self) -> Counts:
        """What was counted so far."""
        n = int(self._pairs.used[0])
        rows, constant = self._pairs.rows[:n], (self._constant.asked, self._constant.missed)
        lines = np.zeros((2, 0, n), np.int64)
        if self.constant_levels:
            lines = np.array([c[..., :n].sum(0) for c in constant])
        written = int(self._written.sum())
        return Counts(
            requests=rows["requests"].copy(),
            sectors=rows["sectors"].copy(),
            l1_beyond=self._l1_beyond[:, :n].copy(),
            asked=self._asked[:, :n].copy(),
            lacking=self._lacking[:, :n].copy(),
            l2_beyond=self._l2_beyond[:, :n].copy(),
            constant=lines,
            written=written,
            dirtied=written + sum(int(c.dirty[0]) for c in self._last),
        )

    @property
    def constant_levels(self) -> int:
        """Levels of caches of constant memory that are simulated."""
        return len(self._constant.sectors)

    @property
    def banks(self) -> BankTraffic | None:
        """What the banks of the DRAM were asked; None where their mapping is not known."""
        return bank_traffic(self._banks, self._rounds) if self._banks else None

    @property
    def tlb_names(self) -> tuple[str, ...]:
        """The levels of address translation that are simulated, nearest first."""
        return tuple(t.name for t in simulated_tlbs(self._machine))

    @property
    def tlb_asked(self) -> NDArray[np.int64]:
        """(levels, pairs) lines whose page each level of address translation was asked for."""
        return self._tlbs.requests

    @property
    def tlb_hits(self) -> NDArray[np.int64]:
        """(levels, pairs) those of them that it had."""
        return self._tlbs.hits

    @property
    def arrived(self) -> NDArray[np.int64]:
        """The first lines that the cache of the die is asked for, in order: as many as are kept."""
        return self._arrived.line[: int(self._arrived.used[0])].copy()

    @property
    def slices(self) -> SliceTraffic | None:
        """What the slices of the cache of the die were asked; None where nobody wants to know."""
        return slice_traffic(self._slices)

    @property
    def held(self) -> float:
        """Sectors that the cache of the die holds when full."""
        return sum(held_sectors(c) for c in self._last)
