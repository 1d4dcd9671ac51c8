"""Bit fields, permutations of bytes, Boolean functions of three words, byte dot products."""

from __future__ import annotations

from placewise.execute.ir.builder import int_type
from placewise.execute.ir.nodes import BITS, Node
from placewise.execute.lower_ptx.arithmetic.integer import ints, join, shifted, split
from placewise.execute.lower_ptx.context import Context, width
from placewise.execute.lowering.shorthand import Shorthand
from placewise.kernel.ptx import Immediate, Instruction, Pair

_MODES = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}
"""Selectors of prmt's special modes for a control value of 0 to 3 (PTX ISA, prmt); b4e's take
byte i from the pair {a, b} counted downwards."""


def field_mask(c: Shorthand, type_: str, length: Node) -> Node:
    """``length`` ones in the low bits."""
    return c.negate(shifted(c, "shl", c.b.const(type_, -1), length))


def bfe(c: Context, i: Instruction) -> None:
    type_, signed, _ = ints(c, i, i.operands[1])
    value = c.src(i.operands[1], type_)
    byte = c.b.const("i32", 255)
    position, length = (c.both("and", c.src(o, "i32"), byte) for o in i.operands[2:4])
    bits = BITS[type_]
    if not signed:
        field = c.both("and", shifted(c, "lshr", value, position), field_mask(c, type_, length))
    else:
        moved = shifted(c, "ashr", value, position)
        full = c.b.const("i32", bits)
        spare = c.b.resize(c.both("sub", full, c.both("umin", length, full)), type_)
        empty = c.b.icmp("eq", length, c.b.const("i32", 0))
        # A length of 0 would shift by the width, which LLVM leaves undefined.
        spare = c.b.select(empty, c.b.const(type_, 0), spare)
        field = c.both("ashr", c.both("shl", moved, spare), spare)
        field = c.b.select(empty, c.b.const(type_, 0), field)
    c.dst(i.operands[0], field)


def bfi(c: Context, i: Instruction) -> None:
    type_ = int_type(width(i.parts[-1]))
    a, b = c.src(i.operands[1], type_), c.src(i.operands[2], type_)
    byte = c.b.const("i32", 255)
    position, length = (c.both("and", c.src(o, "i32"), byte) for o in i.operands[3:5])
    mask = shifted(c, "shl", field_mask(c, type_, length), position)
    inserted = c.both("and", shifted(c, "shl", a, position), mask)
    c.dst(i.operands[0], c.both("or", c.both("and", b, c.negate(mask)), inserted))


def bmsk(c: Context, i: Instruction) -> None:
    """bmsk.clamp, bmsk.wrap: a mask of b bits from bit a on."""
    position, length = (c.src(o, "i32") for o in i.operands[1:3])
    if "wrap" in i.parts:
        low = c.b.const("i32", 31)
        position, length = c.both("and", position, low), c.both("and", length, low)
    c.dst(i.operands[0], shifted(c, "shl", field_mask(c, "i32", length), position))


def szext(c: Context, i: Instruction) -> None:
    """szext.clamp, szext.wrap: extend from bit b - 1."""
    _, signed, (a, n) = ints(c, i)
    thirty_two = c.b.const("i32", 32)
    if "wrap" in i.parts:
        n = c.both("and", n, c.b.const("i32", 31))
    spare = c.both("sub", thirty_two, c.both("umin", n, thirty_two))
    up = shifted(c, "shl", a, spare)
    c.dst(i.operands[0], shifted(c, "ashr" if signed else "lshr", up, spare))


def count(c: Context, i: Instruction) -> None:
    """clz, popc: i32 results whatever the operand."""
    _, _, (a,) = ints(c, i)
    op = "ctlz" if i.parts[0] == "clz" else "ctpop"
    c.dst(i.operands[0], c.b.resize(c.b.pure(op, a.type, a), "i32"))


def brev(c: Context, i: Instruction) -> None:
    _, _, (a,) = ints(c, i)
    c.dst(i.operands[0], c.b.pure("bitreverse", a.type, a))


def bfind(c: Context, i: Instruction) -> None:
    """Position of the highest bit that differs from the sign (or is set); -1 if none."""
    _, signed, (a,) = ints(c, i)
    bits = BITS[a.type]
    if signed:
        a = c.both("xor", a, c.both("ashr", a, c.b.const(a.type, bits - 1)))
    zeros = c.b.resize(c.b.pure("ctlz", a.type, a), "i32")
    none = c.b.icmp("eq", a, c.b.const(a.type, 0))
    found = zeros if "shiftamt" in i.parts else c.both("sub", c.b.const("i32", bits - 1), zeros)
    c.dst(i.operands[0], c.b.select(none, c.b.const("i32", -1), found))


def permuted(c: Shorthand, pair: Node, selector: Node) -> Node:
    """prmt's general mode; ``pair`` is {b, a} as i64."""
    result: Node | None = None
    for n in range(4):
        nibble = c.both("lshr", selector, c.b.const("i32", 4 * n)) if n else selector
        index = c.b.resize(c.both("and", nibble, c.b.const("i32", 7)), "i64")
        moved = c.both("lshr", pair, c.both("shl", index, c.b.const("i64", 3)))
        byte = c.b.resize(moved, "i8")
        sign = c.both("ashr", byte, c.b.const("i8", 7))
        replicate = c.b.icmp("ne", c.both("and", nibble, c.b.const("i32", 8)), c.b.const("i32", 0))
        byte = c.b.resize(c.b.select(replicate, sign, byte), "i32")
        placed = c.both("shl", byte, c.b.const("i32", 8 * n)) if n else byte
        result = placed if result is None else c.both("or", result, placed)
    assert result is not None
    return result


def permuted_constant(c: Shorthand, a: Node, b: Node, selector: int) -> Node:
    """prmt with a known selector: one shift and mask per byte."""
    result: Node | None = None
    for n in range(4):
        nibble = selector >> (4 * n) & 15
        word, byte = (b, nibble & 3) if nibble & 4 else (a, nibble & 3)
        if nibble & 8:
            up = c.both("shl", word, c.b.const("i32", 24 - 8 * byte)) if byte < 3 else word
            piece = c.both("ashr", up, c.b.const("i32", 31))
        elif n >= byte:
            piece = c.both("shl", word, c.b.const("i32", 8 * (n - byte))) if n > byte else word
        else:
            piece = c.both("lshr", word, c.b.const("i32", 8 * (byte - n)))
        piece = c.both("and", piece, c.b.const("i32", 255 << (8 * n)))
        result = piece if result is None else c.both("or", result, piece)
    assert result is not None
    return result


def _nth_one(c: Context, word: Node, rank: Node) -> Node:
    """Position of the set bit with ``rank`` lower set bits, all ones if there is none."""
    position = c.b.const("i32", 0)
    left = rank
    for width_ in (16, 8, 4, 2, 1):
        low = c.both("and", c.both("lshr", word, position), c.b.const("i32", (1 << width_) - 1))
        ones = c.b.pure("ctpop", "i32", low)
        beyond = c.b.icmp("uge", left, ones)
        left = c.b.select(beyond, c.both("sub", left, ones), left)
        further = c.both("add", position, c.b.const("i32", width_))
        position = c.b.select(beyond, further, position)
        position = c.both("and", position, c.b.const("i32", 31))
    exists = c.b.icmp("ult", rank, c.b.pure("ctpop", "i32", word))
    return c.b.select(exists, position, c.b.const("i32", -1))


def fns(c: Context, i: Instruction) -> None:
    """fns.b32 d, mask, base, offset: the offset-th set bit from a place on, up or down."""
    mask, base, offset = (c.src(o, "i32") for o in i.operands[1:4])
    zero, one, last = (c.b.const("i32", v) for v in (0, 1, 31))
    above = c.both("and", mask, shifted(c, "shl", c.b.const("i32", -1), base))
    up = _nth_one(c, above, c.both("sub", offset, one))
    turned = c.b.pure("bitreverse", "i32", mask)
    below = c.both(
        "and", turned, shifted(c, "shl", c.b.const("i32", -1), c.both("sub", last, base))
    )
    found = _nth_one(c, below, c.negate(offset))
    none = c.b.icmp("eq", found, c.b.const("i32", -1))
    down = c.b.select(none, found, c.both("sub", last, found))
    here = c.b.icmp("ne", c.both("and", shifted(c, "lshr", mask, base), one), zero)
    own = c.b.select(here, base, c.b.const("i32", -1))
    moved = c.b.select(c.b.icmp("sgt", offset, zero), up, down)
    c.dst(i.operands[0], c.b.select(c.b.icmp("eq", offset, zero), own, moved))


def prmt(c: Context, i: Instruction) -> None:
    a, b, selector = (c.src(o, "i32") for o in i.operands[1:4])
    mode = next((p for p in i.parts if p in _MODES), None)
    if mode:
        control = c.both("and", selector, c.b.const("i32", 3))
        result = permuted_constant(c, a, b, _MODES[mode][0])
        for n in (1, 2, 3):
            other = permuted_constant(c, a, b, _MODES[mode][n])
            result = c.b.select(c.b.icmp("eq", control, c.b.const("i32", n)), other, result)
    elif isinstance(i.operands[3], Immediate):
        result = permuted_constant(c, a, b, int(i.operands[3].value))
    else:
        result = permuted(c, join(c, [a, b], "i64"), selector)
    c.dst(i.operands[0], result)


def _of_two(c: Shorthand, table: int, x: Node, y: Node) -> Node:
    """The Boolean function of two words whose value for (x, y) is bit 2x + y of ``table``."""
    zero, ones = c.b.const(x.type, 0), c.b.const(x.type, -1)
    simple = {0: zero, 15: ones, 12: x, 10: y}
    if table in simple:
        return simple[table]
    if table in (3, 5):
        return c.negate(x if table == 3 else y)
    table_ops = {8: ("and", False), 14: ("or", False), 6: ("xor", False)}
    if table in table_ops:
        return c.both(table_ops[table][0], x, y)
    if 15 - table in table_ops:
        return c.negate(c.both(table_ops[15 - table][0], x, y))
    if table == 4:
        return c.both("and", x, c.negate(y))
    if table == 2:
        return c.both("and", c.negate(x), y)
    if table == 13:
        return c.both("or", x, c.negate(y))
    return c.both("or", c.negate(x), y)


def lop3_value(c: Shorthand, a: Node, b: Node, d: Node, table: int) -> Node:
    """Any Boolean function of three words; bit 4a + 2b + c of ``table`` is its value."""
    low, high = table & 15, table >> 4
    if low == high:
        return _of_two(c, low, b, d)
    if low == 15 - high:
        return c.both("xor", a, _of_two(c, low, b, d))
    if low == 0:
        return c.both("and", a, _of_two(c, high, b, d))
    if high == 0:
        return c.both("and", c.negate(a), _of_two(c, low, b, d))
    if high == 15:
        return c.both("or", a, _of_two(c, low, b, d))
    if low == 15:
        return c.both("or", c.negate(a), _of_two(c, high, b, d))
    kept = c.both("and", a, _of_two(c, high, b, d))
    return c.both("or", kept, c.both("and", c.negate(a), _of_two(c, low, b, d)))


def lop3(c: Context, i: Instruction) -> None:
    a, b, d = (c.src(o, "i32") for o in i.operands[1:4])
    table = i.operands[4]
    if not isinstance(table, Immediate):
        c.unsupported(i, "the table is not a literal")
    result = lop3_value(c, a, b, d, int(table.value))
    target = i.operands[0]
    if isinstance(target, Pair):
        nonzero = c.b.icmp("ne", result, c.b.const("i32", 0))
        c.dst(target.second, c.both(i.parts[1], nonzero, c.src(i.operands[5], "i1")))
    c.dst(target, result)


def dot(c: Context, i: Instruction) -> None:
    """dp4a, dp2a: byte (or byte by half-word) dot product plus c."""
    signed_a, signed_b = i.parts[-2][0] == "s", i.parts[-1][0] == "s"
    a, b, total = (c.src(o, "i32") for o in i.operands[1:4])
    if i.parts[0] == "dp4a":
        xs, ys = split(c, a, 4), split(c, b, 4)
    else:
        xs = split(c, a, 2)
        ys = split(c, b, 4)[2:] if "hi" in i.parts else split(c, b, 4)[:2]
    for x, y in zip(xs, ys, strict=True):
        product = c.both(
            "mul", c.b.resize(x, "i32", signed=signed_a), c.b.resize(y, "i32", signed=signed_b)
        )
        total = c.both("add", total, product)
    c.dst(i.operands[0], total)
