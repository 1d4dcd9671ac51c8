"""A trace consumer that finds how far a launch reaches into each array and into shared memory, and
what it loads."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from placewise.executor.trace import Site, TraceChunk, lane_offsets, some_accesses

_HALVES = np.arange(1 << 16)
_HIGHEST = np.frexp(_HALVES)[1].astype(np.int64) - 1
"""(65536,) number of the highest bit of each half warp's mask; -1 for none."""
_LOWEST = np.frexp(_HALVES & -_HALVES)[1].astype(np.int64) - 1


class AccessEnds:
    """Consumer that keeps how far each array is accessed."""

    def __init__(self) -> None:
        self.bytes: dict[str, int] = {}
        """Highest byte accessed in each array, plus one, by name."""
        self.shared_bytes: int | None = 0
        """Highest byte of a block's shared memory that is accessed, plus one; None where that is
        not known, since an access by a pointer may be to shared memory."""
        self.loaded: set[str] = set()
        """Arrays that are loaded from; atomics do not count."""
        self._width = np.zeros(0, np.int64)
        self._is_load = self._is_shared = self._is_generic = np.zeros(0, np.bool_)
        self._arrays: tuple[str, ...] = ()
        self._lock = threading.Lock()

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """Start of a run."""
        self._arrays = arrays
        self._width = np.array([site.lane_bytes for site in sites], np.int64)
        self._is_load = np.array([site.kind == "load" for site in sites], np.bool_)
        self._is_shared = np.array([site.space == "shared" for site in sites], np.bool_)
        self._is_generic = np.array([site.space == "generic" for site in sites], np.bool_)

    def chunk(self, chunk: TraceChunk) -> None:
        """Look at a chunk's accesses."""
        ends = highest_offsets(chunk) + self._width[chunk.site]
        loads = self._is_load[chunk.site]
        shared = ends[self._is_shared[chunk.site] & (chunk.mask != 0)]
        unknown = bool((self._is_generic[chunk.site] & (chunk.array < 0)).any())
        with self._lock:
            if unknown:
                self.shared_bytes = None
            elif self.shared_bytes is not None:
                self.shared_bytes = max(self.shared_bytes, int(shared.max(initial=0)))
            for number, name in enumerate(self._arrays):
                here = (chunk.array == number) & (chunk.mask != 0)
                if here.any():
                    self.bytes[name] = max(self.bytes.get(name, 0), int(ends[here].max()))
                if (here & loads).any():
                    self.loaded.add(name)


def highest_offsets(chunk: TraceChunk) -> NDArray[np.int64]:
    """(n,) largest byte offset of each access's active lanes; -1 where none is active."""
    last = np.full(len(chunk), -1, np.int64)
    stride = np.asarray(chunk.stride, np.int64)
    for half, base in ((chunk.mask & 0xFFFF, chunk.base), (chunk.mask >> 16, chunk.upper)):
        lane = np.where(stride >= 0, _HIGHEST[half], _LOWEST[half])
        last = np.maximum(last, np.where(half != 0, base + stride * lane, -1))
    irregular = np.flatnonzero(chunk.row >= 0)
    some = some_accesses(chunk, irregular)
    active = (some.mask[:, None] >> np.arange(32, dtype=np.uint32) & 1).astype(np.bool_)
    last[irregular] = np.where(active, lane_offsets(some), -1).max(axis=1, initial=-1)
    return last
