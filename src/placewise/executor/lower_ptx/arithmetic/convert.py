"""cvt: every pair of integer and floating types, with rounding, saturation and packing."""

from __future__ import annotations

from placewise.executor.ir.builder import int_type
from placewise.executor.ir.nodes import BITS, Node
from placewise.executor.lower_ptx.arithmetic import small_floats
from placewise.executor.lower_ptx.context import Context, width
from placewise.executor.lowering import rounding
from placewise.executor.lowering.floats import flush, saturate, to_bf16, widen_bf16
from placewise.executor.lowering.integers import join
from placewise.kernel.ptx import Instruction, Operand

_INTEGRAL = {"rni": "rint", "rzi": "ftrunc", "rmi": "floor", "rpi": "ceil"}
_PACKED = {"f16x2": "f16", "bf16x2": "bf16"}


def cvt(c: Context, i: Instruction) -> None:
    to, of = i.parts[-2], i.parts[-1]
    if "pack" in i.parts:
        _pack_integers(c, i)
        return
    if small_floats.covers(to, of):
        small_floats.convert(c, i)
        return
    if "rs" in i.parts:
        c.unsupported(i, "stochastic rounding is not covered")
    if to in _PACKED and of == "f32":
        # The first source goes to the upper half.
        high, low = (_to_float(c, i, _source(c, o, "f32"), _PACKED[to]) for o in i.operands[1:3])
        c.dst(i.operands[0], join(c, [low, high], "i32"))
        return
    if not (_known(to) and _known(of)):
        c.unsupported(i, "these types are not covered")
    value = _source(c, i.operands[1], of)
    if of[0] in "fb" and "ftz" in i.parts:
        value = flush(c, value)
    if to[0] in "us":
        result = _to_integer(c, i, value, to, of)
        c.dst(i.operands[0], result, signed=to[0] == "s")
    else:
        c.dst(i.operands[0], _to_float(c, i, value, to))


def _known(type_: str) -> bool:
    return type_ in ("f16", "bf16", "f32", "f64") or (type_[0] in "us" and type_[1:].isdigit())


def _source(c: Context, operand: Operand, type_: str) -> Node:
    """Source value of cvt: f16, f32 or f64 (bfloat16 widened), or an integer of its own width."""
    if type_ == "bf16":
        return widen_bf16(c, c.src(operand, "i16"))
    if type_[0] == "f":
        return c.src(operand, type_)
    return c.src(operand, int_type(width(type_)), signed=type_[0] == "s")


def _to_integer(c: Context, i: Instruction, value: Node, to: str, of: str) -> Node:
    bits = width(to)
    if of[0] in "us":
        if "sat" in i.parts:
            value = _clamp(c, value, of[0] == "s", to)
        return c.b.resize(value, int_type(bits), signed=of[0] == "s")
    if value.type == "f16":
        value = c.b.pure("fpext", "f32", value)
    mode = next((p for p in i.parts if p in _INTEGRAL), "rzi")
    rounded = c.b.pure(_INTEGRAL[mode], value.type, value)
    op = "fptosi" if to[0] == "s" else "fptoui"
    result = c.b.pure(op, int_type(bits), rounded)
    # NaN: 0 for narrow results of single precision, else the middle of the unsigned range
    # (PTX ISA, cvt, "float-to-integer").
    if of == "f64" or bits == 64:
        nan = c.b.const(int_type(bits), 1 << (bits - 1))
        result = c.b.select(c.b.fcmp("uno", value, value), nan, result)
    return result


def _clamp(c: Context, value: Node, signed: bool, to: str) -> Node:
    """Clamp an integer to the range of another integer type."""
    bits, have = width_of_small(to), BITS[value.type]
    low = -(1 << (bits - 1)) if to[0] == "s" else 0
    high = (1 << (bits - 1)) - 1 if to[0] == "s" else (1 << bits) - 1
    own_low = -(1 << (have - 1)) if signed else 0
    own_high = (1 << (have - 1)) - 1 if signed else (1 << have) - 1
    kind = "s" if signed else "u"
    if low > own_low:
        value = c.binary(f"{kind}max", value, c.b.const(value.type, low))
    if high < own_high:
        value = c.binary(f"{kind}min", value, c.b.const(value.type, high))
    return value


def _to_float(c: Context, i: Instruction, value: Node, to: str) -> Node:
    mode = rounding.mode_of(i.parts)
    integral = next((p for p in i.parts if p in _INTEGRAL), None)
    if value.type[0] == "i":
        result = _from_integer(c, i, value, to, mode)
        if to == "bf16":
            return result
    elif to == "f64":
        result = value if value.type == "f64" else c.b.pure("fpext", "f64", value)
    elif to == "f32":
        if value.type == "f64":
            result = rounding.narrow(c, value, mode)
        else:
            result = value if value.type == "f32" else c.b.pure("fpext", "f32", value)
    elif to == "f16":
        result = _to_half(c, value, mode)
    else:
        return _to_bf16(c, i, value, mode, integral)
    if integral and to != "bf16":
        result = c.b.pure(_INTEGRAL[integral], result.type, result)
    if "ftz" in i.parts:
        result = flush(c, result)
    if "sat" in i.parts:
        result = saturate(c, result)
    if "relu" in i.parts:
        zero = c.b.const(result.type, 0)
        result = c.b.select(c.b.fcmp("ole", result, zero), zero, result)
    return result


def _to_half(c: Context, value: Node, mode: str) -> Node:
    return value if value.type == "f16" else rounding.to_half(c, value, mode)


def _to_bf16(c: Context, i: Instruction, value: Node, mode: str, integral: str | None) -> Node:
    if value.type == "f64":
        value = rounding.narrow_odd(c, value)
    elif value.type == "f16":
        value = c.b.pure("fpext", "f32", value)
    if integral:
        value = c.b.pure(_INTEGRAL[integral], "f32", value)
    if "sat" in i.parts:
        value = saturate(c, value)
    if "relu" in i.parts:
        zero = c.b.const("f32", 0)
        value = c.b.select(c.b.fcmp("ole", value, zero), zero, value)
    return to_bf16(c, value, mode)


def _from_integer(c: Context, i: Instruction, value: Node, to: str, mode: str) -> Node:
    signed = i.parts[-1][0] == "s"
    op = "sitofp" if signed else "uitofp"
    if BITS[value.type] < 32:
        value = c.b.resize(value, "i32", signed=signed)
    if to in ("f32", "f64"):
        return c.b.pure(op, to, value, attr=rounding.attribute(mode))
    # Every 32-bit integer is exact in double precision.
    wide = (
        c.b.pure(op, "f64", value)
        if value.type == "i32"
        else rounding.odd_from_long(c, value, signed=signed)
    )
    if to == "f16":
        return _to_half(c, wide, mode)
    return to_bf16(c, rounding.narrow_odd(c, wide), mode)


def _pack_integers(c: Context, i: Instruction) -> None:
    """cvt.pack.sat.{u,s}{16,8,4,2}.s32[.b32]: clamp two integers and pack them above c."""
    to = next(p for p in i.parts if p[0] in "us" and p[1:].isdigit())
    bits = width_of_small(to)
    mask = c.b.const("i32", (1 << bits) - 1)
    a, b = (c.binary("and", _clamp(c, c.src(o, "i32"), True, to), mask) for o in i.operands[1:3])
    packed = c.binary("or", b, c.binary("shl", a, c.b.const("i32", bits)))
    if len(i.operands) > 3:
        rest = c.src(i.operands[3], "i32")
        packed = c.binary("or", packed, c.binary("shl", rest, c.b.const("i32", 2 * bits)))
    c.dst(i.operands[0], packed)


def width_of_small(type_: str) -> int:
    """Bits of an integer type, sub-byte ones included."""
    return int(type_[1:])
