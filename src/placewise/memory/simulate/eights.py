"""Requests of eight accesses at once, worked out by their instructions' forms in vectors."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from placewise.execute.layout import TRACE_RECORD, WINDOW_SHIFT
from placewise.memory.simulate.vector_code import BYTE, SHORT, WORD, Code, splat

_FIELDS: Any = TRACE_RECORD.fields
_EIGHT = ir.VectorType(WORD, 8)
_PICKS = ir.VectorType(SHORT, 8)
ROW_WORDS = 4
"""Parts that an access with a form has at most."""
ADDENDS = 8 * ROW_WORDS
TAIL = ADDENDS + 8
KEPT = TAIL + 32
"""Where lies, in the room for eights, what each of eight accesses adds to counts, a chunk's last
records, and what is kept of several eights. Their parts come first."""
COUNTS, HOW, WHO, WORDS = 0, 24, 32, 72
"""Of an eight, counts and columns of the forms are kept; words to the column of sites and strides,
to that of rows and masks, and in all."""
EIGHTS = 8
ROOM_WORDS = KEPT + EIGHTS * WORDS
SECTORS_BIT, PARTS_BIT = 20, 42
"""What is counted is a word: how many, from bit 20 on their sectors, from bit 42 on parts."""
JOINS, TWO = 1, 2
"""Flags of a form, in bits of the array's address that are 0: it issues in a burst with the access
before; it has two ranges."""


def _all(value: int) -> Any:
    return ir.Constant(_EIGHT, [value] * 8)


def _merged(builder: Any, a: Any, b: Any, picks: tuple[int, ...]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(_PICKS, picks))


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


def _rows_of_four(builder: Any, columns: list[Any]) -> list[Any]:
    """The opposite."""
    found: list[Any] = [None] * 4
    picks = (0, 1, 8, 9, 2, 3, 10, 11), (4, 5, 12, 13, 6, 7, 14, 15)
    halves = (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)
    a, b = ([_merged(builder, columns[k], columns[k + 1], p) for p in _PAIRS] for k in (0, 2))
    for half in (0, 1):
        even, odd = (_merged(builder, a[k], b[k], picks[half]) for k in (0, 1))
        for k in (0, 1):
            found[2 * half + k] = _merged(builder, even, odd, halves[k])
    return found


class _Range:
    """Parts of eight ranges of bytes, each shorter than a line."""

    def __init__(self, b: Any, low: Any, extent: Any, head: Any, shifts: list[Any]) -> None:
        line_shift, sector_shift, line_bit, sector_bit = shifts
        one, two = _all(1), _all(2)
        per_shift = b.sub(line_shift, sector_shift)
        within = b.sub(b.shl(one, per_shift), one)
        first = b.ashr(low, sector_shift)
        last = b.ashr(b.add(low, extent), sector_shift)
        line, end = b.ashr(first, per_shift), b.ashr(last, per_shift)
        self.crosses = b.icmp_signed("!=", line, end)
        start, stop = b.and_(first, within), b.and_(last, within)
        upto = b.select(self.crosses, within, stop)
        sectors = b.sub(b.shl(two, upto), b.shl(one, start))
        self.part = b.add(b.add(head, b.shl(line, line_bit)), b.shl(sectors, sector_bit))
        sectors = b.sub(b.shl(two, stop), one)
        self.next = b.add(b.add(head, b.shl(end, line_bit)), b.shl(sectors, sector_bit))
        self.asked = b.add(b.sub(last, first), one)
        self.parts = b.add(b.zext(self.crosses, _EIGHT), one)


class _Memory(Code):
    """Arrays that an intrinsic is given."""

    def at(self, k: int, offset: Any, shape: Any = _EIGHT) -> Any:
        """What lies a number of bytes behind the start of argument ``k``."""
        return self.load(self._start(k, offset, shape))

    def put(self, value: Any, k: int, offset: Any) -> None:
        """Put it there."""
        self.store(value, self._start(k, offset, value.type))

    def _start(self, k: int, offset: Any, shape: Any) -> Any:
        offset = ir.Constant(WORD, offset) if isinstance(offset, int) else offset
        return self.behind(k, ir.Constant(WORD, 0), offset, shape)

    def record(self, k: int, place: int = 0) -> Any:
        """Bytes up to a place in the record that follows as the ``k``-th on argument 1."""
        b = self.b
        first = b.mul(self.arguments[1], ir.Constant(WORD, TRACE_RECORD.itemsize))
        return b.add(first, ir.Constant(WORD, TRACE_RECORD.itemsize * k + place))

    def kept(self, k: int, place: int) -> Any:
        """Bytes up to a word behind that whose number is argument ``k``."""
        b = self.b
        word = b.add(self.arguments[k], ir.Constant(WORD, place))
        return b.shl(word, ir.Constant(WORD, 3))

    def records(self) -> list[Any]:
        """Columns of eight records: base, upper, site and stride, row and mask."""
        return _columns_of_four(self.b, [self.at(0, self.record(2 * k)) for k in range(4)])


@intrinsic
def like_before(_context: Any, records: Any, at: Any, made: Any, kept: Any) -> Any:  # noqa: ARG001
    """Whether ``records[at:]`` are of those eight instructions and have the strides whose forms
    :func:`keep_forms` has put to ``made[kept:]``."""

    def generate(target: Any, b: Any, signature: Any, arguments: Any) -> Any:
        memory = _Memory(target, b, signature, arguments)
        same = b.icmp_signed("==", memory.records()[2], memory.at(2, memory.kept(3, HOW)))
        return b.icmp_unsigned("==", b.bitcast(same, BYTE), ir.Constant(BYTE, 255))

    return types.boolean(records, types.int64, made, types.int64), generate


@intrinsic
def keep_forms(
    _context: Any,
    records: Any,
    at: Any,  # noqa: ARG001
    forms: Any,
    made: Any,
    kept: Any,  # noqa: ARG001
) -> Any:
    """Put columns of the forms of ``records[at:]``'s eight instructions to ``made[kept:]``."""

    def generate(target: Any, b: Any, signature: Any, arguments: Any) -> Any:
        memory = _Memory(target, b, signature, arguments)
        place, rows = _FIELDS["site"][1], []
        for k in range(8):
            site = b.zext(memory.at(0, memory.record(k, place), SHORT), WORD)
            size = ir.Constant(WORD, signature.args[2].dtype.size)
            rows.append(memory.at(2, b.mul(site, size)))
        columns = _columns(b, rows)
        how = memory.records()[2]
        # An access of another stride has not that form.
        columns[3] = b.select(b.icmp_signed("==", columns[2], how), columns[3], _all(0))
        columns[2] = how
        for k, column in enumerate(columns):
            memory.put(column, 3, memory.kept(4, 8 + 8 * k))
        return target.get_dummy_value()

    return types.void(records, types.int64, forms, made, types.int64), generate


@intrinsic
def lay_eight(
    _context: Any,
    records: Any,
    at: Any,  # noqa: ARG001
    made: Any,
    kept: Any,  # noqa: ARG001
    shifts: Any,
) -> Any:
    """Work out the parts of eight accesses from ``records[at:]`` on by forms at ``made[kept:]``,
    which are of those instructions.

    Byte k of the result is how many parts the k-th has by its instruction's form, 0 if it has not
    that form; plus 128 if it issues in a burst with the access before, which is not one of these
    with a form. Its parts are ``made[4 k:]``, the last with LAST unless the next goes on with the
    burst; what it adds to counts is ``made[ADDENDS + k]``. ``shifts`` are those of an offset to its
    line and to its sector, and of a part's line and of its sectors.
    """

    def generate(target: Any, b: Any, signature: Any, arguments: Any) -> Any:
        memory = _Memory(target, b, signature, arguments)
        base, upper, _, who = memory.records()
        start, delta, _, mask, low, low2, head, extents = (
            memory.at(2, memory.kept(3, 8 + 8 * k)) for k in range(8)
        )
        array = b.and_(start, _all(-1 << WINDOW_SHIFT))
        same = b.icmp_signed("==", b.sub(upper, base), delta)
        same = b.and_(same, b.icmp_signed("==", who, mask))
        first = b.and_(b.add(base, low), _all(-1 << WINDOW_SHIFT))
        same = b.and_(same, b.icmp_signed("==", first, array))
        offset = b.sub(base, array)
        given = [splat(b, b.extract_value(arguments[4], k), _EIGHT) for k in range(4)]
        one = _Range(b, b.add(offset, low), b.and_(extents, _all(0xFFFFFFFF)), head, given)
        other = _Range(b, b.add(offset, low2), b.lshr(extents, _all(32)), head, given)
        two = b.icmp_signed("!=", b.and_(start, _all(TWO)), _all(0))
        parts = b.add(one.parts, b.select(two, other.parts, _all(0)))
        asked = b.add(one.asked, b.select(two, other.asked, _all(0)))
        words = [
            one.part,
            b.select(one.crosses, one.next, other.part),
            b.select(one.crosses, other.part, other.next),
            other.next,
        ]
        joins = b.and_(same, b.icmp_signed("!=", b.and_(start, _all(JOINS)), _all(0)))
        none = ir.Constant(ir.VectorType(ir.IntType(1), 8), [0] * 8)
        ends = b.not_(_merged(b, joins, none, (1, 2, 3, 4, 5, 6, 7, 8)))
        for k in range(ROW_WORDS):
            last = b.and_(b.icmp_signed("==", parts, _all(k + 1)), ends)
            words[k] = b.or_(words[k], b.zext(last, _EIGHT))
        joins = b.and_(joins, b.not_(_merged(b, none, same, (0, 8, 9, 10, 11, 12, 13, 14))))
        for k, row in enumerate(_rows_of_four(b, words)):
            memory.put(row, 2, 64 * k)
        adds = b.add(b.add(b.shl(asked, _all(SECTORS_BIT)), b.shl(parts, _all(PARTS_BIT))), _all(1))
        memory.put(adds, 2, 8 * ADDENDS)
        found = b.or_(parts, b.select(joins, _all(1 << 7), _all(0)))
        found = b.select(same, found, _all(0))
        return b.bitcast(b.trunc(found, ir.VectorType(BYTE, 8)), WORD)

    return types.uint64(records, types.int64, made, types.int64, shifts), generate


@intrinsic
def place_eight(
    _context: Any,
    made: Any,
    kept: Any,  # noqa: ARG001
    part: Any,
    n: Any,  # noqa: ARG001
    eight: Any,  # noqa: ARG001
) -> Any:
    """Copy the parts of eight accesses that all have their forms to ``part[n:]`` and count them at
    ``made[kept:]``; how many parts there are then. ``eight`` is what :func:`lay_eight` returned."""
    shape = ir.VectorType(WORD, ROW_WORDS)

    def generate(target: Any, b: Any, signature: Any, arguments: Any) -> Any:
        memory = _Memory(target, b, signature, arguments)

        def number(value: int) -> Any:
            return ir.Constant(WORD, value)

        parts = b.and_(arguments[4], number(0x0F0F0F0F0F0F0F0F))
        # Byte k is the sum of bytes 0 to k.
        sums = b.mul(parts, number(0x0101010101010101))
        at = arguments[3]
        for k in range(8):
            memory.put(memory.at(0, 8 * ROW_WORDS * k, shape), 2, b.shl(at, number(3)))
            sum_ = b.and_(b.lshr(sums, number(8 * k)), number(255))
            at = b.add(arguments[3], sum_)
        counts = memory.kept(1, COUNTS)
        memory.put(b.add(memory.at(0, counts), memory.at(0, 8 * ADDENDS)), 0, counts)
        return at

    return types.int64(made, types.int64, part, types.int64, types.uint64), generate


@intrinsic
def place_one(_context: Any, made: Any, k: Any, part: Any, to: Any) -> Any:  # noqa: ARG001
    """Copy the parts of the ``k``-th access to ``part[to:]``."""
    shape = ir.VectorType(WORD, ROW_WORDS)

    def generate(target: Any, b: Any, signature: Any, arguments: Any) -> Any:
        memory = _Memory(target, b, signature, arguments)
        bytes_ = [b.shl(arguments[n], ir.Constant(WORD, s)) for n, s in ((1, 5), (3, 3))]
        memory.put(memory.at(0, bytes_[0], shape), 2, bytes_[1])
        return target.get_dummy_value()

    return types.void(made, types.int64, part, types.int64), generate
