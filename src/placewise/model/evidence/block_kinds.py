"""Which blocks of a launch are traced in its place, and which kind of block each one is.

Guards make blocks at the last column, row or layer of the grid differ from those in the interior:
they may have most of their threads idle. Blocks that lie at the same of these edges are of one
kind; kinds that are rare in a launch of many waves count as interior. The traced blocks are those
that one SM holds at a time in the middle of the launch, whose accesses go through the SM's caches
together, the neighbours of one of these, and a stratified sample of all blocks
(:mod:`placewise.executor.stratified_blocks`), with at least two of each kind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from placewise.executor.stratified_blocks import SampledBlocks, edges_of, sample_blocks
from placewise.kernel.launch import Launch
from placewise.machine.machine import Machine
from placewise.memory.occupancy import Occupancy
from placewise.memory.simulate.schedule.block_to_sm import block_slots
from placewise.model.evidence.spills import SEED

WARPS = 64
"""Approximate number of warps in each of the two block samples."""
ALL_WARPS = 640
"""Most warps of a launch of which all blocks are traced."""
LEAST_BLOCKS = 2
SMS_OF_A_WAVE = 3
"""SMs looked at together where a launch is one wave that is not full."""
_RARE = 0.02
"""In a launch of many waves, kinds with less than this share of its blocks count as interior."""
_FEW_WAVES = 4
"""In a launch of at most this many waves every kind counts: a single block may end last."""


@dataclass(frozen=True, eq=False)
class BlockKinds:
    """The n blocks of a launch that are traced, and which blocks of the launch they stand for."""

    numbers: NDArray[np.int64]
    """(n,) linear numbers, ascending."""
    resident: NDArray[np.bool_]
    """(n,) whether the block is one of those that one SM holds together."""
    sample: SampledBlocks
    rows: NDArray[np.int64]
    """(blocks of the sample,) their positions in ``numbers``."""
    kind: NDArray[np.int64]
    """(n,) kind of each block; 0 is the most frequent one."""
    stratum_kind: NDArray[np.int64]
    """(strata,) kind of the blocks of each stratum of the sample."""
    launch: NDArray[np.uint8]
    """(blocks of the launch,) kind of each."""
    rare: NDArray[np.bool_]
    """(n,) whether the block is of a rare kind, and so counts as kind 0."""
    most_traced: int
    """Most blocks of a kind whose accesses are simulated."""

    @property
    def kinds(self) -> int:
        """Number of kinds."""
        return int(self.stratum_kind.max()) + 1

    def traced(self, kind: int) -> NDArray[np.bool_]:
        """(n,) whether the block's accesses are simulated to stand for blocks of ``kind``. For the
        most frequent kind these are blocks that one SM holds together; for another kind, any of
        that kind."""
        own: NDArray[np.bool_] = (self.kind == kind) & ~self.rare
        together = own & self.resident
        if not kind and together.any():
            own = together
        return own & (np.cumsum(own) <= self.most_traced)

    def timed(self, kind: int) -> NDArray[np.int64]:
        """Positions of the blocks whose warp paths stand for those of ``kind``."""
        return np.flatnonzero((self.kind == kind) & ~self.rare)

    def totals(self, values: NDArray[np.int64], kind: int) -> NDArray[np.float64]:
        """Totals over all blocks of one kind in the launch, estimated from ``values`` (n, …) of the
        traced blocks."""
        own = np.asarray(values[self.rows], np.float64)
        total = np.zeros(own.shape[1:])
        for stratum in np.flatnonzero(self.stratum_kind == kind).tolist():
            drawn = own[self.sample.stratum == stratum]
            total += self.sample.stratum_sizes[stratum] * drawn.mean(axis=0)
        return total


def blocks_by_kind(
    launch: Launch, machine: Machine, resident: Occupancy, *, groups: int = 1
) -> BlockKinds:
    """The blocks of ``launch`` to trace. An SM of ``machine`` holds ``resident.blocks`` of them.

    ``groups`` multiplies the number of traced blocks; those that share an SM are then from as many
    parts of the launch. More than one group is for launches whose blocks differ much.
    """
    count = max(LEAST_BLOCKS, min(8, WARPS // launch.warps_per_block)) * groups
    together = _together(launch, machine, resident, groups)
    if launch.blocks <= count or launch.blocks * launch.warps_per_block <= ALL_WARPS:
        every = every_block(launch)
        return replace(every, resident=np.isin(every.numbers, together), most_traced=count)
    sample = sample_blocks(launch, count)
    numbers = np.union1d(np.union1d(sample.chosen, together), _beside(int(together[0]), launch))
    edges = edges_of(launch, np.arange(launch.blocks))
    sizes = np.bincount(edges, minlength=8)
    common = np.argsort(-sizes, kind="stable")
    waves = launch.blocks / (machine.processor.sms * max(1, resident.blocks))
    least = _RARE * launch.blocks if waves > _FEW_WAVES else 1.0
    common = common[sizes[common] >= max(1.0, least)]
    kind_of = np.zeros(8, np.uint8)
    kind_of[common] = np.arange(len(common))
    rare = np.ones(8, np.bool_)
    rare[common] = False
    own = edges[numbers]
    return BlockKinds(
        numbers,
        np.isin(numbers, together),
        sample,
        np.searchsorted(numbers, sample.chosen),
        kind_of[own].astype(np.int64),
        kind_of[edges[sample.first_of_stratum]].astype(np.int64),
        kind_of[edges],
        rare[own],
        len(numbers),
    )


def every_block(launch: Launch) -> BlockKinds:
    """All blocks of ``launch``, each standing for itself; kinds with few blocks count, too. For
    launches small enough to trace all."""
    numbers = np.arange(launch.blocks)
    edges = edges_of(launch, numbers)
    kind = np.argsort(np.argsort(-np.bincount(edges, minlength=8), kind="stable"))[edges]
    sample = SampledBlocks(numbers, kind, np.bincount(kind))
    everywhere = np.ones(launch.blocks, np.bool_)
    return BlockKinds(
        numbers, everywhere, sample, numbers, kind, np.arange(int(kind.max()) + 1),
        kind.astype(np.uint8), ~everywhere, launch.blocks,
    )  # fmt: skip


def _beside(block: int, launch: Launch) -> NDArray[np.int64]:
    """Numbers of the block before ``block`` along each axis of the grid, or of the block after it
    where it is the first. They tell how much data neighbours share."""
    step, found = 1, []
    for extent in launch.grid:
        if extent > 1:
            found.append(block - step if block // step % extent else block + step)
        step *= extent
    return np.array(found, np.int64)


def _together(
    launch: Launch, machine: Machine, resident: Occupancy, groups: int
) -> NDArray[np.int64]:
    """Numbers of the blocks that one SM holds at a time in the middle of the launch, as the
    simulated memory system assigns them; they share an L1. With several ``groups``, the blocks of
    that many SMs in waves throughout the launch."""
    sms = machine.processor.sms
    wave = sms * resident.blocks
    waves = -(-launch.blocks // wave)
    held = max(1, min(resident.blocks, WARPS // launch.warps_per_block))
    found = []
    for group in range(groups):
        number = (2 * group + 1) * waves // (2 * groups)
        slots = block_slots(number, sms, resident.blocks, SEED)
        sm_of = (slots // resident.blocks)[: launch.blocks - number * wave]
        chosen = _usual_sms(np.bincount(sm_of), group) if waves == 1 else [group % sms]
        for sm in chosen:
            found.append(number * wave + np.flatnonzero(sm_of == sm)[:held])
    together = np.unique(np.concatenate(found))
    return together if len(together) else np.arange(0, launch.blocks, sms)[:held]


def _usual_sms(counts: NDArray[np.int64], group: int) -> list[int]:
    """SMs that together hold about as many blocks each as all do on the average, from ``counts``
    (sms,) of blocks: one, or three where some have a block more than others."""
    busy = counts[counts > 0]
    few, many = int(busy.mean()), -(-int(busy.sum()) // len(busy))
    with_more = round(SMS_OF_A_WAVE * (float(busy.mean()) - few))
    found = []
    for wanted, number in ((few, SMS_OF_A_WAVE - with_more), (many, with_more)):
        sms = np.flatnonzero(counts == wanted)
        found += np.roll(sms, -group * SMS_OF_A_WAVE)[:number].tolist()
    return found[:1] if with_more in (0, SMS_OF_A_WAVE) else found
