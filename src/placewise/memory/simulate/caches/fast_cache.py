"""A fast path for common caches: up to 16 ways, replacement by LRU, by age or at random, sectors
fetched one by one.

Its results are those of :func:`placewise.memory.simulate.caches.cache.access_line`, which works for
all caches."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.types.containers import UniTuple
from numba.extending import intrinsic
from numpy.typing import NDArray

from placewise.memory.simulate.caches.cache import (
    EMPTY,
    SPARE,
    Caches,
    dirty_bit,
    mixed_set,
    set_of,
)
from placewise.memory.simulate.caches.geometry import AGED, LRU, RANDOM, Int, Shape
from placewise.memory.simulate.caches.replacement import (
    AGED_SHIFT,
    aged_way,
    random_bits,
    random_way,
)
from placewise.memory.simulate.simd.jit_helpers import (
    equal16,
    inlined,
    lowest,
    noinline,
    prefetch,
    product,
)
from placewise.memory.simulate.simd.vector_code import SHORT, WORD, Code, opaque, splat


@noinline
def first_ways(
    g: Shape,
    instance: Int,
    request: NDArray[np.int64],
    n: Int,
    shift: Int,
    first: NDArray[np.int64],
) -> None:
    """Write to ``first`` the first way of the set of each of the ``n`` words of ``request``, which
    hold line numbers from bit ``shift`` on."""
    begin = g.first_way + instance * g.sets * g.lanes
    if g.hashed:
        for k in range(n):
            own = product(mixed_set(request[k] >> shift, np.uint64(g.sets)), g.lanes)
            first[k] = begin + np.int64(own)
        return
    for k in range(n):
        first[k] = begin + set_of(g, request[k] >> shift) * g.lanes


@inlined
def is_fast(g: Shape) -> bool:
    """Whether :func:`access_lru` or :func:`find_random` can be used for a cache of this shape."""
    alone = g.split == 1 and g.grain == 1 and g.ways <= 16 and not g.marks
    return bool(alone and (g.policy <= AGED or g.policy == RANDOM))


def _ways_of(code: Code, place: Any, line: Any) -> Any:
    """LLVM code that finds the ways of the set at ``place`` that contain a line, one bit each. The
    mask of sixteen bits is made from two masks of eight, since on a processor without AVX-512 LLVM
    would otherwise pack the compared vectors first."""
    b = code.b
    shape = ir.VectorType(SHORT, 8)
    place = b.bitcast(place, shape.as_pointer())
    found = []
    for half in range(2):
        ways = code.load(b.gep(place, [ir.Constant(WORD, half)]))
        same = b.icmp_signed("==", ways, splat(b, line, shape))
        found.append(b.zext(b.bitcast(same, ir.IntType(8)), SHORT))
    return b.or_(found[0], b.shl(found[1], SHORT(8)))


@intrinsic
def use_lru(
    _context: Any,
    tags: Any,
    held: Any,
    first: Any,  # noqa: ARG001
    line: Any,  # noqa: ARG001
    added: Any,  # noqa: ARG001
    end: Any,  # noqa: ARG001
) -> Any:
    """Make a line the most recent of the set whose ways start at ``first``, and add the sectors
    ``added`` to it. ``end`` is a word with the bit of the way that a missing line takes.

    Returns the former state of the way that the line took; 0 if that way did not contain the line.
    There is no branch, since no branch predictor can learn the order of hits and misses."""
    known = ir.IntType(held.dtype.bitwidth)
    ways, kept = ir.VectorType(SHORT, 16), ir.VectorType(known, 16)
    mask = ir.VectorType(ir.IntType(1), 16)
    result = UniTuple(types.int64, 2)

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        code = Code(context, b, signature, arguments)
        first = arguments[2]
        places = code.place(0, first, ways), code.place(1, first, kept)
        lines, sectors = (code.load(p) for p in places)
        wanted = code.alike(arguments[3], ways)
        same = opaque(b, _ways_of(code, places[0], b.trunc(arguments[3], SHORT)))
        taken = b.or_(same, b.trunc(arguments[5], SHORT))
        way = b.zext(b.cttz(taken, ir.Constant(ir.IntType(1), 1)), WORD)
        before = b.zext(b.load(code.place(1, b.add(first, way), known)), WORD)
        hit = b.sext(b.icmp_signed("!=", same, ir.Constant(SHORT, 0)), WORD)
        now = b.or_(b.and_(before, hit), arguments[4])
        upto = b.xor(taken, b.sub(taken, ir.Constant(SHORT, 1)))
        upto = b.bitcast(b.trunc(upto, ir.IntType(16)), mask)
        picks = ir.Constant(ways, [16, *range(15)])
        held = places[1], sectors, code.alike(now, kept)
        for place, old, new in ((places[0], lines, wanted), held):
            after = b.select(upto, b.shuffle_vector(old, new, picks), old)
            code.store(after, opaque(b, place))
        return context.make_tuple(b, result, (before, b.zext(same, WORD)))

    given = (types.int64,) * 4
    return result(tags, held, *given), generate


@inlined
def way_out(c: Caches, g: Shape, first: Int, state: Any) -> Int:
    """A word with the bit of the way set that a missing line takes, as :func:`use_lru` wants it:
    the last one or, where old lines are drawn from and no way is empty, what the random number of
    ``state`` chooses. ``first`` is the first way of the set."""
    last = np.int64(1) << (g.ways - 1)
    if g.policy == LRU or c.tags[np.uintp(first + g.ways - 1)] == EMPTY:
        return last
    return np.int64(1) << aged_way(random_bits(state), g.ways, g.ways >> AGED_SHIFT)


@inlined
def access_lru(
    c: Caches, g: Shape, first: Int, line: Int, wanted: Int, dirty: Int, state: Any
) -> tuple[Int, Int, Int]:
    """Access sectors of a line in a fast cache with replacement by LRU or by age.

    ``first`` is the first way of the line's set, ``state`` that of the cache's random numbers; of
    the sectors ``wanted``, those in ``dirty`` are written, the others read. Returns the sectors
    missing, the dirty sectors evicted, and those that have become dirty; the caller adds these to
    :attr:`Caches.dirty`.
    """
    above = dirty_bit(c)
    added = wanted | (dirty << above)
    out = way_out(c, g, first, state)
    before, found = use_lru(c.tags, c.held, first, line, added, out)
    hit = -np.int64(found != 0)
    held = before & hit
    return wanted & ~held, (before & ~hit) >> above, dirty & ~(held >> above)


@inlined
def fetch_ahead(c: Caches, g: Shape, instance: Int) -> None:
    """Prefetch the state of an instance into the processor's caches."""
    begin = g.first_way + instance * g.sets * g.lanes
    for at in range(begin, begin + g.sets * g.lanes, SPARE):
        prefetch(c.tags, at)
        prefetch(c.held, at)


HINTS = 4096
"""Entries of :attr:`Workspace.hint`: a few times the lines of an SM's cache; a power of two."""


@inlined
def find_random(c: Caches, g: Shape, own: Int, line: Int, state: Any) -> Int:
    """Way of a line in a cache with random replacement, counted from ``own``, the first way of its
    instance. A missing line is brought in, without sectors; the random number of ``state`` chooses
    its way if none is empty."""
    first = own + set_of(g, line) * g.lanes
    found = equal16(c.tags, first, np.int32(line))
    if found:
        return first + lowest(found) - own
    empty = equal16(c.tags, first, np.int32(EMPTY))
    if not empty:
        empty = np.int64(1) << random_way(random_bits(state), g.ways)
    at = np.uintp(first + lowest(empty))
    c.tags[at] = line
    c.held[at] = 0
    return np.int64(at) - own
