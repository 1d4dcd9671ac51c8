"""Shifts, bit fields, permutations of bytes, and Boolean functions of three words."""

from __future__ import annotations

from placewise.executor.ir.nodes import BITS, Node
from placewise.executor.lowering.lowering_context import LoweringContext


def shifted(c: LoweringContext, op: str, value: Node, amount: Node) -> Node:
    """shl, lshr or ashr by an amount (i32); amounts beyond the width shift out all bits."""
    bits = BITS[value.type]
    if amount.op == "const":
        if amount.integer >= bits:
            if op != "ashr":
                return c.b.const(value.type, 0)
            return c.binary(op, value, c.b.const(value.type, bits - 1))
        return c.binary(op, value, c.b.const(value.type, amount.integer))
    if op == "ashr":
        capped = c.binary("umin", amount, c.b.const("i32", bits - 1))
        return c.binary(op, value, c.b.resize(capped, value.type))
    inside = c.b.icmp("ult", amount, c.b.const("i32", bits))
    safe = c.b.resize(c.binary("and", amount, c.b.const("i32", bits - 1)), value.type)
    return c.b.select(inside, c.binary(op, value, safe), c.b.const(value.type, 0))


def field_mask(c: LoweringContext, type_: str, length: Node) -> Node:
    """A value of ``length`` (i32) ones in the low bits."""
    return c.negate(shifted(c, "shl", c.b.const(type_, -1), length))


def ones_from(c: LoweringContext, position: Node, length: Node, *, wrap: bool) -> Node:
    """A word of ``length`` ones from bit ``position`` on; ``wrap`` takes both modulo 32."""
    if wrap:
        low = c.b.const("i32", 31)
        position, length = c.binary("and", position, low), c.binary("and", length, low)
    return shifted(c, "shl", field_mask(c, "i32", length), position)


def extended(c: LoweringContext, value: Node, length: Node, *, signed: bool, wrap: bool) -> Node:
    """The low ``length`` bits of a word, extended with zeros or the sign to 32 bits."""
    if wrap:
        length = c.binary("and", length, c.b.const("i32", 31))
    full = c.b.const("i32", 32)
    spare = c.binary("sub", full, c.binary("umin", length, full))
    return shifted(c, "ashr" if signed else "lshr", shifted(c, "shl", value, spare), spare)


def highest_one(
    c: LoweringContext, value: Node, *, signed: bool, as_shift: bool
) -> tuple[Node, Node]:
    """Position (i32) of the highest bit that is set, or differs from the sign, and if none does.

    ``as_shift`` counts from the top. Without such a bit the position is -1.
    """
    bits = BITS[value.type]
    if signed:
        value = c.binary("xor", value, c.binary("ashr", value, c.b.const(value.type, bits - 1)))
    zeros = c.b.resize(c.b.pure("ctlz", value.type, value), "i32")
    none = c.b.icmp("eq", value, c.b.const(value.type, 0))
    found = zeros if as_shift else c.binary("sub", c.b.const("i32", bits - 1), zeros)
    return c.b.select(none, c.b.const("i32", -1), found), none


def permuted(c: LoweringContext, pair: Node, selector: Node) -> Node:
    """PRMT's general mode: four bytes of ``pair`` ({b, a} as i64), chosen by ``selector`` (i32)."""
    result: Node | None = None
    for n in range(4):
        nibble = c.binary("lshr", selector, c.b.const("i32", 4 * n)) if n else selector
        index = c.b.resize(c.binary("and", nibble, c.b.const("i32", 7)), "i64")
        moved = c.binary("lshr", pair, c.binary("shl", index, c.b.const("i64", 3)))
        byte = c.b.resize(moved, "i8")
        sign = c.binary("ashr", byte, c.b.const("i8", 7))
        replicate = c.b.icmp(
            "ne", c.binary("and", nibble, c.b.const("i32", 8)), c.b.const("i32", 0)
        )
        byte = c.b.resize(c.b.select(replicate, sign, byte), "i32")
        placed = c.binary("shl", byte, c.b.const("i32", 8 * n)) if n else byte
        result = placed if result is None else c.binary("or", result, placed)
    assert result is not None
    return result


def permuted_constant(c: LoweringContext, a: Node, b: Node, selector: int) -> Node:
    """PRMT with a constant selector: one shift and mask per byte."""
    result: Node | None = None
    for n in range(4):
        nibble = selector >> (4 * n) & 15
        word, byte = (b, nibble & 3) if nibble & 4 else (a, nibble & 3)
        if nibble & 8:
            up = c.binary("shl", word, c.b.const("i32", 24 - 8 * byte)) if byte < 3 else word
            piece = c.binary("ashr", up, c.b.const("i32", 31))
        elif n >= byte:
            piece = c.binary("shl", word, c.b.const("i32", 8 * (n - byte))) if n > byte else word
        else:
            piece = c.binary("lshr", word, c.b.const("i32", 8 * (byte - n)))
        piece = c.binary("and", piece, c.b.const("i32", 255 << (8 * n)))
        result = piece if result is None else c.binary("or", result, piece)
    assert result is not None
    return result


def lop3_value(c: LoweringContext, a: Node, b: Node, d: Node, table: int) -> Node:
    """Any Boolean function of three words; bit 4a + 2b + c of ``table`` is its value."""
    low, high = table & 15, table >> 4
    if low == high:
        return _of_two(c, low, b, d)
    if low == 15 - high:
        return c.binary("xor", a, _of_two(c, low, b, d))
    if low == 0:
        return c.binary("and", a, _of_two(c, high, b, d))
    if high == 0:
        return c.binary("and", c.negate(a), _of_two(c, low, b, d))
    if high == 15:
        return c.binary("or", a, _of_two(c, low, b, d))
    if low == 15:
        return c.binary("or", c.negate(a), _of_two(c, high, b, d))
    kept = c.binary("and", a, _of_two(c, high, b, d))
    return c.binary("or", kept, c.binary("and", c.negate(a), _of_two(c, low, b, d)))


def _of_two(c: LoweringContext, table: int, x: Node, y: Node) -> Node:
    """The Boolean function of two words whose value for (x, y) is bit 2x + y of ``table``."""
    zero, ones = c.b.const(x.type, 0), c.b.const(x.type, -1)
    simple = {0: zero, 15: ones, 12: x, 10: y}
    if table in simple:
        return simple[table]
    if table in (3, 5):
        return c.negate(x if table == 3 else y)
    table_ops = {8: ("and", False), 14: ("or", False), 6: ("xor", False)}
    if table in table_ops:
        return c.binary(table_ops[table][0], x, y)
    if 15 - table in table_ops:
        return c.negate(c.binary(table_ops[15 - table][0], x, y))
    if table == 4:
        return c.binary("and", x, c.negate(y))
    if table == 2:
        return c.binary("and", c.negate(x), y)
    if table == 13:
        return c.binary("or", x, c.negate(y))
    return c.binary("or", c.negate(x), y)
