"""Floating-point numbers of 8, 6 and 4 bits, and tf32.

Formats as the PTX ISA lists them ("Alternate floating-point data formats"), those of 8 bits defined
by the OCP 8-bit Floating Point Specification, those of 6 and 4 by OCP Microscaling Formats.
"""

from __future__ import annotations

from dataclasses import dataclass

from placewise.executor.ir.nodes import Node
from placewise.executor.lower_ptx.arithmetic.floating import element
from placewise.executor.lower_ptx.context import Context
from placewise.executor.lowering.integers import join
from placewise.kernel.ptx import Instruction

_HALF_FRACTION, _HALF_BIAS = 10, 15
_SINGLE_FRACTION, _SINGLE_BIAS = 23, 127


@dataclass(frozen=True)
class _Format:
    bits: int
    fraction: int
    bias: int
    largest: int
    """Pattern of the largest finite number."""
    nan: int
    """Pattern that a NaN becomes: a NaN, or the largest number where there is none."""
    room: int
    """Bits that an element takes in a pair."""


_FORMATS = {
    "e4m3x2": _Format(8, 3, 7, 0x7E, 0x7F, 8),
    "e5m2x2": _Format(8, 2, 15, 0x7B, 0x7F, 8),
    "e3m2x2": _Format(6, 2, 3, 0x1F, 0x1F, 8),
    "e2m3x2": _Format(6, 3, 1, 0x1F, 0x1F, 8),
    "e2m1x2": _Format(4, 1, 1, 0x7, 0x7, 4),
}
_TF32_DROPPED = 13


def covers(to: str, of: str) -> bool:
    """Whether :func:`convert` does a conversion between these types."""
    narrow = to in _FORMATS and of in ("f32", "f16x2")
    return narrow or (to == "f16x2" and of in _FORMATS) or (to == "tf32" and of == "f32")


def convert(c: Context, i: Instruction) -> None:
    """cvt to or from a pair of narrow numbers, or to tf32."""
    to, of = i.parts[-2], i.parts[-1]
    if to == "tf32":
        _to_tf32(c, i)
    elif to in _FORMATS:
        if "satfinite" not in i.parts or "rn" not in i.parts:
            c.unsupported(i)
        _narrowed(c, i, _FORMATS[to], of)
    else:
        _widened(c, i, of)


def _narrowed(c: Context, i: Instruction, form: _Format, of: str) -> None:
    """cvt.rn.satfinite: of two singles the first goes to the upper half."""
    if of == "f32":
        values = [c.src(o, "f32") for o in (i.operands[2], i.operands[1])]
    else:
        values = [c.b.pure("fpext", "f32", v) for v in element(c, i.operands[1], "f16x2")]
    patterns = [_pattern(c, v, form, relu="relu" in i.parts) for v in values]
    upper = c.binary("shl", patterns[1], c.b.const("i32", form.room))
    c.dst(i.operands[0], c.binary("or", patterns[0], upper))


def _pattern(c: Context, value: Node, form: _Format, *, relu: bool) -> Node:
    """Round to nearest even; what lies beyond the largest number becomes that number."""
    b = c.b
    bits = b.as_int(value)
    size = c.binary("and", bits, b.const("i32", 0x7FFFFFFF))
    dropped = _SINGLE_FRACTION - form.fraction
    odd = c.binary("and", c.binary("lshr", size, b.const("i32", dropped)), b.const("i32", 1))
    up = c.binary("add", odd, b.const("i32", (1 << (dropped - 1)) - 1))
    shifted = c.binary("lshr", c.binary("add", size, up), b.const("i32", dropped))
    normal = c.binary("sub", shifted, b.const("i32", _SINGLE_BIAS - form.bias << form.fraction))
    # Adding this number to a subnormal rounds it to a multiple of the smallest subnormal.
    magic = (_SINGLE_FRACTION + 1 - form.bias - form.fraction + _SINGLE_BIAS) << _SINGLE_FRACTION
    total = c.binary("fadd", b.bitcast(size, "f32"), b.const("f32", magic))
    units = c.binary("sub", b.as_int(total), b.const("i32", magic))
    smallest = (1 - form.bias + _SINGLE_BIAS) << _SINGLE_FRACTION
    tiny = b.icmp("ult", size, b.const("i32", smallest))
    pattern = c.binary("umin", b.select(tiny, units, normal), b.const("i32", form.largest))
    sign = c.binary("lshr", bits, b.const("i32", 31))
    if relu:
        below = b.icmp("ne", sign, b.const("i32", 0))
        pattern = b.select(below, b.const("i32", 0), pattern)
    else:
        pattern = c.binary("or", pattern, c.binary("shl", sign, b.const("i32", form.bits - 1)))
    return b.select(b.fcmp("uno", value, value), b.const("i32", form.nan), pattern)


def _widened(c: Context, i: Instruction, of: str) -> None:
    """cvt.rn.f16x2: every narrow number is a half."""
    form = _FORMATS[of]
    word = c.src(i.operands[1], "i16")
    low = c.b.const("i16", (1 << form.room) - 1)
    pieces = (c.binary("and", word, low), c.binary("lshr", word, c.b.const("i16", form.room)))
    values = []
    for piece in pieces:
        value = _as_half(c, piece, form)
        if "relu" in i.parts:
            zero = c.b.const("f16", 0)
            value = c.b.select(c.b.fcmp("ole", value, zero), zero, value)
        values.append(value)
    c.dst(i.operands[0], join(c, values, "i32"))


def _as_half(c: Context, pattern: Node, form: _Format) -> Node:
    b = c.b
    size = c.binary("and", pattern, b.const("i16", (1 << (form.bits - 1)) - 1))
    sign = c.binary("lshr", pattern, b.const("i16", form.bits - 1))
    sign = c.binary("shl", c.binary("and", sign, b.const("i16", 1)), b.const("i16", 15))
    moved = c.binary("shl", size, b.const("i16", _HALF_FRACTION - form.fraction))
    value = b.bitcast(c.binary("or", moved, sign), "f16")
    if form.bias == _HALF_BIAS:
        return value
    # The exponent is too small by the difference of the biases; powers of two scale exactly.
    power = b.const("f16", (2 * _HALF_BIAS - form.bias) << _HALF_FRACTION)
    scaled = c.binary("fmul", value, power)
    if form.nan == form.largest:
        return scaled
    nan = b.icmp("eq", size, b.const("i16", form.nan))
    return b.select(nan, b.const("f16", 0x7FFF), scaled)


def _to_tf32(c: Context, i: Instruction) -> None:
    """cvt.{rna,rn,rz}[.satfinite][.relu].tf32.f32: the low 13 bits of the result are zero."""
    b = c.b
    value = c.src(i.operands[1], "f32")
    bits = b.as_int(value)
    half = 1 << (_TF32_DROPPED - 1)
    if "rna" in i.parts:
        rounded = c.binary("add", bits, b.const("i32", half))
    elif "rn" in i.parts:
        odd = c.binary("lshr", bits, b.const("i32", _TF32_DROPPED))
        up = c.binary("add", c.binary("and", odd, b.const("i32", 1)), b.const("i32", half - 1))
        rounded = c.binary("add", bits, up)
    else:
        rounded = bits
    result = c.binary("and", rounded, b.const("i32", -1 << _TF32_DROPPED))
    size = c.binary("and", bits, b.const("i32", 0x7FFFFFFF))
    infinite = b.icmp("eq", size, b.const("i32", 0x7F800000))
    result = b.select(infinite, bits, result)
    if "satfinite" in i.parts:
        sign = c.binary("and", bits, b.const("i32", 1 << 31))
        limit = c.binary("or", sign, b.const("i32", 0x7F7FE000))
        left = c.binary("and", result, b.const("i32", 0x7FFFFFFF))
        result = b.select(b.icmp("uge", left, b.const("i32", 0x7F800000)), limit, result)
    if "relu" in i.parts:
        negative = b.icmp("slt", bits, b.const("i32", 0))
        result = b.select(negative, b.const("i32", 0), result)
    nan = b.fcmp("uno", value, value)
    c.dst(i.operands[0], b.select(nan, b.const("i32", 0x7FFFFFFF), result))
