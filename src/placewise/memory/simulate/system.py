"""A trace consumer that is the machine's memory system.

Blocks go to SMs as occupancy has it: a wave is what all SMs hold at a time. The executor delivers a
block's accesses warp by warp; they are kept until the wave is complete and then run interleaved
(:mod:`placewise.memory.simulate.schedule.wave`). Caches live on from wave to wave, and start empty,
as a profiler has them that clears caches before each kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.errors import UnsupportedError
from placewise.executor.trace import Site, Taker, TraceChunk
from placewise.kernel.launch import Launch
from placewise.machine.machine import Machine
from placewise.memory.occupancy import Occupancy
from placewise.memory.simulate.caches.hierarchy import Hierarchy, hierarchy
from placewise.memory.simulate.caches.levels import Levels
from placewise.memory.simulate.caches.store_merging import count_neighbours
from placewise.memory.simulate.caches.tlb import TlbTraffic
from placewise.memory.simulate.metrics.traffic import (
    Banked,
    CodeTraffic,
    ConstantFill,
    ConstantTraffic,
    Estimate,
    SiteTraffic,
    Traffic,
    banked_transactions,
)
from placewise.memory.simulate.metrics.wave_counts import Closed, wave_counts
from placewise.memory.simulate.requests import collect as rq
from placewise.memory.simulate.requests import generic_addresses as ga
from placewise.memory.simulate.requests.bank_patterns import forget, new_patterns
from placewise.memory.simulate.requests.line_requests import (
    MOST_PAIRS,
    Cut,
    check_lines,
    larger,
    new_buffer,
    without_parts,
)
from placewise.memory.simulate.requests.routes import (
    KINDS,
    UNKNOWN_BYTES,
    Routes,
    array_lines,
    is_constant_load,
)
from placewise.memory.simulate.requests.trace_records import records_of
from placewise.memory.simulate.schedule.block_to_sm import seats
from placewise.memory.simulate.schedule.windows import (
    WaveCounts,
    counted_waves,
    filling_waves,
    sampled_waves,
    whole_launch,
)
from placewise.memory.simulate.trace_taker import callable_taker, taker, words_of

RECORDS = 48_000_000
"""Warp accesses that are run at most, about: a few seconds' work."""
PATTERN_SLOTS = 1 << 16


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
    """Sizes of arrays by name; of others, such as variables of the module, UNKNOWN_BYTES."""
    bursts: frozenset[int] | None = None
    """Places of the memory instructions that start a burst; None: each is one of its own."""
    filtered: Mapping[str, int] = field(default_factory=dict)
    """Axes along which reads of a texture are filtered, by its name."""
    at_once: int | None = None
    """Blocks of an SM that run at the same time, as far as its caches see; None: all it holds."""

    @property
    def seats(self) -> int:
        """Places of an SM for blocks of a wave."""
        return self.at_once or max(1, self.occupancy.blocks)


class MemorySystem:
    """Hand it to the executor as its consumer, then ask :meth:`traffic`. The executor's code hands
    it accesses without Python; :meth:`chunk` takes those of others.

    ``placement`` says where arrays live that are to be seen elsewhere than the kernel accesses
    them (Huang and Li 2017, section III-E): their accesses take that space's way.
    """

    parallel = False

    def __init__(
        self,
        facts: LaunchFacts,
        machine: Machine,
        *,
        placement: Mapping[str, str] | None = None,
        records: int = RECORDS,
        seed: int = 1,
        slices: bool = False,
        arrived: int = 0,
    ) -> None:
        """``slices``: count what each slice of the cache of the die is asked, too, where the
        machine's file says how many it has. ``arrived``: of so many of the first lines that this
        cache is asked for keep the numbers."""
        self._facts = facts
        self._machine = machine
        self._placement = dict(placement or {})
        self._caches: Hierarchy = hierarchy(machine, facts.occupancy, facts.shared_bytes)
        self._seed = seed
        self._slices, self._arrived = slices, arrived
        self._budget = records
        self._wave = -1
        self._words: NDArray[np.int64] | None = None
        blocks = facts.launch.blocks
        self._per_wave = machine.processor.sms * facts.seats
        self._chosen = np.ones(-(-blocks // self._per_wave), np.bool_)
        self._trace_blocks = np.ones(blocks, np.bool_)
        self._runs_all = False
        self._filling = 1
        self._closed: list[Closed] = []
        self._what: dict[int, Banked | None] = {}

    @property
    def trace_blocks(self) -> NDArray[np.bool_]:
        """(blocks,) True where a block is to be traced. After the first wave it narrows in place to
        what the budget of records allows."""
        return self._trace_blocks

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """Start of a run whose accesses come by :meth:`chunk`."""
        self._begin(sites, arrays, np.arange(-1, len(arrays), dtype=np.int32))

    def begin_taking(
        self, sites: tuple[Site, ...], arrays: tuple[str, ...], windows: NDArray[np.int32]
    ) -> None:
        """Start of a run whose accesses are taken by compiled code
        (:class:`placewise.executor.trace.CompiledConsumer`). All of :attr:`trace_blocks` run."""
        self._runs_all = True
        self._begin(sites, arrays, ga.with_own_columns(windows, len(arrays)))

    def _begin(
        self, sites: tuple[Site, ...], arrays: tuple[str, ...], windows: NDArray[np.int32]
    ) -> None:
        facts, h = self._facts, self._caches
        self._sites, self._arrays = sites, arrays
        self._routes = routes = Routes(self._machine, h, self._placement)
        sizes = dict(facts.array_bytes)
        room = [sizes.get(a, UNKNOWN_BYTES) for a in arrays] + [0] * len(ga.OWN_COLUMNS)
        lines, local_line = array_lines(room, h.line_bytes, routes.period)
        self.array_lines = lines
        self._rules = rq.Sites(
            *routes.table(sites, arrays, facts.filtered),
            lines,
            np.array([s.lane_bytes for s in sites] or [4], np.int32),
            np.array([KINDS[s.kind] for s in sites] or [0], np.int32),
            np.array([self._waits(s) for s in sites] or [True]),
            windows,
        )
        self._cut = Cut(
            h.line_bytes.bit_length() - 1,
            h.sector_bytes.bit_length() - 1,
            routes.period,
            self._machine.processor.sms,
            facts.seats,
            facts.launch.warps_per_block,
            routes.local_cache,
            local_line,
            -(-facts.local_bytes // 4),
        )
        check_lines(self._cut)
        self._pairs = rq.new_pairs(len(sites), len(room))
        self._patterns = new_patterns(PATTERN_SLOTS)
        self._banked = np.zeros(len(self._pairs.rows))
        self._neighbours = np.zeros(len(self._pairs.rows), np.int64)
        shares = (g.memory.detail.merged_stores for g in self._caches.first)
        several = sum(site.kind == "store" for site in sites) > 1
        self._merging = max((s or 0.0 for s in shares), default=0.0) if several else 0.0
        constant = bool((self._rules.route == rq.CONSTANT).any())
        route = self._rules.route
        hinted = (route > 0) & (route & rq.EVICT_FIRST > 0) | (route == rq.LOCAL_LAST)
        self._levels = Levels(
            self._machine, h, self._cut, self._pairs, self._seed, constant=constant,
            evicts_first=bool(hinted.any()), slices=self._slices, arrived=self._arrived,
        )  # fmt: skip
        self._buffer = new_buffer(self._per_wave)
        self._seat_blocks(0)
        self._state = np.zeros(rq.STATE_WORDS, np.int64)
        self._state[[rq.FIRST_BLOCK, rq.SEAT]] = -self._per_wave, -1
        self._describe()

    def _waits(self, site: Site) -> bool:
        """Whether an instruction starts a burst. Loads of constant memory always do."""
        bursts = self._facts.bursts
        return bursts is None or site.ptx_line in bursts or is_constant_load(site)

    def _describe(self) -> None:
        """Tell compiled code where everything is."""
        words = words_of(
            self._rules, self._pairs, self._patterns, self._buffer, self._state, self._cut
        )
        if self._words is None:
            self._words = words
        self._words[:] = words

    def _seat_blocks(self, wave: int) -> None:
        self._buffer.place[:] = seats(wave, self._cut.sms, self._cut.resident, self._seed)

    def taker(self, worker: int) -> Taker:  # noqa: ARG002  (there is one worker)
        """What takes the chunks of a run that :meth:`begin_taking` has started."""
        assert self._words is not None
        large = any(size >= 1 << 31 for _, size in self._facts.array_bytes)
        take = taker(large=large)
        return Taker(take.address, self._words.ctypes.data, take)

    def chunk(self, chunk: TraceChunk) -> None:
        """Take one chunk; blocks come in ascending order."""
        assert self._words is not None
        records, runs = records_of(chunk)
        offsets = np.ascontiguousarray(chunk.offsets)
        take = callable_taker(large=offsets.dtype == np.int64)
        held = [(a.ctypes.data, len(a)) for a in (records, runs, offsets)]
        if not len(records):
            return
        while take(self._words.ctypes.data, *(word for pair in held for word in pair)):
            self.refused(0)

    def refused(self, worker: int) -> None:  # noqa: ARG002
        """Make room for what could not be taken."""
        why = self._state[rq.WHY]
        if why == rq.WAVE_ENDS:
            self._run_wave()
            self._wave = int(self._state[rq.NEXT_BLOCK]) // self._per_wave
            self._state[rq.FIRST_BLOCK] = self._wave * self._per_wave
            self._state[rq.LEFT_OUT] = not self._chosen[self._wave]
            self._seat_blocks(self._wave)
        elif why == rq.NO_PATTERN:
            self._count_patterns()
        elif why == rq.NO_PAIR:
            raise UnsupportedError(f"more than {MOST_PAIRS} pairs of memory instruction and array")
        elif self._buffer.used[1] == len(self._buffer.segment):
            self._buffer = larger(self._buffer)
            self._describe()
        else:
            self._run_wave(last=False)

    def _banked_by(self, pair: int) -> Banked | None:
        """What a memory without lines must know of a pair's accesses; None for other memories."""
        row = self._pairs.rows[pair]
        array, arrays = int(row["array"]), len(self._arrays)
        site = ga.seen_in(self._sites[row["site"]], array, arrays)
        name = self._arrays[array] if 0 <= array < arrays else None
        memory = self._routes.banked(site, name)
        return Banked.of(memory, site) if memory is not None else None

    def _count_patterns(self) -> None:
        """Transactions of the accesses counted so far, which are then forgotten."""
        found = self._patterns
        slots = np.flatnonzero(found.seen)
        keys, lane = found.keys[slots], np.arange(32, dtype=np.int64)
        place, upper, stride, mask = (keys[:, k][:, None] for k in range(1, 5))
        addresses = place + stride * (lane & 15) + np.where(lane >= 16, upper, 0)
        self._count_banked(keys[:, 0], addresses, mask[:, 0].astype(np.uint32), found.seen[slots])
        odd = slice(0, int(found.used[1]))
        once = np.ones(odd.stop, np.int64)
        self._count_banked(found.odd_pair[odd], found.odd[odd], found.odd_mask[odd], once)
        forget(found)

    def _count_banked(
        self,
        pairs: NDArray[np.int64],
        addresses: NDArray[np.int64],
        mask: NDArray[np.uint32],
        count: NDArray[np.int64],
    ) -> None:
        alike: dict[tuple[str, int, bool], list[int]] = {}
        for pair in np.unique(pairs).tolist():
            if pair not in self._what:
                self._what[pair] = self._banked_by(pair)
            what = self._what[pair]
            if what is not None:
                alike.setdefault((what.memory.name, *what[1:]), []).append(pair)
        for members in alike.values():
            what = self._what[members[0]]
            assert what is not None
            mine = np.isin(pairs, members)
            each = banked_transactions(what, addresses[mine], mask[mine])
            np.add.at(self._banked, pairs[mine], each * count[mine])

    def _run_wave(self, *, last: bool = True) -> None:
        """Run what was collected; ``last``: nothing more of this wave will come."""
        self._levels.run(self._buffer)
        if self._merging:
            is_store = self._pairs.rows["kind"] == rq.STORE
            constant = self._pairs.rows["cache"] == rq.CONSTANT
            count_neighbours(self._buffer, is_store, constant, self._neighbours)
        self._buffer.used[:] = 0
        self._state[rq.SEAT] = -1
        if last and self._buffer.seen.any():
            self._close_wave()

    def _close_wave(self) -> None:
        blocks = int(self._buffer.seen.sum())
        self._closed.append(Closed(self._wave, blocks, self._levels.counts()))
        self._buffer.seen[:] = False
        if len(self._closed) == 1 and len(self._chosen) > 1:
            requests = int(self._closed[0].counts.requests.sum())
            affordable = self._budget // max(1, requests)
            facts = self._facts
            # No fewer blocks than the SMs hold, of which a wave may be a part.
            least = -(-facts.occupancy.blocks // facts.seats)
            self._filling = filling_waves(facts.launch.grid, self._per_wave, affordable, least)
            self._chosen = sampled_waves(len(self._chosen), affordable, self._filling)
            self._trace_blocks &= np.repeat(self._chosen, self._per_wave)[: self._trace_blocks.size]

    def _by_site(self, of_pairs: NDArray[Any]) -> NDArray[np.int64]:
        """(sites,) sums of a count by pair."""
        used = int(self._pairs.used[0])
        sums = np.zeros(max(1, len(self._sites)), np.int64)
        np.add.at(sums, self._pairs.rows["site"][:used], of_pairs[:used])
        return sums

    def traffic(self, executions: NDArray[np.int64] | None = None) -> Traffic:
        """What the launch did. Call it once, after the run.

        ``executions`` (sites,) is how often each instruction was executed in the whole launch,
        where that is known; else what was traced is scaled by blocks.
        """
        self._run_wave()
        self._buffer = without_parts(self._buffer)
        self._count_patterns()
        self._levels.close()
        blocks = self._facts.launch.blocks
        rows = self._pairs.rows
        self._sites, origin = ga.told_apart(self._sites, self._pairs.number, rows)
        counted, lanes, sectors, lines = (
            self._by_site(rows[name]) for name in ("requests", "lanes", "sectors", "parts")
        )
        # Blocks without an access were traced as well, where it is known that they ran.
        seen = int(self._trace_blocks.sum()) if self._runs_all else 0
        traced = seen or max(1, sum(c.blocks for c in self._closed))
        scale = np.full(len(counted), blocks / traced)
        if executions is not None and len(executions):
            together = np.bincount(origin, counted)[origin]
            np.divide(executions[origin], together, out=scale, where=together > 0)
        merged = self._by_site(self._neighbours) * self._merging
        banked = np.zeros(len(counted))
        used = int(self._pairs.used[0])
        np.add.at(banked, rows["site"][:used], self._banked[:used])
        no_constant = np.zeros((2, self._levels.constant_levels, len(counted)), np.int64)
        none = [WaveCounts(0, blocks, True, *(np.zeros_like(counted),) * 5, 0, 0, no_constant)]
        counting = counted_waves(self._chosen, self._filling)
        waves = wave_counts(self._closed, rows[:used], len(counted), counting) or none

        requests = np.array([w.requests for w in waves])
        total = counted * scale

        def whole(name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            return whole_launch(waves, np.array([getattr(w, name) for w in waves]), requests, total)

        writing = (self._rules.kind[origin] != rq.LOAD) & (sectors > 0)
        l1, l1_error = whole("l1_hits")
        asked, asked_error = whole("l2_asked")
        l2, l2_error = whole("l2_hits")
        dram, dram_error = whole("dram")
        out, out_error = whole_launch(
            waves,
            np.array([[w.written, w.dirtied] for w in waves]),
            np.repeat(requests[:, writing].sum(1, keepdims=True), 2, axis=1),
            np.repeat(total[writing].sum(), 2),
        )
        constant = [
            [whole_launch(waves, found, requests, total) for found in np.moveaxis(of_level, 1, 0)]
            for of_level in np.moveaxis(np.array([w.constant for w in waves]), 2, 0)
        ]
        loads = np.zeros(len(counted), np.bool_)
        loads[rows["site"][:used][rows["cache"][:used] == rq.CONSTANT]] = True
        first = waves[0]
        fill = (float(n[loads].sum()) for n in (first.l2_asked, first.l2_hits, first.dram))
        levels = self._levels
        tlb_asked, tlb_hits = (
            [self._by_site(level) for level in counts]
            for counts in (levels.tlb_asked, levels.tlb_hits)
        )
        sites = tuple(
            SiteTraffic(
                site=site,
                array=ga.first_array(site, self._pairs.number[origin[n]], self._arrays),
                requests=float(total[n]),
                lanes=float(lanes[n] * scale[n]),
                sectors=float(sectors[n] * scale[n]),
                lines=float(lines[n] * scale[n]),
                wavefronts=float(banked[n] * scale[n]),
                l1_hits=Estimate(l1[n], l1_error[n]),
                l2_hits=Estimate(l2[n], l2_error[n]),
                l2_asked=Estimate(asked[n], asked_error[n]) if self._caches.last else None,
                dram_sectors=Estimate(dram[n], dram_error[n]),
                merged=float(merged[n] * scale[n]),
                constant=tuple(
                    ConstantTraffic(g.memory.name, *(Estimate(v[n], e[n]) for v, e in found))
                    for g, found in zip(self._caches.constant, constant, strict=False)
                    if loads[n]
                ),
                tlbs=tuple(
                    TlbTraffic(name, int(asked[n]), int(hits[n]))
                    for name, asked, hits in zip(levels.tlb_names, tlb_asked, tlb_hits, strict=True)
                ),
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
            line_bytes=self._caches.line_bytes,
            banks=self._levels.banks,
            slices=self._levels.slices,
            arrived=self._levels.arrived,
            constant_fill=ConstantFill(*fill),
        )
