"""How often each byte of each array is read and written over all launches of a program."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from placewise.executor import Site, TraceChunk, lane_offsets

_LANES = np.arange(32)


class Touched:
    """A trace consumer that counts accesses per byte, reads and writes apart.

    Atomics count as both. Constant and shared memory are left out: machine code reads constants
    as operands of arithmetic too, and shared memory belongs to no array.
    """

    def __init__(self) -> None:
        self._sites: tuple[Site, ...] = ()
        self._arrays: tuple[str, ...] = ()
        self._edges: dict[tuple[str, str], NDArray[np.int64]] = {}

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        self._sites, self._arrays = sites, arrays
        self._bytes = np.array([s.lane_bytes for s in sites], np.int64)
        self._constant = np.array([s.space == "constant" for s in sites], bool)
        self._kind = np.array([("load", "store", "atomic").index(s.kind) for s in sites])

    def chunk(self, chunk: TraceChunk) -> None:
        mask = (chunk.mask[:, None] >> _LANES.astype(np.uint32)) & 1 != 0
        mask &= (chunk.array >= 0)[:, None] & ~self._constant[chunk.site][:, None]
        offsets = lane_offsets(chunk)
        sizes = self._bytes[chunk.site]
        for array in np.unique(chunk.array[chunk.array >= 0]):
            for kind in range(3):
                rows = (chunk.array == array) & (self._kind[chunk.site] == kind)
                lanes = mask[rows]
                if not lanes.any():
                    continue
                first = offsets[rows][lanes]
                last = (offsets[rows] + sizes[rows][:, None])[lanes]
                for way in (("read",), ("written",), ("read", "written"))[kind]:
                    self._count(self._arrays[array], way, first, last)

    def _count(
        self, array: str, way: str, first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> None:
        size = int(last.max()) + 1
        known = self._edges.get((array, way), np.zeros(0, np.int64))
        if known.size < size:
            known = np.concatenate([known, np.zeros(max(size, known.size), np.int64)])
            self._edges[array, way] = known
        begun = np.bincount(first)
        known[: begun.size] += begun
        ended = np.bincount(last)
        known[: ended.size] -= ended

    def counts(self) -> Mapping[tuple[str, str], NDArray[np.int64]]:
        """(array, ``read`` or ``written``) → accesses of each byte up to the last one touched."""
        return {k: np.trim_zeros(np.cumsum(v), "b") for k, v in self._edges.items()}


def differences(a: Touched, b: Touched) -> tuple[str, ...]:
    """What differs between two runs, in words; empty where every byte is touched alike."""
    left, right = a.counts(), b.counts()
    nothing = np.zeros(0, np.int64)
    found = []
    for key in sorted({*left, *right}):
        x, y = left.get(key, nothing), right.get(key, nothing)
        if not np.array_equal(x, y):
            found.append(f"{key[0]} {key[1]} {int(x.sum())} and {int(y.sum())} bytes")
    return tuple(found)
