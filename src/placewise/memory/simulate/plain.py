"""One access to a cache of the usual kinds, fast: what :mod:`placewise.memory.simulate.cache` does
for all, for those whose sets are compared at once and whose sectors are fetched one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.cache import (
    DIRTY,
    EMPTY,
    GOLDEN,
    LRU,
    RANDOM,
    SPARE,
    Caches,
    Int,
    Shape,
    drawn_way,
    next_drawn,
    set_of,
)
from placewise.memory.simulate.lanes import (
    apart,
    equal16,
    inlined,
    lowest,
    prefetch,
    push16,
    veiled,
)


@apart
def first_ways(
    g: Shape, instance: Int, part: NDArray[np.int64], n: Int, shift: Int, first: NDArray[np.int64]
) -> None:
    """The first way of the set of each of ``n`` words that hold line numbers from bit ``shift``
    on."""
    begin = g.first_way + instance * g.sets * g.lanes
    if g.hashed:
        for k in range(n):
            mixed = (np.uint64(part[k] >> shift) * GOLDEN) >> np.uint64(32)
            first[k] = begin + np.int64((mixed * np.uint64(g.sets)) >> np.uint64(32)) * g.lanes
        return
    for k in range(n):
        first[k] = begin + set_of(g, part[k] >> shift) * g.lanes


@inlined
def is_plain(g: Shape) -> bool:
    """Whether :func:`access_recent` or :func:`find_drawn` knows a cache of this shape."""
    alone = g.split == 1 and g.grain == 1 and g.ways <= 16 and not g.marks
    return bool(alone and (g.policy == LRU or g.policy == RANDOM))


@inlined
def access_recent(
    c: Caches, g: Shape, first: Int, line: Int, wanted: Int, dirty: Int
) -> tuple[Int, Int, Int]:
    """:func:`access_line` of a plain cache whose policy is LRU.

    ``first`` is the first way of the line's set; ``dirty`` the sectors that are to be written back,
    the others of those wanted are read. Returns the sectors missing, the dirty sectors driven out,
    and those that have become dirty, which :attr:`Caches.dirty` is to be told. There is no branch,
    as hits and misses follow one another without an order that a processor could foresee.
    """
    # What comes first in this word is what happens: the way found, or, from bit 16 on, replaced.
    order = equal16(c.tags, first, np.int32(line)) | (np.int64(1 << 15) << g.ways)
    chosen = lowest(order)
    way = chosen & 15
    hit = veiled((chosen - 16) >> 63)
    before = np.int64(c.held[np.uintp(first + way)])
    held = before & hit
    push16(c.tags, first, line, way)
    push16(c.held, first, held | wanted | (dirty << DIRTY), way)
    return wanted & ~held, (before & ~hit) >> DIRTY, dirty & ~(held >> DIRTY)


@inlined
def fetch_ahead(c: Caches, g: Shape, instance: Int) -> None:
    """Bring the state of an instance into the processor's caches."""
    begin = g.first_way + instance * g.sets * g.lanes
    for at in range(begin, begin + g.sets * g.lanes, SPARE):
        prefetch(c.tags, at)
        prefetch(c.held, at)


HINTS = 4096
"""A few times the lines that a cache of an SM holds; a power of two."""


@inlined
def find_drawn(c: Caches, g: Shape, own: Int, line: Int, seed: Int) -> Int:
    """Way of a line, counted from ``own``, the first of its instance, where the policy is random. A
    line that is not there is brought in, without sectors; ``seed`` is where the instance's random
    numbers are."""
    first = own + set_of(g, line) * g.lanes
    found = equal16(c.tags, first, np.int32(line))
    if found:
        return first + lowest(found) - own
    empty = equal16(c.tags, first, np.int32(EMPTY))
    if not empty:
        number, c.seed[seed] = next_drawn(c.seed[seed])
        empty = np.int64(1) << drawn_way(number, g.ways)
    at = np.uintp(first + lowest(empty))
    c.tags[at] = line
    c.held[at] = 0
    return np.int64(at) - own
