"""The instructions that the warps of some blocks execute, and how their accesses use L1.

It comes from a sliced trace of the blocks (:mod:`placewise.executor.slice_interpreter`) and depends
on no machine, only on the target that the code was compiled for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.executor.ir.nodes import Barrier
from placewise.executor.slice_interpreter import Accesses, SlicedTrace
from placewise.kernel.binary.machine_code import machine_code
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.memory.simulate.metrics.traffic import Traffic, total_traffic
from placewise.model.evidence.block_kinds import BlockKinds
from placewise.model.evidence.contention import Hottest, hottest_places
from placewise.model.evidence.request_loops import LINE_BYTES, shapes_of_requests
from placewise.model.evidence.shorten import LONGEST, shortened
from placewise.model.evidence.waiting_loads import THROUGH_L1, Reuse, reuse_of_loads

BANKS, BANK_BYTES = 32, 4
"""L1's data and shared memory lie in one array of 32 banks of four bytes (CUDA C++ Programming
Guide, "Shared Memory", and see :func:`data_passes`)."""
NEXT_LINE = 0.6
"""The second line of a request for two neighbouring lines, as a share of a line elsewhere: L1 looks
up both at once unless their tags lie in the same part. Fitted on 30 forms of a convolution on an
A100 that read its image past the beginning of a line: 1.12 and 1.24 cycles for such a load were off
by as much, to either side; 0.6 of a further line's quarter of a cycle makes 1.15. The counters of a
blur on an H200 (``benchmarks/results/gpu``, row 30 less what row 31 has besides its loads) make
1.17 wavefronts. gpu-benches' gpu-strides (A100, A40, H200) takes 1.00 cycles where both lines are
in the same group of four."""
MOST_IN_FULL = 6_000_000
"""Instructions of all warps of a launch that the timeline runs in full because its blocks differ
(:data:`placewise.model.timeline.launch.WHOLE`), in about half a second; longer paths are shortened.
Even a sixth less makes two forms differ by 8 % that take the same time in full."""
UNEVEN = 0.1
"""Blocks differ notably where the longest has so much more instructions than the shortest, over
those of the average block."""
_MOST_COUNTED = 256
"""Executions of one instruction whose passes are counted; further ones are assumed to be alike."""


class Passes(NamedTuple):
    """How one access of an instruction uses L1, on the average."""

    data: float
    """Turns of the data array: different words of one bank, one after another."""
    lines: float
    """Number of lines whose tags are looked up; of two neighbours the second counts
    :data:`NEXT_LINE`."""
    full: float
    """Turns that its words would take if every turn moved a word of each bank."""


@dataclass(frozen=True, eq=False)
class KindOfBlocks:
    """Blocks of a launch that do the same, such as those at the last column of the grid."""

    passes: Mapping[int, Passes]
    """Use of L1 by each instruction that goes through it, by the instruction's offset."""
    l2: Mapping[int, float]
    """By offset: sectors that one execution in blocks of this kind asks of L2, over the average of
    the launch."""
    scale: float
    """Factor that, times ``WarpPaths.scale``, gives the instructions of the launch's average block
    of this kind over those of the (shortened) paths of these blocks."""
    executions: Mapping[int, float]
    """By offset: warps of all blocks of this kind that execute the instruction; empty where nothing
    but the launch's executions is known."""
    reuse: Mapping[int, Reuse] = field(default_factory=dict)
    """By offset of each load through L1 or constant caches: what requests of a block have in
    common."""


ONE_KIND = KindOfBlocks({}, {}, 1.0, {})
"""Where nothing tells the blocks of a launch apart."""


@dataclass(frozen=True, eq=False)
class WarpPaths:
    """Paths of the warps of some blocks."""

    instructions: NDArray[np.int64]
    """Offsets of the machine code's instructions, all paths one after another."""
    start: NDArray[np.int64]
    """(paths,) where each begins."""
    length: NDArray[np.int64]
    """(paths,) instructions of each."""
    warps: NDArray[np.int64]
    """(blocks, warps of a block) path of each warp."""
    barriers: frozenset[int]
    """Offsets of instructions at which the block's warps wait for each other."""
    scale: float
    """Instructions of the launch's average block over those of the paths that stand for it, which
    may be shortened."""
    hottest: Mapping[int, Hottest] = field(default_factory=dict)
    """By offset, of global atomics: how many of their lanes meet."""
    kinds: tuple[KindOfBlocks, ...] = (ONE_KIND,)
    kind: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """(blocks,) kind of each block; empty: all are of kind 0."""
    launch: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    """(blocks of the launch,) kind of each; empty: all are of kind 0."""

    def kind_of_rows(self) -> NDArray[np.int64]:
        """(blocks,) kind of each row of ``warps``."""
        return self.kind if len(self.kind) else np.zeros(len(self.warps), np.int64)

    def rows_of(self, kind: int) -> NDArray[np.int64]:
        """Rows of ``warps`` that are blocks of one kind."""
        return np.flatnonzero(self.kind_of_rows() == kind)

    @property
    def are_uneven(self) -> bool:
        """Whether some of the blocks have notably more instructions than others."""
        return is_uneven(self.length[self.warps].sum(axis=1))

    def blocks_of_kinds(self, blocks: int) -> list[int]:
        """Number of blocks of each kind in the launch, which has ``blocks`` in all."""
        if not len(self.launch):
            return [blocks]
        found: list[int] = np.bincount(self.launch, minlength=len(self.kinds)).tolist()
        return found


def is_uneven(instructions: NDArray[np.int64]) -> bool:
    """Whether blocks of so many ``instructions`` (blocks,) differ by more than :data:`UNEVEN`."""
    return float(np.ptp(instructions)) > UNEVEN * float(instructions.mean())


def warp_paths_of(sliced: SlicedTrace, blocks: BlockKinds, traffic: Sequence[Traffic]) -> WarpPaths:
    """Paths of the warps in the blocks of a sliced trace that stand for the launch's blocks of each
    kind.

    ``traffic`` has, for each kind, the traffic of all blocks of that kind in the launch.
    """
    rows = np.sort(np.concatenate([blocks.timed(k) for k in range(blocks.kinds)]))
    program = sliced.program
    places = [np.array(block.places, np.int64) for block in program.blocks]
    sizes = np.array([len(own) for own in places], np.int64)
    found, warps = _different_paths(sliced, rows)
    whole = np.array([int(sizes[path].sum()) for path in found])
    # All are shortened by the same factor, so that their ratios of lengths stay.
    least = min(1.0, LONGEST / max(1, int(whole.max())))
    work = whole[warps].sum(axis=1)
    if len(rows) == len(blocks.launch) and is_uneven(work):
        # The timeline runs them in full, to see which block ends last.
        least = min(least, MOST_IN_FULL / float(work.sum()))
    short = [shortened(p, sizes, math.ceil(n * least)) for p, n in zip(found, whole, strict=True)]
    joined = [np.concatenate([places[b] for b in p]) if len(p) else p for p in short]
    length = np.array([len(p) for p in joined], np.int64)
    of_block = length[warps].sum(axis=1)
    kind = blocks.kind[rows]
    own = _instructions_of_kinds(sliced, blocks)
    scales = [
        float(total / max(1, size) / max(1.0, float(of_block[kind == k].mean())))
        for k, (total, size) in enumerate(zip(own, np.bincount(blocks.launch), strict=True))
    ]
    sizes_here = np.bincount(blocks.launch) * [of_block[kind == k].mean() for k in range(len(own))]
    scale = float(np.average(scales, weights=np.maximum(sizes_here, 1e-9)))
    average = total_traffic(traffic)
    return WarpPaths(
        np.concatenate(joined),
        np.cumsum(length) - length,
        length,
        warps,
        frozenset(b.places[-1] for b in program.blocks if _waits(b.terminator) and b.places),
        scale,
        hottest_places(sliced, len(blocks.launch)),
        tuple(
            KindOfBlocks(
                _passes(sliced, blocks.traced(k)),
                _over_average(t, average),
                scales[k] / scale,
                _executions(sliced, blocks, k),
                reuse_of_loads(sliced, blocks.traced(k)),
            )
            for k, t in enumerate(traffic)
        ),
        kind,
        blocks.launch,
    )


def _different_paths(
    sliced: SlicedTrace, rows: NDArray[np.int64]
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """The different paths of the warps in the blocks ``rows`` of a trace, each in basic blocks, and
    (blocks, warps of a block) which of them each warp takes."""
    numbers: dict[bytes, int] = {}
    found: list[NDArray[np.int64]] = []
    warps = np.zeros((len(rows), int(np.count_nonzero(sliced.block_of_warp == 0))), np.int64)
    for n, row in enumerate(rows.tolist()):
        for w, warp in enumerate(np.flatnonzero(sliced.block_of_warp == row).tolist()):
            path = sliced.path(warp)
            key = path.tobytes()
            if key not in numbers:
                numbers[key] = len(found)
                found.append(path)
            warps[n, w] = numbers[key]
    return found, warps


def _instructions_of_kinds(sliced: SlicedTrace, blocks: BlockKinds) -> list[float]:
    """Warp instructions of all blocks of each kind in the launch."""
    of_block = np.array([b.instructions for b in sliced.program.blocks], np.int64)
    counted = sliced.executions[:, :, 0] @ of_block
    return [float(blocks.totals(counted, k)) for k in range(blocks.kinds)]


def _executions(sliced: SlicedTrace, blocks: BlockKinds, kind: int) -> dict[int, float]:
    """By offset: warps of all blocks of a kind that execute each instruction."""
    counted = blocks.totals(sliced.executions[:, :, 0], kind)
    found: dict[int, float] = {}
    for block, count in zip(sliced.program.blocks, counted.tolist(), strict=True):
        if count:
            for place in block.places:
                found[place] = found.get(place, 0.0) + count
    return found


def _over_average(own: Traffic, average: Traffic) -> dict[int, float]:
    """By offset: sectors that one execution asks of L2, over those of the launch's average."""
    of_all = {t.site.ptx_line: t.l2_sectors.value / t.requests for t in average.sites if t.requests}
    return {
        t.site.ptx_line: t.l2_sectors.value / t.requests / of_all[t.site.ptx_line]
        for t in own.sites
        if t.requests and of_all.get(t.site.ptx_line, 0.0) > 0.0
    }


def warp_paths_from_counts(run: SimulatedLaunch) -> WarpPaths:
    """A single path that stands for the average warp, made from how often each basic block was
    executed: blocks in the order of the program, with neighbours that are executed equally often
    taken as one loop."""
    warps = run.launch.blocks * run.launch.warps_per_block
    pieces: list[tuple[NDArray[np.int64], int]] = []
    execution = run.execution
    for places, (count, _) in zip(
        execution.block_places, execution.block_executions.tolist(), strict=True
    ):
        times = round(count / warps)
        if not times or not places:
            continue
        own = np.array(places, np.int64)
        if pieces and pieces[-1][1] == times:
            pieces[-1] = (np.concatenate([pieces[-1][0], own]), times)
        else:
            pieces.append((own, times))
    path = np.concatenate([np.tile(own, times) for own, times in pieces] or [np.zeros(0, np.int64)])
    scale = execution.warp_instructions / warps / max(1, len(path))
    barriers = {i.offset for i in machine_code(run.kernel).instructions if i.parts[0] == "BAR"}
    zero = np.zeros(1, np.int64)
    return WarpPaths(
        path,
        zero,
        np.array([len(path)]),
        np.zeros((1, run.launch.warps_per_block), np.int64),
        frozenset(barriers),
        scale,
    )


def _waits(terminator: object) -> bool:
    return isinstance(terminator, Barrier) and not terminator.arrive_only


def _passes(sliced: SlicedTrace, traced: NDArray[np.bool_]) -> dict[int, Passes]:
    """Average use of L1 by each instruction's accesses, by its offset; ``traced`` (blocks,) says
    which blocks count."""
    counts = traced[sliced.block_of_warp]
    counted: dict[int, list[NDArray[np.float64]]] = {}
    seen: dict[int, int] = {}
    kept: dict[int, list[Accesses]] = {}
    for access in sliced.accesses:
        site = sliced.sites[access.site]
        place = site.ptx_line
        if site.space not in THROUGH_L1 or seen.get(place, 0) >= _MOST_COUNTED:
            continue
        own_warps = counts[access.warps]
        if not own_warps.any():
            continue
        access = access.of(own_warps)
        seen[place] = seen.get(place, 0) + len(access.mask)
        if site.space == "local":
            # Local memory interleaves the words of a warp's threads, so they lie side by side.
            words = max(1.0, site.lane_bytes / BANK_BYTES)
            counted.setdefault(place, []).append(np.full((len(access.mask), 3), words))
        else:
            kept.setdefault(site.lane_bytes, []).append(access)
    for lane_bytes, accesses in kept.items():
        each = passes_of(
            np.concatenate([a.offset for a in accesses]),
            np.concatenate([a.mask for a in accesses]),
            lane_bytes,
        )
        ends = np.cumsum([len(a.mask) for a in accesses])[:-1]
        for access, own in zip(accesses, np.split(each, ends), strict=True):
            site = sliced.sites[access.site]
            if site.kind == "store":
                own[:, [0, 2]] = 0.0
            counted.setdefault(site.ptx_line, []).append(own)
    found = {}
    for place, pieces in counted.items():
        found[place] = Passes(*np.concatenate(pieces).mean(axis=0).tolist())
    return found


def passes_of(
    offsets: NDArray[np.int64], mask: NDArray[np.bool_], lane_bytes: int
) -> NDArray[np.float64]:
    """(n, 3) the fields of :class:`Passes` for each access; arguments as of :func:`data_passes`.
    They stay the same if all lanes move by whole lines, so they are computed once for accesses that
    differ in nothing else."""
    key = np.zeros(len(mask), np.int64)
    shapes_of_requests(mask, offsets, key)
    _, some, like = np.unique(key, return_index=True, return_inverse=True)
    own = offsets[some], mask[some], lane_bytes
    found = np.stack([data_passes(*own), lines(*own), full_passes(*own)], axis=1)
    return found[like]


def lines(
    offsets: NDArray[np.int64], mask: NDArray[np.bool_], lane_bytes: int
) -> NDArray[np.float64]:
    """(n,) lines that the active lanes of each access touch, where the second of just two
    neighbours counts :data:`NEXT_LINE`; arguments as of :func:`data_passes`."""
    ends = np.stack([offsets, offsets + lane_bytes - 1], axis=2).reshape(len(offsets), -1)
    line, active = ends // LINE_BYTES, np.repeat(mask, 2, axis=1)
    found = _different(line, active)
    far = np.iinfo(np.int64).max
    first = np.where(active, line, far).min(axis=1, initial=far)
    last = np.where(active, line, -1).max(axis=1, initial=-1)
    found[(found == 2.0) & (last - first == 1)] = 1.0 + NEXT_LINE
    return found


def _different(values: NDArray[np.int64], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(n,) how many different values each row has where its mask holds."""
    far = np.iinfo(np.int64).max
    ordered = np.sort(np.where(mask, values, far), axis=1)
    new = np.diff(ordered, axis=1, prepend=-1) != 0
    count: NDArray[np.float64] = (new & (ordered != far)).sum(axis=1).astype(np.float64)
    return count


def data_passes(
    offsets: NDArray[np.int64], mask: NDArray[np.bool_], lane_bytes: int
) -> NDArray[np.float64]:
    """(n,) cycles of L1's data array for each load: groups of lanes that together ask for 128 bytes
    are served together, and different words of one bank one after another, as in shared memory.

    ``offsets`` (n, 32) are where each lane's ``lane_bytes`` bytes begin, ``mask`` (n, 32) which
    lanes are active. Measured cycles of strided loads (gpu-benches, gpu-strides on A100, A40 and
    H200) are the larger of this and of the tags'.
    """
    words = max(1, lane_bytes // BANK_BYTES)
    per_group = max(1, BANKS // words)
    total = np.zeros(len(offsets))
    for first in range(0, 32, per_group):
        own = offsets[:, first : first + per_group] // BANK_BYTES
        active = np.repeat(mask[:, first : first + per_group], words, axis=1)
        word = (own[:, :, None] + np.arange(words)).reshape(len(offsets), -1)
        total += _conflicts(word, active)
    return total


def full_passes(
    offsets: NDArray[np.int64], mask: NDArray[np.bool_], lane_bytes: int
) -> NDArray[np.float64]:
    """(n,) cycles of L1's data array if no words met in one bank; arguments as of
    :func:`data_passes`."""
    words = max(1, lane_bytes // BANK_BYTES)
    word = (offsets[:, :, None] // BANK_BYTES + np.arange(words)).reshape(len(offsets), -1)
    return _different(word, np.repeat(mask, words, axis=1)) / BANKS


def _conflicts(word: NDArray[np.int64], active: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(n,) most different words in one bank; equal words of a row count once."""
    if not len(word):
        return np.zeros(0)
    far = np.iinfo(np.int64).max
    ordered = np.sort(np.where(active, word, far), axis=1)
    new = (np.diff(ordered, axis=1, prepend=-1) != 0) & (ordered != far)
    row = np.repeat(np.arange(len(word)), word.shape[1]).reshape(word.shape)
    at = (row * BANKS + ordered % BANKS)[new]
    per_bank = np.bincount(at, minlength=len(word) * BANKS).reshape(len(word), BANKS)
    most: NDArray[np.float64] = per_bank.max(axis=1).astype(np.float64)
    return most
