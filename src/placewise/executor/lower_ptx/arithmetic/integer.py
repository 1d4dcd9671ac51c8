"""Integer arithmetic, logic and shifts."""

from __future__ import annotations

from placewise.executor.ir.builder import int_type
from placewise.executor.ir.nodes import Node
from placewise.executor.lower_ptx.context import Context, width
from placewise.executor.lowering.bits import shifted
from placewise.executor.lowering.integers import by_halves, join
from placewise.kernel.ptx import Instruction, Operand


def last_type(i: Instruction) -> str:
    """The opcode's last integer type; ``.relu`` may follow it."""
    return next(p for p in reversed(i.parts) if p[0] in "busp" and p != "sat")


def ints(c: Context, i: Instruction, *operands: Operand) -> tuple[str, bool, list[Node]]:
    """(IR type, signed, source values) of an integer instruction, by its last type."""
    name = last_type(i)
    type_ = int_type(width(name))
    return type_, name[0] == "s", [c.src(o, type_) for o in operands or i.operands[1:]]


def add(c: Context, i: Instruction) -> None:
    """add, sub: plain, saturating, or setting the carry flag."""
    name = i.parts[0]
    if i.parts[-1].endswith("x2"):
        a, b = (c.src(o, "i32") for o in i.operands[1:3])
        c.dst(i.operands[0], join(c, by_halves(c, name, a, b), "i32"))
        return
    _, _, (a, b) = ints(c, i)
    if "sat" in i.parts:
        c.dst(i.operands[0], c.binary(f"s{name}_sat", a, b))
    elif "cc" in i.parts:
        _with_carry(c, i, a, b, subtract=name == "sub", carry_in=False)
    else:
        c.dst(i.operands[0], c.binary(name, a, b))


def addc(c: Context, i: Instruction) -> None:
    """addc, subc: add or subtract with carry in."""
    _, _, (a, b) = ints(c, i)
    _with_carry(c, i, a, b, subtract=i.parts[0] == "subc", carry_in=True)


def _with_carry(
    c: Context, i: Instruction, a: Node, b: Node, *, subtract: bool, carry_in: bool
) -> None:
    """Add or subtract with carry; the carry flag is a register.

    A subtraction adds the complement, as the hardware does, so no borrow sets the flag. NVRTC's
    128-bit division relies on this: it uses ``addc`` after ``subc.cc`` to get the sign.
    """
    flag = c.b.reg(c.prefix + "%cc", "i1")
    zero = c.b.const("i1", 0)
    carry = c.b.get(flag) if carry_in else zero
    if subtract and carry_in:
        carry = c.negate(carry)
    extra = c.b.resize(carry, a.type)
    if subtract:
        first = c.binary("sub", a, b)
        total = c.binary("sub", first, extra)
        out = c.negate(c.binary("or", c.b.icmp("ult", a, b), c.b.icmp("ult", first, extra)))
    else:
        first = c.binary("add", a, b)
        total = c.binary("add", first, extra)
        out = c.binary("or", c.b.icmp("ult", first, a), c.b.icmp("ult", total, first))
    c.dst(i.operands[0], total)
    if "cc" in i.parts:
        c.b.set(flag, c.b.select(c.guard, out, c.b.get(flag)) if c.guard else out)


def _product(c: Context, i: Instruction, a: Operand, b: Operand) -> tuple[Node, bool]:
    """(product, signed): its low or high half, or with ``.wide`` twice the width."""
    bits = width(i.parts[-1])
    type_, signed = int_type(bits), i.parts[-1][0] == "s"
    x, y = c.src(a, type_), c.src(b, type_)
    if "wide" in i.parts:
        wide = int_type(2 * bits)
        return c.binary(
            "mul", c.b.resize(x, wide, signed=signed), c.b.resize(y, wide, signed=signed)
        ), signed
    if "hi" in i.parts:
        return c.binary("mulhi_s" if signed else "mulhi_u", x, y), signed
    return c.binary("mul", x, y), signed


def mul(c: Context, i: Instruction) -> None:
    product, signed = _product(c, i, i.operands[1], i.operands[2])
    c.dst(i.operands[0], product, signed=signed)


def mad(c: Context, i: Instruction) -> None:
    """mad.lo, mad.hi, mad.wide, with .sat, .cc and (madc) carry in."""
    product, _ = _product(c, i, i.operands[1], i.operands[2])
    addend = c.src(i.operands[3], product.type)
    if "sat" in i.parts:
        c.dst(i.operands[0], c.binary("sadd_sat", product, addend))
    elif "cc" in i.parts or i.parts[0] == "madc":
        _with_carry(c, i, product, addend, subtract=False, carry_in=i.parts[0] == "madc")
    else:
        c.dst(i.operands[0], c.binary("add", product, addend))


def mul24(c: Context, i: Instruction) -> None:
    """mul24, mad24: products of the low 24 bits."""
    _, signed, values = ints(c, i)
    eight = c.b.const("i32", 8)
    shift = "ashr" if signed else "lshr"
    x, y = (c.binary(shift, c.binary("shl", v, eight), eight) for v in values[:2])
    wide = c.binary("mul", c.b.resize(x, "i64", signed=signed), c.b.resize(y, "i64", signed=signed))
    if "hi" in i.parts:
        # The middle 32 bits of the 48-bit product.
        wide = c.binary("lshr", wide, c.b.const("i64", 16))
    result = c.b.resize(wide, "i32")
    if i.parts[0] == "mad24":
        result = c.binary("sadd_sat" if "sat" in i.parts else "add", result, values[2])
    c.dst(i.operands[0], result)


def sad(c: Context, i: Instruction) -> None:
    """|a - b| + c"""
    _, signed, (a, b, addend) = ints(c, i)
    kind = "s" if signed else "u"
    difference = c.binary("sub", c.binary(f"{kind}max", a, b), c.binary(f"{kind}min", a, b))
    c.dst(i.operands[0], c.binary("add", difference, addend))


def divide(c: Context, i: Instruction) -> None:
    """div, rem of integers."""
    _, signed, (a, b) = ints(c, i)
    c.dst(i.operands[0], c.binary(("s" if signed else "u") + i.parts[0], a, b), signed=signed)


def absolute(c: Context, i: Instruction) -> None:
    _, _, (a,) = ints(c, i)
    c.dst(i.operands[0], c.binary("smax", a, c.binary("sub", c.b.const(a.type, 0), a)))


def negative(c: Context, i: Instruction) -> None:
    _, _, (a,) = ints(c, i)
    c.dst(i.operands[0], c.binary("sub", c.b.const(a.type, 0), a))


def extreme(c: Context, i: Instruction) -> None:
    """min, max; ``.u16x2`` and ``.s16x2`` by halves; ``.relu`` clamps at zero."""
    last = last_type(i)
    op = last[0] + i.parts[0]
    packed = last.endswith("x2")
    if packed:
        a, b = (c.src(o, "i32") for o in i.operands[1:3])
        results = by_halves(c, op, a, b)
    else:
        _, _, values = ints(c, i)
        results = [c.binary(op, values[0], values[1])]
    if "relu" in i.parts:
        results = [c.binary("smax", v, c.b.const(v.type, 0)) for v in results]
    if packed:
        c.dst(i.operands[0], join(c, results, "i32"))
    else:
        c.dst(i.operands[0], results[0], signed=last[0] == "s")


def logic(c: Context, i: Instruction) -> None:
    """and, or, xor on integers and predicates."""
    _, _, (a, b) = ints(c, i)
    c.dst(i.operands[0], c.binary(i.parts[0], a, b))


def invert(c: Context, i: Instruction) -> None:
    _, _, (a,) = ints(c, i)
    c.dst(i.operands[0], c.negate(a))


def cnot(c: Context, i: Instruction) -> None:
    _, _, (a,) = ints(c, i)
    c.dst(i.operands[0], c.b.resize(c.b.icmp("eq", a, c.b.const(a.type, 0)), a.type))


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
