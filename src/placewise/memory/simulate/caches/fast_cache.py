"""One access to a cache of the usual kinds, fast: what
:mod:`placewise.memory.simulate.caches.cache` does for all, for those whose sets are compared at
once and whose sectors are fetched one by one."""

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
    LRU,
    RANDOM,
    SPARE,
    Caches,
    Int,
    Shape,
    dirty_bit,
    mixed_set,
    set_of,
)
from placewise.memory.simulate.caches.replacement import random_bits, random_way
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
    """The first way of the set of each of ``n`` words that hold line numbers from bit ``shift``
    on."""
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
    """Whether :func:`access_recent` or :func:`find_drawn` knows a cache of this shape."""
    alone = g.split == 1 and g.grain == 1 and g.ways <= 16 and not g.marks
    return bool(alone and (g.policy == LRU or g.policy == RANDOM))


def _ways_of(code: Code, place: Any, line: Any) -> Any:
    """LLVM code for the ways of the set at ``place`` that hold a line, one bit each. A mask of
    sixteen is put together from two of eight: LLVM would otherwise pack the compared vectors
    first, where the processor has no AVX-512."""
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
    """Make a line the most recent of the set whose ways start at ``first``, with the sectors
    ``added`` besides those that are there. ``end`` is the bit of the set's last way, where a line
    that is not found goes. What was known of the way that it took, and 0 if it was not there. There
    is no branch, as hits and misses follow one another without an order that a processor could
    foresee."""
    known = ir.IntType(held.dtype.bitwidth)
    ways, kept = ir.VectorType(SHORT, 16), ir.VectorType(known, 16)
    mask = ir.VectorType(ir.IntType(1), 16)
    stream = UniTuple(types.int64, 2)

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
        return context.make_tuple(b, stream, (before, b.zext(same, WORD)))

    given = (types.int64,) * 4
    return stream(tags, held, *given), generate


@inlined
def last_way(g: Shape) -> Int:
    """The bit of a set's last way, as :func:`use_recent` takes it."""
    return np.int64(1) << (g.ways - 1)


@inlined
def access_lru(
    c: Caches, g: Shape, first: Int, line: Int, wanted: Int, dirty: Int
) -> tuple[Int, Int, Int]:
    """:func:`access_line` of a plain cache whose policy is LRU.

    ``first`` is the first way of the line's set; ``dirty`` the sectors that are to be written back,
    the others of those wanted are read. Returns the sectors missing, the dirty sectors driven out,
    and those that have become dirty, which :attr:`Caches.dirty` is to be told.
    """
    above = dirty_bit(c)
    added = wanted | (dirty << above)
    before, found = use_lru(c.tags, c.held, first, line, added, last_way(g))
    hit = -np.int64(found != 0)
    held = before & hit
    return wanted & ~held, (before & ~hit) >> above, dirty & ~(held >> above)


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
def find_random(c: Caches, g: Shape, own: Int, line: Int, state: Any) -> Int:
    """Way of a line, counted from ``own``, the first of its instance, where the policy is random. A
    line that is not there is brought in, without sectors, where the random number of ``state``
    says."""
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
