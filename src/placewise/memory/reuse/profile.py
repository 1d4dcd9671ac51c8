"""Profiles of a run: turns its trace into reuse distances and transactions for every memory of a
machine."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from placewise.executor.result import Execution
from placewise.executor.trace import Site, TraceChunk
from placewise.kernel.launch import ArrayArgument, Inputs, Launch, SurfaceArgument, TextureArgument
from placewise.kernel.source import SourceView, Tile
from placewise.machine.machine import Machine, Memory
from placewise.memory.occupancy import Occupancy
from placewise.memory.reuse.histogram import ReuseHistogram, cache_groups, reuse_histogram
from placewise.memory.reuse.intensity import Intensity, instructions_per_cycle, intensity_of
from placewise.memory.reuse.record import ACCESS_BUDGET, ROW_BUDGET, Recorded, Recorder
from placewise.memory.reuse.sampling.trace_sample import WARPS_AT_FIRST, BlockSample, plan_sample
from placewise.memory.reuse.stream import LOAD, STORE, TAGS, ArrayStream, array_streams
from placewise.memory.served_together import beyond_warps, together_transactions
from placewise.memory.transactions import (
    Patterns,
    address_period,
    count_transactions,
    patterns,
    tile_patterns,
)
from placewise.space import Way

HISTOGRAM_THREADS = 2


@dataclass(frozen=True, eq=False)
class ArrayProfile:
    """One array of the launch and the sampled accesses to it."""

    name: str
    bytes: int
    element_bytes: int
    fixed: str | None
    """Space that the source itself puts the array in (``__constant__`` symbols, texture objects);
    None where the array is a plain pointer argument and may be placed."""
    tile: Tile | None
    """Part of the array that one block accesses; None where it does not follow from the source."""
    stream: ArrayStream | None
    """Sampled accesses; None where there are none."""
    sampled: NDArray[np.int64]
    """(TAGS,) sampled requests (warp accesses)."""
    sampled_lanes: NDArray[np.int64]
    """(TAGS,) active lanes of the sampled requests."""
    requests: tuple[float, float]
    """Requests of the whole launch: (loads, stores); atomics count as stores."""
    atomic: bool = False
    """Whether the kernel updates it by atomics."""


@dataclass(frozen=True)
class LineTraffic:
    """Traffic of one memory instruction in a memory, for the whole launch."""

    site: Site
    array: str
    requests: float
    lanes_per_request: float
    transactions_per_request: float

    @property
    def transactions(self) -> float:
        return self.requests * self.transactions_per_request


class Profile:
    """The accesses of a run to its arrays. Figures for a memory are computed when they are first
    asked for.

    ``machine``, ``launch``, ``occupancy`` and ``sample`` are those that the profile was made for;
    ``arrays`` are in the order of the kernel's parameters, ``__constant__`` symbols last.
    """

    def __init__(
        self,
        machine: Machine,
        launch: Launch,
        occupancy: Occupancy,
        sample: BlockSample,
        arrays: tuple[ArrayProfile, ...],
        sites: tuple[Site, ...] = (),
        site_scale: NDArray[np.float64] | None = None,
        warp_instructions: int = 0,
    ) -> None:
        self.machine = machine
        self.launch = launch
        self.occupancy = occupancy
        self.sample = sample
        self.arrays = arrays
        self.warp_instructions = warp_instructions
        """Number of warp instructions that the launch executes; 0 where it is not known."""
        self._sites = sites
        self._site_scale = np.ones(len(sites)) if site_scale is None else site_scale
        self._by_name = {a.name: a for a in arrays}
        self._period = address_period(machine)
        self._patterns: dict[tuple[str, bool], Patterns] = {}
        self._transactions: dict[tuple[str, str, bool], NDArray[np.float64]] = {}
        self._histograms: dict[tuple[str, int, str], ReuseHistogram] = {}

    def array(self, name: str) -> ArrayProfile:
        """Profile of array ``name``; raises KeyError for an unknown one."""
        return self._by_name[name]

    @property
    def sampled_requests(self) -> int:
        """Number of warp accesses in the sample."""
        return int(sum(a.sampled.sum() for a in self.arrays))

    @property
    def requests(self) -> float:
        """Number of warp accesses to arrays in the whole launch."""
        return float(sum(sum(a.requests) for a in self.arrays))

    @cached_property
    def intensity(self) -> Intensity:
        """Whether memory or computation limits the kernel with its arrays in global memory;
        ``memory`` where the number of instructions is not known."""
        if not self.warp_instructions:
            return "memory"
        # Imported here, since that module imports this one.
        from placewise.memory.reuse.counters import served_accesses

        served = served_accesses(self, self.machine)
        found = instructions_per_cycle(
            self.machine, self.launch, self.occupancy, self.warp_instructions, served
        )
        return intensity_of(self.machine, found)

    def transactions(
        self, name: str, memory: Memory, *, in_tile: bool = False
    ) -> NDArray[np.float64]:
        """(TAGS,) transactions of the sampled accesses to ``name`` if ``memory`` served them all.
        ``in_tile``: the array is in a per-block tile."""
        key = (name, memory.name, in_tile)
        if key not in self._transactions:
            array = self._by_name[name]
            if array.stream is None:
                return np.zeros(TAGS)
            if beyond_warps(self.machine, memory):
                tile = array.tile if in_tile else None
                self._transactions[key] = together_transactions(
                    array.stream, memory, tile, array.element_bytes
                )
            else:
                self._transactions[key] = count_transactions(self._found(array, in_tile), memory)
        return self._transactions[key]

    def lines(self, name: str, memory: Memory) -> tuple[LineTraffic, ...]:
        """Traffic of every memory instruction that accesses ``name`` if ``memory`` served it all;
        the most transactions first."""
        stream = self._by_name[name].stream
        if stream is None:
            return ()
        result = []
        for site in np.unique(stream.site).tolist():
            part = stream.take(stream.site == site)
            sampled = len(part)
            if beyond_warps(self.machine, memory):
                counted = together_transactions(part, memory)
            else:
                counted = count_transactions(patterns(part, self._period), memory)
            result.append(
                LineTraffic(
                    self._sites[site],
                    name,
                    float(sampled * self._site_scale[site]),
                    float(part.lanes().sum() / sampled),
                    float(counted.sum() / sampled),
                )
            )
        return tuple(sorted(result, key=lambda line: -line.transactions))

    def _found(self, array: ArrayProfile, in_tile: bool) -> Patterns:
        key = (array.name, in_tile)
        if key not in self._patterns:
            assert array.stream is not None
            if in_tile and array.tile is not None:
                found = tile_patterns(array.stream, array.tile, array.element_bytes)
            else:
                found = patterns(array.stream, self._period)
            self._patterns[key] = found
        return self._patterns[key]

    def histogram(self, name: str, block_bytes: int, scope: str) -> ReuseHistogram | None:
        """Reuse distances of ``name`` in blocks of ``block_bytes``, for caches of a share scope
        (sm, tpc or die); None where the array is not accessed."""
        array = self._by_name[name]
        if array.stream is None:
            return None
        key = (name, block_bytes, scope)
        if key not in self._histograms:
            caches = {c for space in self.machine.spaces for c in space.levels[:-1]}
            memories = [m for m in self.machine.memories if m.name in caches and m.scope == scope]
            largest = max((m.size_bytes or 0 for m in memories), default=0)
            self._histograms[key] = reuse_histogram(
                array.stream,
                array_bytes=array.bytes,
                block_bytes=block_bytes,
                groups=cache_groups(array.stream, scope, self.machine.processor.sms_per_tpc),
                limit=largest // block_bytes + 1,
            )
        return self._histograms[key]

    def prepare(self, wanted: Iterable[tuple[str, int, str]]) -> None:
        """Compute histograms, given as (array, block bytes, scope), on several cores."""
        missing = [key for key in dict.fromkeys(wanted) if key not in self._histograms]
        with ThreadPoolExecutor(HISTOGRAM_THREADS) as pool:
            list(pool.map(lambda key: self.histogram(*key), missing))

    def miss_rates(
        self,
        name: str,
        memory: Memory,
        *,
        block_bytes: int,
        capacity_bytes: float | NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Miss rates of a cache that gives ``capacity_bytes`` to the array: (TAGS + 2,) for each
        tag, then for all loads and all stores; (TAGS + 2, n) for (n,) capacities. 0 where there is
        no access.

        A cache on the die gets the accesses of all SMs. If the sample has only some SMs, distances
        are extrapolated to all with the growth exponent from the sample's two halves; so are first
        touches, by SMs and by waves. Neither exceeds what the array's number of blocks allows.
        """
        blocks = np.asarray(capacity_bytes, np.float64) / block_bytes
        rates = np.zeros((TAGS + 2, *blocks.shape))
        histogram = self.histogram(name, block_bytes, memory.scope)
        if histogram is None:
            return rates
        first_touches = 1.0
        if memory.scope == "die" and not self.sample.complete:
            seen = histogram.distinct
            more = self.sample.sm_scale**histogram.growth_by_sms
            blocks = blocks / min(more, histogram.blocks / seen)
            in_all = seen * more * self.sample.wave_scale**histogram.growth_by_waves
            first_touches = min(histogram.blocks, in_all) / (seen * self.sample.block_scale)
        by_tag = (TAGS,) + (1,) * blocks.ndim
        missed = histogram.far(blocks) + (histogram.cold * first_touches).reshape(by_tag)
        touched = histogram.touches.reshape(by_tag)
        missed, touched = (
            np.concatenate([a, a[[LOAD]] + a[[LOAD + 2]], a[[STORE]] + a[[STORE + 2]]])
            for a in (missed, touched)
        )
        np.divide(missed, touched, out=rates, where=touched > 0)
        return rates


class Profiler:
    """Collects the trace of one run; pass it to the executor as the consumer.

    ``occupancy`` decides how many blocks share an SM. ``trace_blocks`` (blocks,) says which blocks
    to trace; blocks are removed from it in place if the run exceeds the budget.
    """

    # One parameter for each part of a launch and each budget.
    def __init__(
        self,
        launch: Launch,
        machine: Machine,
        occupancy: Occupancy,
        view: SourceView,
        inputs: Inputs,
        *,
        seed: int = 0,
        access_budget: int = ACCESS_BUDGET,
        row_budget: int = ROW_BUDGET,
        first_warps: int = WARPS_AT_FIRST,
    ) -> None:
        self._launch = launch
        self._machine = machine
        self._occupancy = occupancy
        self._view = view
        self._inputs = inputs
        self._plan = plan_sample(launch, machine, occupancy.blocks, seed=seed)
        recorder = Recorder(
            self._plan,
            launch.warps_per_block,
            access_budget=access_budget,
            row_budget=row_budget,
            first_warps=first_warps,
        )
        self._recorder: Recorded = recorder
        self.expect = recorder.expect
        """Called with the accesses of a block, before any is taken: samples no more than fit."""

    @property
    def trace_blocks(self) -> NDArray[np.bool_]:
        """(blocks,) True where a block is to be traced."""
        return self._recorder.trace_blocks

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """Start of a run."""
        self._recorder.begin(sites, arrays)

    def chunk(self, chunk: TraceChunk) -> None:
        """Take one chunk of the trace."""
        self._recorder.chunk(chunk)

    def profile(self, execution: Execution | None = None) -> Profile:
        """Profile of the run. With ``execution``, the requests of the whole launch are its counts
        of executed memory instructions; without, the sampled requests times all blocks over sampled
        blocks."""
        recorder = self._recorder
        accesses = recorder.accesses()
        sample = recorder.sample
        streams = array_streams(
            accesses,
            recorder.sites,
            sample,
            resident=self._occupancy.blocks,
            run=self._plan.run,
        )
        site_scale = np.full(max(1, len(recorder.sites)), sample.block_scale)
        if execution is not None and len(accesses) and not sample.complete:
            sampled = np.bincount(accesses.site, minlength=len(site_scale))
            executed = np.asarray(execution.site_executions, dtype=np.float64)
            np.divide(executed, sampled, out=site_scale, where=sampled > 0)

        index = {name: i for i, name in enumerate(recorder.arrays)}
        profiles = []
        for name, nbytes, element, fixed, tile in self._described():
            stream = streams.get(index.get(name, -1))
            if stream is None:
                none = np.zeros(TAGS, np.int64)
                profiles.append(
                    ArrayProfile(name, nbytes, element, fixed, tile, None, none, none, (0.0, 0.0))
                )
                continue
            by_site = np.bincount(stream.site, minlength=len(site_scale)) * site_scale
            stores = np.array([s.kind != "load" for s in recorder.sites])
            atomic = np.array([s.kind == "atomic" for s in recorder.sites])
            profiles.append(
                ArrayProfile(
                    name,
                    nbytes,
                    element,
                    fixed,
                    tile,
                    stream,
                    stream.requests(),
                    stream.lanes(),
                    (float(by_site[~stores].sum()), float(by_site[stores].sum())),
                    bool(by_site[atomic].any()),
                )
            )
        return Profile(
            self._machine,
            self._launch,
            self._occupancy,
            sample,
            tuple(profiles),
            recorder.sites,
            site_scale,
            execution.warp_instructions if execution is not None else 0,
        )

    def _described(self) -> Iterable[tuple[str, int, int, str | None, Tile | None]]:
        """Name, bytes, element bytes, fixed space and tile of every array."""
        uses = {use.name: use for use in self._view.arrays}
        for argument in self._inputs.arguments:
            if isinstance(argument, ArrayArgument):
                use = uses.get(argument.name)
                element = use.parameter.element_bytes if use else argument.data.dtype.itemsize
                tile = use.tile if use else None
                yield argument.name, argument.data.nbytes, max(1, element), None, tile
            elif isinstance(argument, TextureArgument | SurfaceArgument):
                data = argument.data
                yield (
                    argument.name,
                    data.nbytes,
                    data.dtype.itemsize,
                    self._space_of(Way.BINDING),
                    None,
                )
        for buffer in self._inputs.buffers:
            yield buffer.name, buffer.data.nbytes, buffer.data.dtype.itemsize, None, None
        for name, data in self._inputs.constants:
            yield name, data.nbytes, data.dtype.itemsize, self._space_of(Way.HOST_BUFFER), None

    def _space_of(self, way: Way) -> str:
        """Space that the machine reaches in ``way``; the space of plain pointers where it has
        none."""
        ways = {space.way: space.name for space in reversed(self._machine.spaces)}
        return ways.get(way, ways[Way.DIRECT])
