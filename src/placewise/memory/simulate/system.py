"""A trace consumer that is the machine's memory system.

Blocks go to SMs in turn and stay as occupancy has it: a wave is what all SMs hold at a time. The
executor delivers a block's accesses warp by warp; they are kept until the wave is complete and then
run interleaved (:mod:`placewise.memory.simulate.wave`). Caches live on from wave to wave, and start
empty, as a profiler has them that clears caches before each kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from placewise.execute.trace import Site, TraceChunk, lane_offsets, some_accesses
from placewise.kernel.launch import Launch
from placewise.machine.machine import Machine, Memory
from placewise.memory.occupancy import Occupancy
from placewise.memory.simulate import requests as rq
from placewise.memory.simulate import wave as wv
from placewise.memory.simulate.cache import dirty_sectors, held_sectors, new_caches
from placewise.memory.simulate.hierarchy import Hierarchy, hierarchy
from placewise.memory.simulate.routes import KINDS, Routes, array_lines
from placewise.memory.simulate.traffic import (
    CodeTraffic,
    Estimate,
    SiteTraffic,
    Traffic,
    banked_transactions,
)
from placewise.memory.simulate.windows import (
    WaveCounts,
    counted_waves,
    sampled_waves,
    whole_launch,
)

RECORDS = 48_000_000
"""Warp accesses that are run at most, about: a few seconds' work."""

THREADS = 2
"""SMs, and sets of L2, are shared out among so many threads."""

PATTERN_SLOTS = 1 << 16
PARTS_AT_ONCE = 1 << 26
"""Parts kept at most (12 bytes each): a wave that has more is run in pieces, block by block."""


@dataclass(frozen=True)
class LaunchFacts:
    """What the memory system needs to know of a launch."""

    launch: Launch
    occupancy: Occupancy
    shared_bytes: int
    """Static and dynamic shared memory of a block."""
    local_bytes: int
    """Local memory of a thread."""
    array_bytes: tuple[tuple[str, int], ...]
    """Sizes of all arrays by name."""
    bursts: frozenset[int] | None = None
    """Places of the memory instructions that start a burst; None: each is one of its own."""


class MemorySystem:
    """Hand it to the executor as its consumer, then ask :meth:`traffic`.

    ``placement`` says where arrays live that are to be seen elsewhere than the kernel accesses
    them (Huang and Li 2017, section III-E): their accesses take that space's way.
    """

    def __init__(
        self,
        facts: LaunchFacts,
        machine: Machine,
        *,
        placement: Mapping[str, str] | None = None,
        records: int = RECORDS,
        seed: int = 1,
    ) -> None:
        self._facts = facts
        self._machine = machine
        self._placement = dict(placement or {})
        self._caches: Hierarchy = hierarchy(machine, facts.occupancy, facts.shared_bytes)
        h, sms = self._caches, machine.processor.sms
        self._first = new_caches(
            [g.geometry(sms, h.line_bytes, h.sector_bytes) for g in h.first], seed
        )
        last = [h.last.geometry(1, h.line_bytes, h.sector_bytes, shares=THREADS)] if h.last else []
        self._last = [new_caches(last, seed + 1 + n) for n in range(THREADS)] if last else []
        self._pool = ThreadPoolExecutor(THREADS)
        self._budget = records
        self._wave = -1
        self._parts = 0
        self._records = 0
        blocks = facts.launch.blocks
        self._per_wave = machine.processor.sms * max(1, facts.occupancy.blocks)
        self._chosen = np.ones(-(-blocks // self._per_wave), np.bool_)
        self._trace_blocks = np.ones(blocks, np.bool_)
        self._in_wave: set[int] = set()
        self._waves: list[WaveCounts] = []

    @property
    def trace_blocks(self) -> NDArray[np.bool_]:
        """(blocks,) True where a block is to be traced. After the first wave it narrows in place to
        what the budget of records allows."""
        return self._trace_blocks

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """Start of a run."""
        facts, h = self._facts, self._caches
        launch = facts.launch
        self._sites, self._arrays = sites, arrays
        self._routes = routes = Routes(self._machine, h, self._placement)
        sizes = dict(facts.array_bytes)
        period = routes.period
        lines, local_line = array_lines([sizes.get(a, 0) for a in arrays], h.line_bytes, period)
        self.array_lines = lines
        count = max(1, len(sites))
        self._site_array = np.full(count, -1, np.int32)
        self._counts = rq.Sites(
            routes.table(sites, arrays),
            np.array([s.lane_bytes for s in sites] or [4], np.int32),
            np.array([KINDS[s.kind] for s in sites] or [0], np.int32),
            np.array([facts.bursts is None or s.ptx_line in facts.bursts for s in sites] or [True]),
            *(np.zeros(count, np.int64) for _ in range(4)),
        )
        self._geometry = rq.Geometry(
            h.line_bytes,
            h.sector_bytes,
            period,
            self._machine.processor.sms,
            max(1, facts.occupancy.blocks),
            launch.warps_per_block,
            -(-facts.local_bytes // 4),
            routes.local_cache,
            local_line,
        )
        self._patterns = rq.new_patterns(PATTERN_SLOTS)
        self._irregular = np.zeros(count, np.float64)
        self._l1_hits = np.zeros((THREADS, count), np.int64)
        self._l2_hits = np.zeros((THREADS, count), np.int64)
        self._fetched = np.zeros((THREADS, count), np.int64)
        self._written = np.zeros((THREADS, 1), np.int64)
        self._buffer = rq.Buffer(
            np.empty(0, np.int64),
            np.empty(0, np.int32),
            np.empty((0, 4), np.int64),
            np.zeros(2, np.int64),
        )
        self._last_segment = np.full(3, -1, np.int64)
        self._before: list[NDArray[np.int64]] = []
        self._missed: wv.Missed | None = None

    def chunk(self, chunk: TraceChunk) -> None:
        """Take one chunk; blocks come in ascending order."""
        if not len(chunk):
            return
        columns = rq.Columns(**{f: getattr(chunk, f) for f in rq.Columns._fields})
        waves = columns.block // self._per_wave
        cuts = [0, *(np.flatnonzero(np.diff(waves)) + 1).tolist(), len(waves)]
        for start, stop in pairwise(cuts):
            wave = int(waves[start])
            if wave != self._wave or self._buffer.used[0] > PARTS_AT_ONCE:
                self._run_wave(last=wave != self._wave)
                self._wave = wave
            if not self._chosen[wave]:
                continue
            self._collect(chunk, columns, start, stop)

    def _collect(self, chunk: TraceChunk, columns: rq.Columns, start: int, stop: int) -> None:
        self._records += stop - start
        self._in_wave.update(np.unique(columns.block[start:stop]).tolist())
        first_seen = self._site_array[columns.site[start:stop]] < 0
        if first_seen.any():
            at = np.flatnonzero(first_seen) + start
            self._site_array[columns.site[at]] = columns.array[at]
        self._buffer = _with_room(self._buffer, (stop - start) * rq.MOST_PARTS, stop - start)
        left = np.empty(stop - start, np.int64)
        count = rq.collect(
            columns, start, stop, self._counts, self.array_lines, self._geometry, self._patterns,
            self._buffer, self._last_segment, left,
        )  # fmt: skip
        if count:
            self._count_irregular(chunk, left[:count])

    def _count_irregular(self, chunk: TraceChunk, at: NDArray[np.int64]) -> None:
        part = some_accesses(chunk, at)
        addresses, mask = lane_offsets(part), np.asarray(part.mask)
        for site in np.unique(part.site).tolist():
            memory = self._banked(site)
            if memory is not None:
                mine = part.site == site
                width = self._sites[site].lane_bytes
                counted = banked_transactions(memory, width, addresses[mine], mask[mine])
                self._irregular[site] += counted.sum()

    def _banked(self, site: int) -> Memory | None:
        return self._routes.banked(self._sites[site], self._array_of(site))

    def _array_of(self, site: int) -> str | None:
        number = self._site_array[site]
        return self._arrays[number] if number >= 0 else None

    def _run_wave(self, *, last: bool = True) -> None:
        """Run what was collected; ``last``: nothing more of this wave will come."""
        parts, segments = (int(n) for n in self._buffer.used)
        if segments:
            wave, phased = _sorted_wave(self._buffer, parts, segments, self._geometry)
            missed = self._room_for_misses(parts)
            self._run_first(wave, missed, phased)
            if self._last:
                self._run_last(wave, missed)
            self._parts += parts
        self._buffer.used[:] = 0
        self._last_segment[:] = -1
        if last and self._in_wave:
            self._close_wave()

    def _room_for_misses(self, parts: int) -> wv.Missed:
        """Arrays for what L1s pass on, used again wave by wave."""
        if self._missed is None or len(self._missed.part) < parts:
            self._missed = wv.Missed(
                np.empty(parts, np.int64),
                np.empty(parts, np.int32),
                np.empty(parts, np.int32),
                np.zeros(self._geometry.sms, np.int64),
            )
        return self._missed

    def _close_wave(self) -> None:
        now = [
            self._counts.requests.copy(),
            self._l1_hits.sum(0),
            self._l2_hits.sum(0),
            self._fetched.sum(0),
            self._written.sum(0),
            self._written.sum(0) + sum(dirty_sectors(c) for c in self._last),
        ]
        before = self._before or [np.zeros_like(n) for n in now]
        requests, l1, l2, dram, written, dirtied = (n - b for n, b in zip(now, before, strict=True))
        self._before = now
        counted = bool(counted_waves(self._chosen)[self._wave])
        self._waves.append(
            WaveCounts(
                self._wave, len(self._in_wave), counted, requests, l1, l2, dram,
                int(written[0]), int(dirtied[0]),
            )
        )  # fmt: skip
        self._in_wave.clear()
        if len(self._waves) == 1 and len(self._chosen) > 1:
            self._chosen = sampled_waves(len(self._chosen), self._budget // max(1, self._records))
            self._trace_blocks &= np.repeat(self._chosen, self._per_wave)[: self._trace_blocks.size]

    def _run_first(self, wave: wv.Wave, missed: wv.Missed, phased: bool) -> None:
        h, sms = self._caches, self._geometry.sms
        bounds = np.linspace(0, sms, THREADS + 1).astype(int)
        jobs = [
            self._pool.submit(
                wv.run_sms, bounds[t], bounds[t + 1], wave, self._first,
                h.line_bytes // h.sector_bytes, phased, self._parts, missed, self._l1_hits[t],
            )
            for t in range(THREADS)
        ]  # fmt: skip
        for job in jobs:
            job.result()

    def _run_last(self, wave: wv.Wave, missed: wv.Missed) -> None:
        h = self._caches
        jobs = [
            self._pool.submit(
                wv.run_l2, wave, missed, self._last[t], h.line_bytes // h.sector_bytes, t, THREADS,
                self._parts, self._l2_hits[t], self._fetched[t], self._written[t],
            )
            for t in range(THREADS)
        ]  # fmt: skip
        for job in jobs:
            job.result()

    def traffic(self, executions: NDArray[np.int64] | None = None) -> Traffic:
        """What the launch did. Call it once, after the run.

        ``executions`` (sites,) is how often each instruction was executed in the whole launch,
        where that is known; else what was traced is scaled by blocks.
        """
        self._run_wave()
        self._pool.shutdown()
        blocks = self._facts.launch.blocks
        counts = self._counts
        traced = max(1, sum(w.blocks for w in self._waves))
        scale = np.full(len(counts.requests), blocks / traced)
        if executions is not None and len(executions):
            np.divide(executions, counts.requests, out=scale, where=counts.requests > 0)
        banked = (self._irregular + self._banked_by_pattern()) * scale
        none = [WaveCounts(0, blocks, True, *(np.zeros_like(counts.requests),) * 4, 0, 0)]
        waves = self._waves or none

        requests = np.array([w.requests for w in waves])
        total = counts.requests * scale

        def whole(name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            return whole_launch(waves, np.array([getattr(w, name) for w in waves]), requests, total)

        writing = (counts.kind != rq.LOAD) & (counts.sectors > 0)
        l1, l1_error = whole("l1_hits")
        l2, l2_error = whole("l2_hits")
        dram, dram_error = whole("dram")
        out, out_error = whole_launch(
            waves,
            np.array([[w.written, w.dirtied] for w in waves]),
            np.repeat(requests[:, writing].sum(1, keepdims=True), 2, axis=1),
            np.repeat(total[writing].sum(), 2),
        )
        sites = tuple(
            SiteTraffic(
                site=site,
                array=self._array_of(n),
                requests=float(counts.requests[n] * scale[n]),
                lanes=float(counts.lanes[n] * scale[n]),
                sectors=float(counts.sectors[n] * scale[n]),
                lines=float(counts.parts[n] * scale[n]),
                wavefronts=float(banked[n]),
                l1_hits=Estimate(l1[n], l1_error[n]),
                l2_hits=Estimate(l2[n], l2_error[n]),
                dram_sectors=Estimate(dram[n], dram_error[n]),
            )
            for n, site in enumerate(self._sites)
        )
        return Traffic(
            sites,
            written_back=Estimate(out[0], out_error[0]),
            dirtied=Estimate(out[1], out_error[1]),
            instructions=CodeTraffic(),
            held=sum(held_sectors(c) for c in self._last),
            traced=traced / blocks,
            sector_bytes=self._caches.sector_bytes,
        )

    def _banked_by_pattern(self) -> NDArray[np.float64]:
        """(sites,) transactions in banked memories of the accesses that follow patterns."""
        total = np.zeros(max(1, len(self._sites)))
        slots = np.flatnonzero(self._patterns.seen)
        keys, count = self._patterns.keys[slots], self._patterns.seen[slots]
        lane = np.arange(32, dtype=np.int64)
        for n, site in enumerate(self._sites):
            memory = self._banked(n)
            mine = keys[:, 0] == n
            if memory is None or not mine.any():
                continue
            place, upper, stride, mask = (keys[mine, k][:, None] for k in range(1, 5))
            addresses = place + stride * (lane & 15) + np.where(lane >= 16, upper, 0)
            lanes = mask[:, 0].astype(np.uint32)
            each = banked_transactions(memory, site.lane_bytes, addresses, lanes)
            total[n] = each @ count[mine]
        return total


def _with_room(buffer: rq.Buffer, parts: int, segments: int) -> rq.Buffer:
    """The buffer with room for so many more parts and segments."""
    used_parts, used_segments = (int(n) for n in buffer.used)
    part, tag, segment = buffer.part, buffer.tag, buffer.segment
    if used_parts + parts > len(part):
        size = max(2 * len(part), used_parts + parts)
        part, tag = np.empty(size, np.int64), np.empty(size, np.int32)
        part[:used_parts], tag[:used_parts] = buffer.part[:used_parts], buffer.tag[:used_parts]
    if used_segments + segments > len(segment):
        segment = np.empty((max(2 * len(segment), used_segments + segments), 4), np.int64)
        segment[:used_segments] = buffer.segment[:used_segments]
    return rq.Buffer(part, tag, segment, buffer.used)


def _sorted_wave(
    buffer: rq.Buffer, parts: int, segments: int, geometry: rq.Geometry
) -> tuple[wv.Wave, bool]:
    """The wave's segments by SM, block, warp and phase; and whether they are of several phases."""
    block, warp, phase, first = (buffer.segment[:segments, k] for k in range(4))
    end = np.append(first[1:], parts)
    sm = block % geometry.sms
    order = np.lexsort((phase, warp, block, sm))
    sm, block, warp = sm[order], block[order], warp[order]
    new_warp = np.r_[True, (np.diff(block) != 0) | (np.diff(warp) != 0)]
    warp_first = np.flatnonzero(new_warp)
    of_warp = block[warp_first]
    _, number = np.unique(of_warp, return_inverse=True)
    sms = np.arange(geometry.sms + 1)
    sm_warp = np.searchsorted(sm[warp_first], sms)
    length = np.bincount(sm, weights=(end - first)[order], minlength=geometry.sms)
    wave = wv.Wave(
        buffer.part,
        buffer.tag,
        sm_warp.astype(np.int64),
        np.append(warp_first, segments).astype(np.int64),
        number.astype(np.int64),
        np.ascontiguousarray(np.stack([phase, first, end], 1)[order]),
        np.r_[0, np.cumsum(length)].astype(np.int64),
    )
    return wave, int(phase.max()) > int(phase.min())
