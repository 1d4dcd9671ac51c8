"""Arithmetic with a rounding mode: rn (to nearest), rz (toward zero), rm (down), rp (up).

For single and double precision a node's ``attr`` names the mode, and the host rounds. Results in
half precision and bfloat16 are computed in a wider type, rounded to odd there, and then rounded
once more; rounding to odd makes this double rounding exact (Boldo and Melquiond 2008). It needs the
error of a sum, which Knuth's two-sum gives.
"""

from __future__ import annotations

from placewise.executor.ir.nodes import Node
from placewise.executor.lowering.lowering_context import LoweringContext

DIRECTED = ("rz", "rm", "rp")


def mode_of(parts: tuple[str, ...]) -> str:
    """Rounding mode in an opcode's parts: rz, rm or rp, else rn."""
    return next((p for p in parts if p in DIRECTED), "rn")


def attribute(mode: str) -> str | None:
    """A node's ``attr`` for a rounding mode; None is to nearest."""
    return None if mode == "rn" else mode


def two_sum(c: LoweringContext, a: Node, b: Node) -> tuple[Node, Node]:
    """(rounded sum, its exact error), by Knuth's two-sum."""
    total = c.binary("fadd", a, b)
    b_part = c.binary("fsub", total, a)
    a_part = c.binary("fsub", total, b_part)
    return total, c.binary("fadd", c.binary("fsub", a, a_part), c.binary("fsub", b, b_part))


def _bits(c: LoweringContext, value: Node) -> Node:
    return c.b.as_int(value)


def _step(c: LoweringContext, value: Node, by: int) -> Node:
    """The neighbour of ``value`` away from (1) or toward (-1) zero."""
    bits = _bits(c, value)
    return c.b.bitcast(c.binary("add", bits, c.b.const(bits.type, by)), value.type)


def _sign(c: LoweringContext, value: Node) -> Node:
    bits = _bits(c, value)
    return c.b.icmp("slt", bits, c.b.const(bits.type, 0))


def odd(c: LoweringContext, value: Node, error: Node) -> Node:
    """``value`` rounded to odd, given the sign of (exact - value) in ``error``."""
    zero = c.b.const(error.type, 0)
    inexact = c.b.fcmp("one", error, zero)
    away = c.binary("and", inexact, c.binary("xor", _sign(c, value), _sign(c, error)))
    truncated = c.b.select(away, _step(c, value, -1), value)
    bits = _bits(c, truncated)
    odd_bits = c.binary("or", bits, c.b.const(bits.type, 1))
    return c.b.bitcast(c.b.select(inexact, odd_bits, bits), value.type)


def adjust(c: LoweringContext, value: Node, error: Node, mode: str) -> Node:
    """``value`` (rounded to nearest) rounded by ``mode``, given the sign of (exact - value)."""
    if mode == "rn":
        return value
    zero = c.b.const(error.type, 0)
    above, below = c.b.fcmp("olt", error, zero), c.b.fcmp("ogt", error, zero)
    negative = _sign(c, value)
    toward, outward = _step(c, value, -1), _step(c, value, 1)
    if mode == "rz":
        too_far = c.b.select(negative, below, above)
        return c.b.select(too_far, toward, value)
    if mode == "rp":
        return c.b.select(below, c.b.select(negative, toward, outward), value)
    return c.b.select(above, c.b.select(negative, outward, toward), value)


def narrow(c: LoweringContext, value: Node, mode: str) -> Node:
    """Double to single precision by ``mode``."""
    return c.b.pure("fptrunc", "f32", value, attr=attribute(mode))


def narrow_odd(c: LoweringContext, value: Node) -> Node:
    """Double to single precision, rounded to odd."""
    near = c.b.pure("fptrunc", "f32", value)
    return odd(c, near, c.binary("fsub", value, c.b.pure("fpext", "f64", near)))


def to_half(c: LoweringContext, value: Node, mode: str = "rn") -> Node:
    """To half precision by ``mode``; doubles go by way of single precision, rounded to odd."""
    if value.type == "f64":
        value = narrow_odd(c, value)
    near = c.b.pure("fptrunc", "f16", value)
    if mode == "rn":
        return near
    error = c.binary("fsub", value, c.b.pure("fpext", "f32", near))
    error = c.b.select(c.b.fcmp("uno", error, error), c.b.const("f32", 0), error)
    return adjust(c, near, error, mode)


def odd_from_long(c: LoweringContext, value: Node, *, signed: bool) -> Node:
    """A 64-bit integer in double precision, rounded to odd."""
    high = c.binary("ashr" if signed else "lshr", value, c.b.const("i64", 32))
    low = c.binary("and", value, c.b.const("i64", 0xFFFFFFFF))
    scale = c.b.const("f64", 0x41F0000000000000)  # 2**32
    upper = c.binary("fmul", c.b.pure("sitofp" if signed else "uitofp", "f64", high), scale)
    return odd(c, *two_sum(c, upper, c.b.pure("uitofp", "f64", low)))


def half_fma(c: LoweringContext, a: Node, b: Node, d: Node) -> Node:
    """a * b + d of halves, or of bfloat16 widened to single precision; rounded once.

    The latter is left in double precision, rounded to odd, for :func:`narrow_odd`.
    """
    x, y, z = (c.b.pure("fpext", "f64", v) for v in (a, b, d))
    total = odd(c, *two_sum(c, c.binary("fmul", x, y), z))
    return total if a.type == "f32" else to_half(c, total)


def add(c: LoweringContext, a: Node, b: Node, mode: str) -> Node:
    """Sum by ``mode``."""
    return c.b.pure("fadd", a.type, a, b, attr=attribute(mode))


def multiply(c: LoweringContext, a: Node, b: Node, mode: str) -> Node:
    """Product by ``mode``."""
    return c.b.pure("fmul", a.type, a, b, attr=attribute(mode))


def fma(c: LoweringContext, a: Node, b: Node, d: Node, mode: str) -> Node:
    """a * b + d by ``mode``."""
    return c.b.pure("fma", a.type, a, b, d, attr=attribute(mode))


def divide(c: LoweringContext, a: Node, b: Node, mode: str) -> Node:
    """Quotient by ``mode``."""
    return c.b.pure("fdiv", a.type, a, b, attr=attribute(mode))


def root(c: LoweringContext, a: Node, mode: str) -> Node:
    """Square root by ``mode``."""
    return c.b.pure("sqrt", a.type, a, attr=attribute(mode))
