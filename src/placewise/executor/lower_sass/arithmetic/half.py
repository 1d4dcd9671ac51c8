"""Pairs of half-precision numbers: half and bfloat16, two to a register.

Halves are computed with as such, bfloat16 widened to single precision; both are rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

import numpy as np

from placewise.executor.ir.nodes import Node
from placewise.executor.lower_sass.arithmetic.compare import FLOAT
from placewise.executor.lower_sass.context import Context, Lowering
from placewise.executor.lowering import rounding
from placewise.executor.lowering.floats import saturate, to_bf16, widen_bf16
from placewise.executor.lowering.integers import join, split
from placewise.kernel.binary.sass import Constant, Immediate, Instruction, Operand, Register
from placewise.kernel.binary.sass.classes import moves_literal

Pair = tuple[Node, Node]
"""Values of the low and the high half of a register."""
_HALVES = {"H0_H0": (0, 0), "H1_H1": (1, 1), "H1_H0": (0, 1), "H0_H1": (1, 0)}
"""Halves of the register for the low and the high element; suffixes name the high one first."""
_ONES = {"f16": 0x3C00, "bf16": 0x3F80}


def arithmetic(c: Context, i: Instruction) -> None:
    """HADD2, HMUL2, HFMA2."""
    name = i.parts[0].removesuffix("_32I")
    c.without_effect("MMA")
    kind = _kind(c)
    wide = c.flag("F32")
    saturated, clipped = c.flag("SAT"), c.flag("RELU")
    target, *operands = i.operands
    if moves_literal(i):
        c.write(target, c.b.const("i32", i.word))
        return
    if name == "HADD2" and _narrows(operands):
        value = rounding.to_half(c, c.f32(operands[0]._replace(suffixes=())), "rz")
        _write(c, target, [value, value], kind)
        return
    literal = _narrowed_literal(c, operands) if name == "HADD2" else None
    if literal is not None:
        value = rounding.to_half(c, literal, "rz")
        _write(c, target, [value, value], kind)
        return
    sources = _pairs(c, operands, kind)
    if len(sources) != (3 if name == "HFMA2" else 2):
        c.unsupported(i)
    if wide:
        if name != "HADD2":
            c.unsupported(i)
        a, b = (_single(c, source[0]) for source in sources)
        result = c.binary("fadd", a, b)
        c.write(target, saturate(c, result) if saturated else result)
        return
    lanes = []
    for lane in range(2):
        value = _compute(c, name, [source[lane] for source in sources])
        if kind == "bf16" and value.type == "f64":
            value = rounding.narrow_odd(c, value)
        if saturated:
            value = saturate(c, value)
        if clipped:
            zero = c.b.const(value.type, 0)
            value = c.b.select(c.b.fcmp("ole", value, zero), zero, value)
        lanes.append(value)
    _write(c, target, lanes, kind)


def _narrows(operands: list[Operand]) -> TypeGuard[list[Register]]:
    """Whether HADD2 adds -0 to an f32 operand (.F32), which is how cvt.rz.f16.f32 is compiled."""
    a, b = operands if len(operands) == 2 else (None, None)
    return (
        isinstance(a, Register)
        and a.suffixes == ("F32",)
        and isinstance(b, Register)
        and b.number is None
        and b.negated
    )


def _narrowed_literal(c: Context, operands: list[Operand]) -> Node | None:
    """The f32 constant that HADD2 adds to -0 (.F32), if it is exactly a half; else None.

    sm_75 loads literals so. How other values would be rounded is not known.
    """
    a, b = operands if len(operands) == 2 else (None, None)
    if not (isinstance(a, Register) and a.number is None and a.negated):
        return None
    if not (isinstance(b, Constant) and b.suffixes == ("F32",)):
        return None
    value = c.f32(b._replace(suffixes=()))
    bits = value.args[0] if value.op == "bitcast" else value
    if bits.op != "const" or not isinstance(bits.attr, int):
        return None
    single = np.array(bits.attr, np.uint32).view(np.float32)
    return value if float(np.float16(single)) == float(single) else None


def _compute(c: Context, name: str, values: list[Node]) -> Node:
    if name == "HFMA2":
        return rounding.half_fma(c, *values)
    return c.binary("fadd" if name == "HADD2" else "fmul", *values)


def hmnmx2(c: Context, i: Instruction) -> None:
    """HMNMX2: minimum where the predicate holds, else maximum; NaN loses against a number."""
    kind = _kind(c)
    suffix = "_nan" if c.flag("NAN") else ""
    target, *operands, choice = i.operands
    a, b = _pairs(c, operands, kind)
    smaller = c.predicate(choice)
    lanes = [
        c.b.select(smaller, c.binary("fmin" + suffix, x, y), c.binary("fmax" + suffix, x, y))
        for x, y in zip(a, b, strict=True)
    ]
    _write(c, target, lanes, kind)


def hset2(c: Context, i: Instruction) -> None:
    """HSET2: comparisons as halves: all ones, or 1.0 (.BF)."""
    kind = _kind(c)
    yes = _ONES[kind] if c.flag("BF") else -1
    target, *operands, other = i.operands
    holds = _comparisons(c, i, operands, other, kind)
    zero = c.b.const("i16", 0)
    lanes = [c.b.select(h, c.b.const("i16", yes), zero) for h in holds]
    c.write(target, join(c, lanes, "i32"))


def hsetp2(c: Context, i: Instruction) -> None:
    """HSETP2: a predicate for each half; with .H_AND that of both halves, and its opposite."""
    kind = _kind(c)
    together = c.flag("H_AND")
    first, second, *operands, other = i.operands
    low, high = _comparisons(c, i, operands, other, kind)
    if together:
        low = c.binary("and", low, high)
        high = c.negate(low)
    c.write_predicate(first, low)
    c.write_predicate(second, high)


def _comparisons(
    c: Context, i: Instruction, operands: list[Operand], other: Operand, kind: str
) -> tuple[Node, Node]:
    condition = c.one_of(*FLOAT)
    combine = c.one_of("AND", "OR", "XOR")
    if condition is None or combine is None:
        c.unsupported(i)
    a, b = _pairs(c, operands, kind)
    extra = c.predicate(other)
    low, high = (
        c.binary(combine.lower(), c.b.fcmp(FLOAT[condition], x, y), extra)
        for x, y in zip(a, b, strict=True)
    )
    return low, high


def pack(c: Context, i: Instruction) -> None:
    """F2FP: convert two singles to a pair of halves, the first to the high half."""
    kind = "bf16" if c.flag("BF16") else "f16"
    c.without_effect("F16", "F32")
    if not c.flag("PACK_AB"):
        c.unsupported(i)
    mode = "rz" if c.flag("RZ") else "rn"
    clipped = c.flag("RELU")
    target, high, low = i.operands
    lanes = []
    for operand in (low, high):
        value = c.f32(operand)
        if clipped:
            zero = c.b.const("f32", 0)
            value = c.b.select(c.b.fcmp("ole", value, zero), zero, value)
        lanes.append(narrow(c, value, kind, mode))
    c.write(target, join(c, lanes, "i32"))


def narrow(c: Context, value: Node, kind: str, mode: str = "rn") -> Node:
    """Bits of the half or bfloat16 that a single or double rounds to."""
    if kind == "f16":
        return c.b.as_int(rounding.to_half(c, value, mode))
    if mode not in ("rn", "rz"):
        c.refuse("this rounding of bfloat16")
    return to_bf16(c, rounding.narrow_odd(c, value) if value.type == "f64" else value, mode)


def low_half(c: Context, operand: Operand, kind: str) -> Node:
    """One half or bfloat16 of a register, widened to f32: the low one, or that of the suffix."""
    ((low, _),) = _pairs(c, [operand], kind)
    return _single(c, low)


def _kind(c: Context) -> str:
    return "bf16" if c.one_of("BF16_V2", "BF16") else "f16"


def _single(c: Context, value: Node) -> Node:
    return value if value.type == "f32" else c.b.pure("fpext", "f32", value)


def _pairs(c: Context, operands: list[Operand], kind: str) -> list[Pair]:
    """Pairs of halves of the operands; a literal's two halves come from the encoding."""
    found = []
    rest = list(operands)
    while rest:
        operand = rest.pop(0)
        if isinstance(operand, Immediate):
            if not rest or not isinstance(rest.pop(0), Immediate):
                c.refuse("a literal for one half")
            assert c.instruction is not None
            word, places, operand_signs = c.b.const("i32", c.instruction.word), (0, 1), None
        elif isinstance(operand, Register | Constant):
            if len(operand.suffixes) > 1 or operand.inverted:
                c.refuse(f"operand {operand}")
            suffix = operand.suffixes[0] if operand.suffixes else "H1_H0"
            if suffix not in _HALVES:
                c.refuse(f"operand suffix '{suffix}'")
            word, places, operand_signs = c.word(operand), _HALVES[suffix], operand
        else:
            c.refuse(f"operand {operand}")
        halves = split(c, word, 2)
        widen: Callable[[Node], Node] = (
            (lambda bits: widen_bf16(c, bits))
            if kind == "bf16"
            else (lambda bits: c.b.bitcast(bits, "f16"))
        )
        low, high = (_signed(c, widen(halves[place]), operand_signs) for place in places)
        found.append((low, high))
    return found


def _signed(c: Context, value: Node, operand: Register | Constant | None) -> Node:
    if operand is not None and operand.absolute:
        value = c.b.pure("fabs", value.type, value)
    if operand is not None and operand.negated:
        value = c.b.pure("fneg", value.type, value)
    return value


def _write(c: Context, target: Operand, lanes: list[Node], kind: str) -> None:
    if kind == "bf16":
        lanes = [to_bf16(c, value) for value in lanes]
    c.write(target, join(c, lanes, "i32"))


WITH_UNIFORM: dict[str, Lowering] = {"F2FP": pack}
"""Functions by opcode, for opcodes that the uniform datapath has too, with a U before them."""

OPCODES: dict[str, Lowering] = {
    "HADD2": arithmetic,
    "HADD2_32I": arithmetic,
    "HMUL2": arithmetic,
    "HMUL2_32I": arithmetic,
    "HFMA2": arithmetic,
    "HFMA2_32I": arithmetic,
    "HMNMX2": hmnmx2,
    "HSET2": hset2,
    "HSETP2": hsetp2,
}
"""Functions by opcode."""
