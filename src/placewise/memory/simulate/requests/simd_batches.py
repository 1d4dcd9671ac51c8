"""Requests of eight accesses at once, worked out by their instructions' forms in vectors."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from placewise.execute.device_memory.address_space import TRACE_RECORD, WINDOW_SHIFT
from placewise.memory.simulate.requests.parts import SECTOR_BIT
from placewise.memory.simulate.simd.vector_code import BYTE, SHORT, WORD, Code, splat

_FIELDS: Any = TRACE_RECORD.fields
_EIGHT, _SHORTS = ir.VectorType(WORD, 8), ir.VectorType(SHORT, 8)
_PICKS = ir.VectorType(SHORT, 8)
COUNTS, START, HOW, WHO, WORDS = 0, 8, 24, 32, 72
"""Of an eight, counts and columns of the forms are kept; words to those columns that others than
vectors read, and in all."""
EIGHTS = 8
ROOM_WORDS = EIGHTS * WORDS
SECTORS_BIT, PARTS_BIT = 20, 42
"""What is counted is a word: how many, from bit 20 on their sectors, from bit 42 on parts."""
JOINS, TWO = 1, 2
"""Flags of a form, in bits of the array's address that are 0: it issues in a burst with the access
before; it has two ranges."""
NOBODY = (1 << 32) - 2
"""Row and mask of a form that there is not; no record has this row."""
UNLIKE, ONE_EACH, SEVERAL = -1, 1, 2
"""What :func:`match_eight` finds of eight accesses, or 0: they are of other instructions, or have
other strides; all have their forms, each of one range; all have, some of two."""
_HALVES = (0, 1, 4, 5, 2, 3, 6, 7)
"""Accesses in the order in which vectors of 32 bits have them: halves of the words of four and of
four more are put together and taken apart by AVX2 as they are in its two lanes."""


def _all(value: int, shape: Any = _EIGHT) -> Any:
    return ir.Constant(shape, [value] * 8)


def _merged(builder: Any, a: Any, b: Any, picks: tuple[int, ...]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(SHORT, len(picks)), picks))


_PAIRS = (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15)
"""Words of two rows in pairs: those at even and at odd places."""


def _columns(builder: Any, rows: list[Any]) -> list[Any]:
    """Columns of a table of eight rows of eight words."""
    pairs = [_merged(builder, rows[k], rows[k + 1], p) for p in _PAIRS for k in (0, 2, 4, 6)]
    found: list[Any] = [None] * 8
    for odd in (0, 1):
        a, b, c, d = pairs[4 * odd : 4 * odd + 4]
        for half in (0, 1):
            # Columns odd, odd + 2, odd + 4 and odd + 6 of the lower and upper four rows.
            first, second = (0, 1, 8, 9, 2, 3, 10, 11), (4, 5, 12, 13, 6, 7, 14, 15)
            picks = second if half else first
            low, high = _merged(builder, a, b, picks), _merged(builder, c, d, picks)
            found[odd + 4 * half] = _merged(builder, low, high, (0, 1, 2, 3, 8, 9, 10, 11))
            found[odd + 4 * half + 2] = _merged(builder, low, high, (4, 5, 6, 7, 12, 13, 14, 15))
    return found


def _columns_of_four(builder: Any, rows: list[Any]) -> list[Any]:
    """Columns of a table of eight rows of four words, given as four vectors of two rows each."""
    found: list[Any] = [None] * 4
    for half in (0, 2):
        picks = tuple(half + c for c in (0, 4, 8, 12, 1, 5, 9, 13))
        low, high = (_merged(builder, rows[k], rows[k + 1], picks) for k in (0, 2))
        found[half] = _merged(builder, low, high, (0, 1, 2, 3, 8, 9, 10, 11))
        found[half + 1] = _merged(builder, low, high, (4, 5, 6, 7, 12, 13, 14, 15))
    return found


class _Eight(Code):
    """Arrays that an intrinsic is given: trace records, the number of the first of eight, what is
    kept of eights, and where among that."""

    def at(self, k: int, offset: Any, shape: Any = _EIGHT) -> Any:
        """What lies a number of bytes behind the start of argument ``k``."""
        return self.load(self._start(k, offset, shape))

    def put(self, value: Any, k: int, offset: Any) -> None:
        """Put it there."""
        self.store(value, self._start(k, offset, value.type))

    def _start(self, k: int, offset: Any, shape: Any) -> Any:
        return self.behind(k, ir.Constant(WORD, 0), offset, shape)

    def record(self, k: int, place: int = 0) -> Any:
        """Bytes up to a place in the record that follows as the ``k``-th on argument 1."""
        b = self.b
        first = b.mul(self.arguments[1], ir.Constant(WORD, TRACE_RECORD.itemsize))
        return b.add(first, ir.Constant(WORD, TRACE_RECORD.itemsize * k + place))

    def records(self) -> list[Any]:
        """Columns of eight records: base, upper, site and stride, row and mask."""
        return _columns_of_four(self.b, [self.at(0, self.record(2 * k)) for k in range(4)])

    def column(self, number: int) -> Any:
        """Bytes up to a column of what is kept of the eight: of counts, or behind that of word
        ``number - 1`` of the forms."""
        word = self.b.add(self.arguments[3], ir.Constant(WORD, 8 * number))
        return self.b.shl(word, ir.Constant(WORD, 3))

    def kept(self, number: int) -> Any:
        """That column."""
        return self.at(2, self.column(number))

    def half(self, words: Any, which: int) -> Any:
        """The lower (0) or upper (1) 32 bits of eight words."""
        shorts = self.b.bitcast(words, ir.VectorType(SHORT, 16))
        return _merged(self.b, shorts, shorts, tuple(2 * k + which for k in _HALVES))

    def words(self, lower: Any, upper: Any) -> Any:
        """Eight words of those halves."""
        places = [_HALVES.index(k) for k in range(8)]
        picks = tuple(half + p for p in places for half in (0, 8))
        return self.b.bitcast(_merged(self.b, lower, upper, picks), _EIGHT)

    def places_of(self, parts: Any) -> list[Any]:
        """How many parts are those of the accesses before each of nine."""
        b = self.b
        number = b.trunc(parts, ir.VectorType(BYTE, 8))
        number = b.bitcast(_merged(b, number, number, _HALVES), WORD)
        # Byte k is the sum of bytes 0 to k.
        sums = b.mul(number, ir.Constant(WORD, 0x0101010101010101))
        shifts = (ir.Constant(WORD, 8 * k) for k in range(8))
        found = [b.and_(b.lshr(sums, shift), ir.Constant(WORD, 255)) for shift in shifts]
        return [ir.Constant(WORD, 0), *found]

    def places_of_crossing(self, crosses: Any) -> list[Any]:
        """The same where each access has a part, and those that cross into a second line two."""
        b, seen, found = self.b, 0, []
        mask = b.zext(b.bitcast(crosses, BYTE), WORD)
        for k in range(9):
            more = b.ctpop(b.and_(mask, ir.Constant(WORD, seen)))
            found.append(b.add(more, ir.Constant(WORD, k)))
            seen |= 1 << _HALVES.index(k) if k < 8 else 0
        return found


class _Range:
    """Parts of eight ranges of bytes, each shorter than a line, that start at addresses ``low``."""

    def __init__(self, code: _Eight, low: Any, extent: Any, head: Any, shifts: Any) -> None:
        b = code.b
        line_shift, sector_shift = (b.extract_value(shifts, k) for k in (0, 1))
        one = ir.Constant(WORD, 1)
        per_line = b.sub(line_shift, sector_shift)
        last_byte = code.alike(b.sub(b.shl(one, line_shift), one), _SHORTS)
        sectors_of_line = code.alike(b.sub(b.shl(one, b.shl(one, per_line)), one), _SHORTS)
        shift = code.alike(sector_shift, _SHORTS)
        first = b.and_(code.half(low, 0), last_byte)
        last = b.add(first, extent)
        self.crosses = b.icmp_unsigned(">", last, last_byte)
        first, last = b.lshr(first, shift), b.lshr(last, shift)
        self.beyond = b.sub(last, first)
        """Sectors but the first."""
        sectors = b.sub(b.shl(_all(2, _SHORTS), last), b.shl(_all(1, _SHORTS), first))
        next_ = b.lshr(sectors, code.alike(b.shl(one, per_line), _SHORTS))
        sectors = b.and_(sectors, sectors_of_line)
        bit = _all(SECTOR_BIT, _SHORTS)
        head_sectors = code.half(head, 0)
        self.lower = [b.add(head_sectors, b.shl(s, bit)) for s in (sectors, next_)]
        line = code.half(b.lshr(low, splat(b, line_shift, _EIGHT)), 0)
        line = b.add(code.half(head, 1), line)
        self.upper = [line, b.add(line, _all(1, _SHORTS))]


@intrinsic
def match_eight(_context: Any, records: Any, at: Any, made: Any, kept: Any) -> Any:  # noqa: ARG001
    """Whether ``records[at:]`` are eight accesses that all have the forms that :func:`keep_forms`
    has put to ``made[kept:]``: UNLIKE, ONE_EACH, SEVERAL, or 0 where one has not its form."""

    def generate(target: Any, b: Any, signature: Any, arguments: Any) -> Any:
        code = _Eight(target, b, signature, arguments)
        base, upper, how, who = code.records()
        start, low = code.kept(1), code.kept(5)

        def no_bits(vector: Any) -> Any:
            found = b.icmp_signed("!=", vector, _all(0))
            return b.icmp_unsigned("==", b.bitcast(found, BYTE), ir.Constant(BYTE, 0))

        # Lane 16's address from lane 0's; lanes; and the array.
        other = b.sub(b.sub(upper, base), code.kept(2))
        other = b.or_(other, b.xor(who, code.kept(4)))
        away = b.lshr(b.xor(b.add(base, low), start), _all(WINDOW_SHIFT))
        single = no_bits(b.and_(start, _all(TWO)))
        found = b.select(single, ir.Constant(WORD, ONE_EACH), ir.Constant(WORD, SEVERAL))
        found = b.select(no_bits(b.or_(other, away)), found, ir.Constant(WORD, 0))
        like = no_bits(b.xor(how, code.kept(3)))
        return b.select(like, found, ir.Constant(WORD, UNLIKE))

    return types.int64(records, types.int64, made, types.int64), generate


@intrinsic
def keep_forms(
    _context: Any,
    records: Any,
    at: Any,  # noqa: ARG001
    made: Any,
    kept: Any,  # noqa: ARG001
    forms: Any,
) -> Any:
    """Put columns of the forms of ``records[at:]``'s eight instructions to ``made[kept:]``."""

    def generate(target: Any, b: Any, signature: Any, arguments: Any) -> Any:
        code = _Eight(target, b, signature, arguments)
        place, rows = _FIELDS["site"][1], []
        for k in range(8):
            site = b.zext(code.at(0, code.record(k, place), SHORT), WORD)
            size = ir.Constant(WORD, signature.args[4].dtype.size)
            rows.append(code.at(4, b.mul(site, size)))
        columns = _columns(b, rows)
        how = code.records()[2]
        # An access of another stride has not that form.
        columns[3] = b.select(b.icmp_signed("==", columns[2], how), columns[3], _all(NOBODY))
        columns[2] = how
        for k, column in enumerate(columns):
            code.put(column, 2, code.column(1 + k))
        return target.get_dummy_value()

    return types.void(records, types.int64, made, types.int64, forms), generate


def _placing(*, several: bool) -> Any:
    """The function that places eight accesses, each of one range, or ``several`` of two."""

    @intrinsic
    def place(
        _context: Any,
        records: Any,
        at: Any,  # noqa: ARG001
        made: Any,
        kept: Any,  # noqa: ARG001
        part: Any,
        n: Any,  # noqa: ARG001
        shifts: Any,
    ) -> Any:
        """Write the parts of ``records[at:]``, eight accesses that all have the forms at
        ``made[kept:]``, to ``part[n:]``, and count them there; how many parts there are then. The
        last part of each has LAST unless the next goes on with the burst. ``shifts`` are those of
        an address to its line and to its sector."""

        def generate(target: Any, b: Any, signature: Any, arguments: Any) -> Any:
            code = _Eight(target, b, signature, arguments)
            base, start, head, extents = code.records()[0], code.kept(1), code.kept(7), code.kept(8)

            def shorts(value: int) -> Any:
                return _all(value, _SHORTS)

            def ranged(column: int, half: int) -> _Range:
                low = b.add(base, code.kept(column))
                return _Range(code, low, code.half(extents, half), head, arguments[6])

            flags, one = code.half(start, 0), ranged(5, 0)
            joins = b.and_(flags, shorts(JOINS))
            following = (_HALVES.index(k + 1) if k < 7 else 8 for k in _HALVES)
            ends = b.xor(_merged(b, joins, shorts(0), tuple(following)), shorts(1))
            parts = b.select(one.crosses, shorts(2), shorts(1))
            asked = b.add(one.beyond, shorts(1))
            lower, upper = one.lower, one.upper
            if several:
                other = ranged(6, 1)
                two = b.icmp_signed("!=", b.and_(flags, shorts(TWO)), shorts(0))
                more = b.select(other.crosses, shorts(2), shorts(1))
                parts = b.add(parts, b.select(two, more, shorts(0)))
                asked = b.add(asked, b.select(two, b.add(other.beyond, shorts(1)), shorts(0)))

                def laid(a: list[Any], c: list[Any]) -> list[Any]:
                    second = b.select(one.crosses, a[1], c[0])
                    return [a[0], second, b.select(one.crosses, c[0], c[1]), c[1]]

                lower, upper = laid(one.lower, other.lower), laid(one.upper, other.upper)
            for k, word in enumerate(lower):
                last = b.icmp_signed("==", parts, shorts(k + 1))
                lower[k] = b.or_(word, b.select(last, ends, shorts(0)))
            words = [code.words(*halves) for halves in zip(lower, upper, strict=True)]
            places = code.places_of(parts) if several else code.places_of_crossing(one.crosses)
            for k, before in enumerate(places[:8]):
                to = b.add(arguments[5], before)
                for i in range(0, len(words), 2):
                    row = _merged(b, words[i], words[i + 1], (k, 8 + k))
                    code.store(row, code.place(4, b.add(to, ir.Constant(WORD, i)), row.type))
            adds = b.add(b.shl(asked, shorts(SECTORS_BIT)), shorts(1))
            adds = code.words(adds, b.shl(parts, shorts(PARTS_BIT - 32)))
            code.put(b.add(code.kept(0), adds), 2, code.column(0))
            return b.add(arguments[5], places[8])

        given = types.int64, made, types.int64, part, types.int64
        return types.int64(records, *given, shifts), generate

    return place


place_single, place_several = _placing(several=False), _placing(several=True)
