"""Parts of gathers in vectors: lanes' offsets that rise, and offsets on lines of their own."""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from placewise.memory.simulate.packing import MOVES, PACKS, moved8
from placewise.memory.simulate.vector_code import BYTE, SHORT, WORD, Code, splat

_LANES, _LONG = ir.VectorType(SHORT, 16), ir.VectorType(WORD, 8)
_EIGHT, _MASK = ir.VectorType(SHORT, 8), ir.VectorType(ir.IntType(1), 16)
_NUMBERS = tuple(range(16))


def _row(values: Any) -> Any:
    return ir.Constant(_LANES, list(values))


class _Lanes(Code):
    """Sixteen lanes' words of 32 bits."""

    def sixteen(self, first: int) -> Any:
        """Those from ``first`` on behind element argument 1 of argument 0."""
        at = self.b.add(self.arguments[1], ir.Constant(WORD, first))
        return self.load(self.place(0, at, _LANES))

    def picked(self, a: Any, c: Any, picks: Any) -> Any:
        """Elements of two vectors."""
        return self.b.shuffle_vector(a, c, _row(picks))

    def count(self, mask: Any) -> Any:
        """Lanes of a mask, as 64 bits."""
        b = self.b
        return b.zext(b.ctpop(b.bitcast(mask, ir.IntType(16))), WORD)

    def any(self, mask: Any) -> Any:
        """Whether a mask has a lane."""
        word = ir.IntType(16)
        return self.b.icmp_unsigned("!=", self.b.bitcast(mask, word), word(0))

    def below(self, count: Any, first: int = 0) -> Any:
        """Lanes numbered from ``first`` on of which there are so many."""
        return self.b.icmp_signed("<", _row(n + first for n in _NUMBERS), self.alike(count, _LANES))

    def together(self, values: Any, mask: Any) -> Any:
        """Those in a mask moved to the first places."""
        if MOVES and not PACKS:
            return self._together_by_table(values, mask)
        name = "llvm.experimental.vector.compress.v16i32"
        return self.call(name, _LANES, [values, mask, _row([0] * 16)])

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
            taken = b.icmp_signed("!=", b.and_(by, _row([step] * 16)), _row([0] * 16))
            values = b.select(taken, further, values)
        return b.select(self.below(count), first, values)

    def _eights(self, values: Any) -> tuple[Any, Any]:
        b = self.b
        picks = [ir.Constant(_EIGHT, [first + n for n in range(8)]) for first in (0, 8)]
        low, high = (b.shuffle_vector(values, values, p) for p in picks)
        return low, high

    def _joined_eights(self, first: tuple[Any, Any], values: tuple[Any, Any], count: Any) -> Any:
        """The same with AVX2, of two eights each."""
        b = self.b
        numbers, by = ir.Constant(_EIGHT, list(range(8))), splat(b, count, _EIGHT)
        # Turned within each eight, so that they lie in the right place of one eight or the next.
        places = b.sub(numbers, by)
        low, high = (self.call("llvm.x86.avx2.permd", _EIGHT, [v, places]) for v in values)
        within = b.icmp_signed("<", numbers, by)
        beyond = b.icmp_signed("<", ir.Constant(_EIGHT, [8 + n for n in range(8)]), by)
        upper = b.select(beyond, first[1], b.select(within, low, high))
        return b.shuffle_vector(b.select(within, first[0], low), upper, _row(_NUMBERS))

    def write(self, lines: Any, sectors: Any, count: Any, shifts: Any) -> None:
        """Parts of 16 lines and their sectors, of which so many are good, to ``part[to:]``."""
        b = self.b
        for half in (0, 8):
            picks = ir.Constant(ir.VectorType(SHORT, 8), [half + n for n in range(8)])
            line = b.sext(b.shuffle_vector(lines, lines, picks), _LONG)
            bits = b.zext(b.shuffle_vector(sectors, sectors, picks), _LONG)
            words = b.shl(line, self.alike(b.extract_value(shifts, 2), _LONG))
            words = b.add(words, b.shl(bits, self.alike(b.extract_value(shifts, 3), _LONG)))
            words = b.add(words, self.alike(self.arguments[6], _LONG))
            number = ir.Constant(_LONG, [half + 1 + n for n in range(8)])
            last = b.icmp_signed("==", number, self.alike(count, _LONG))
            words = b.or_(words, b.zext(last, _LONG))
            at = b.add(self.arguments[5], ir.Constant(WORD, half))
            self.store(words, self.place(4, at, _LONG))

    def uneven(self, words: Any, active: Any) -> Any:
        """Active lanes whose offset is no multiple of the bytes of a lane."""
        b = self.b
        width = self.alike(b.sub(self.arguments[3], ir.Constant(WORD, 1)), _LANES)
        return b.and_(active, b.icmp_signed("!=", b.and_(words, width), _row([0] * 16)))

    def outcome(self, refused: Any, count: Any, asked: Any) -> Any:
        """What is returned."""
        b = self.b
        found = b.or_(count, b.shl(asked, ir.Constant(WORD, 32)))
        return b.select(refused, ir.Constant(WORD, -1), found)


def _packed(v: _Lanes, halves: list[Any], masks: list[Any], count: Any) -> Any:
    """The first 16 of the values in the masks of both halves, one half after the other. ``count``:
    how many those of the first are."""
    packed = [v.together(x, m) for x, m in zip(halves, masks, strict=True)]
    return v.joined(packed[0], packed[1], count) if len(packed) == 2 else packed[0]


def _lay_rising(halves: int) -> Any:
    """:func:`lay_rising` for so many times 16 lanes."""

    @intrinsic
    def some(
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
            v = _Lanes(target, b, signature, arguments)
            firsts = [16 * n for n in range(halves)]
            words = [v.sixteen(n) for n in firsts]
            active = [v.below(arguments[2], n) for n in firsts]
            shift = v.alike(b.extract_value(arguments[7], 1), _LANES)
            sectors = [b.ashr(w, shift) for w in words]
            before = [v.picked(sectors[0], sectors[0], (0, *_NUMBERS[:-1]))]
            if halves == 2:
                before.append(v.picked(sectors[0], sectors[1], range(15, 31)))
            wrong, new = [], []
            for of, mask, now, last in zip(words, active, sectors, before, strict=True):
                wrong.append(b.and_(mask, b.icmp_signed("<", now, last)))
                wrong.append(v.uneven(of, mask))
                new.append(b.and_(mask, b.icmp_signed("!=", now, last)))
            new[0] = b.or_(new[0], ir.Constant(_MASK, [1] + [0] * 15))
            counts = [v.count(n) for n in new]
            asked = functools.reduce(b.add, counts)
            all_ = _packed(v, sectors, new, counts[0])
            good = v.below(asked)
            lines = b.select(good, b.ashr(all_, _row([2] * 16)), _row([-1] * 16))
            single = b.shl(_row([1] * 16), b.and_(all_, _row([3] * 16)))
            bits, none = single, _row([-1] * 16)
            for step in (1, 2, 3):
                picks = [n + step if n + step < 16 else 16 for n in _NUMBERS]
                same = b.icmp_signed("==", v.picked(lines, none, picks), lines)
                more = v.picked(single, single, picks)
                bits = b.or_(bits, b.select(same, more, _row([0] * 16)))
            first = v.picked(lines, _row([-2] * 16), (16, *_NUMBERS[:-1]))
            first = b.and_(good, b.icmp_signed("!=", first, lines))
            count = v.count(first)
            v.write(v.together(lines, first), v.together(bits, first), count, arguments[7])
            refused = v.any(functools.reduce(b.or_, wrong))
            if halves == 2:
                refused = b.or_(refused, b.icmp_signed(">", asked, ir.Constant(WORD, 16)))
            return v.outcome(refused, count, asked)

        given = (types.int64,) * 3
        return types.int64(offsets, *given, part, types.int64, types.int64, shifts), generate

    return some


lay_rising16, lay_rising = _lay_rising(1), _lay_rising(2)
"""Write the parts of an access of up to 16 lanes, or 32, whose offsets are ``offsets[row:]``
(int32) to ``part[to:]``, where there is room for 16, the last with LAST: if no lane's sector is
below that of the lane before, there are at most 16 sectors, and each lane starts at a multiple of
its width. How many parts, plus 2^32 times how many sectors, or -1 where that is not so.

Lines have four sectors. ``shifts`` are those of an offset to its line and to its sector, and of a
part's line and of its sectors; ``head`` is added to each part."""


@intrinsic
def lay_apart16(
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
    """The same of up to 16 lanes in any order, if no two share a line."""

    def generate(target: Any, b: Any, signature: Any, arguments: Any) -> Any:
        v = _Lanes(target, b, signature, arguments)
        shifts = arguments[7]
        words = v.sixteen(0)
        active = v.below(arguments[2])
        lines = b.ashr(words, v.alike(b.extract_value(shifts, 0), _LANES))
        # Lanes that are none have lines of their own.
        compared = b.select(active, lines, _row(~n for n in _NUMBERS))
        wrong = v.uneven(words, active)
        for turn in range(1, 9):
            other = v.picked(compared, compared, [(n + turn) % 16 for n in _NUMBERS])
            wrong = b.or_(wrong, b.icmp_signed("==", compared, other))
        within = b.sub(b.extract_value(shifts, 0), b.extract_value(shifts, 1))
        within = b.sub(b.shl(ir.Constant(WORD, 1), within), ir.Constant(WORD, 1))
        sectors = b.ashr(words, v.alike(b.extract_value(shifts, 1), _LANES))
        bits = b.shl(_row([1] * 16), b.and_(sectors, v.alike(within, _LANES)))
        v.write(lines, bits, arguments[2], shifts)
        refused = v.any(wrong)
        return v.outcome(refused, arguments[2], arguments[2])

    given = (types.int64,) * 3
    return types.int64(offsets, *given, part, types.int64, types.int64, shifts), generate
