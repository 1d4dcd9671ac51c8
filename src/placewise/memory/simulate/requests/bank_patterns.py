"""Counts access patterns in memories without cache lines, such as shared memory.

Most accesses of a kernel have one of few patterns. Accesses have the same pattern if the same lanes
are active, these have addresses at the same constant stride, and the first address is at the same
place in the period of the memory's serialization condition. A hash table counts the accesses of
each pattern; later, bank conflicts are calculated once for each pattern.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.geometry import Int
from placewise.memory.simulate.simd.jit_helpers import lowest, noinline

KEY = 5
"""Words of a key: access stream, lane 0's place in the period, lane 16's address minus lane 0's,
stride, mask."""
ODD_ROOM = 8192
"""Number of gathers (accesses without a pattern) that are kept until they are counted."""


class Patterns(NamedTuple):
    """A hash table of patterns (open addressing), and the gathers, which have no pattern."""

    keys: NDArray[np.int64]
    """(slots, KEY)"""
    seen: NDArray[np.int64]
    """(slots,) accesses; 0 for a free slot."""
    used: NDArray[np.int64]
    """(2,) number of patterns and of gathers."""
    odd: NDArray[np.int64]
    """(ODD_ROOM, 32) offsets of the lanes of each gather, in bytes; those of inactive lanes are
    undefined."""
    odd_stream: NDArray[np.int64]
    """(ODD_ROOM,)"""
    odd_mask: NDArray[np.uint32]
    """(ODD_ROOM,)"""


def new_patterns(slots: int) -> Patterns:
    """An empty table with room for 3/4 of ``slots`` patterns; ``slots`` is a power of two."""
    return Patterns(
        np.zeros((slots, KEY), np.int64),
        np.zeros(slots, np.int64),
        np.zeros(2, np.int64),
        np.zeros((ODD_ROOM, 32), np.int64),
        np.zeros(ODD_ROOM, np.int64),
        np.zeros(ODD_ROOM, np.uint32),
    )


def forget(patterns: Patterns) -> None:
    """Empty the table."""
    patterns.seen[:] = 0
    patterns.used[:] = 0


@noinline
def count_pattern(
    patterns: Patterns, stream: Int, place: Int, upper: Int, stride: Int, mask: Int
) -> bool:
    """Count an access of a pattern; returns False if the pattern is new and the table is full."""
    keys, seen = patterns.keys, patterns.seen
    size = keys.shape[0]
    mixed = np.uint64(place) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(mask)
    mixed ^= np.uint64(upper) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= (np.uint64(stride) << np.uint64(20)) ^ (np.uint64(stream) << np.uint64(7))
    mixed *= np.uint64(0xFF51AFD7ED558CCD)
    at = np.int64(mixed >> np.uint64(40)) & (size - 1)
    while seen[at]:
        if (
            keys[at, 1] == place
            and keys[at, 0] == stream
            and keys[at, 2] == upper
            and keys[at, 3] == stride
            and keys[at, 4] == mask
        ):
            seen[at] += 1
            return True
        at = (at + 1) & (size - 1)
    if patterns.used[0] * 4 >= size * 3:
        return False
    keys[at, 0] = stream
    keys[at, 1] = place
    keys[at, 2] = upper
    keys[at, 3] = stride
    keys[at, 4] = mask
    seen[at] = 1
    patterns.used[0] += 1
    return True


@noinline
def keep_odd(patterns: Patterns, stream: Int, mask: Int, row: Int, offsets: Any) -> bool:
    """Keep a gather whose active lanes' offsets start at ``row``; returns False if there is no
    room."""
    n = patterns.used[1]
    if n == patterns.odd_mask.shape[0]:
        return False
    patterns.used[1] = n + 1
    patterns.odd_stream[n] = stream
    patterns.odd_mask[n] = mask
    left = mask
    while left:
        patterns.odd[n, lowest(left)] = offsets[row]
        row += 1
        left &= left - 1
    return True
