"""Parts through a cache whose policy is random, eight at a time, in vectors.

Lines of gathers are there or not without an order that a processor could foresee, so that it
guesses wrong all the time where it looks at one part after another. Here the ways of eight parts
are found at once, without a branch, and only then put to use; no two of them are of one set.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from placewise.memory.simulate.caches.cache import GOLDEN, Int, Shape, mixed_set
from placewise.memory.simulate.caches.fast_cache import ways_of
from placewise.memory.simulate.caches.victims import drawn_bits, drawn_way
from placewise.memory.simulate.requests.parts import ASIDE, LINE_BIT, SECTOR_BIT, SECTORS
from placewise.memory.simulate.simd.jit_helpers import apart
from placewise.memory.simulate.simd.packing import MOVES, PACKS, moved4
from placewise.memory.simulate.simd.vector_code import BYTE, SHORT, WORD, Code, splat, veil

EIGHT, FOUR = 8, 4
FAR = 100
"""Stands for more parts than matter."""
MOST = 1024
"""Parts of a batch."""
_COLUMN = MOST + 6 * EIGHT
FIRST, DRAWN, BEFORE, NEAR = (EIGHT + _COLUMN * n for n in range(4))
"""Where lies, in the words of a batch, what is worked out of its parts beforehand, each with room
for EIGHT more before and behind: the first way of a part's set; as bit 16 and on, the way that it
takes if it is not found; the sectors of its line that were there; by how many parts the last of the
same set lies before it, if below EIGHT."""
BATCH_WORDS = 4 * _COLUMN

_HALF = ir.IntType(16)
_WAYS, _WORDS = ir.VectorType(SHORT, 16), ir.VectorType(WORD, EIGHT)
_SHORTS, _MASK = ir.VectorType(SHORT, EIGHT), ir.VectorType(ir.IntType(1), EIGHT)
_NUMBERS = tuple(range(EIGHT))


class _Batch(Code):
    """A batch among an intrinsic's arguments, and others of them."""

    def word(self, k: int, at: Any, column: int, shape: Any = SHORT) -> Any:
        """Where a word, or several, of a column of argument ``k`` is that of part ``at``."""
        return self.behind(k, at, ir.Constant(WORD, 4 * column), shape)

    def of_part(self, k: int, at: Any, n: int, bit: int, shape: Any) -> Any:
        """What is to be found from a bit on in the ``n``-th part behind ``at`` in argument
        ``k``."""
        return self.load(self.behind(k, at, ir.Constant(WORD, 8 * n + bit // 8), shape))


@intrinsic
def note_near(_context: Any, batch: Any, at: Any) -> Any:  # noqa: ARG001
    """Fill NEAR of the eight parts from ``at`` on; of how many the last of the same set is near."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Batch(target, builder, signature, arguments)
        at = arguments[1]
        far = ir.Constant(_SHORTS, [FAR] * EIGHT)
        own, near = code.load(code.word(0, at, FIRST, _SHORTS)), far
        for n in range(EIGHT - 1, 0, -1):
            same = builder.icmp_signed("==", code.load(code.word(0, at, FIRST - n, _SHORTS)), own)
            near = builder.select(same, ir.Constant(_SHORTS, [n] * EIGHT), near)
        code.store(near, code.word(0, at, NEAR, _SHORTS))
        some = builder.bitcast(builder.icmp_signed("!=", near, far), BYTE)
        return builder.zext(builder.ctpop(some), WORD)

    return types.int64(batch, types.int64), generate


@intrinsic
def apart_from(_context: Any, batch: Any, at: Any) -> Any:  # noqa: ARG001
    """How many of the eight parts from ``at`` on can be looked up at once: those before the first
    whose set is that of one of them."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Batch(target, builder, signature, arguments)
        found = code.load(code.word(0, arguments[1], NEAR, _SHORTS))
        close = builder.icmp_signed("<=", found, ir.Constant(_SHORTS, list(_NUMBERS)))
        close = builder.zext(builder.bitcast(close, BYTE), WORD)
        close = builder.or_(close, ir.Constant(WORD, 1 << EIGHT))
        return builder.cttz(close, ir.Constant(ir.IntType(1), 1))

    return types.int64(batch, types.int64), generate


def _look_up(lanes: int) -> Any:
    """The function that puts so many parts through an instance."""

    @intrinsic
    def some(
        _context: Any,
        tags: Any,
        held: Any,
        order: Any,
        batch: Any,
        at: Any,  # noqa: ARG001
    ) -> Any:
        def generate(target: Any, b: Any, signature: Any, arguments: Any) -> Any:
            code = _Batch(target, b, signature, arguments)
            at = arguments[4]

            def first(n: int) -> Any:
                return b.zext(code.load(code.word(3, at, FIRST + n)), WORD)

            def line(n: int) -> Any:
                return code.of_part(2, at, n, LINE_BIT, SHORT)

            looked = []
            for n in range(lanes):
                same = ways_of(code, code.place(0, first(n), _WAYS), line(n))
                looked.append(b.or_(same, code.load(code.word(3, at, DRAWN + n))))
            kind = ir.IntType(signature.args[1].dtype.bitwidth)
            for n, same in enumerate(looked):
                chosen = veil(b, b.cttz(same, ir.Constant(ir.IntType(1), 1)))
                way = b.add(first(n), b.zext(b.and_(chosen, ir.Constant(SHORT, 15)), WORD))
                held = veil(b, b.zext(code.load(code.place(1, way, kind)), SHORT))
                hit = b.icmp_unsigned("<", chosen, ir.Constant(SHORT, 16))
                there = b.select(hit, held, ir.Constant(SHORT, 0))
                sectors = b.zext(code.of_part(2, at, n, SECTOR_BIT, _HALF), SHORT)
                after = b.trunc(b.or_(there, sectors), kind)
                code.store(line(n), code.place(0, way, SHORT))
                code.store(after, code.place(1, way, kind))
                code.store(there, code.word(3, at, BEFORE + n))
            return target.get_dummy_value()

        return types.void(tags, held, order, batch, types.int64), generate

    return some


_one, _four, _eight = _look_up(1), _look_up(4), _look_up(EIGHT)


@intrinsic
def pass_on8(
    _context: Any,
    part: Any,
    at: Any,  # noqa: ARG001
    batch: Any,
    count: Any,  # noqa: ARG001
    several: Any,  # noqa: ARG001
    to: Any,
    even: Any,  # noqa: ARG001
    odd: Any,  # noqa: ARG001
) -> Any:
    """Write those of the first ``count`` of ``part[at:]``, up to eight, that have sectors which
    were not there, without the others, to ``to[even:]``, or to ``to[odd:]`` if ``several`` is 1 and
    their line is odd. How many, plus 2^32 times how many odd ones."""

    def generate(target: Any, b: Any, signature: Any, arguments: Any) -> Any:
        code = _Batch(target, b, signature, arguments)
        at, count, several = (arguments[k] for k in (1, 3, 4))

        def all_(value: int) -> Any:
            return ir.Constant(_WORDS, [value] * EIGHT)

        part = code.load(code.place(0, at, _WORDS))
        there = b.zext(code.load(code.word(2, at, BEFORE, _SHORTS)), _WORDS)
        rest = b.and_(part, b.not_(b.shl(there, all_(SECTOR_BIT))))
        wanted = b.and_(rest, all_(SECTORS << SECTOR_BIT))
        wanted = b.icmp_signed("!=", wanted, all_(0))
        numbers = ir.Constant(_WORDS, list(_NUMBERS))
        wanted = b.and_(wanted, b.icmp_signed("<", numbers, splat(b, count, _WORDS)))
        bit = splat(b, b.shl(several, ir.Constant(WORD, LINE_BIT)), _WORDS)
        is_odd = b.icmp_signed("!=", b.and_(part, bit), all_(0))
        totals = []
        for mask, place in (b.and_(wanted, b.not_(is_odd)), 6), (b.and_(wanted, is_odd), 7):
            name = "llvm.experimental.vector.compress.v8i64"
            packed = code.call(name, _WORDS, [rest, mask, all_(0)])
            total = b.zext(b.ctpop(b.bitcast(mask, BYTE)), WORD)
            good = b.icmp_signed("<", numbers, splat(b, total, _WORDS))
            to = code.place(5, arguments[place], _WORDS)
            name = "llvm.masked.store.v8i64.p0v8i64"
            code.call(name, ir.VoidType(), [packed, to, ir.Constant(SHORT, 8), good])
            totals.append(total)
        return b.or_(totals[0], b.shl(totals[1], ir.Constant(WORD, 32)))

    word = types.int64
    return word(part, word, batch, word, word, to, word, word), generate


@intrinsic
def pass_on4(
    _context: Any,
    part: Any,
    at: Any,  # noqa: ARG001
    batch: Any,
    several: Any,  # noqa: ARG001
    to: Any,
    even: Any,  # noqa: ARG001
    odd: Any,  # noqa: ARG001
) -> Any:
    """The same of four, with AVX2: there is to be room for four at either place."""
    words, shorts = ir.VectorType(WORD, FOUR), ir.VectorType(SHORT, FOUR)

    def generate(target: Any, b: Any, signature: Any, arguments: Any) -> Any:
        code = _Batch(target, b, signature, arguments)

        def all_(value: int) -> Any:
            return ir.Constant(words, [value] * FOUR)

        def bits(mask: Any) -> Any:
            return b.zext(b.bitcast(mask, ir.IntType(FOUR)), SHORT)

        at, several = arguments[1], b.trunc(arguments[3], SHORT)
        part = code.load(code.place(0, at, words))
        there = b.zext(code.load(code.word(2, at, BEFORE, shorts)), words)
        rest = b.and_(part, b.not_(b.shl(there, all_(SECTOR_BIT))))
        none = b.icmp_signed("==", b.and_(rest, all_(SECTORS << SECTOR_BIT)), all_(0))
        is_odd = b.icmp_signed("<", b.shl(part, all_(WORD.width - 1 - LINE_BIT)), all_(0))
        is_odd = b.and_(bits(is_odd), b.sub(SHORT(0), several))
        wanted = b.xor(bits(none), SHORT((1 << FOUR) - 1))
        totals = []
        # Where there are no odd ones, what is stored for them is stored over.
        for mask, place in (b.and_(wanted, is_odd), 6), (b.and_(wanted, b.not_(is_odd)), 5):
            code.store(moved4(code, rest, mask), code.place(4, arguments[place], words))
            totals.append(b.zext(b.ctpop(mask), WORD))
        return b.or_(totals[1], b.shl(totals[0], ir.Constant(WORD, 32)))

    word = types.int64
    return word(part, word, batch, word, to, word, word), generate


@apart
def lay_out(
    order: NDArray[np.int64],
    count: Int,
    own: Int,
    g: Shape,
    state: Any,
    batch: NDArray[np.int32],
) -> tuple[Int, Int]:
    """Work out what is known beforehand of the first parts: up to the first that is not for this
    cache. ``own`` is the first way of the instance, ``state`` that of its random numbers. How many
    they are, and how many of them have one of the same set shortly before them."""
    aside = np.int64(0)
    sets, ways = np.uint64(g.sets), np.uint64(g.ways)
    lanes, begin = np.int32(g.lanes), np.int32(own)
    for k in range(count):
        part = order[np.uintp(k)]
        aside |= part
        batch[np.uintp(FIRST + k)] = begin + np.int32(mixed_set(part >> LINE_BIT, sets)) * lanes
        bits = drawn_bits(state + np.uint64(k + 1) * GOLDEN)
        drawn = np.int32(np.int64(1) << (np.int64(16) + drawn_way(bits, ways)))
        batch[np.uintp(DRAWN + k)] = drawn
    if aside & ASIDE:
        count = np.int64(0)
        while not order[np.uintp(count)] & ASIDE:
            count += 1
    for k in range(EIGHT):
        batch[np.uintp(FIRST - EIGHT + k)] = -1
        batch[np.uintp(FIRST + count + k)] = -2 - k
    close = np.int64(0)
    for k in range(0, count, EIGHT):
        close += note_near(batch, k)
    return count, close


@apart
def look_up(
    order: NDArray[np.int64],
    count: Int,
    tags: NDArray[np.int32],
    held: NDArray[np.uint8] | NDArray[np.uint32],
    batch: NDArray[np.int32],
) -> None:
    """Put the parts of a batch through their instance. All its ways hold lines."""
    k = np.int64(0)
    while k < count:
        some = min(apart_from(batch, k), count - k)
        if some == EIGHT:
            _eight(tags, held, order, batch, k)
            k += EIGHT
            continue
        end = k + some
        if some >= FOUR:
            _four(tags, held, order, batch, k)
            k += FOUR
        while k < end:
            _one(tags, held, order, batch, k)
            k += 1


@apart
def hand_on(
    order: NDArray[np.int64],
    begin: Int,
    end: Int,
    batch: NDArray[np.int32],
    shares: int,
    to: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Pass on what was not there of the parts from ``begin`` on; ``out`` (shares,) is where the
    next parts of each share go."""
    several = np.int64(shares - 1)
    even, odd = out[0], out[np.uintp(several)]
    if PACKS:
        for k in range(begin, end, EIGHT):
            passed = pass_on8(order, k, batch, end - k, several, to, even, odd)
            even += passed & 0xFFFFFFFF
            odd += passed >> 32
    else:
        if MOVES:
            while end - begin >= FOUR:
                other = odd if several else even
                passed = pass_on4(order, begin, batch, several, to, even, other)
                even += passed & 0xFFFFFFFF
                odd += passed >> 32
                begin += FOUR
        for k in range(begin, end):
            part = order[np.uintp(k)]
            rest = part & ~(np.int64(batch[np.uintp(BEFORE + k)]) << SECTOR_BIT)
            wanted = np.int64(rest & (SECTORS << SECTOR_BIT) != 0)
            is_odd = several & (part >> LINE_BIT)
            to[np.uintp(even + ((odd - even) & -is_odd))] = rest
            odd += wanted & is_odd
            even += wanted & ~is_odd
    if several:
        out[1] = odd
    out[0] = even
