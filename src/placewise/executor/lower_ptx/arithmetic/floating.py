"""Floating-point instructions, half precisions included.

Half precision is computed as LLVM does it, in single precision and rounded back, which is exact
for one operation; bfloat16 likewise, by hand. Fused operations of both go through double
precision and rounding to odd.
"""

from __future__ import annotations

from collections.abc import Callable

from placewise.executor.ir.builder import int_type
from placewise.executor.ir.nodes import BITS, Node
from placewise.executor.lower_ptx.context import Context, width
from placewise.executor.lowering import rounding
from placewise.executor.lowering.floats import flush, saturate, to_bf16, widen_bf16
from placewise.executor.lowering.integers import join, split
from placewise.executor.lowering.lowering_context import LoweringContext
from placewise.kernel.ptx import Instruction, Operand

_FLOATS = frozenset({"f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64"})
_ELEMENT = {"f16x2": ("f16", 2), "bf16x2": ("bf16", 2), "f32x2": ("f32", 2)}


def float_type(i: Instruction) -> str:
    """The opcode's last floating-point type."""
    return next(p for p in reversed(i.parts) if p in _FLOATS)


def element(c: Context, operand: Operand, type_: str) -> list[Node]:
    """Elements of a source operand: one, or two of a packed type; bfloat16 widened to f32."""
    if type_ in _ELEMENT:
        inner, count = _ELEMENT[type_]
        whole = c.src(operand, "i64" if inner == "f32" else "i32")
        parts = split(c, whole, count)
        if inner == "bf16":
            return [widen_bf16(c, p) for p in parts]
        return [c.b.bitcast(p, inner) for p in parts]
    if type_ == "bf16":
        return [widen_bf16(c, c.src(operand, "i16"))]
    return [c.src(operand, type_)]


def store_elements(c: Context, target: Operand, values: list[Node], type_: str) -> None:
    """Round computed elements to ``type_``, pack them and write the destination."""
    inner, count = _ELEMENT.get(type_, (type_, 1))
    packed = [_rounded(c, v, inner) for v in values]
    if count == 1:
        c.dst(target, packed[0])
    else:
        c.dst(target, join(c, packed, "i64" if inner == "f32" else "i32"))


def _rounded(c: Context, value: Node, inner: str) -> Node:
    if inner == "bf16":
        if value.type == "f64":
            value = rounding.narrow_odd(c, value)
        return to_bf16(c, value)
    if inner == "f16" and value.type != "f16":
        return rounding.to_half(c, value)
    return value


def _relu(c: Context, value: Node) -> Node:
    """Replace negative values by +0; NaN stays."""
    zero = c.b.const(value.type, 0)
    return c.b.select(c.b.fcmp("ole", value, zero), zero, value)


def _mixed(c: Context, i: Instruction) -> list[Node] | None:
    """Sources of add, sub, fma.f32.{f16,bf16}: all but the last are of the second type."""
    types = [p for p in i.parts if p in _FLOATS]
    if len(types) < 2:
        return None
    if types[0] != "f32" or types[1] not in ("f16", "bf16"):
        c.unsupported(i)
    values = [element(c, o, types[1])[0] for o in i.operands[1:-1]]
    wide = [v if v.type == "f32" else c.b.pure("fpext", "f32", v) for v in values]
    return [*wide, c.src(i.operands[-1], "f32")]


def elementwise(c: Context, i: Instruction, compute: Callable[..., Node]) -> None:
    """Apply ``compute`` to each element of the sources, with .ftz, .sat and .relu."""
    type_ = float_type(i)
    mixed = _mixed(c, i)
    if mixed is not None:
        type_, columns = "f32", [[v] for v in mixed]
    else:
        columns = [element(c, o, type_) for o in i.operands[1:]]
    ftz = "ftz" in i.parts
    results: list[Node] = []
    for values in zip(*columns, strict=True):
        inputs = [flush(c, v) for v in values] if ftz else list(values)
        value = compute(*inputs)
        if ftz:
            value = flush(c, value)
        if "sat" in i.parts:
            value = saturate(c, value)
        if "relu" in i.parts:
            value = _relu(c, value)
        results.append(value)
    store_elements(c, i.operands[0], results, type_)


def add(c: Context, i: Instruction) -> None:
    """add, sub."""
    mode = rounding.mode_of(i.parts)
    if i.parts[0] == "sub" and mode == "rn":
        elementwise(c, i, lambda a, b: c.binary("fsub", a, b))
    elif i.parts[0] == "sub":
        elementwise(c, i, lambda a, b: rounding.add(c, a, c.b.pure("fneg", b.type, b), mode))
    else:
        elementwise(c, i, lambda a, b: rounding.add(c, a, b, mode))


def mul(c: Context, i: Instruction) -> None:
    mode = rounding.mode_of(i.parts)
    elementwise(c, i, lambda a, b: rounding.multiply(c, a, b, mode))


def fma(c: Context, i: Instruction) -> None:
    """fma, and floating-point mad, which is an fma on all current architectures."""
    type_ = float_type(i)
    mode = rounding.mode_of(i.parts)
    if type_.startswith(("f16", "bf16")) and "f32" not in i.parts:
        elementwise(c, i, lambda a, b, d: rounding.half_fma(c, a, b, d))
    else:
        elementwise(c, i, lambda a, b, d: rounding.fma(c, a, b, d, mode))


def div(c: Context, i: Instruction) -> None:
    """div.rn and other modes exactly; div.approx and div.full as the exact quotient."""
    mode = rounding.mode_of(i.parts)
    elementwise(c, i, lambda a, b: rounding.divide(c, a, b, mode))


def sqrt(c: Context, i: Instruction) -> None:
    mode = rounding.mode_of(i.parts)
    elementwise(c, i, lambda a: rounding.root(c, a, mode))


def _one(c: LoweringContext, type_: str) -> Node:
    return c.b.const(type_, 0x3F800000 if type_ == "f32" else 0x3FF0000000000000)


def rcp(c: Context, i: Instruction) -> None:
    mode = rounding.mode_of(i.parts)
    if "approx" in i.parts and i.parts[-1] == "f64":
        elementwise(c, i, lambda a: _high_word(c, c.binary("fdiv", _one(c, "f64"), a)))
    else:
        elementwise(c, i, lambda a: rounding.divide(c, _one(c, a.type), a, mode))


def _high_word(c: LoweringContext, value: Node) -> Node:
    """rcp/rsqrt.approx.ftz.f64 leave the low 32 bits zero."""
    bits = c.b.as_int(value)
    return c.b.bitcast(c.binary("and", bits, c.b.const("i64", 0xFFFFFFFF00000000)), "f64")


def rsqrt(c: Context, i: Instruction) -> None:
    """rsqrt: computed in double precision, and rounded once for single precision."""

    def compute(a: Node) -> Node:
        x = a if a.type == "f64" else c.b.pure("fpext", "f64", a)
        value = c.binary("fdiv", _one(c, "f64"), c.b.pure("sqrt", "f64", x))
        if a.type == "f64":
            return _high_word(c, value) if "ftz" in i.parts else value
        return c.b.pure("fptrunc", "f32", value)

    elementwise(c, i, compute)


def transcendental(c: Context, i: Instruction) -> None:
    """sin, cos, lg2, ex2, tanh (approx): computed by the host's functions, halves in single
    precision."""
    op = {"lg2": "log2", "ex2": "exp2"}.get(i.parts[0], i.parts[0])

    def compute(a: Node) -> Node:
        if a.type == "f16":
            wide = c.b.pure(op, "f32", c.b.pure("fpext", "f32", a))
            return rounding.to_half(c, wide)
        return c.b.pure(op, a.type, a)

    elementwise(c, i, compute)


def unary(c: Context, i: Instruction) -> None:
    """abs, neg: sign bits only, so that bfloat16 and halves need no arithmetic."""
    type_ = float_type(i)
    bits = int_type(width(type_)) if type_ != "f32x2" else "i64"
    value = c.src(i.operands[1], bits)
    if "ftz" in i.parts:
        value = c.b.as_int(flush(c, c.b.bitcast(value, "f32")))
    lanes = 2 if type_.endswith("x2") else 1
    step = BITS[bits] // lanes
    signs = sum(1 << (step * (n + 1) - 1) for n in range(lanes))
    if i.parts[0] == "neg":
        c.dst(i.operands[0], c.binary("xor", value, c.b.const(bits, signs)))
    else:
        c.dst(i.operands[0], c.binary("and", value, c.b.const(bits, ~signs)))


def extreme(c: Context, i: Instruction) -> None:
    """min, max: of a number and a NaN, the number (with ``.NaN``, the NaN); -0 is below +0."""
    op = "f" + i.parts[0] + ("_nan" if "NaN" in i.parts else "")

    def compute(*values: Node) -> Node:
        inputs = list(values)
        if "abs" in i.parts:
            inputs = [c.b.pure("fabs", v.type, v) for v in inputs]
        result = inputs[0]
        for v in inputs[1:]:
            result = c.binary(op, result, v)
        if "xorsign" in i.parts:
            bits = c.binary("xor", c.b.as_int(values[0]), c.b.as_int(values[1]))
            result = c.binary("copysign", result, c.b.bitcast(bits, result.type))
        return result

    elementwise(c, i, compute)


def copysign(c: Context, i: Instruction) -> None:
    """PTX gives the sign first, then the magnitude."""
    type_ = i.parts[-1]
    sign, magnitude = (c.src(o, type_) for o in i.operands[1:3])
    c.dst(i.operands[0], c.binary("copysign", magnitude, sign))


def testp(c: Context, i: Instruction) -> None:
    type_ = i.parts[-1]
    value = c.src(i.operands[1], type_)
    size = c.b.pure("fabs", type_, value)
    infinity = c.b.const(type_, 0x7F800000 if type_ == "f32" else 0x7FF0000000000000)
    smallest = c.b.const(type_, 0x00800000 if type_ == "f32" else 0x0010000000000000)
    zero = c.b.const(type_, 0)
    tests: dict[str, Callable[[], Node]] = {
        "finite": lambda: c.b.fcmp("olt", size, infinity),
        "infinite": lambda: c.b.fcmp("oeq", size, infinity),
        "number": lambda: c.b.fcmp("ord", value, value),
        "notanumber": lambda: c.b.fcmp("uno", value, value),
        "normal": lambda: c.binary(
            "and", c.b.fcmp("olt", size, infinity), c.b.fcmp("oge", size, smallest)
        ),
        "subnormal": lambda: c.binary(
            "and", c.b.fcmp("olt", size, smallest), c.b.fcmp("ogt", size, zero)
        ),
    }
    c.dst(i.operands[0], tests[i.parts[1]]())
