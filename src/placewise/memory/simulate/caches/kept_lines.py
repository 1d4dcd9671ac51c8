"""Lines that a cache keeps longer than others: they are evicted last, up to a number of lines in
each set.

PTX ISA, "Cache Eviction Priority Hints": data cached with ``evict_last`` are "last in the eviction
priority order"; CUDA Programming Guide, "L2 Set-Aside for Persisting Accesses": persisting accesses
have priority in a part of L2, which other accesses can use only while these do not. Neither
document says how this works. Here a line is kept from the first access that asks to keep it. If a
set has its most kept lines already, the kept line that was used longest ago (with random
replacement, a random one) becomes an ordinary line. All ordinary lines are evicted before the kept
ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.geometry import Int
from placewise.memory.simulate.caches.replacement import marked_way, random_way
from placewise.memory.simulate.simd.jit_helpers import bits, noinline


@noinline
def order_kept(
    tags: Any, held: Any, kept: NDArray[np.int64], row: Int, first: Int, most: Int, way: Int,
    found: Int, keeps: Int, moves: Int,
) -> Int:  # fmt: skip
    """Make room for an accessed line in a set whose ways lie in the order of use or of arrival.

    The ``kept[row]`` kept lines are stored before the others; both parts are in order. ``way`` is
    where the line was ``found``, or the way that it takes; ``keeps``: the access asks to keep the
    line; ``moves``: the access changes the order. The words of the set's ways start at ``first``.
    Returns the way where the line must be written.
    """
    count = kept[np.uintp(row)]
    if way < count and not found:
        # The set was full of kept lines, of which one is evicted.
        count -= 1
    was_kept = way < count
    if keeps and not was_kept:
        to = np.int64(0)
        count = min(count + 1, most)
    elif moves:
        to = np.int64(0) if was_kept else count
    else:
        to = way
    kept[np.uintp(row)] = count
    at = way
    while at > to:
        tags[np.uintp(first + at)] = tags[np.uintp(first + at - 1)]
        held[np.uintp(first + at)] = held[np.uintp(first + at - 1)]
        at -= 1
    return to


@noinline
def way_not_kept(kept: Int, way: Int, ways: Int, random: Any) -> Int:
    """The way to replace if ``way`` was drawn at random: another one if ``way`` is kept (bits
    ``kept``) and not all are."""
    if not (kept >> way) & 1:
        return np.int64(way)
    every = np.int64(-1) if ways == 64 else (np.int64(1) << ways) - 1
    free = every & ~kept
    if not free:
        return np.int64(way)
    return np.int64(marked_way(free, random_way(random, bits(free))))


@noinline
def update_kept(
    kept: NDArray[np.int64], row: Int, most: Int, way: Int, found: Int, keeps: Int, random: Any
) -> None:
    """Update the bits of a set's kept lines after an access that ``found`` its line in ``way`` or
    brought it in there."""
    now = kept[np.uintp(row)]
    bit = np.int64(1) << way
    if not found:
        now &= ~bit
    if keeps and not now & bit:
        if bits(now) >= most:
            now &= ~(np.int64(1) << marked_way(now, random_way(random, bits(now))))
        now |= bit
    kept[np.uintp(row)] = now
