"""Shifts, bit fields, permutations of bytes, and Boolean functions of three words."""

from __future__ import annotations

from placewise.executor.ir.nodes import BITS, Node
from placewise.executor.lowering.shorthand import Shorthand


def shifted(c: Shorthand, op: str, value: Node, amount: Node) -> Node:
    """shl, lshr or ashr with the amount (i32) clamped at the width, as PTX does."""
    bits = BITS[value.type]
    if amount.op == "const":
        assert isinstance(amount.attr, int)
        if amount.attr >= bits:
            if op != "ashr":
                return c.b.const(value.type, 0)
            return c.both(op, value, c.b.const(value.type, bits - 1))
        return c.both(op, value, c.b.const(value.type, amount.attr))
    if op == "ashr":
        capped = c.both("umin", amount, c.b.const("i32", bits - 1))
        return c.both(op, value, c.b.resize(capped, value.type))
    inside = c.b.icmp("ult", amount, c.b.const("i32", bits))
    safe = c.b.resize(c.both("and", amount, c.b.const("i32", bits - 1)), value.type)
    return c.b.select(inside, c.both(op, value, safe), c.b.const(value.type, 0))


def field_mask(c: Shorthand, type_: str, length: Node) -> Node:
    """``length`` ones in the low bits."""
    return c.negate(shifted(c, "shl", c.b.const(type_, -1), length))


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
