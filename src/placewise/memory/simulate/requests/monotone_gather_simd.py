"""Parts of gathers in vectors: lanes' offsets that rise, and offsets on lines of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from placewise.memory.simulate.requests.parts import LAST, SECTOR_BIT
from placewise.memory.simulate.simd.packing import MOVES, PACKS, moved8
from placewise.memory.simulate.simd.vector_code import BYTE, SHORT, WORD, Code, splat

_LANES, _EIGHT, _PARTS = (ir.VectorType(k, n) for k, n in ((SHORT, 16), (SHORT, 8), (WORD, 8)))
_NUMBERS = tuple(range(16))
_OFFSETS, _ROW, _COUNT, _WIDTH, _PART, _TO, _HEAD, _SHIFTS = range(8)
"""Arguments."""


def _row(values: Iterable[int]) -> Any:
    words = list(values)
    return ir.Constant(ir.VectorType(SHORT, len(words)), words)


def _same(value: int, like: Any) -> Any:
    return ir.Constant(like.type, [value] * like.type.count)


class _Lanes(Code):
    """Lanes' words of 32 bits, eight or sixteen."""

    def loaded(self, first: int, shape: Any) -> Any:
        """Offsets of lanes from ``first`` on."""
        at = self.b.add(self.arguments[_ROW], ir.Constant(WORD, first))
        return self.load(self.place(_OFFSETS, at, shape))

    def shift(self, which: int, shape: Any) -> Any:
        """That of an offset to its line (0) or sector (1)."""
        return self.alike(self.b.extract_value(self.arguments[_SHIFTS], which), shape)

    def picked(self, a: Any, c: Any, picks: Any) -> Any:
        """Elements of two vectors."""
        return self.b.shuffle_vector(a, c, _row(picks))

    def count(self, mask: Any) -> Any:
        """Lanes of a mask, as 64 bits."""
        b = self.b
        return b.zext(b.ctpop(b.bitcast(mask, ir.IntType(mask.type.count))), WORD)

    def any(self, mask: Any) -> Any:
        """Whether a mask has a lane."""
        word = ir.IntType(mask.type.count)
        return self.b.icmp_unsigned("!=", self.b.bitcast(mask, word), word(0))

    def below(self, count: Any, shape: Any, first: int = 0) -> Any:
        """Lanes numbered from ``first`` on of which there are so many."""
        numbers = _row(range(first, first + shape.count))
        return self.b.icmp_signed("<", numbers, self.alike(count, shape))

    def together(self, values: Any, mask: Any) -> Any:
        """Those of sixteen in a mask moved to the first places."""
        if MOVES and not PACKS:
            return self._together_by_table(values, mask)
        name = "llvm.experimental.vector.compress.v16i32"
        return self.call(name, _LANES, [values, mask, _same(0, values)])

    def _together_by_table(self, values: Any, mask: Any) -> Any:
        """The same with AVX2, eight at a time."""
        b = self.b
        bits = b.bitcast(mask, ir.IntType(16))
        chosen = [b.trunc(b.lshr(bits, bits.type(first)), BYTE) for first in (0, 8)]
        eights = [moved8(self, v, c) for v, c in zip(self._eights(values), chosen, strict=True)]
        anything = ir.Constant(_EIGHT, ir.Undefined)
        count = b.zext(b.ctpop(chosen[0]), SHORT)
        return self._joined_eights((eights[0], anything), (eights[1], anything), count)

    def joined(self, first: Any, values: Any, count: Any) -> Any:
        """The ``count`` first of ``first``, then ``values``, as far as there is room."""
        b = self.b
        if MOVES and not PACKS:
            short = b.trunc(count, SHORT)
            return self._joined_eights(self._eights(first), self._eights(values), short)
        by = self.alike(count, _LANES)
        for step in (1, 2, 4, 8):
            further = self.picked(values, values, [(n - step) % 16 for n in _NUMBERS])
            taken = b.icmp_signed("!=", b.and_(by, _same(step, by)), _same(0, by))
            values = b.select(taken, further, values)
        return b.select(self.below(count, _LANES), first, values)

    def _eights(self, values: Any) -> tuple[Any, ...]:
        return tuple(self.picked(values, values, range(n, n + 8)) for n in (0, 8))

    def _joined_eights(self, first: tuple[Any, ...], values: tuple[Any, ...], count: Any) -> Any:
        """The same with AVX2, of two eights each."""
        b = self.b
        numbers, by = _row(range(8)), splat(b, count, _EIGHT)
        # Turned within each eight, so that they lie in the right place of one eight or the next.
        places = b.sub(numbers, by)
        low, high = (self.call("llvm.x86.avx2.permd", _EIGHT, [v, places]) for v in values)
        within = b.icmp_signed("<", numbers, by)
        beyond = b.icmp_signed("<", _row(range(8, 16)), by)
        upper = b.select(beyond, first[1], b.select(within, low, high))
        return b.shuffle_vector(b.select(within, first[0], low), upper, _row(_NUMBERS))

    def write(self, lines: Any, sectors: Any, count: Any) -> None:
        """Parts of lines and their sectors, of which so many are good."""
        b = self.b
        for half in range(0, lines.type.count, 8):
            line, bits = (self.picked(v, v, range(half, half + 8)) for v in (lines, sectors))
            ends = b.icmp_signed("==", _row(range(half + 1, half + 9)), self.alike(count, _EIGHT))
            lower = b.shl(bits, _same(SECTOR_BIT, bits))
            lower = b.or_(lower, b.select(ends, _same(LAST, bits), _same(0, bits)))
            words = self.picked(lower, line, (n // 2 + 8 * (n % 2) for n in _NUMBERS))
            words = b.add(b.bitcast(words, _PARTS), self.alike(self.arguments[_HEAD], _PARTS))
            at = b.add(self.arguments[_TO], ir.Constant(WORD, half))
            self.store(words, self.place(_PART, at, _PARTS))

    def uneven(self, words: Any, active: Any) -> Any:
        """Active lanes whose offset is no multiple of the bytes of a lane."""
        b = self.b
        width = self.alike(b.sub(self.arguments[_WIDTH], ir.Constant(WORD, 1)), words.type)
        return b.and_(active, b.icmp_signed("!=", b.and_(words, width), _same(0, words)))

    def outcome(self, refused: Any, count: Any, asked: Any) -> Any:
        """What is returned."""
        b = self.b
        found = b.or_(count, b.shl(asked, ir.Constant(WORD, 32)))
        return b.select(refused, ir.Constant(WORD, -1), found)


def _laying(body: Callable[[_Lanes], Any]) -> Any:
    """The function whose code ``body`` writes."""

    @intrinsic
    def lay(
        _context: Any,
        offsets: Any,
        row: Any,  # noqa: ARG001
        lanes: Any,  # noqa: ARG001
        width: Any,  # noqa: ARG001
        part: Any,
        to: Any,  # noqa: ARG001
        head: Any,  # noqa: ARG001
        shifts: Any,
    ) -> Any:
        def generate(target: Any, b: Any, signature: Any, arguments: Any) -> Any:
            return body(_Lanes(target, b, signature, arguments))

        given = (types.int64,) * 3
        return types.int64(offsets, *given, part, types.int64, types.int64, shifts), generate

    return lay


def _rising(v: _Lanes, halves: int) -> Any:
    """Of so many times 16 lanes."""
    b = v.b
    firsts = [16 * n for n in range(halves)]
    words = [v.loaded(n, _LANES) for n in firsts]
    active = [v.below(v.arguments[_COUNT], _LANES, n) for n in firsts]
    sectors = [b.ashr(w, v.shift(1, _LANES)) for w in words]
    before = [v.picked(sectors[0], sectors[0], (0, *_NUMBERS[:-1]))]
    if halves == 2:
        before.append(v.picked(sectors[0], sectors[1], range(15, 31)))
    wrong, new = [], []
    for of, mask, now, last in zip(words, active, sectors, before, strict=True):
        wrong.append(b.and_(mask, b.icmp_signed("<", now, last)))
        wrong.append(v.uneven(of, mask))
        new.append(b.and_(mask, b.icmp_signed("!=", now, last)))
    new[0] = b.or_(new[0], ir.Constant(new[0].type, [1] + [0] * 15))
    counts = [v.count(n) for n in new]
    asked = functools.reduce(b.add, counts)
    packed = [v.together(s, n) for s, n in zip(sectors, new, strict=True)]
    all_ = v.joined(packed[0], packed[1], counts[0]) if halves == 2 else packed[0]
    good = v.below(asked, _LANES)
    none, nothing = _same(-1, all_), _same(0, all_)
    lines = b.select(good, b.ashr(all_, _same(2, all_)), none)
    single = b.shl(_same(1, all_), b.and_(all_, _same(3, all_)))
    bits = single
    for step in (1, 2, 3):
        picks = [n + step if n + step < 16 else 16 for n in _NUMBERS]
        same = b.icmp_signed("==", v.picked(lines, none, picks), lines)
        more = v.picked(single, single, picks)
        bits = b.or_(bits, b.select(same, more, nothing))
    first = v.picked(lines, _same(-2, all_), (16, *_NUMBERS[:-1]))
    first = b.and_(good, b.icmp_signed("!=", first, lines))
    count = v.count(first)
    v.write(v.together(lines, first), v.together(bits, first), count)
    refused = v.any(functools.reduce(b.or_, wrong))
    if halves == 2:
        refused = b.or_(refused, b.icmp_signed(">", asked, ir.Constant(WORD, 16)))
    return v.outcome(refused, count, asked)


def _apart(v: _Lanes, shape: Any) -> Any:
    """Of so many lanes."""
    b, count = v.b, shape.count
    words, active = v.loaded(0, shape), v.below(v.arguments[_COUNT], shape)
    lines = b.ashr(words, v.shift(0, shape))
    # Lanes that are none have lines of their own.
    compared = b.select(active, lines, _row(~n for n in range(count)))
    least = _same(-1, words)
    for turn in range(1, count // 2 + 1):
        other = v.picked(compared, compared, [(n + turn) % count for n in range(count)])
        unlike = b.xor(compared, other)
        least = b.select(b.icmp_unsigned("<", unlike, least), unlike, least)
    wrong = b.or_(v.uneven(words, active), b.icmp_signed("==", least, _same(0, least)))
    within = b.sub(v.shift(0, shape), v.shift(1, shape))
    within = b.sub(b.shl(_same(1, words), within), _same(1, words))
    sectors = b.ashr(words, v.shift(1, shape))
    v.write(lines, b.shl(_same(1, words), b.and_(sectors, within)), v.arguments[_COUNT])
    return v.outcome(v.any(wrong), v.arguments[_COUNT], v.arguments[_COUNT])


lay_rising16, lay_rising = (_laying(functools.partial(_rising, halves=n)) for n in (1, 2))
"""Write the parts of an access of up to 16 lanes, or 32, whose offsets are ``offsets[row:]``
(int32) to ``part[to:]``, where there is room for 16, the last with LAST: if no lane's sector is
below that of the lane before, there are at most 16 sectors, and each lane starts at a multiple of
its width. How many parts, plus 2^32 times how many sectors, or -1 where that is not so.

Lines have four sectors. ``shifts`` are those of an offset to its line and to its sector; ``head``
is added to each part."""
lay_apart8, lay_apart16 = (_laying(functools.partial(_apart, shape=s)) for s in (_EIGHT, _LANES))
"""The same of up to 8 lanes, or 16, in any order, if no two share a line, whatever sectors a line
has."""
