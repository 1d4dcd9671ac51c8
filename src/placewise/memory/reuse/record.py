"""Collects the sampled accesses of a run, within a budget."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from placewise.errors import UnsupportedError
from placewise.executor.trace import Site, TraceChunk, affine, lane_offsets, some_accesses
from placewise.memory.reuse.sampling.trace_sample import WARPS_AT_FIRST, BlockSample, SamplePlan

ACCESS_BUDGET = 4_000_000
"""Most warp accesses that are kept (about 36 bytes each)."""

ROW_BUDGET = 1_000_000
"""Most accesses with their own 32 offsets that are kept (128 bytes each)."""


@dataclass(frozen=True, eq=False)
class Accesses:
    """Warp accesses to arrays; the columns of :class:`TraceChunk` that the memory system needs."""

    site: NDArray[np.int32]
    """(n,) memory instruction of each access."""
    block: NDArray[np.int32]
    warp: NDArray[np.int32]
    mask: NDArray[np.uint32]
    """(n,) active lanes, a bit for each."""
    array: NDArray[np.int32]
    """(n,) number of the array among those of the run."""
    base: NDArray[np.int64]
    """(n,) lane 0's bytes from the array's start."""
    stride: NDArray[np.int32]
    """(n,) bytes from one lane to the next."""
    row: NDArray[np.int32]
    """Row of ``offsets``; -1 where the lanes of the whole warp have a constant stride."""
    offsets: NDArray[np.int32]
    """(rows, 32) offsets in bytes; arrays are smaller than 2 GiB."""

    def __len__(self) -> int:
        return len(self.site)

    def keep(self, kept: NDArray[np.bool_]) -> Accesses:
        """Copies of the accesses where ``kept`` is True, with only their offsets."""
        row = self.row[kept]
        irregular = row >= 0
        offsets = self.offsets[row[irregular]]
        row[irregular] = np.arange(len(offsets), dtype=np.int32)
        return Accesses(
            self.site[kept],
            self.block[kept],
            self.warp[kept],
            self.mask[kept],
            self.array[kept],
            self.base[kept],
            self.stride[kept],
            row,
            offsets,
        )

    @staticmethod
    def join(parts: list[Accesses]) -> Accesses:
        """The accesses of all ``parts``, in order."""
        if not parts:
            empty32 = np.zeros(0, np.int32)
            return Accesses(
                empty32,
                empty32,
                empty32,
                np.zeros(0, np.uint32),
                empty32,
                np.zeros(0, np.int64),
                empty32,
                empty32,
                np.zeros((0, 32), np.int32),
            )
        if len(parts) == 1:
            return parts[0]
        shifted, rows = [], 0
        for part in parts:
            shifted.append(np.where(part.row >= 0, part.row + np.int32(rows), part.row))
            rows += len(part.offsets)
        return Accesses(
            np.concatenate([p.site for p in parts]),
            np.concatenate([p.block for p in parts]),
            np.concatenate([p.warp for p in parts]),
            np.concatenate([p.mask for p in parts]),
            np.concatenate([p.array for p in parts]),
            np.concatenate([p.base for p in parts]),
            np.concatenate([p.stride for p in parts]),
            np.concatenate(shifted),
            np.concatenate([p.offsets for p in parts]),
        )


def _rows(chunk: TraceChunk) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Rows, and the 32 offsets of each row, of warp accesses without a constant stride over all
    lanes. Raises UnsupportedError for a lane at 2 GiB or more from its array's start."""
    broken = np.flatnonzero(~affine(chunk))
    row = np.full(len(chunk), -1, np.int32)
    row[broken] = np.arange(len(broken), dtype=np.int32)
    offsets = lane_offsets(some_accesses(chunk, broken))
    far = offsets >= 1 << 31
    if far.any():
        lane = np.arange(32, dtype=np.uint32)
        if (far & (chunk.mask[broken, None] >> lane & 1).astype(np.bool_)).any():
            raise UnsupportedError(
                "an array of 2 GiB or more cannot be traced", hint="advise on a smaller problem"
            )
        offsets[far] = 0  # of lanes that are not active
    return row, offsets.astype(np.int32)


def array_accesses(chunk: TraceChunk, traced: NDArray[np.bool_]) -> Accesses | None:
    """Copies of the chunk's accesses to arrays by the blocks where ``traced`` (blocks,) is True;
    None where there are none."""
    wanted = (chunk.array >= 0) & (chunk.mask != 0) & traced[chunk.block]
    if not wanted.any():
        return None
    row, short_offsets = _rows(chunk)
    # keep() copies the selected rows, so the chunk's buffers may be reused afterwards.
    return Accesses(
        chunk.site,
        chunk.block,
        chunk.warp,
        chunk.mask,
        chunk.array,
        chunk.base,
        chunk.stride,
        row,
        short_offsets,
    ).keep(wanted)


def turns(key: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,) how often the same value stands before each of the (n,) keys."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    fresh = np.r_[True, ordered[1:] != ordered[:-1]]
    began = np.maximum.accumulate(np.where(fresh, np.arange(len(key)), 0))
    turn = np.empty(len(key), np.int64)
    turn[order] = np.arange(len(key)) - began
    return turn


class Recorded(Protocol):
    """A trace consumer that keeps the accesses of some blocks to arrays."""

    sites: tuple[Site, ...]
    """Memory instructions of the run."""
    arrays: tuple[str, ...]
    """Names of the run's arrays."""

    @property
    def trace_blocks(self) -> NDArray[np.bool_]:
        """(blocks,) True where a block is to be traced."""

    @property
    def sample(self) -> BlockSample:
        """The blocks whose accesses are kept."""

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """Start of a run."""

    def chunk(self, chunk: TraceChunk) -> None:
        """Keep the accesses of a chunk that are wanted."""

    def accesses(self) -> Accesses:
        """All kept accesses."""


class Recorder:
    """A trace consumer that keeps the accesses of the sampled blocks to arrays.

    The sample starts as large as the plan allows and is made smaller whenever the kept accesses
    exceed the budget. Blocks are then removed from ``trace_blocks`` in place, so that an executor
    that reads it before each block stops tracing them; one that does not only loses time.
    """

    def __init__(
        self,
        plan: SamplePlan,
        warps_per_block: int,
        *,
        access_budget: int = ACCESS_BUDGET,
        row_budget: int = ROW_BUDGET,
        first_warps: int = WARPS_AT_FIRST,
    ) -> None:
        self._plan = plan
        self._sample = plan.first(warps_per_block, first_warps)
        self._trace_blocks = self._sample.traced.copy()
        self._access_budget = access_budget
        self._row_budget = row_budget
        self._parts: list[Accesses] = []
        self._kept = 0
        self._rows = 0
        self._lock = threading.Lock()
        self.sites: tuple[Site, ...] = ()
        self.arrays: tuple[str, ...] = ()

    @property
    def trace_blocks(self) -> NDArray[np.bool_]:
        """(blocks,) True where a block is to be traced; blocks are removed when the budget is
        exceeded."""
        return self._trace_blocks

    @property
    def sample(self) -> BlockSample:
        """The blocks that are traced now."""
        return self._sample

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """Start of a run: its memory instructions and the names of its arrays."""
        self.sites = sites
        self.arrays = arrays

    def expect(self, accesses_per_block: int) -> None:
        """Take a sample that fits the budget if blocks make so many accesses."""
        while not self._sample.smallest:
            if int(self._sample.traced.sum()) * accesses_per_block <= self._access_budget:
                break
            self._sample = self._plan.sample(self._sample.level + 1)
        self._trace_blocks &= self._sample.traced

    def chunk(self, chunk: TraceChunk) -> None:
        """Keep the accesses of a chunk by blocks of the sample."""
        part = array_accesses(chunk, self._sample.traced)
        if part is None:
            return
        with self._lock:
            self._parts.append(part)
            self._kept += len(part)
            self._rows += len(part.offsets)
            if self._kept > self._access_budget or self._rows > self._row_budget:
                self._thin()

    def _thin(self) -> None:
        """Take smaller samples until the budgets hold, and drop accesses of blocks that are no
        longer in the sample."""
        while (
            self._kept > self._access_budget or self._rows > self._row_budget
        ) and not self._sample.smallest:
            self._sample = self._plan.sample(self._sample.level + 1)
            kept = [p.keep(self._sample.traced[p.block]) for p in self._parts]
            self._parts = [p for p in kept if len(p)]
            self._kept = sum(len(p) for p in self._parts)
            self._rows = sum(len(p.offsets) for p in self._parts)
        self._trace_blocks &= self._sample.traced

    def accesses(self) -> Accesses:
        """All kept accesses of the blocks that are still in the sample."""
        joined = Accesses.join(self._parts)
        wanted = self._sample.traced[joined.block]
        if not wanted.all():  # another thread's chunk came in while the sample was thinned
            joined = joined.keep(wanted)
        self._parts = [joined] if len(joined) else []
        return joined
