"""Single precision: arithmetic, comparisons, selections, and MUFU's approximations."""

from __future__ import annotations

from placewise.executor.ir.nodes import Node
from placewise.executor.lower_sass.arithmetic import half
from placewise.executor.lower_sass.arithmetic.compare import FLOAT, write_both
from placewise.executor.lower_sass.context import Context, Lowering
from placewise.executor.lowering.floats import flush, saturate
from placewise.kernel.binary.sass import Instruction, Operand

_ROUNDING = {"RN": None, "RZ": "rz", "RM": "rm", "RP": "rp"}
_SCALES = {
    **{f"D{1 << n}": (1023 - n) << 52 for n in (1, 2, 3)},
    **{f"M{1 << n}": (1023 + n) << 52 for n in (1, 2, 3)},
}
"""Factor (bits of a double) by which FMUL's modifiers D2 … M8 scale its product."""
_INVERSE_TWO_PI = 0x3E22F983
"""1 / (2 pi) in single precision, the scale of arguments of MUFU.SIN and MUFU.COS."""
_TWO_PI = 0x401921FB54442D18
"""2 pi in double precision."""
_ONE = 0x3F800000


def rounding_mode(c: Context) -> str | None:
    """Take the rounding mode modifier; returns a node's ``attr``."""
    return _ROUNDING[c.one_of(*_ROUNDING) or "RN"]


def arithmetic(c: Context, i: Instruction) -> None:
    """FADD, FMUL, FFMA, and their uniform forms."""
    op = {"FADD": "fadd", "FMUL": "fmul", "FFMA": "fma"}[i.parts[0].removeprefix("U")]
    mode = rounding_mode(c)
    ftz = c.flag("FTZ")
    saturated = c.flag("SAT")
    scale = _SCALES.get(c.one_of(*_SCALES) or "")
    target, *operands = i.operands
    if len(operands) != (3 if op == "fma" else 2):
        c.unsupported(i)
    values = [c.f32(o) for o in operands]
    if ftz:
        values = [flush(c, v) for v in values]
    if scale is None:
        result = c.b.pure(op, "f32", *values, attr=mode)
    else:
        # The product of two singles is exact in double precision, so it is rounded once.
        wide = c.binary("fmul", *(c.b.pure("fpext", "f64", v) for v in values))
        scaled = c.binary("fmul", wide, c.b.const("f64", scale))
        result = c.b.pure("fptrunc", "f32", scaled, attr=mode)
    if ftz:
        result = flush(c, result)
    c.write(target, saturate(c, result) if saturated else result)


def fsetp(c: Context, i: Instruction) -> None:
    """FSETP: compare and combine with a predicate."""
    ftz = c.flag("FTZ")
    condition = c.one_of(*FLOAT)
    combine = c.one_of("AND", "OR", "XOR")
    first, second, a, b, other = i.operands
    if condition is None or combine is None:
        c.unsupported(i)
    x, y = c.f32(a), c.f32(b)
    if ftz:
        x, y = flush(c, x), flush(c, y)
    write_both(c, first, second, c.b.fcmp(FLOAT[condition], x, y), combine, other)


def fset(c: Context, i: Instruction) -> None:
    """FSET: a comparison as a word: all ones, or 1.0 (.BF)."""
    ftz = c.flag("FTZ")
    as_float = c.flag("BF")
    condition = c.one_of(*FLOAT)
    combine = c.one_of("AND", "OR", "XOR")
    target, a, b, other = i.operands
    if condition is None or combine is None:
        c.unsupported(i)
    x, y = c.f32(a), c.f32(b)
    if ftz:
        x, y = flush(c, x), flush(c, y)
    holds = c.binary(combine.lower(), c.b.fcmp(FLOAT[condition], x, y), c.predicate(other))
    c.write(target, c.b.select(holds, c.b.const("i32", _ONE if as_float else -1), c.zero()))


def fsel(c: Context, i: Instruction) -> None:
    """FSEL: select one of two operands by a predicate."""
    ftz = c.flag("FTZ")
    target, a, b, choice = i.operands
    result = c.b.select(c.predicate(choice), c.f32(a), c.f32(b))
    c.write(target, flush(c, result) if ftz else result)


def fmnmx(c: Context, i: Instruction) -> None:
    """FMNMX: minimum where the predicate holds, else maximum; NaN loses against a number."""
    ftz = c.flag("FTZ")
    kind = "_nan" if c.flag("NAN") else ""
    target, a, b, choice = i.operands
    x, y, smaller = c.f32(a), c.f32(b), c.predicate(choice)
    if ftz:
        x, y = flush(c, x), flush(c, y)
    c.write(
        target, c.b.select(smaller, c.binary("fmin" + kind, x, y), c.binary("fmax" + kind, x, y))
    )


def frnd(c: Context, i: Instruction) -> None:
    """FRND: round to an integral value."""
    ftz = c.flag("FTZ")
    double = c.flag("F64")
    op = {"FLOOR": "floor", "CEIL": "ceil", "TRUNC": "ftrunc"}.get(
        c.one_of("FLOOR", "CEIL", "TRUNC") or "", "rint"
    )
    of_half = c.one_of("F16", "BF16")
    target, a = i.operands
    if of_half is not None:
        value = c.b.pure(op, "f32", half.low_half(c, a, of_half.lower()))
        c.write(target, c.b.resize(half.narrow(c, value, of_half.lower()), "i32"))
        return
    value = c.f64(a) if double else c.f32(a)
    if ftz:
        value = flush(c, value)
    result = c.b.pure(op, value.type, value)
    if double:
        c.write_wide(target, result)
    else:
        c.write(target, result)


def fchk(c: Context, i: Instruction) -> None:
    """FCHK: whether a division needs the slow path, because it may overflow or underflow.

    NVIDIA does not document the exact limits; both paths give the same quotient. Here the fast
    path is taken if none of its steps can leave the normal numbers.
    """
    c.without_effect("DIVIDE")
    target, a, b = i.operands
    exponents = [_exponent(c, o) for o in (a, b)]
    unsafe: Node = c.b.const("i1", 0)
    for exponent, least in zip(exponents, (26, 2), strict=True):
        # Outside of [least, 252]: one unsigned comparison.
        moved = c.binary("sub", exponent, c.b.const("i32", least))
        outside = c.b.icmp("ugt", moved, c.b.const("i32", 252 - least))
        unsafe = c.binary("or", unsafe, outside)
    # The quotient's exponent stays between -124 and 124.
    difference = c.binary("sub", exponents[0], exponents[1])
    moved = c.binary("add", difference, c.b.const("i32", 124))
    unsafe = c.binary("or", unsafe, c.b.icmp("ugt", moved, c.b.const("i32", 248)))
    c.write_predicate(target, unsafe)


def _exponent(c: Context, operand: Operand) -> Node:
    bits = c.b.as_int(c.f32(operand))
    field = c.binary("lshr", bits, c.b.const("i32", 23))
    return c.binary("and", field, c.b.const("i32", 255))


def mufu(c: Context, i: Instruction) -> None:
    """MUFU: reciprocals, roots, logarithm, exponential, sine, cosine and tanh, in full precision.

    Subnormal arguments and results are flushed to zero. Sine and cosine take their argument in
    units of 2 pi; if the code has just scaled it so, the unscaled argument is used.
    """
    kind = c.one_of("RCP", "RSQ", "SQRT", "LG2", "EX2", "SIN", "COS", "TANH", "RCP64H", "RSQ64H")
    target, a = i.operands
    if kind in ("RCP64H", "RSQ64H"):
        c.write(target, _high_word_seed(c, kind, c.b.as_int(c.f32(a))))
        return
    x = flush(c, c.f32(a))
    one = c.b.const("f32", _ONE)
    if kind == "RCP":
        result = c.binary("fdiv", one, x)
    elif kind == "RSQ":
        wide = c.b.pure("sqrt", "f64", c.b.pure("fpext", "f64", x))
        one_wide = c.b.const("f64", 0x3FF0000000000000)
        result = c.b.pure("fptrunc", "f32", c.binary("fdiv", one_wide, wide))
    elif kind == "SQRT":
        result = c.b.pure("sqrt", "f32", x)
    elif kind in ("LG2", "EX2", "TANH"):
        name = {"LG2": "log2", "EX2": "exp2", "TANH": "tanh"}[kind]
        result = c.b.pure(name, "f32", x)
    elif kind in ("SIN", "COS"):
        result = _circular(c, kind.lower(), c.f32(a))
    else:
        c.unsupported(i)
    c.write(target, flush(c, result))


def _circular(c: Context, op: str, turns: Node) -> Node:
    """Sine or cosine of 2 pi times ``turns``."""
    if turns.op == "fmul" and turns.args[1].op == "const" and turns.args[1].attr == _INVERSE_TWO_PI:
        return c.b.pure(op, "f32", turns.args[0])
    angle = c.binary("fmul", c.b.pure("fpext", "f64", turns), c.b.const("f64", _TWO_PI))
    return c.b.pure("fptrunc", "f32", c.b.pure(op, "f64", angle))


def _high_word_seed(c: Context, kind: str, high: Node) -> Node:
    """Upper word of the reciprocal (square root) of the double whose upper word is ``high``."""
    value = c.b.bitcast(c.pairs.wide(c.zero(), high), "f64")
    if kind == "RSQ64H":
        value = c.b.pure("sqrt", "f64", value)
    result = c.binary("fdiv", c.b.const("f64", 0x3FF0000000000000), value)
    return c.pairs.halves(c.b.as_int(result))[1]


WITH_UNIFORM: dict[str, Lowering] = {
    "FADD": arithmetic,
    "FMUL": arithmetic,
    "FFMA": arithmetic,
    "FSETP": fsetp,
    "FSET": fset,
    "FSEL": fsel,
    "FMNMX": fmnmx,
    "FRND": frnd,
}
"""Functions by opcode, for opcodes that the uniform datapath has too, with a U before them."""

OPCODES: dict[str, Lowering] = {
    "FCHK": fchk,
    "MUFU": mufu,
}
"""Functions by opcode."""
