"""IEEE 754 arithmetic on bit patterns: exact integers inside, one rounding at the end."""

from math import isqrt
from typing import NamedTuple


class Format(NamedTuple):
    """A binary interchange format."""

    bits: int
    fraction: int

    @property
    def bias(self):
        return (1 << (self.bits - self.fraction - 2)) - 1

    @property
    def lowest(self):
        """Exponent of the last bit of a subnormal."""
        return 1 - self.bias - self.fraction

    @property
    def infinity(self):
        return ((1 << (self.bits - 1 - self.fraction)) - 1) << self.fraction

    @property
    def nan(self):
        """The quiet NaN with every bit set but the sign, which is what NVIDIA GPUs make."""
        return (1 << (self.bits - 1)) - 1

    @property
    def one(self):
        return self.bias << self.fraction


FORMATS = {
    "f16": Format(16, 10),
    "bf16": Format(16, 7),
    "f32": Format(32, 23),
    "f64": Format(64, 52),
}


class Real(NamedTuple):
    """``(-1)**sign * m * 2**e``, an infinity or a NaN."""

    kind: str
    sign: int = 0
    m: int = 0
    e: int = 0


NAN = Real("nan")


def decode(bits, f):
    sign = bits >> (f.bits - 1)
    body = bits & ~(1 << (f.bits - 1))
    field, fraction = body >> f.fraction, body & ((1 << f.fraction) - 1)
    if body > f.infinity:
        return NAN
    if body == f.infinity:
        return Real("inf", sign)
    if field == 0:
        return Real("finite", sign, fraction, f.lowest)
    return Real("finite", sign, fraction | 1 << f.fraction, f.lowest + field - 1)


def round_shift(sign, m, shift, mode):
    """``m * 2**-shift`` as an integer magnitude, rounded."""
    if shift <= 0:
        return m << -shift
    kept, rest, half = m >> shift, m & ((1 << shift) - 1), 1 << (shift - 1)
    up = {
        "rn": rest > half or (rest == half and kept & 1),
        "rna": rest >= half,
        "rz": False,
        "rm": rest and sign,
        "rp": rest and not sign,
    }[mode]
    return kept + 1 if up else kept


def encode(x, f, mode="rn"):
    """Bits of ``x`` rounded to format ``f``."""
    if x.kind == "nan":
        return f.nan
    top = x.sign << (f.bits - 1)
    if x.kind == "inf":
        return top | f.infinity
    if x.m == 0:
        return top
    unit = max(x.e + x.m.bit_length() - (f.fraction + 1), f.lowest)
    kept = round_shift(x.sign, x.m, unit - x.e, mode)
    # A carry into the next binade, or from subnormal to normal, comes out right by itself.
    body = ((unit - f.lowest) << f.fraction) + kept
    if body >= f.infinity:
        away = mode in ("rn", "rna") or mode == ("rm" if x.sign else "rp")
        body = f.infinity if away else f.infinity - 1
    return top | body


def negate(x):
    return x if x.kind == "nan" else x._replace(sign=1 - x.sign)


def add(x, y, mode="rn"):
    if x.kind == "nan" or y.kind == "nan":
        return NAN
    if x.kind == "inf" or y.kind == "inf":
        if x.kind == y.kind and x.sign != y.sign:
            return NAN
        return x if x.kind == "inf" else y
    e = min(x.e, y.e)
    total = sum((-v.m if v.sign else v.m) << (v.e - e) for v in (x, y))
    if total:
        return Real("finite", int(total < 0), abs(total), e)
    if x.sign == y.sign:
        sign = x.sign
    else:
        sign = int(mode == "rm")
    return Real("finite", sign, 0, e)


def multiply(x, y):
    if x.kind == "nan" or y.kind == "nan":
        return NAN
    sign = x.sign ^ y.sign
    if x.kind == "inf" or y.kind == "inf":
        zero = any(v.kind == "finite" and v.m == 0 for v in (x, y))
        return NAN if zero else Real("inf", sign)
    return Real("finite", sign, x.m * y.m, x.e + y.e)


_SPARE = 80
"""Quotient and root bits beyond what any format keeps; what is below them is one sticky bit."""


def divide(x, y):
    if x.kind == "nan" or y.kind == "nan":
        return NAN
    sign = x.sign ^ y.sign
    if x.kind == "inf":
        return NAN if y.kind == "inf" else Real("inf", sign)
    if y.kind == "inf":
        return Real("finite", sign)
    if y.m == 0:
        return NAN if x.m == 0 else Real("inf", sign)
    shift = _SPARE + y.m.bit_length()
    q, r = divmod(x.m << shift, y.m)
    return Real("finite", sign, q << 1 | (r != 0), x.e - y.e - shift - 1)


def root(x):
    if x.kind == "nan" or (x.kind == "finite" and x.m == 0):
        return x
    if x.sign:
        return NAN
    if x.kind == "inf":
        return x
    shift = 2 * _SPARE + (x.e & 1)
    m = x.m << shift
    r = isqrt(m)
    return Real("finite", 0, r << 1 | (r * r != m), (x.e - shift) // 2 - 1)


def compare(x, y):
    """-1, 0, 1, or None where unordered."""
    if x.kind == "nan" or y.kind == "nan":
        return None
    difference = None
    if x.kind == "inf" or y.kind == "inf":
        a, b = (((-1) ** v.sign if v.kind == "inf" else 0) for v in (x, y))
        difference = a - b
    else:
        e = min(x.e, y.e)
        a, b = ((-1) ** v.sign * (v.m << (v.e - e)) for v in (x, y))
        difference = a - b
    return (difference > 0) - (difference < 0)


def integral(x, mode):
    """``x`` rounded to an integer by rni, rzi, rmi or rpi; keeps its sign."""
    if x.kind != "finite" or x.e >= 0:
        return x
    mode = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}[mode]
    return Real("finite", x.sign, round_shift(x.sign, x.m, -x.e, mode), 0)


def to_integer(x, mode, low, high):
    """``x`` rounded to an integer and clamped; the caller settles NaN."""
    if x.kind == "inf":
        return low if x.sign else high
    whole = integral(x, mode)
    magnitude = whole.m << whole.e if whole.e >= 0 else whole.m
    return min(max(-magnitude if whole.sign else magnitude, low), high)


def from_integer(n):
    return Real("finite", int(n < 0), abs(n), 0)
