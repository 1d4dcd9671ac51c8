"""A trace consumer that is the machine's memory system.

Blocks go to SMs in turn and stay as occupancy has it: a wave is what all SMs hold at a time. The
executor delivers a block's accesses warp by warp; they are kept until the wave is complete and then
run interleaved (:mod:`placewise.memory.simulate.wave`). Caches live on from wave to wave, and start
empty, as a profiler has them that clears caches before each kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError, UnsupportedError
from placewise.execute.trace import Site, TraceChunk, lane_offsets, some_accesses
from placewise.kernel.launch import Launch
from placewise.machine.machine import Machine, Memory
from placewise.memory.occupancy import Occupancy
from placewise.memory.simulate import compiled as cp
from placewise.memory.simulate import requests as rq
from placewise.memory.simulate.hierarchy import Hierarchy, hierarchy
from placewise.memory.simulate.levels import Levels
from placewise.memory.simulate.patterns import forget, new_patterns
from placewise.memory.simulate.records import records_of
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

PATTERN_SLOTS = 1 << 16
PARTS_AT_ONCE = 1 << 26
"""Parts kept at most (8 bytes each): a wave that has more is run in pieces, block by block."""


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
        self._seed = seed
        self._budget = records
        self._wave = -1
        self._records = 0
        blocks = facts.launch.blocks
        self._per_wave = machine.processor.sms * max(1, facts.occupancy.blocks)
        self._chosen = np.ones(-(-blocks // self._per_wave), np.bool_)
        self._trace_blocks = np.ones(blocks, np.bool_)
        self._waves: list[WaveCounts] = []

    @property
    def trace_blocks(self) -> NDArray[np.bool_]:
        """(blocks,) True where a block is to be traced. After the first wave it narrows in place to
        what the budget of records allows."""
        return self._trace_blocks

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """Start of a run."""
        facts, h = self._facts, self._caches
        self._sites, self._arrays = sites, arrays
        self._routes = routes = Routes(self._machine, h, self._placement)
        sizes = dict(facts.array_bytes)
        lines, local_line = array_lines(
            [sizes.get(a, 0) for a in arrays], h.line_bytes, routes.period
        )
        self.array_lines = lines
        self._rules = rq.Sites(
            *routes.table(sites, arrays),
            lines,
            np.array([s.lane_bytes for s in sites] or [4], np.int32),
            np.array([KINDS[s.kind] for s in sites] or [0], np.int32),
            np.array([facts.bursts is None or s.ptx_line in facts.bursts for s in sites] or [True]),
        )
        resident = max(1, facts.occupancy.blocks)
        self._cut = rq.Cut(
            h.line_bytes.bit_length() - 1,
            h.sector_bytes.bit_length() - 1,
            routes.period,
            self._machine.processor.sms,
            resident,
            facts.launch.warps_per_block,
            routes.local_cache,
            local_line,
            -(-facts.local_bytes // 4),
        )
        self._check_lines()
        self._pairs = rq.new_pairs(len(sites), len(arrays))
        self._patterns = new_patterns(PATTERN_SLOTS)
        self._banked = np.zeros(len(self._pairs.site))
        self._levels = Levels(self._machine, h, self._cut, self._pairs, self._seed)
        self._buffer = rq.new_buffer(self._per_wave)
        self._state = np.full(4, -1, np.int64)
        self._before: tuple[NDArray[np.int64], ...] | None = None

    def _check_lines(self) -> None:
        cut = self._cut
        local = cut.sms * cut.resident * cut.warps * cut.frame_words * 128
        if cut.local_line + (local >> cut.line_shift) >= rq.MOST_LINES:
            raise CaseError(
                "the arrays have more lines than can be simulated",
                hint="lines are numbered in 31 bits",
            )

    def chunk(self, chunk: TraceChunk) -> None:
        """Take one chunk; blocks come in ascending order."""
        records = records_of(chunk)
        at = 0
        while at < len(records):
            wave = int(records["block"][at]) // self._per_wave
            if wave != self._wave:
                self._run_wave()
                self._wave = wave
            if self._chosen[wave]:
                at = self._collect(chunk, records, at)
            else:
                later = records["block"][at:] // self._per_wave > wave
                at = at + int(later.argmax()) if later.any() else len(records)

    def _collect(self, chunk: TraceChunk, records: NDArray[Any], at: int) -> int:
        """Take records of the wave from ``at`` on; returns the first one not taken."""
        left = np.empty(len(records), np.int64)
        stop, count = cp.collect(
            records, at, chunk.offsets, self._wave * self._per_wave, self._rules, self._pairs,
            self._cut, self._patterns, self._buffer, self._state, left,
        )  # fmt: skip
        self._records += stop - at
        if count:
            self._count_irregular(chunk, left[:count])
        why = self._state[rq.FULL]
        if why == rq.NO_PAIR:
            raise UnsupportedError(
                f"more than {rq.MOST_PAIRS} pairs of memory instruction and array"
            )
        if why == rq.NO_PATTERN:
            self._count_patterns()
        elif why == rq.NO_ROOM:
            if self._buffer.used[0] > PARTS_AT_ONCE:
                self._run_wave(last=False)
            else:
                self._buffer = _larger(self._buffer)
        return int(stop)

    def _memory(self, pair: int) -> tuple[Memory | None, int]:
        """The memory whose condition says what a pair's accesses take, and bytes of a lane."""
        site, array = int(self._pairs.site[pair]), int(self._pairs.array[pair])
        name = self._arrays[array] if array >= 0 else None
        return self._routes.banked(self._sites[site], name), self._sites[site].lane_bytes

    def _count_irregular(self, chunk: TraceChunk, at: NDArray[np.int64]) -> None:
        part = some_accesses(chunk, at)
        addresses, mask = lane_offsets(part), np.asarray(part.mask)
        pairs = self._pairs.number[part.site, np.asarray(part.array) + 1]
        for pair in np.unique(pairs).tolist():
            memory, width = self._memory(pair)
            if memory is not None:
                mine = pairs == pair
                counted = banked_transactions(memory, width, addresses[mine], mask[mine])
                self._banked[pair] += counted.sum()

    def _count_patterns(self) -> None:
        """Transactions of the patterns seen so far, which are then forgotten."""
        slots = np.flatnonzero(self._patterns.seen)
        keys, count = self._patterns.keys[slots], self._patterns.seen[slots]
        lane = np.arange(32, dtype=np.int64)
        for pair in np.unique(keys[:, 0]).tolist():
            memory, width = self._memory(pair)
            if memory is None:
                continue
            mine = keys[:, 0] == pair
            place, upper, stride, mask = (keys[mine, k][:, None] for k in range(1, 5))
            addresses = place + stride * (lane & 15) + np.where(lane >= 16, upper, 0)
            lanes = mask[:, 0].astype(np.uint32)
            self._banked[pair] += banked_transactions(memory, width, addresses, lanes) @ count[mine]
        forget(self._patterns)

    def _run_wave(self, *, last: bool = True) -> None:
        """Run what was collected; ``last``: nothing more of this wave will come."""
        self._levels.run(self._buffer)
        self._buffer.used[:] = 0
        self._state[:3] = -1
        if last and self._buffer.seen.any():
            self._close_wave()

    def _close_wave(self) -> None:
        levels = self._levels
        now = (
            self._by_site(self._pairs.stats[:, rq.REQUESTS]),
            self._by_site(levels.l1_hits),
            self._by_site(levels.l2_hits),
            self._by_site(levels.fetched),
            np.array([levels.written, levels.dirtied]),
        )
        before = self._before or tuple(np.zeros_like(n) for n in now)
        requests, l1, l2, dram, out = (n - b for n, b in zip(now, before, strict=True))
        self._before = now
        counted = bool(counted_waves(self._chosen)[self._wave])
        blocks = int(self._buffer.seen.sum())
        self._waves.append(
            WaveCounts(
                self._wave, blocks, counted, requests, l1, l2, dram, int(out[0]), int(out[1])
            )
        )
        self._buffer.seen[:] = False
        if len(self._waves) == 1 and len(self._chosen) > 1:
            self._chosen = sampled_waves(len(self._chosen), self._budget // max(1, self._records))
            self._trace_blocks &= np.repeat(self._chosen, self._per_wave)[: self._trace_blocks.size]

    def _by_site(self, of_pairs: NDArray[Any]) -> NDArray[np.int64]:
        """(sites,) sums of a count by pair."""
        used = int(self._pairs.used[0])
        sums = np.zeros(max(1, len(self._sites)), np.int64)
        np.add.at(sums, self._pairs.site[:used], of_pairs[:used])
        return sums

    def traffic(self, executions: NDArray[np.int64] | None = None) -> Traffic:
        """What the launch did. Call it once, after the run.

        ``executions`` (sites,) is how often each instruction was executed in the whole launch,
        where that is known; else what was traced is scaled by blocks.
        """
        self._run_wave()
        self._count_patterns()
        self._levels.close()
        blocks = self._facts.launch.blocks
        stats = [self._by_site(self._pairs.stats[:, n]) for n in range(4)]
        counted, lanes, sectors, lines = stats
        traced = max(1, sum(w.blocks for w in self._waves))
        scale = np.full(len(counted), blocks / traced)
        if executions is not None and len(executions):
            np.divide(executions, counted, out=scale, where=counted > 0)
        banked = np.zeros(len(counted))
        used = int(self._pairs.used[0])
        np.add.at(banked, self._pairs.site[:used], self._banked[:used])
        none = [WaveCounts(0, blocks, True, *(np.zeros_like(counted),) * 4, 0, 0)]
        waves = self._waves or none

        requests = np.array([w.requests for w in waves])
        total = counted * scale

        def whole(name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            return whole_launch(waves, np.array([getattr(w, name) for w in waves]), requests, total)

        writing = (self._rules.kind != rq.LOAD) & (sectors > 0)
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
                requests=float(total[n]),
                lanes=float(lanes[n] * scale[n]),
                sectors=float(sectors[n] * scale[n]),
                lines=float(lines[n] * scale[n]),
                wavefronts=float(banked[n] * scale[n]),
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
            held=self._levels.held,
            traced=traced / blocks,
            sector_bytes=self._caches.sector_bytes,
        )

    def _array_of(self, site: int) -> str | None:
        """The array that an instruction accessed first."""
        seen = self._pairs.number[site]
        arrays = np.flatnonzero(seen >= 0)
        if not len(arrays):
            return None
        first = int(arrays[seen[arrays].argmin()])
        return self._arrays[first - 1] if first else None


def _larger(buffer: rq.Buffer) -> rq.Buffer:
    """The buffer with twice the room, where it is nearly full."""
    parts, segments = (int(n) for n in buffer.used)
    part, segment = buffer.part, buffer.segment
    if parts + rq.MOST_PARTS >= len(part):
        part = np.empty(2 * len(part), np.int64)
        part[:parts] = buffer.part[:parts]
    if segments == len(segment):
        segment = np.empty((2 * len(segment), 3), np.int64)
        segment[:segments] = buffer.segment[:segments]
    return buffer._replace(part=part, segment=segment)
