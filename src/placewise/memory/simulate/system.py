"""The simulated memory system of a machine, as a consumer of the executor's trace.

A wave is the blocks that all SMs together can hold at one time (occupancy). The executor delivers a
block's accesses warp by warp; they are kept until the wave is complete, and then simulated in the
interleaved order in which SMs issue them (:mod:`placewise.memory.simulate.schedule.wave`). Caches
start empty, as under a profiler that clears them before each kernel, and keep their contents from
wave to wave.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from placewise.errors import UnsupportedError
from placewise.executor.trace import Site, Taker, TraceChunk
from placewise.kernel.launch import Launch
from placewise.machine.machine import Machine
from placewise.memory.occupancy import Occupancy
from placewise.memory.simulate.caches.hierarchy import Hierarchy, hierarchy
from placewise.memory.simulate.caches.last_level.policy_window import NO_WINDOW, policy_window
from placewise.memory.simulate.caches.levels import Levels, Wanted
from placewise.memory.simulate.caches.store_merging import count_neighbours
from placewise.memory.simulate.dram.arrivals import Part
from placewise.memory.simulate.dram.banks import BankTraffic
from placewise.memory.simulate.metrics.launch_traffic import TracedLaunch, launch_traffic
from placewise.memory.simulate.metrics.traffic import (
    Banked,
    Traffic,
    banked_transactions,
)
from placewise.memory.simulate.metrics.wave_counts import Closed
from placewise.memory.simulate.requests import collect as rq
from placewise.memory.simulate.requests import generic_addresses as ga
from placewise.memory.simulate.requests import streams as st
from placewise.memory.simulate.requests.bank_patterns import forget, new_patterns
from placewise.memory.simulate.requests.line_requests import (
    MOST_STREAMS,
    Sizes,
    check_lines,
    larger,
    new_buffer,
    without_requests,
)
from placewise.memory.simulate.requests.routes import (
    KINDS,
    UNKNOWN_BYTES,
    Routes,
    array_lines,
    is_constant_load,
)
from placewise.memory.simulate.requests.trace_records import records_of
from placewise.memory.simulate.schedule.block_to_sm import block_slots
from placewise.memory.simulate.schedule.windows import (
    filling_waves,
    sampled_waves,
)
from placewise.memory.simulate.trace_taker import callable_taker, taker, words_of

RECORDS = 48_000_000
"""About the most warp accesses that are simulated; they take a few seconds."""
PATTERN_SLOTS = 1 << 16
"""Entries of the hash table of access patterns."""


@dataclass(frozen=True)
class LaunchFacts:
    """What the memory system must know about a launch."""

    launch: Launch
    occupancy: Occupancy
    shared_bytes: int
    """Static and dynamic shared memory of a block."""
    local_bytes: int
    """Local memory of a thread."""
    array_bytes: tuple[tuple[str, int], ...]
    """(name, bytes) of arrays; others, such as variables of the module, are assumed to have
    UNKNOWN_BYTES."""
    bursts: frozenset[int] | None = None
    """Offsets of the memory instructions that start a burst; None means that each is a separate
    burst."""
    filtered: Mapping[str, int] = field(default_factory=dict)
    """Number of axes along which reads are filtered, by texture name."""
    concurrent_blocks: int | None = None
    """Number of blocks of an SM that load at the same time; None means all that it holds."""

    @property
    def block_slots(self) -> int:
        """Blocks of a wave on each SM."""
        return self.concurrent_blocks or max(1, self.occupancy.blocks)


class MemorySystem:
    """A consumer of the trace: pass it to ``execute``, then call :meth:`traffic`.

    The executor's compiled code passes accesses without Python; :meth:`chunk` takes them from
    Python code. ``placement`` gives arrays another space than the kernel does: their accesses then
    take the path of that space (Huang and Li 2017, section III-E).
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
        """With ``slices``, also count the requests to each L2 slice, if the machine's file
        describes the slices. ``arrived`` is how many of the first lines that are requested from L2
        are kept."""
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
        self._per_wave = machine.processor.sms * facts.block_slots
        self._chosen = np.ones(-(-blocks // self._per_wave), np.bool_)
        self._trace_blocks = np.ones(blocks, np.bool_)
        self._runs_all = False
        self._filling = 1
        self._closed: list[Closed] = []
        self._what: dict[int, Banked | None] = {}

    @property
    def trace_blocks(self) -> NDArray[np.bool_]:
        """(blocks,) whether each block is to be traced. The array is changed in place after the
        first wave, so that no more blocks are traced than the limit of records allows."""
        return self._trace_blocks

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """Start a run whose accesses come through :meth:`chunk`."""
        self._begin(sites, arrays, np.arange(-1, len(arrays), dtype=np.int32))

    def begin_taking(
        self, sites: tuple[Site, ...], arrays: tuple[str, ...], windows: NDArray[np.int32]
    ) -> None:
        """Start a run whose accesses are taken by compiled code
        (:class:`placewise.executor.trace.CompiledConsumer`). All of :attr:`trace_blocks` run."""
        self._runs_all = True
        self._begin(sites, arrays, ga.with_own_columns(windows, len(arrays)))

    # Long, because it sets up the parts of the simulation one after another; each needs earlier
    # ones.
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
        self._rules = st.Sites(
            *routes.table(sites, arrays, facts.filtered),
            lines,
            np.array([s.lane_bytes for s in sites] or [4], np.int32),
            np.array([KINDS[s.kind] for s in sites] or [0], np.int32),
            np.array([self._waits(s) for s in sites] or [True]),
            windows,
        )
        self._sizes = Sizes(
            h.line_bytes.bit_length() - 1,
            h.sector_bytes.bit_length() - 1,
            routes.period,
            self._machine.processor.sms,
            facts.block_slots,
            facts.launch.warps_per_block,
            routes.local_cache,
            local_line,
            -(-facts.local_bytes // 4),
        )
        check_lines(self._sizes)
        self._streams = st.new_streams(len(sites), len(room))
        self._patterns = new_patterns(PATTERN_SLOTS)
        self._banked = np.zeros(len(self._streams.rows))
        self._neighbours = np.zeros(len(self._streams.rows), np.int64)
        shares = (g.memory.detail.merged_stores for g in self._caches.first)
        several = sum(site.kind == "store" for site in sites) > 1
        self._merging = max((s or 0.0 for s in shares), default=0.0) if several else 0.0
        constant = bool((self._rules.route == st.CONSTANT).any())
        route = self._rules.route
        hints = np.where(route > 0, route, 0)
        hinted = (hints & st.ROUTE_EVICTS_FIRST > 0) | (route == st.LOCAL_LAST)
        doublings = int(((hints >> st.PREFETCHED) & st.MOST_PREFETCHED).max(initial=0))
        asked = facts.launch.window
        window, set_aside = NO_WINDOW, 0.0
        if asked is not None and h.last is not None and asked.array in arrays:
            first = int(lines[arrays.index(asked.array) + 1])
            window = policy_window(asked, first, h.line_bytes)
            set_aside = asked.set_aside_bytes / h.last.size_bytes
        wanted = Wanted(
            constant=constant,
            evicts_first=bool(hinted.any()),
            keeps=bool((hints & st.ROUTE_KEPT).any()),
            prefetched_bytes=h.sector_bytes << doublings if doublings else 0,
            window=window,
            set_aside=set_aside,
            slices=self._slices,
            arrived=self._arrived,
        )
        self._levels = Levels(self._machine, h, self._sizes, self._streams, self._seed, wanted)
        self._buffer = new_buffer(self._per_wave)
        self._assign_slots(0)
        self._state = np.zeros(rq.STATE_WORDS, np.int64)
        self._state[[rq.FIRST_BLOCK, rq.SLOT]] = -self._per_wave, -1
        self._describe()

    def _waits(self, site: Site) -> bool:
        """Whether an instruction starts a burst; loads of constant memory always do."""
        bursts = self._facts.bursts
        return bursts is None or site.ptx_line in bursts or is_constant_load(site)

    def _describe(self) -> None:
        """Update the words that tell compiled code where all arrays are."""
        words = words_of(
            rq.Collector(
                self._rules, self._streams, self._patterns, self._buffer, self._state, self._sizes
            )
        )
        if self._words is None:
            self._words = words
        self._words[:] = words

    def _assign_slots(self, wave: int) -> None:
        """Assign the blocks of a wave to SMs."""
        self._buffer.place[:] = block_slots(wave, self._sizes.sms, self._sizes.resident, self._seed)

    def taker(self, worker: int) -> Taker:  # noqa: ARG002  (there is one worker)
        """The compiled function that takes the chunks of a run, together with its state."""
        assert self._words is not None
        large = any(size >= 1 << 31 for _, size in self._facts.array_bytes)
        take = taker(large=large)
        return Taker(take.address, self._words.ctypes.data, take)

    def chunk(self, chunk: TraceChunk) -> None:
        """Process one chunk; blocks come in ascending order."""
        assert self._words is not None
        records, runs = records_of(chunk)
        offsets = np.ascontiguousarray(chunk.offsets)
        take = callable_taker(large=offsets.dtype == np.int64)
        held = [(a.ctypes.data, len(a)) for a in (records, runs, offsets)]
        if not len(records):
            return
        while take(self._words.ctypes.data, *(word for array in held for word in array)):
            self.refused(0)

    def refused(self, worker: int) -> None:  # noqa: ARG002
        """Make room for the records that could not be processed: simulate the wave, count patterns,
        or enlarge the buffer. Raises UnsupportedError if there are too many pairs of instruction
        and array."""
        why = self._state[rq.REASON]
        if why == rq.WAVE_ENDS:
            self._run_wave()
            self._wave = int(self._state[rq.NEXT_BLOCK]) // self._per_wave
            self._state[rq.FIRST_BLOCK] = self._wave * self._per_wave
            self._state[rq.SKIPPED] = not self._chosen[self._wave]
            self._assign_slots(self._wave)
        elif why == rq.NO_PATTERN:
            self._count_patterns()
        elif why == rq.NO_STREAM:
            raise UnsupportedError(
                f"more than {MOST_STREAMS} pairs of memory instruction and array"
            )
        elif self._buffer.used[1] == len(self._buffer.segment):
            self._buffer = larger(self._buffer)
            self._describe()
        else:
            self._run_wave(last=False)

    def _banked_by(self, stream: int) -> Banked | None:
        """What must be known to count a stream's transactions, if its memory has no cache lines;
        else None."""
        row = self._streams.rows[stream]
        array, arrays = int(row["array"]), len(self._arrays)
        site = ga.seen_in(self._sites[row["site"]], array, arrays)
        name = self._arrays[array] if 0 <= array < arrays else None
        memory = self._routes.banked(site, name)
        return Banked.of(memory, site) if memory is not None else None

    def _count_patterns(self) -> None:
        """Add the transactions of the access patterns counted so far, and empty the table."""
        found = self._patterns
        slots = np.flatnonzero(found.seen)
        keys, lane = found.keys[slots], np.arange(32, dtype=np.int64)
        place, upper, stride, mask = (keys[:, k][:, None] for k in range(1, 5))
        addresses = place + stride * (lane & 15) + np.where(lane >= 16, upper, 0)
        self._count_banked(keys[:, 0], addresses, mask[:, 0].astype(np.uint32), found.seen[slots])
        odd = slice(0, int(found.used[1]))
        once = np.ones(odd.stop, np.int64)
        self._count_banked(found.odd_stream[odd], found.odd[odd], found.odd_mask[odd], once)
        forget(found)

    def _count_banked(
        self,
        streams: NDArray[np.int64],
        addresses: NDArray[np.int64],
        mask: NDArray[np.uint32],
        count: NDArray[np.int64],
    ) -> None:
        """Add to each of ``streams`` (n,) the transactions of an access with ``addresses`` (n, 32)
        in bytes and the active lanes ``mask`` (n,), ``count`` (n,) times."""
        alike: dict[tuple[str, int, bool], list[int]] = {}
        for stream in np.unique(streams).tolist():
            if stream not in self._what:
                self._what[stream] = self._banked_by(stream)
            what = self._what[stream]
            if what is not None:
                alike.setdefault((what.memory.name, *what[1:]), []).append(stream)
        for members in alike.values():
            what = self._what[members[0]]
            assert what is not None
            mine = np.isin(streams, members)
            each = banked_transactions(what, addresses[mine], mask[mine])
            np.add.at(self._banked, streams[mine], each * count[mine])

    def _run_wave(self, *, last: bool = True) -> None:
        """Simulate the collected line requests; ``last`` says that they complete the wave."""
        self._levels.run(self._buffer)
        if self._merging:
            is_store = self._streams.rows["kind"] == st.STORE
            constant = self._streams.rows["cache"] == st.CONSTANT
            count_neighbours(self._buffer, is_store, constant, self._neighbours)
        self._buffer.used[:] = 0
        self._state[rq.SLOT] = -1
        if last and self._buffer.seen.any():
            self._close_wave()

    def _close_wave(self) -> None:
        """Keep the wave's counts; after the first wave, choose which further waves are traced."""
        blocks = int(self._buffer.seen.sum())
        self._closed.append(Closed(self._wave, blocks, self._levels.counts()))
        self._levels.close_wave()
        self._buffer.seen[:] = False
        if len(self._closed) == 1 and len(self._chosen) > 1:
            requests = int(self._closed[0].counts.accesses.sum())
            affordable = self._budget // max(1, requests)
            facts = self._facts
            # At least as many blocks as the SMs hold; a wave may be only a part of these.
            least = -(-facts.occupancy.blocks // facts.block_slots)
            self._filling = filling_waves(facts.launch.grid, self._per_wave, affordable, least)
            self._chosen = sampled_waves(len(self._chosen), affordable, self._filling)
            self._trace_blocks &= np.repeat(self._chosen, self._per_wave)[: self._trace_blocks.size]

    def traffic(
        self,
        executions: NDArray[np.int64] | None = None,
        distances: Callable[[Collection[int]], Mapping[int, float]] | None = None,
    ) -> Traffic:
        """Traffic of the whole launch; to be called once, after the run. ``executions`` (sites,) is
        how often each instruction was executed in the whole launch; if it is None, the traced
        counts are scaled by the number of blocks. ``distances`` takes the places of the
        instructions that start bursts, and gives for each the number of instructions that a warp
        issues since its previous burst; it is called if the machine's file maps addresses to DRAM
        banks."""
        self._run_wave()
        self._buffer = without_requests(self._buffer)
        self._count_patterns()
        self._levels.close()
        # Blocks without any access count as traced, too, if it is known that they ran.
        seen = int(self._trace_blocks.sum()) if self._runs_all else 0
        traced = TracedLaunch(
            self._sites,
            self._arrays,
            self._streams,
            self._rules.kind,
            self._banked,
            self._neighbours,
            self._merging,
            self._closed,
            self._chosen,
            self._filling,
            self._facts.launch.blocks,
            seen or max(1, sum(c.blocks for c in self._closed)),
        )
        found = launch_traffic(traced, self._levels, self._caches, executions)
        return replace(found, banks=self._bank_traffic(traced, distances))

    def _bank_traffic(
        self,
        traced: TracedLaunch,
        distances: Callable[[Collection[int]], Mapping[int, float]] | None,
    ) -> BankTraffic | None:
        """Requests to the banks of the DRAM in the whole launch; None if their address mapping is
        unknown."""
        if not self._levels.has_banks:
            return None
        part = Part(
            self._closed[-1].blocks if self._closed else 1,
            traced.blocks,
            self._machine.processor.sms * max(1, self._facts.occupancy.blocks),
            traced.traced / traced.blocks,
        )
        rows = self._streams.rows[: int(self._streams.used[0])]
        each: NDArray[np.float64] | None = None
        if distances is not None and len(rows):
            cached = (rows["flags"] & (st.CACHED | st.IN_BURST)) == st.CACHED
            places = np.array([s.ptx_line for s in self._sites])[rows["site"]]
            known = distances(set(places[cached].tolist()))
            each = np.array([known.get(int(place), 1.0) for place in places])
        sizes = dict(self._facts.array_bytes)
        bytes_ = np.array([sizes.get(a, UNKNOWN_BYTES) for a in self._arrays], np.int64)
        starts = self.array_lines[1 : 1 + len(bytes_)]
        ends = starts + -(-bytes_ // self._caches.line_bytes)
        return self._levels.banks(part, starts, ends, each)
