"""Floating-point helpers: flush to zero, saturation, and bfloat16 to and from single precision."""

from __future__ import annotations

from placewise.executor.ir.nodes import Node
from placewise.executor.lowering.lowering_context import LoweringContext


def flush(c: LoweringContext, value: Node) -> Node:
    """Flush a subnormal f32 to zero of the same sign; other types stay as they are."""
    if value.type != "f32":
        return value
    bits = c.b.as_int(value)
    tiny = c.b.icmp("eq", c.binary("and", bits, c.b.const("i32", 0x7F800000)), c.b.const("i32", 0))
    zero = c.binary("and", bits, c.b.const("i32", 0x80000000))
    return c.b.bitcast(c.b.select(tiny, zero, bits), "f32")


def saturate(c: LoweringContext, value: Node) -> Node:
    """Clamp a value to [0, 1]; NaN becomes +0."""
    one = {"f16": 0x3C00, "f32": 0x3F800000, "f64": 0x3FF0000000000000}[value.type]
    zero = c.b.const(value.type, 0)
    positive = c.b.fcmp("ogt", value, zero)
    above = c.b.fcmp("ogt", value, c.b.const(value.type, one))
    return c.b.select(above, c.b.const(value.type, one), c.b.select(positive, value, zero))


def widen_bf16(c: LoweringContext, bits: Node) -> Node:
    """Convert bfloat16 bits (i16) to f32, exactly."""
    wide = c.b.resize(bits, "i32")
    return c.b.bitcast(c.binary("shl", wide, c.b.const("i32", 16)), "f32")


def to_bf16(c: LoweringContext, value: Node, mode: str = "rn") -> Node:
    """Round f32 to bfloat16 bits (i16) by ``mode``; NaN becomes 0x7fff."""
    bits = c.b.as_int(value)
    sixteen = c.b.const("i32", 16)
    if mode == "rn":
        lowest = c.binary("and", c.binary("lshr", bits, sixteen), c.b.const("i32", 1))
        rounded = c.binary("add", bits, c.binary("add", lowest, c.b.const("i32", 0x7FFF)))
    elif mode == "rz":
        rounded = bits
    else:
        # Away from zero where that is the direction and anything is dropped.
        negative = c.b.icmp("slt", bits, c.b.const("i32", 0))
        away = negative if mode == "rm" else c.negate(negative)
        more = c.b.select(away, c.b.const("i32", 0xFFFF), c.b.const("i32", 0))
        rounded = c.binary("add", bits, more)
    result = c.b.resize(c.binary("lshr", rounded, sixteen), "i16")
    return c.b.select(c.b.fcmp("uno", value, value), c.b.const("i16", 0x7FFF), result)
