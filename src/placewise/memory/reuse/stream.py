"""The accesses to one array, in the order in which a machine would issue them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.executor.trace import Site
from placewise.memory.reuse.record import Accesses
from placewise.memory.reuse.sampling.trace_sample import BlockSample

LOAD, STORE = 0, 1
TAGS = 4
"""Number of different tags. The tag of an access is ``2 * half + kind``: its half of the sample,
and LOAD or STORE."""


@dataclass(frozen=True, eq=False)
class ArrayStream:
    """``n`` warp accesses to one array in issue order over the whole device."""

    base: NDArray[np.int64]
    """(n,) bytes from the array's start."""
    stride: NDArray[np.int32]
    """(n,) bytes from one lane to the next."""
    mask: NDArray[np.uint32]
    """(n,) active lanes."""
    row: NDArray[np.int32]
    """(n,) row of ``offsets``; -1 where the lanes have a constant stride."""
    offsets: NDArray[np.int32]
    """(m, 32) bytes, shared by all arrays of the run."""
    lane_bytes: NDArray[np.int32]
    """(n,) bytes that each lane accesses."""
    site: NDArray[np.int32]
    """(n,) memory instruction."""
    sm: NDArray[np.int32]
    """(n,) SM that issues the access."""
    tag: NDArray[np.uint8]
    """(n,) half of the sample and kind of access; atomics count as stores."""
    late: NDArray[np.uint8]
    """(n,) 1 where the block belongs to the later half of the launch, else 0."""
    block: NDArray[np.int32] | None = None
    """(n,) block of the launch that makes the access; None where it is not known."""
    warp: NDArray[np.int32] | None = None
    """(n,) warp of the block; None where it is not known."""

    def __len__(self) -> int:
        return len(self.base)

    @property
    def kind(self) -> NDArray[np.uint8]:
        """(n,) LOAD or STORE."""
        return np.bitwise_and(self.tag, np.uint8(1))

    def take(self, kept: NDArray[np.bool_]) -> ArrayStream:
        """The accesses where ``kept``, in the same order."""
        return ArrayStream(
            self.base[kept],
            self.stride[kept],
            self.mask[kept],
            self.row[kept],
            self.offsets,
            self.lane_bytes[kept],
            self.site[kept],
            self.sm[kept],
            self.tag[kept],
            self.late[kept],
            None if self.block is None else self.block[kept],
            None if self.warp is None else self.warp[kept],
        )

    def requests(self) -> NDArray[np.int64]:
        """(TAGS,) warp accesses per tag."""
        return np.bincount(self.tag, minlength=TAGS).astype(np.int64)

    def lanes(self) -> NDArray[np.int64]:
        """(TAGS,) active lanes per tag."""
        active = np.bitwise_count(self.mask)
        return np.bincount(self.tag, weights=active, minlength=TAGS).astype(np.int64)


def _halves(sample: BlockSample, run: int, block: NDArray[np.int32]) -> NDArray[np.uint8]:
    """(n,) half of the sample (0 or 1) that each access, by ``block`` (n,), belongs to: runs of
    SMs, or else SMs or blocks, belong to the halves alternately."""
    sm = block % len(sample.sms)
    sampled = np.flatnonzero(sample.sms)
    for unit, of in ((sampled // run, sm // run), (sampled, sm)):
        units = np.unique(unit)
        if len(units) > 1:
            return (np.searchsorted(units, of) % 2).astype(np.uint8)
    blocks = np.flatnonzero(sample.traced)
    return (np.searchsorted(blocks, block) % 2).astype(np.uint8)


def array_streams(
    accesses: Accesses, sites: tuple[Site, ...], sample: BlockSample, *, resident: int, run: int
) -> dict[int, ArrayStream]:
    """Streams by array index; arrays without a sampled access are missing.

    ``resident`` blocks share an SM at a time; ``run`` is the number of adjacent SMs that the sample
    keeps together. The order is that of :mod:`placewise.memory.reuse.interleave`.
    """
    if not len(accesses):
        return {}
    order, sm_of = _issue_order(accesses, len(sample.sms), max(1, resident))
    stores = np.array([s.kind != "load" for s in sites], dtype=np.uint8)
    lane_bytes = np.array([s.lane_bytes for s in sites], dtype=np.int32)
    tag = 2 * _halves(sample, run, accesses.block) + stores[accesses.site]
    late = (accesses.block >= sample.middle).astype(np.uint8)
    streams = {}
    for array in np.unique(accesses.array).tolist():
        mine = accesses.array[order] == array
        at = order[mine]
        site = accesses.site[at]
        streams[int(array)] = ArrayStream(
            accesses.base[at],
            accesses.stride[at],
            accesses.mask[at],
            accesses.row[at],
            accesses.offsets,
            lane_bytes[site],
            site,
            sm_of[mine],
            tag[at],
            late[at],
            accesses.block[at],
            accesses.warp[at],
        )
    return streams


def _issue_order(
    accesses: Accesses, sms: int, resident: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """(n,) numbers of the accesses in the order in which ``sms`` SMs issue them, and the SM of
    each."""
    # Numba takes a good part of a second to import, so it is imported only when a run is profiled.
    from placewise.memory.reuse.interleave import interleave

    sm = accesses.block.astype(np.int64) % sms
    rank = accesses.block.astype(np.int64) // sms
    warps = int(accesses.warp.max()) + 1
    task = (sm * (int(rank.max()) + 1) + rank) * warps + accesses.warp
    by_task = np.argsort(task, kind="stable")
    task = task[by_task]

    warp_first = np.flatnonzero(np.r_[True, task[1:] != task[:-1]])
    block = task[warp_first] // warps
    block_first = np.flatnonzero(np.r_[True, block[1:] != block[:-1]])
    block_sm = block[block_first] // (int(rank.max()) + 1)
    sm_blocks = np.searchsorted(block_sm, np.arange(sms + 1))
    order = np.empty(len(accesses), np.int64)
    sm_of = np.empty(len(accesses), np.int32)
    interleave(
        sm_blocks.astype(np.int64),
        np.r_[block_first, len(warp_first)].astype(np.int64),
        np.r_[warp_first, len(task)].astype(np.int64),
        resident,
        order,
        sm_of,
    )
    return by_task[order], sm_of
