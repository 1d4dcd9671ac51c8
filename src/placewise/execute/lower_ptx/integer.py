"""Integer, logic, shift and bit instructions."""

from __future__ import annotations

from placewise.execute.builder import int_type
from placewise.execute.ir import BITS, Node
from placewise.execute.lower_ptx.context import Context, width
from placewise.kernel.ptx import Immediate, Instruction, Operand, Pair

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


def ints(c: Context, i: Instruction, *operands: Operand) -> tuple[str, bool, list[Node]]:
    """(IR type, signed, sources) of an integer instruction, by its last type."""
    type_ = int_type(width(i.parts[-1]))
    return type_, i.parts[-1][0] == "s", [c.src(o, type_) for o in operands or i.operands[1:]]


def add(c: Context, i: Instruction) -> None:
    """add, sub: plain, saturating, or setting the carry flag."""
    _, _, (a, b) = ints(c, i)
    name = i.parts[0]
    if "sat" in i.parts:
        c.dst(i.operands[0], c.both(f"s{name}_sat", a, b))
    elif "cc" in i.parts:
        _with_carry(c, i, a, b, subtract=name == "sub", carry_in=False)
    else:
        c.dst(i.operands[0], c.both(name, a, b))


def addc(c: Context, i: Instruction) -> None:
    """addc, subc: with carry or borrow in."""
    _, _, (a, b) = ints(c, i)
    _with_carry(c, i, a, b, subtract=i.parts[0] == "subc", carry_in=True)


def _with_carry(
    c: Context, i: Instruction, a: Node, b: Node, *, subtract: bool, carry_in: bool
) -> None:
    """The flag is kept as a register of its own; for subtraction it holds the borrow."""
    flag = c.b.reg(c.prefix + "%cc", "i1")
    zero = c.b.const("i1", 0)
    carry = c.b.get(flag) if carry_in else zero
    extra = c.b.resize(carry, a.type)
    if subtract:
        first = c.both("sub", a, b)
        total = c.both("sub", first, extra)
        out = c.both("or", c.b.icmp("ult", a, b), c.b.icmp("ult", first, extra))
    else:
        first = c.both("add", a, b)
        total = c.both("add", first, extra)
        out = c.both("or", c.b.icmp("ult", first, a), c.b.icmp("ult", total, first))
    c.dst(i.operands[0], total)
    if "cc" in i.parts:
        c.b.set(flag, c.b.select(c.guard, out, c.b.get(flag)) if c.guard else out)


def _product(c: Context, i: Instruction, a: Operand, b: Operand) -> tuple[Node, bool]:
    """The wanted part of a product and whether it is signed; ``wide`` gives twice the width."""
    bits = width(i.parts[-1])
    type_, signed = int_type(bits), i.parts[-1][0] == "s"
    x, y = c.src(a, type_), c.src(b, type_)
    if "wide" in i.parts:
        wide = int_type(2 * bits)
        return c.both(
            "mul", c.b.resize(x, wide, signed=signed), c.b.resize(y, wide, signed=signed)
        ), signed
    if "hi" in i.parts:
        return c.both("mulhi_s" if signed else "mulhi_u", x, y), signed
    return c.both("mul", x, y), signed


def mul(c: Context, i: Instruction) -> None:
    product, signed = _product(c, i, i.operands[1], i.operands[2])
    c.dst(i.operands[0], product, signed=signed)


def mad(c: Context, i: Instruction) -> None:
    """mad.lo, mad.hi, mad.wide, with .sat, .cc and (madc) carry in."""
    product, _ = _product(c, i, i.operands[1], i.operands[2])
    addend = c.src(i.operands[3], product.type)
    if "sat" in i.parts:
        c.dst(i.operands[0], c.both("sadd_sat", product, addend))
    elif "cc" in i.parts or i.parts[0] == "madc":
        _with_carry(c, i, product, addend, subtract=False, carry_in=i.parts[0] == "madc")
    else:
        c.dst(i.operands[0], c.both("add", product, addend))


def mul24(c: Context, i: Instruction) -> None:
    """mul24, mad24: products of the low 24 bits."""
    _, signed, values = ints(c, i)
    eight = c.b.const("i32", 8)
    shift = "ashr" if signed else "lshr"
    x, y = (c.both(shift, c.both("shl", v, eight), eight) for v in values[:2])
    wide = c.both("mul", c.b.resize(x, "i64", signed=signed), c.b.resize(y, "i64", signed=signed))
    if "hi" in i.parts:
        # The middle 32 bits of the 48-bit product.
        wide = c.both("lshr", wide, c.b.const("i64", 16))
    result = c.b.resize(wide, "i32")
    if i.parts[0] == "mad24":
        result = c.both("sadd_sat" if "sat" in i.parts else "add", result, values[2])
    c.dst(i.operands[0], result)


def sad(c: Context, i: Instruction) -> None:
    """|a - b| + c"""
    _, signed, (a, b, addend) = ints(c, i)
    kind = "s" if signed else "u"
    difference = c.both("sub", c.both(f"{kind}max", a, b), c.both(f"{kind}min", a, b))
    c.dst(i.operands[0], c.both("add", difference, addend))


def divide(c: Context, i: Instruction) -> None:
    """div, rem of integers."""
    _, signed, (a, b) = ints(c, i)
    c.dst(i.operands[0], c.both(("s" if signed else "u") + i.parts[0], a, b), signed=signed)


def absolute(c: Context, i: Instruction) -> None:
    _, _, (a,) = ints(c, i)
    c.dst(i.operands[0], c.both("smax", a, c.both("sub", c.b.const(a.type, 0), a)))


def negative(c: Context, i: Instruction) -> None:
    _, _, (a,) = ints(c, i)
    c.dst(i.operands[0], c.both("sub", c.b.const(a.type, 0), a))


def extreme(c: Context, i: Instruction) -> None:
    """min, max; ``.u16x2`` and ``.s16x2`` by halves; ``.relu`` clamps at zero."""
    last = i.parts[-1]
    op = last[0] + i.parts[0]
    if last.endswith("x2"):
        a, b = (c.src(o, "i32") for o in i.operands[1:])
        sixteen = c.b.const("i32", 16)
        low = c.both(op, c.b.resize(a, "i16"), c.b.resize(b, "i16"))
        high = c.both(
            op,
            c.b.resize(c.both("lshr", a, sixteen), "i16"),
            c.b.resize(c.both("lshr", b, sixteen), "i16"),
        )
        if "relu" in i.parts:
            low, high = (c.both("smax", v, c.b.const("i16", 0)) for v in (low, high))
        c.dst(i.operands[0], join(c, [low, high], "i32"))
        return
    _, signed, values = ints(c, i)
    result = c.both(op, values[0], values[1])
    if "relu" in i.parts:
        result = c.both("smax", result, c.b.const(result.type, 0))
    c.dst(i.operands[0], result, signed=signed)


def join(c: Context, parts: list[Node], type_: str) -> Node:
    """Concatenate integers, the first in the low bits."""
    bits = BITS[parts[0].type]
    total = c.b.resize(c.b.as_int(parts[0]), type_)
    for number, part in enumerate(parts[1:], 1):
        wide = c.b.resize(c.b.as_int(part), type_)
        total = c.both("or", total, c.both("shl", wide, c.b.const(type_, number * bits)))
    return total


def split(c: Context, value: Node, count: int) -> list[Node]:
    """Cut an integer into ``count`` equal parts, the low bits first."""
    bits = BITS[value.type] // count
    type_ = int_type(bits)
    return [
        c.b.resize(c.both("lshr", value, c.b.const(value.type, n * bits)) if n else value, type_)
        for n in range(count)
    ]


def logic(c: Context, i: Instruction) -> None:
    """and, or, xor on integers and predicates."""
    _, _, (a, b) = ints(c, i)
    c.dst(i.operands[0], c.both(i.parts[0], a, b))


def invert(c: Context, i: Instruction) -> None:
    _, _, (a,) = ints(c, i)
    c.dst(i.operands[0], c.negate(a))


def cnot(c: Context, i: Instruction) -> None:
    _, _, (a,) = ints(c, i)
    c.dst(i.operands[0], c.b.resize(c.b.icmp("eq", a, c.b.const(a.type, 0)), a.type))


def shifted(c: Context, op: str, value: Node, amount: Node) -> Node:
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


def shift(c: Context, i: Instruction) -> None:
    """shl, shr."""
    type_ = int_type(width(i.parts[-1]))
    signed = i.parts[-1][0] == "s"
    op = "shl" if i.parts[0] == "shl" else "ashr" if signed else "lshr"
    value, amount = c.src(i.operands[1], type_), c.src(i.operands[2], "i32")
    c.dst(i.operands[0], shifted(c, op, value, amount), signed=signed)


def funnel(c: Context, i: Instruction) -> None:
    """shf.l, shf.r with wrap or clamp."""
    low, high, amount = (c.src(o, "i32") for o in i.operands[1:])
    left = "l" in i.parts
    result = c.b.pure("fshl" if left else "fshr", "i32", high, low, amount)
    if "clamp" in i.parts:
        beyond = c.b.icmp("uge", amount, c.b.const("i32", 32))
        result = c.b.select(beyond, low if left else high, result)
    c.dst(i.operands[0], result)


def _field_mask(c: Context, type_: str, length: Node) -> Node:
    """``length`` ones in the low bits."""
    return c.negate(shifted(c, "shl", c.b.const(type_, -1), length))


def bfe(c: Context, i: Instruction) -> None:
    type_, signed, _ = ints(c, i, i.operands[1])
    value = c.src(i.operands[1], type_)
    byte = c.b.const("i32", 255)
    position, length = (c.both("and", c.src(o, "i32"), byte) for o in i.operands[2:4])
    bits = BITS[type_]
    if not signed:
        field = c.both("and", shifted(c, "lshr", value, position), _field_mask(c, type_, length))
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
    mask = shifted(c, "shl", _field_mask(c, type_, length), position)
    inserted = c.both("and", shifted(c, "shl", a, position), mask)
    c.dst(i.operands[0], c.both("or", c.both("and", b, c.negate(mask)), inserted))


def bmsk(c: Context, i: Instruction) -> None:
    """bmsk.clamp, bmsk.wrap: a mask of b bits from bit a on."""
    position, length = (c.src(o, "i32") for o in i.operands[1:3])
    if "wrap" in i.parts:
        low = c.b.const("i32", 31)
        position, length = c.both("and", position, low), c.both("and", length, low)
    c.dst(i.operands[0], shifted(c, "shl", _field_mask(c, "i32", length), position))


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


def _permuted(c: Context, pair: Node, selector: Node) -> Node:
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


def _permuted_constant(c: Context, a: Node, b: Node, selector: int) -> Node:
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


def prmt(c: Context, i: Instruction) -> None:
    a, b, selector = (c.src(o, "i32") for o in i.operands[1:4])
    mode = next((p for p in i.parts if p in _MODES), None)
    if mode:
        control = c.both("and", selector, c.b.const("i32", 3))
        result = _permuted_constant(c, a, b, _MODES[mode][0])
        for n in (1, 2, 3):
            other = _permuted_constant(c, a, b, _MODES[mode][n])
            result = c.b.select(c.b.icmp("eq", control, c.b.const("i32", n)), other, result)
    elif isinstance(i.operands[3], Immediate):
        result = _permuted_constant(c, a, b, int(i.operands[3].value))
    else:
        result = _permuted(c, join(c, [a, b], "i64"), selector)
    c.dst(i.operands[0], result)


def _of_two(c: Context, table: int, x: Node, y: Node) -> Node:
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


def lop3_value(c: Context, a: Node, b: Node, d: Node, table: int) -> Node:
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
