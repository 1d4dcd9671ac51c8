"""Conversions between integers and floating-point numbers, and between their widths."""

from __future__ import annotations

from placewise.executor.ir.builder import int_type
from placewise.executor.ir.nodes import Node
from placewise.executor.lower_sass.arithmetic import half
from placewise.executor.lower_sass.arithmetic.floating import rounding_mode
from placewise.executor.lower_sass.context import Context, Lowering
from placewise.executor.lowering import rounding
from placewise.executor.lowering.floats import flush
from placewise.kernel.binary.sass import Instruction, Operand, Register

_INTEGRAL = {"FLOOR": "floor", "CEIL": "ceil", "TRUNC": "ftrunc"}


def i2f(c: Context, i: Instruction) -> None:
    """I2F and I2FP: integer to single or double precision."""
    mode = rounding_mode(c)
    to = {"F64": "f64", "F16": "f16", "BF16": "bf16"}.get(
        c.one_of("F64", "F16", "BF16") or "", "f32"
    )
    c.without_effect("F32")
    kind = c.one_of("U8", "S8", "U16", "S16", "U32", "S32", "U64", "S64") or "S32"
    signed, bits = kind[0] == "S", int(kind[1:])
    target, a = i.operands
    if bits == 64:
        value = c.i64(a)
    else:
        value = part_of_word(c, a, bits, signed=signed)
    op = "sitofp" if signed else "uitofp"
    if to in ("f16", "bf16"):
        # Every 32-bit integer is exact in double precision.
        wide = (
            rounding.odd_from_long(c, value, signed=signed)
            if bits == 64
            else c.b.pure(op, "f64", value)
        )
        c.write(target, half.narrow(c, wide, to, mode or "rn"))
        return
    result = c.b.pure(op, to, value, attr=mode)
    if to == "f64":
        c.write_wide(target, result)
    else:
        c.write(target, result)


def part_of_word(c: Context, operand: Operand, bits: int, *, signed: bool) -> Node:
    """The low 8 or 16 bits of a word, those that a suffix names, or all; extended to 32 bits."""
    start = 0
    if isinstance(operand, Register) and operand.suffixes:
        (suffix,) = operand.suffixes
        unit = {"B": 8, "H": 16}.get(suffix[0])
        if unit is None or not suffix[1:].split("_")[0].isdigit():
            c.refuse(f"operand suffix '{suffix}'")
        start = unit * int(suffix[1:].split("_")[0])
        operand = operand._replace(suffixes=())
    value = c.i32(operand)
    if bits == 32:
        return value
    if start:
        value = c.binary("lshr", value, c.b.const("i32", start))
    return c.b.resize(c.b.resize(value, int_type(bits)), "i32", signed=signed)


def f2i(c: Context, i: Instruction) -> None:
    """F2I: floating point to integer, saturating; NaN gives zero (.NTZ) or only the top bit set."""
    ftz = c.flag("FTZ")
    nan_is_zero = c.flag("NTZ")
    of = {"F64": "f64", "F16": "f16", "BF16": "bf16"}.get(
        c.one_of("F64", "F16", "BF16") or "", "f32"
    )
    kind = c.one_of("U8", "S8", "U16", "S16", "U32", "S32", "U64", "S64") or "S32"
    mode = _INTEGRAL.get(c.one_of(*_INTEGRAL) or "", "rint")
    signed, bits = kind[0] == "S", int(kind[1:])
    target, a = i.operands
    if of in ("f16", "bf16"):
        value = half.low_half(c, a, of)
    else:
        value = c.f64(a) if of == "f64" else c.f32(a)
    if ftz:
        value = flush(c, value)
    whole = c.b.pure(mode, value.type, value)
    type_ = int_type(bits)
    result = c.b.pure("fptosi" if signed else "fptoui", type_, whole)
    if bits < 32:
        if not nan_is_zero:
            c.unsupported(i)
        result = c.b.resize(result, "i32", signed=signed)
    elif not nan_is_zero:
        nan = c.b.const(type_, 1 << (bits - 1))
        result = c.b.select(c.b.fcmp("uno", value, value), nan, result)
    if bits == 64:
        c.write_wide(target, result)
    else:
        c.write(target, result)


def f2f(c: Context, i: Instruction) -> None:
    """F2F.to.from: convert between floating-point widths."""
    ftz = c.flag("FTZ")
    mode = rounding_mode(c) or "rn"
    widths = [m for m in c.modifiers if m in ("F16", "F32", "F64", "BF16")]
    for width in widths:
        c.modifiers.remove(width)
    target, a = i.operands
    if widths == ["F32", "F64"]:
        c.write(target, rounding.narrow(c, c.f64(a), mode))
    elif widths == ["F64", "F32"]:
        value = c.f32(a)
        c.write_wide(target, c.b.pure("fpext", "f64", flush(c, value) if ftz else value))
    elif widths in (["F16", "F64"], ["F16", "F32"], ["BF16", "F32"], ["BF16", "F64"]):
        value = c.f64(a) if widths[1] == "F64" else c.f32(a)
        if ftz and widths[1] == "F32":
            value = flush(c, value)
        c.write(target, half.narrow(c, value, widths[0].lower(), mode))
    elif widths in (["F32", "F16"], ["F32", "BF16"]):
        c.write(target, half.low_half(c, a, widths[1].lower()))
    elif widths in (["F64", "F16"], ["F64", "BF16"]):
        wide = half.low_half(c, a, widths[1].lower())
        c.write_wide(target, c.b.pure("fpext", "f64", wide))
    else:
        c.unsupported(i)


WITH_UNIFORM: dict[str, Lowering] = {
    "I2F": i2f,
    "I2FP": i2f,
    "F2I": f2i,
    "F2F": f2f,
}
"""Functions by opcode, for opcodes that the uniform datapath has too, with a U before them."""
