"""Floating-point results by exact rational arithmetic and one rounding, on bit patterns."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

# (fraction bits, exponent bias) by total bits; bfloat16 under its own name.
FORMATS = {"f16": (16, 10, 15), "bf16": (16, 7, 127), "f32": (32, 23, 127), "f64": (64, 52, 1023)}


def is_nan(bits: int, form: str) -> bool:
    total, fraction, _ = FORMATS[form]
    return bits & ((1 << (total - 1)) - 1) > ((1 << (total - 1 - fraction)) - 1) << fraction


def is_infinite(bits: int, form: str) -> bool:
    total, fraction, _ = FORMATS[form]
    return bits & ((1 << (total - 1)) - 1) == ((1 << (total - 1 - fraction)) - 1) << fraction


def sign_of(bits: int, form: str) -> int:
    return bits >> (FORMATS[form][0] - 1)


def value_of(bits: int, form: str) -> Fraction:
    """The number a finite pattern stands for."""
    total, fraction, bias = FORMATS[form]
    exponent = bits >> fraction & ((1 << (total - 1 - fraction)) - 1)
    mantissa = bits & ((1 << fraction) - 1)
    if exponent:
        mantissa |= 1 << fraction
    scale = max(exponent, 1) - bias - fraction
    value = Fraction(mantissa) * Fraction(2) ** scale
    return -value if sign_of(bits, form) else value


def rounded(value: Fraction, form: str, mode: str = "rn", zero_sign: int = 0) -> int:
    """The pattern nearest to a number by rounding mode rn, rz, rm or rp."""
    total, fraction, bias = FORMATS[form]
    if value == 0:
        return zero_sign << (total - 1)
    negative = value < 0
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    exponent = max(exponent, 1 - bias)
    unit = Fraction(2) ** (exponent - fraction)
    whole, rest = divmod(size, unit)
    up = {
        "rn": rest * 2 > unit or (rest * 2 == unit and whole % 2 == 1),
        "rz": False,
        "rm": negative and rest > 0,
        "rp": not negative and rest > 0,
    }[mode]
    # The pattern counts units, so carrying into the next binade needs no care.
    pattern = int(whole) + up + (exponent + bias - 1 << fraction)
    infinity = (1 << (total - 1 - fraction)) - 1 << fraction
    if pattern >= infinity:
        away = mode == "rn" or mode == ("rm" if negative else "rp")
        pattern = infinity if away else infinity - 1
    return pattern | negative << (total - 1)


NAN = "nan"


def added(a: int, b: int, form: str, mode: str = "rn") -> int | str:
    if is_nan(a, form) or is_nan(b, form):
        return NAN
    if is_infinite(a, form):
        return NAN if is_infinite(b, form) and a != b else a
    if is_infinite(b, form):
        return b
    total = value_of(a, form) + value_of(b, form)
    both = sign_of(a, form) & sign_of(b, form)
    either = sign_of(a, form) | sign_of(b, form)
    return rounded(total, form, mode, either if mode == "rm" else both)


def multiplied(a: int, b: int, form: str, mode: str = "rn") -> int | str:
    if is_nan(a, form) or is_nan(b, form):
        return NAN
    sign = sign_of(a, form) ^ sign_of(b, form)
    if is_infinite(a, form) or is_infinite(b, form):
        other = b if is_infinite(a, form) else a
        if not is_infinite(other, form) and value_of(other, form) == 0:
            return NAN
        return infinity(form, sign)
    return rounded(value_of(a, form) * value_of(b, form), form, mode, sign)


def infinity(form: str, sign: int) -> int:
    total, fraction, _ = FORMATS[form]
    return (1 << (total - 1 - fraction)) - 1 << fraction | sign << (total - 1)


def fused(a: int, b: int, c: int, form: str, mode: str = "rn") -> int | str:
    if NAN in (product := multiplied(a, b, form), "") or is_nan(c, form):
        return NAN
    assert isinstance(product, int)
    sign = sign_of(a, form) ^ sign_of(b, form)
    if is_infinite(a, form) or is_infinite(b, form):
        return NAN if is_infinite(c, form) and sign_of(c, form) != sign else infinity(form, sign)
    if is_infinite(c, form):
        return c
    total = value_of(a, form) * value_of(b, form) + value_of(c, form)
    other = sign_of(c, form)
    return rounded(total, form, mode, sign | other if mode == "rm" else sign & other)


def divided(a: int, b: int, form: str, mode: str = "rn") -> int | str:
    if is_nan(a, form) or is_nan(b, form):
        return NAN
    sign = sign_of(a, form) ^ sign_of(b, form)
    if is_infinite(a, form):
        return NAN if is_infinite(b, form) else infinity(form, sign)
    if is_infinite(b, form):
        return rounded(Fraction(0), form, mode, sign)
    if value_of(b, form) == 0:
        return NAN if value_of(a, form) == 0 else infinity(form, sign)
    return rounded(value_of(a, form) / value_of(b, form), form, mode, sign)


def rooted(a: int, form: str, mode: str = "rn") -> int | str:
    if is_nan(a, form):
        return NAN
    if not is_infinite(a, form) and value_of(a, form) == 0:
        return a
    if sign_of(a, form):
        return NAN
    if is_infinite(a, form):
        return a
    x = value_of(a, form)
    # Far more bits than any format has, with a last one that says whether the root is exact.
    shift = 2 * (1200 + 80)
    scaled = x * 2**shift
    root = isqrt(int(scaled))
    exact = root * root == scaled
    return rounded(Fraction(2 * root + (not exact), 2 ** (shift // 2 + 1)), form, mode)


def converted(a: int, of: str, to: str, mode: str = "rn") -> int | str:
    if is_nan(a, of):
        return NAN
    if is_infinite(a, of):
        return infinity(to, sign_of(a, of))
    return rounded(value_of(a, of), to, mode, sign_of(a, of))


def to_whole(x: Fraction, mode: str) -> int:
    """Round to a whole number by rni, rzi, rmi or rpi."""
    floor = x.numerator // x.denominator
    rest = x - floor
    if mode == "rmi" or rest == 0:
        return floor
    if mode == "rpi":
        return floor + 1
    if mode == "rzi":
        return floor if x >= 0 else floor + 1
    return floor + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and floor % 2 == 1))
