"""Rounding other than to nearest, built from operations that round to nearest.

The rounding error of a sum, product, quotient or root is itself a floating-point number (or at
least its sign is) that a few operations find: Knuth's two-sum, and the fused multiply-add for the
others (Muller et al., Handbook of Floating-Point Arithmetic, chapters 4 and 5). A result rounded
to nearest is then moved by one unit where the error says so. Results of single precision are made
in double precision with "rounding to odd", which a second rounding cannot spoil (Boldo and
Melquiond 2008).
"""

from __future__ import annotations

from placewise.execute.ir import Node
from placewise.execute.lower_ptx.context import Context

DIRECTED = ("rz", "rm", "rp")


def mode_of(parts: tuple[str, ...]) -> str:
    """rn, rz, rm or rp."""
    return next((p for p in parts if p in DIRECTED), "rn")


def two_sum(c: Context, a: Node, b: Node) -> tuple[Node, Node]:
    """The rounded sum and its exact error."""
    total = c.both("fadd", a, b)
    b_part = c.both("fsub", total, a)
    a_part = c.both("fsub", total, b_part)
    return total, c.both("fadd", c.both("fsub", a, a_part), c.both("fsub", b, b_part))


def _bits(c: Context, value: Node) -> Node:
    return c.b.as_int(value)


def _step(c: Context, value: Node, by: int) -> Node:
    """The neighbour of ``value`` away from (1) or toward (-1) zero."""
    bits = _bits(c, value)
    return c.b.bitcast(c.both("add", bits, c.b.const(bits.type, by)), value.type)


def _sign(c: Context, value: Node) -> Node:
    bits = _bits(c, value)
    return c.b.icmp("slt", bits, c.b.const(bits.type, 0))


def odd(c: Context, value: Node, error: Node) -> Node:
    """``value`` rounded to odd, given the sign of (exact - value) in ``error``."""
    zero = c.b.const(error.type, 0)
    inexact = c.b.fcmp("one", error, zero)
    away = c.both("and", inexact, c.both("xor", _sign(c, value), _sign(c, error)))
    truncated = c.b.select(away, _step(c, value, -1), value)
    bits = _bits(c, truncated)
    odd_bits = c.both("or", bits, c.b.const(bits.type, 1))
    return c.b.bitcast(c.b.select(inexact, odd_bits, bits), value.type)


def adjust(c: Context, value: Node, error: Node, mode: str) -> Node:
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


def narrow(c: Context, value: Node, mode: str) -> Node:
    """Double to single precision by ``mode``."""
    near = c.b.pure("fptrunc", "f32", value)
    if mode == "rn":
        return near
    back = c.b.pure("fpext", "f64", near)
    above, below = c.b.fcmp("ogt", back, value), c.b.fcmp("olt", back, value)
    negative = _sign(c, near)
    toward, outward = _step(c, near, -1), _step(c, near, 1)
    if mode == "rz":
        return c.b.select(c.b.select(negative, below, above), toward, near)
    if mode == "rp":
        return c.b.select(below, c.b.select(negative, toward, outward), near)
    return c.b.select(above, c.b.select(negative, outward, toward), near)


def narrow_odd(c: Context, value: Node) -> Node:
    """Double to single precision, rounded to odd."""
    near = c.b.pure("fptrunc", "f32", value)
    return odd(c, near, c.both("fsub", value, c.b.pure("fpext", "f64", near)))


def to_half(c: Context, value: Node) -> Node:
    """Single or double precision to half, to nearest; double goes by way of single, rounded to odd."""
    if value.type == "f64":
        value = narrow_odd(c, value)
    return c.b.pure("fptrunc", "f16", value)


def _signed_zero_sum(c: Context, a: Node, b: Node, total: Node, mode: str) -> Node:
    """Rounding down, an exact zero sum is -0 unless both operands are +0."""
    if mode != "rm":
        return total
    bits = c.both("or", _bits(c, a), _bits(c, b))
    width_less_one = {"i32": 31, "i64": 63}[bits.type]
    shift = c.b.const(bits.type, width_less_one)
    sign = c.b.bitcast(c.both("shl", c.both("lshr", bits, shift), shift), total.type)
    return c.b.select(c.b.fcmp("oeq", total, c.b.const(total.type, 0)), sign, total)


def _wide(c: Context, value: Node) -> Node:
    return c.b.pure("fpext", "f64", value)


def add(c: Context, a: Node, b: Node, mode: str) -> Node:
    """Sum by ``mode``."""
    if mode == "rn":
        return c.both("fadd", a, b)
    if a.type == "f32":
        total = narrow(c, odd(c, *two_sum(c, _wide(c, a), _wide(c, b))), mode)
    else:
        near, error = two_sum(c, a, b)
        total = adjust(c, near, error, mode)
    return _signed_zero_sum(c, a, b, total, mode)


def multiply(c: Context, a: Node, b: Node, mode: str) -> Node:
    """Product by ``mode``; two singles have an exact product in double precision."""
    if mode == "rn":
        return c.both("fmul", a, b)
    if a.type == "f32":
        return narrow(c, c.both("fmul", _wide(c, a), _wide(c, b)), mode)
    near = c.both("fmul", a, b)
    error = c.b.pure("fma", "f64", a, b, c.b.pure("fneg", "f64", near))
    return adjust(c, near, error, mode)


def fma(c: Context, a: Node, b: Node, d: Node, mode: str) -> Node:
    """a * b + d by ``mode``."""
    if mode == "rn":
        return c.b.pure("fma", a.type, a, b, d)
    if a.type == "f32":
        product = c.both("fmul", _wide(c, a), _wide(c, b))
        total = narrow(c, odd(c, *two_sum(c, product, _wide(c, d))), mode)
        return _signed_zero_sum(c, c.both("fmul", a, b), d, total, mode)
    near = c.b.pure("fma", "f64", a, b, d)
    product = c.both("fmul", a, b)
    low = c.b.pure("fma", "f64", a, b, c.b.pure("fneg", "f64", product))
    total, rest = two_sum(c, product, d)
    error = c.both("fadd", c.both("fadd", c.both("fsub", total, near), rest), low)
    return _signed_zero_sum(c, product, d, adjust(c, near, error, mode), mode)


def divide(c: Context, a: Node, b: Node, mode: str) -> Node:
    """Quotient by ``mode``."""
    if mode == "rn":
        return c.both("fdiv", a, b)
    x, y = (a, b) if a.type == "f64" else (_wide(c, a), _wide(c, b))
    near = c.both("fdiv", x, y)
    remainder = c.b.pure("fma", "f64", c.b.pure("fneg", "f64", near), y, x)
    # The error of the quotient has the remainder's sign, turned where the divisor is negative.
    error = c.b.select(_sign(c, y), c.b.pure("fneg", "f64", remainder), remainder)
    if a.type == "f64":
        return adjust(c, near, error, mode)
    return narrow(c, odd(c, near, error), mode)


def root(c: Context, a: Node, mode: str) -> Node:
    """Square root by ``mode``."""
    if mode == "rn":
        return c.b.pure("sqrt", a.type, a)
    x = a if a.type == "f64" else _wide(c, a)
    near = c.b.pure("sqrt", "f64", x)
    error = c.b.pure("fma", "f64", c.b.pure("fneg", "f64", near), near, x)
    if a.type == "f64":
        return adjust(c, near, error, mode)
    return narrow(c, odd(c, near, error), mode)
