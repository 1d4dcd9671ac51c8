"""Video instructions: on one part of each word, or on its halves or bytes at once.

PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions": parts are extended by their own
type to more bits than any result needs, the operation is exact there, and the result is saturated
or cut to the part it goes to.
"""

from __future__ import annotations

from placewise.executor.ir.builder import int_type
from placewise.executor.ir.nodes import Node
from placewise.executor.lower_ptx.context import Context
from placewise.executor.lowering.bits import shifted
from placewise.kernel.ptx import Instruction, Operand, Register, Selected

_COMPARE = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_SECOND = frozenset({"add", "min", "max"})
_WORDS = frozenset({"u32", "s32"})


def _types(i: Instruction) -> list[bool]:
    """Whether each type of the opcode is signed."""
    return [p == "s32" for p in i.parts[1:] if p in _WORDS]


def _operate(c: Context, name: str, i: Instruction, a: Node, b: Node) -> Node:
    """The operation on 64-bit values."""
    if name in ("vadd", "vsub"):
        return c.binary(name[1:], a, b)
    if name in ("vmin", "vmax"):
        return c.binary("s" + name[1:], a, b)
    if name == "vabsdiff":
        difference = c.binary("sub", a, b)
        return c.binary("smax", difference, c.binary("sub", c.b.const("i64", 0), difference))
    if name == "vavrg":
        # Halves are rounded away from zero.
        total = c.binary("add", a, b)
        up = c.b.icmp("sge", total, c.b.const("i64", 0))
        more = c.binary("add", total, c.b.resize(up, "i64"))
        return c.binary("ashr", more, c.b.const("i64", 1))
    condition = next(p for p in i.parts if p in _COMPARE)
    return c.b.resize(c.b.icmp(_COMPARE[condition], a, b), "i64")


def _clamped(c: Context, value: Node, bits: int, *, signed: bool) -> Node:
    low = -(1 << (bits - 1)) if signed else 0
    high = (1 << (bits - signed)) - 1
    value = c.binary("smax", value, c.b.const("i64", low))
    return c.binary("smin", value, c.b.const("i64", high))


def simd(c: Context, i: Instruction) -> None:
    """vadd2, vsub4, vabsdiff4, vavrg2, vmin4, vset2, … d, a, b, c"""
    name, parts = i.parts[0][:-1], int(i.parts[0][-1])
    target, *operands = i.operands
    if any(isinstance(o, Selected) for o in i.operands):
        c.unsupported(i, "selectors are not covered")
    types = _types(i)
    # vset names no type of its result.
    d_signed, a_signed, b_signed = types if len(types) == 3 else (False, *types)
    bits = 32 // parts
    a, b, old = (c.src(o, "i32") for o in operands)
    adds = i.parts[-1] == "add"
    total = c.b.resize(old, "i64") if adds else c.b.const("i64", 0)
    for n in range(parts):
        x = _part(c, a, bits * n, bits, signed=a_signed)
        y = _part(c, b, bits * n, bits, signed=b_signed)
        value = _operate(c, name, i, x, y)
        if "sat" in i.parts:
            value = _clamped(c, value, bits, signed=d_signed)
        if not adds:
            value = c.binary("and", value, c.b.const("i64", (1 << bits) - 1))
            value = c.binary("shl", value, c.b.const("i64", bits * n))
        total = c.binary("add", total, value)
    c.dst(target, c.b.resize(total, "i32"))


def _part(c: Context, word: Node, start: int, bits: int, *, signed: bool) -> Node:
    moved = c.binary("lshr", word, c.b.const("i32", start)) if start else word
    return c.b.resize(c.b.resize(moved, int_type(bits)), "i64", signed=signed)


def _selected(operand: Operand) -> tuple[Operand, int, int]:
    """(register, first bit, bits) of an operand such as ``%r1.b2`` or ``%r1.h0``."""
    if not isinstance(operand, Selected):
        return operand, 0, 32
    kind, number = operand.selector[0], int(operand.selector[1:])
    bits = {"b": 8, "h": 16}[kind]
    if number * bits >= 32:
        raise ValueError(operand.selector)
    return operand.register, bits * number, bits


def scalar(c: Context, i: Instruction) -> None:
    """vadd, vsub, vabsdiff, vmin, vmax, vshl, vshr, vset on a part of each operand.

    A third operand is added to the result or compared with it, or keeps what the result's part
    leaves of the destination.
    """
    name = i.parts[0]
    types = _types(i)
    d_signed, a_signed, b_signed = types if len(types) == 3 else (False, *types)
    a, b = (
        _part(c, c.src(o, "i32"), start, bits, signed=signed)
        for (o, start, bits), signed in zip(
            map(_selected, i.operands[1:3]), (a_signed, b_signed), strict=True
        )
    )
    if name in ("vshl", "vshr"):
        amount = c.b.resize(b, "i32")
        if "wrap" in i.parts:
            amount = c.binary("and", amount, c.b.const("i32", 31))
        else:
            amount = c.binary("umin", amount, c.b.const("i32", 32))
        value = shifted(c, "shl" if name == "vshl" else "ashr", a, amount)
    else:
        value = _operate(c, name, i, a, b)
    target, start, bits = _selected(i.operands[0])
    assert isinstance(target, Register)
    if "sat" in i.parts:
        value = _clamped(c, value, bits, signed=d_signed)
    result = c.b.resize(value, "i32")
    if len(i.operands) > 3:
        other = c.src(i.operands[3], "i32")
        second = next((p for p in i.parts[1:] if p in _SECOND), None)
        if bits < 32:
            mask = ((1 << bits) - 1) << start
            moved = c.binary("shl", result, c.b.const("i32", start))
            inserted = c.binary("and", moved, c.b.const("i32", mask))
            result = c.binary("or", c.binary("and", other, c.b.const("i32", ~mask)), inserted)
        elif second == "add":
            result = c.binary("add", result, other)
        elif second is not None:
            result = c.binary(("s" if d_signed else "u") + second, result, other)
    c.dst(target, result)
