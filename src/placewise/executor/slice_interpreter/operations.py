"""Elementwise nodes on NumPy arrays of lanes; integers are unsigned, i1 is bool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from placewise.executor.ir.nodes import BITS, Node

Lanes = Any
"""An array that broadcasts to (warps, 32)."""
Operation = Callable[..., Lanes]

DTYPES: dict[str, type[np.generic]] = {
    "i1": np.bool_,
    "i8": np.uint8,
    "i16": np.uint16,
    "i32": np.uint32,
    "i64": np.uint64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
}
_SIGNED: dict[str, Any] = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}


def constant(type_: str, bits: int) -> Lanes:
    """A constant of ``type_`` from its bits, in all lanes."""
    if type_ == "i1":
        return np.full((1, 1), bool(bits))
    integer = np.full((1, 1), bits, f"u{BITS[type_] // 8}")
    return integer.view(DTYPES[type_])


def spread(lanes: Lanes, shape: tuple[int, ...]) -> Lanes:
    """``lanes`` with ``shape``, which is (warps, 32)."""
    # NumPy takes longer for an array that has this shape already than for many an operation on it.
    return lanes if lanes.shape == shape else np.broadcast_to(lanes, shape)


def operation(n: Node) -> Operation | None:
    """Function that computes a node from its operands' arrays; None if it is not covered."""
    of = n.args[0].type if n.args else n.type
    if "i128" in (n.type, of):
        return None
    if n.op in ("icmp", "fcmp"):
        return _comparison(n.op, str(n.attr), of)
    if n.op in _CONVERSIONS:
        return _CONVERSIONS[n.op](of, n.type)
    if n.type == "i1" and n.op in ("add", "sub", "xor"):
        return np.not_equal
    if n.op in _ON_SIGNED and n.type in _SIGNED:
        return _on_signed(_ON_SIGNED[n.op], n.type)
    if n.op in _OF_WIDTH:
        return _OF_WIDTH[n.op](BITS[n.type])
    return _PLAIN.get(n.op)


def _on_signed(function: Operation, type_: str) -> Operation:
    signed, unsigned = _SIGNED[type_], DTYPES[type_]
    return lambda *a: function(*(x.view(signed) for x in a)).view(unsigned)


def _divide(a: Lanes, b: Lanes) -> Lanes:
    """Truncating division; by zero it gives all ones, like the compiled code."""
    safe = np.where(b == 0, b.dtype.type(1), b)
    quotient = np.floor_divide(a, safe)
    rest = a - quotient * safe
    quotient = quotient + ((rest != 0) & ((rest < 0) != (safe < 0))).astype(a.dtype)
    other = np.invert(np.zeros(1, a.dtype))[0]
    return np.where(b == 0, other, quotient).astype(a.dtype)


def _remainder(a: Lanes, b: Lanes) -> Lanes:
    safe = np.where(b == 0, b.dtype.type(1), b)
    return np.where(b == 0, a, np.fmod(a, safe)).astype(a.dtype)


def _udivide(a: Lanes, b: Lanes) -> Lanes:
    safe = np.where(b == 0, b.dtype.type(1), b)
    return np.where(b == 0, np.invert(np.zeros(1, a.dtype))[0], a // safe).astype(a.dtype)


def _comparison(op: str, condition: str, of: str) -> Operation | None:
    compare: dict[str, Operation] = {
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    }
    if op == "icmp":
        if condition in ("eq", "ne"):
            return compare[condition]
        function = compare[condition[1:]]
        if condition[0] == "u" or of not in _SIGNED:
            return function
        signed = _SIGNED[of]
        return lambda a, b: function(a.view(signed), b.view(signed))
    if condition in ("ord", "uno"):
        number: Operation = lambda a, b: ~(np.isnan(a) | np.isnan(b))  # noqa: E731
        return number if condition == "ord" else lambda a, b: ~number(a, b)
    ordered = compare[condition[1:]]
    if condition[0] == "o":
        if condition == "one":
            return lambda a, b: (a < b) | (a > b)
        return ordered
    return lambda a, b: ordered(a, b) | np.isnan(a) | np.isnan(b)


def _truncate(_: str, to: str) -> Operation:
    if to == "i1":
        return lambda a: (a & a.dtype.type(1)).astype(np.bool_)
    return lambda a: a.astype(DTYPES[to])


def _sign_extend(of: str, to: str) -> Operation:
    signed, unsigned = _SIGNED[to], DTYPES[to]
    if of == "i1":
        return lambda a: np.where(a, signed(-1), signed(0)).view(unsigned)
    return lambda a: a.view(_SIGNED[of]).astype(signed).view(unsigned)


def _from_float(signed: bool) -> Callable[[str, str], Operation]:
    def make(_: str, to: str) -> Operation:
        target = _SIGNED[to] if signed else DTYPES[to]
        limits = np.iinfo(target)

        def convert(a: Lanes) -> Lanes:
            wide = np.nan_to_num(np.trunc(a.astype(np.float64)), posinf=2.0**70, neginf=-(2.0**70))
            inside = np.clip(wide, float(limits.min), float(limits.max) * (1 - 2.0**-53))
            return inside.astype(target).view(DTYPES[to])

        return convert

    return make


def _to_float(signed: bool) -> Callable[[str, str], Operation]:
    def make(of: str, to: str) -> Operation:
        if signed and of in _SIGNED:
            return lambda a: a.view(_SIGNED[of]).astype(DTYPES[to])
        return lambda a: a.astype(DTYPES[to])

    return make


def _bits(_: str, to: str) -> Operation:
    return lambda a: np.ascontiguousarray(a).view(DTYPES[to])


def _resized(_: str, to: str) -> Operation:
    return lambda a: a.astype(DTYPES[to])


def _high_signed(bits: int) -> Operation:
    def high(a: Lanes, b: Lanes) -> Lanes:
        if bits == 32:
            product = a.view(np.int32).astype(np.int64) * b.view(np.int32).astype(np.int64)
            return (product >> 32).astype(np.uint64).astype(np.uint32)
        result = _high64(a, b)
        result = result - np.where(a.view(np.int64) < 0, b, np.uint64(0))
        return result - np.where(b.view(np.int64) < 0, a, np.uint64(0))

    return high


def _high_unsigned(bits: int) -> Operation:
    def high(a: Lanes, b: Lanes) -> Lanes:
        if bits == 32:
            return (a.astype(np.uint64) * b.astype(np.uint64) >> np.uint64(32)).astype(np.uint32)
        return _high64(a, b)

    return high


def _high64(a: Lanes, b: Lanes) -> Lanes:
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    al, ah, bl, bh = a & low, a >> half, b & low, b >> half
    middle = (al * bl >> half) + (ah * bl & low) + (al * bh & low)
    return ah * bh + (ah * bl >> half) + (al * bh >> half) + (middle >> half)


def _funnel(bits: int, *, left: bool) -> Operation:
    dtype = DTYPES[f"i{bits}"]

    def shift(a: Lanes, b: Lanes, amount: Lanes) -> Lanes:
        n = amount % dtype(bits)
        back = (dtype(bits) - n) % dtype(bits)
        if left:
            return np.where(n == 0, a, (a << n) | (b >> back))
        return np.where(n == 0, b, (b >> n) | (a << back))

    return shift


def _leading_zeros(bits: int) -> Operation:
    def count(a: Lanes) -> Lanes:
        filled = a.copy()
        step = 1
        while step < bits:
            filled |= filled >> a.dtype.type(step)
            step *= 2
        return (bits - np.bitwise_count(filled)).astype(a.dtype)

    return count


def _trailing_zeros(a: Lanes) -> Lanes:
    below = ~a & (a - a.dtype.type(1))
    return np.bitwise_count(below).astype(a.dtype)


def _reversed(bits: int) -> Operation:
    def reverse(a: Lanes) -> Lanes:
        result = np.zeros_like(a)
        for n in range(bits):
            result |= (a >> a.dtype.type(n) & a.dtype.type(1)) << a.dtype.type(bits - 1 - n)
        return result

    return reverse


def _saturated(combine: Operation, *, signed: bool) -> Callable[[int], Operation]:
    def make(bits: int) -> Operation:
        narrow = _SIGNED[f"i{bits}"] if signed else DTYPES[f"i{bits}"]
        limits = np.iinfo(narrow)

        def saturate(a: Lanes, b: Lanes) -> Lanes:
            wide = combine(a.view(narrow).astype(object), b.view(narrow).astype(object))
            clipped = np.clip(wide, int(limits.min), int(limits.max)).astype(narrow)
            return clipped.view(DTYPES[f"i{bits}"])

        return saturate

    return make


def _fused(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """Fused multiply-add through double precision; for f32 exact except for double rounding."""
    wide = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    return wide.astype(a.dtype)


_CONVERSIONS: dict[str, Callable[[str, str], Operation]] = {
    "trunc": _truncate,
    "zext": _resized,
    "sext": _sign_extend,
    "bitcast": _bits,
    "fptrunc": _resized,
    "fpext": _resized,
    "fptosi": _from_float(True),
    "fptoui": _from_float(False),
    "sitofp": _to_float(True),
    "uitofp": _to_float(False),
}
_ON_SIGNED: dict[str, Operation] = {
    "ashr": np.right_shift,
    "smin": np.minimum,
    "smax": np.maximum,
    "sdiv": _divide,
    "srem": _remainder,
}
_OF_WIDTH: dict[str, Callable[[int], Operation]] = {
    "mulhi_s": _high_signed,
    "mulhi_u": _high_unsigned,
    "fshl": lambda bits: _funnel(bits, left=True),
    "fshr": lambda bits: _funnel(bits, left=False),
    "ctlz": _leading_zeros,
    "bitreverse": _reversed,
    "sadd_sat": _saturated(np.add, signed=True),
    "ssub_sat": _saturated(np.subtract, signed=True),
    "uadd_sat": _saturated(np.add, signed=False),
    "usub_sat": _saturated(np.subtract, signed=False),
}
_PLAIN: dict[str, Operation] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": np.left_shift,
    "lshr": np.right_shift,
    "udiv": _udivide,
    "urem": _remainder,
    "umin": np.minimum,
    "umax": np.maximum,
    "cttz": _trailing_zeros,
    "ctpop": lambda a: np.bitwise_count(a).astype(a.dtype),
    "select": np.where,
    "fadd": np.add,
    "fsub": np.subtract,
    "fmul": np.multiply,
    "fdiv": np.divide,
    "fma": _fused,
    "fneg": np.negative,
    "fabs": np.abs,
    "copysign": np.copysign,
    "fmin": np.fmin,
    "fmax": np.fmax,
    "fmin_nan": np.minimum,
    "fmax_nan": np.maximum,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "ftrunc": np.trunc,
    "rint": np.rint,
    "sin": np.sin,
    "cos": np.cos,
    "exp2": np.exp2,
    "log2": np.log2,
    "tanh": np.tanh,
}
