"""A sample of a launch's blocks that stands for all of them, and says how well.

Neighbouring blocks are mostly alike, but blocks at the edges of the grid differ from others,
because guards hold threads back there. So the sample is stratified: the last column, the last row
and the last layer of the grid are strata of their own, the rest is cut into runs of consecutive
blocks, and of every stratum at least two blocks are drawn at random. Totals are scaled stratum by
stratum, and their standard error follows from how much the drawn blocks of a stratum differ
(Cochran, "Sampling Techniques", 3rd edition, 1977, equations 5.1 and 5.13).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.executor.trace import Site, TraceChunk, lane_offsets
from placewise.kernel.launch import MOST_LISTED, Launch, too_many_blocks

SECTOR_BYTES = 32
"""What memory systems of NVIDIA GPUs move at least (CUDA C++ Programming Guide, "Device Memory
Accesses")."""

_PER_STRATUM = 2
"""Blocks that a stratum must have in the sample to tell how much it varies."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """Totals over all blocks of a launch, of one or several quantities."""

    total: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    """0 where every block was counted."""


@dataclass(frozen=True, eq=False)
class SampledBlocks:
    """Blocks drawn from a launch."""

    chosen: NDArray[np.int64]
    """(n,) linear numbers of the blocks that were drawn, ascending."""
    stratum: NDArray[np.int64]
    """(n,) stratum of each block that was drawn."""
    stratum_sizes: NDArray[np.int64]
    """(strata,) blocks of the launch in each stratum."""

    @property
    def first_of_stratum(self) -> NDArray[np.int64]:
        """(strata,) the first block drawn of each stratum."""
        return self.chosen[np.unique(self.stratum, return_index=True)[1]]

    @property
    def flags(self) -> NDArray[np.bool_]:
        """(blocks,) True where a block was drawn: ``trace_blocks`` of a run."""
        flags = np.zeros(int(self.stratum_sizes.sum()), np.bool_)
        flags[self.chosen] = True
        return flags

    @property
    def complete(self) -> bool:
        """Whether every block was drawn."""
        return len(self.chosen) == int(self.stratum_sizes.sum())

    def estimate(self, values: NDArray[np.generic]) -> Estimate:
        """Totals over the launch from ``values``, (n,) or (n, quantities), of the drawn blocks."""
        each = np.asarray(values, np.float64).reshape(len(self.chosen), -1)
        total = np.zeros(each.shape[1])
        variance = np.zeros(each.shape[1])
        for number, size in enumerate(self.stratum_sizes.tolist()):
            drawn = each[self.stratum == number]
            count = len(drawn)
            total += size * drawn.mean(axis=0)
            if count < size:
                spread = drawn.var(axis=0, ddof=1)
                variance += size**2 * (1 - count / size) * spread / count
        return Estimate(total, np.sqrt(variance))


def sample_blocks(launch: Launch, count: int, *, seed: int = 0) -> SampledBlocks:
    """Draw about ``count`` blocks of ``launch``: all where it has no more, and never fewer than two
    of each kind of edge. The same seed draws the same blocks.

    Raises CaseError for fewer than one block, UnsupportedError for a grid of too many.
    """
    if count < 1:
        raise CaseError(f"a sample of {count} blocks", where="count", hint="ask for one at least")
    if launch.blocks > MOST_LISTED:
        raise too_many_blocks(launch)
    strata = [np.arange(launch.blocks)] if launch.blocks <= count else _strata(launch, count)
    generator = np.random.default_rng(seed)
    chosen, numbers = [], []
    for number, blocks in enumerate(strata):
        share = round(count * len(blocks) / launch.blocks)
        wanted = min(len(blocks), max(_PER_STRATUM, share))
        drawn = np.sort(generator.choice(blocks, wanted, replace=False))
        chosen.append(drawn)
        numbers.append(np.full(wanted, number))
    joined, stratum = np.concatenate(chosen), np.concatenate(numbers)
    order = np.argsort(joined)
    sizes = np.array([len(blocks) for blocks in strata], np.int64)
    return SampledBlocks(joined[order].astype(np.int64), stratum[order].astype(np.int64), sizes)


def edges_of(launch: Launch, blocks: NDArray[np.int64]) -> NDArray[np.uint8]:
    """(n,) on which edges of the grid each of ``blocks`` (linear numbers) lies: 1 for the last
    column, 2 for the last row, 4 for the last layer, added up. A dimension of one block has no
    edge."""
    gx, gy, gz = launch.grid
    x, y, z = blocks % gx, blocks // gx % gy, blocks // (gx * gy)
    last = ((gx > 1) & (x == gx - 1), (gy > 1) & (y == gy - 1), (gz > 1) & (z == gz - 1))
    edges = np.zeros(len(blocks), np.uint8)
    for n, flag in enumerate(last):
        edges |= flag.astype(np.uint8) << n
    return edges


def _strata(launch: Launch, count: int) -> list[NDArray[np.int64]]:
    block = np.arange(launch.blocks)
    edge = edges_of(launch, block)
    strata = []
    for kind in np.unique(edge).tolist():
        members = block[edge == kind]
        runs = max(1, round(count * len(members) / launch.blocks) // _PER_STRATUM)
        strata += np.array_split(members, runs)
    return strata


class BlockCounts:
    """A trace consumer that counts, for each traced block and memory instruction, warp accesses,
    active lanes, and sectors touched."""

    def __init__(self, sample: SampledBlocks) -> None:
        self._sample = sample
        self.sites: tuple[Site, ...] = ()
        self.arrays: tuple[str, ...] = ()
        self._counts: NDArray[np.int64] = np.zeros((0, 0, 3), np.int64)
        self._lane_bytes: NDArray[np.int64] = np.zeros(0, np.int64)

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """Start of a run."""
        self.sites = sites
        self.arrays = arrays
        self._counts = np.zeros((len(self._sample.chosen), len(sites), 3), np.int64)
        self._lane_bytes = np.array([site.lane_bytes for site in sites], np.int64)

    def chunk(self, chunk: TraceChunk) -> None:
        """Count one chunk."""
        row = np.searchsorted(self._sample.chosen, chunk.block)
        at = row * len(self.sites) + chunk.site
        flat = self._counts.reshape(-1, 3)
        amounts = (np.ones(len(chunk)), np.bitwise_count(chunk.mask), self._sectors(chunk))
        for column, amount in enumerate(amounts):
            flat[:, column] += np.bincount(at, amount, len(flat)).astype(np.int64)

    def _sectors(self, chunk: TraceChunk) -> NDArray[np.int64]:
        """(n,) different sectors under the first and last bytes of the active lanes' accesses."""
        offsets = lane_offsets(chunk)
        active = (chunk.mask[:, None] >> np.arange(32, dtype=np.uint32) & 1).astype(np.bool_)
        lowest = np.argmax(active, axis=1)
        some = offsets[np.arange(len(chunk)), lowest]
        offsets = np.where(active, offsets, some[:, None])
        reach = self._lane_bytes[chunk.site][:, None] - 1
        ends = np.concatenate([offsets, offsets + reach], axis=1) // SECTOR_BYTES
        ends.sort(axis=1)
        different: NDArray[np.int64] = 1 + (np.diff(ends, axis=1) != 0).sum(axis=1)
        return different

    def _of(self, column: int) -> Estimate:
        return self._sample.estimate(self._counts[:, :, column])

    def accesses(self) -> Estimate:
        """(sites,) warp accesses of the whole launch."""
        return self._of(0)

    def lanes(self) -> Estimate:
        """(sites,) active lanes in the warp accesses of the whole launch."""
        return self._of(1)

    def sectors(self) -> Estimate:
        """(sites,) sectors that the warp accesses of the whole launch touch, counted for each
        access by itself."""
        return self._of(2)
