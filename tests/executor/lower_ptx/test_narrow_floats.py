"""Conversions to and from floating-point numbers of 8, 6 and 4 bits, tf32 and bfloat16, against
exact arithmetic on the formats' definitions."""

from __future__ import annotations

import bisect
import functools
from fractions import Fraction

import exact_floats as exact
import numpy as np
import pytest
from ptx_harness import evaluate, operands

# Format: exponent bits, fraction bits, bias, patterns that are no finite numbers, bits in a pair.
FORMATS = {
    "e4m3": (4, 3, 7, {0x7F: "nan"}, 8),
    "e5m2": (5, 2, 15, {0x7C: "inf", 0x7D: "nan", 0x7E: "nan", 0x7F: "nan"}, 8),
    "e3m2": (3, 2, 3, {}, 8),
    "e2m3": (2, 3, 1, {}, 8),
    "e2m1": (2, 1, 1, {}, 4),
}


@functools.cache
def numbers(form):
    """The finite non-negative numbers of a format by pattern."""
    exponents, fraction, bias, special, _ = FORMATS[form]
    found = {}
    for pattern in range(1 << (exponents + fraction)):
        if pattern not in special:
            exponent, rest = pattern >> fraction, pattern & ((1 << fraction) - 1)
            size = Fraction(rest + (1 << fraction if exponent else 0), 1 << fraction)
            found[pattern] = size * Fraction(2) ** (max(exponent, 1) - bias)
    return found


@functools.cache
def ordered(form):
    """Numbers in ascending order with their patterns."""
    return sorted((value, pattern) for pattern, value in numbers(form).items())


def nearest(value, form):
    """Pattern of the nearest number, ties to the even pattern, the largest beyond it."""
    table, size = ordered(form), abs(value)
    at = bisect.bisect_left(table, (size, -1))
    return min(table[max(at - 1, 0) : at + 1], key=lambda e: (abs(e[0] - size), e[1] & 1))[1]


def converted(bits, form, *, relu):
    exponents, fraction, _, special, _ = FORMATS[form]
    sign = bits >> 31
    largest = max(numbers(form))
    if exact.is_nan(bits, "f32"):
        return next((p for p in sorted(special, reverse=True)), largest)
    if sign and relu:
        return 0
    pattern = (
        largest if exact.is_infinite(bits, "f32") else nearest(exact.value_of(bits, "f32"), form)
    )
    return pattern | sign << (exponents + fraction)


def singles(form, seed):
    rng = np.random.default_rng(seed)
    table = [float(v) for v in numbers(form).values()]
    middles = [(x + y) / 2 for x, y in zip(sorted(table), sorted(table)[1:], strict=False)]
    near = np.array([*table, *middles], np.float32)
    around = np.concatenate(
        [near, np.nextafter(near, np.float32(9e9)), np.nextafter(near, np.float32(0))]
    )
    largest = np.float32(max(table))
    edges = operands(np.float32, 60, seed, [largest * 1.01, largest * 1.1, largest * 1.5])
    values = np.concatenate([around, -around, edges])
    return rng.permutation(values).view(np.uint32)


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("form", FORMATS)
def test_singles_to_narrow_pairs(form, uniform):
    a = singles(form, 3)
    if uniform:
        a = a[:80]
    b = np.roll(a, 1)
    out, room = (np.uint16, 8) if form != "e2m1" else (np.uint8, 4)
    relus = ("", ".relu")
    texts = []
    for relu in relus:
        text = f"cvt.rn.satfinite{relu}.{form}x2.f32"
        texts.append(
            (f"{text} {{d}}, {{a}}, {{b}}", out)
            if room == 8
            else (".reg .b8 %n; " + text + " %n, {a}, {b}; cvt.u16.u8 {d}, %n", np.uint16)
        )
    for relu, got in zip(relus, evaluate(texts, [a, b], uniform=uniform), strict=True):
        for x, y, found in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
            high, low = (converted(v, form, relu=bool(relu)) for v in (x, y))
            assert found == high << room | low, (form, relu, hex(x), hex(y), hex(found))


@pytest.mark.parametrize("form", ["e4m3", "e5m2"])
def test_halves_to_narrow_pairs(form):
    a = np.random.default_rng(4).integers(0, 1 << 32, 500).astype(np.uint32)
    (got,) = evaluate(
        [(f"cvt.rn.satfinite.{form}x2.f16x2 {{d}}, {{a}}", np.uint16)], [a], uniform=False
    )
    with np.errstate(invalid="ignore"):
        wide = a.view(np.float16).astype(np.float32).view(np.uint32).reshape(-1, 2)
    for pair, found in zip(wide.tolist(), got.tolist(), strict=True):
        low, high = (converted(v, form, relu=False) for v in pair)
        assert found == high << 8 | low


@pytest.mark.parametrize("form", FORMATS)
def test_narrow_pairs_to_halves(form):
    exponents, fraction, _, special, room = FORMATS[form]
    total = 1 + exponents + fraction
    every = np.arange(1 << total, dtype=np.uint16)
    a = every | np.roll(every, 1) << room
    source = "{a}" if room == 8 else "%n"
    text = f"cvt.rn.f16x2.{form}x2 {{d}}, {source}"
    if room == 4:
        text = ".reg .b8 %n; cvt.u8.u16 %n, {a}; " + text
    (got,) = evaluate([(text, np.uint32)], [a], uniform=False)
    table = numbers(form)
    halves = got.view(np.uint16).reshape(-1, 2)
    for column, patterns in ((0, every), (1, np.roll(every, 1))):
        for pattern, half in zip(patterns.tolist(), halves[:, column].tolist(), strict=True):
            sign, size = pattern >> (total - 1), pattern & ((1 << (total - 1)) - 1)
            kind = special.get(size)
            if kind == "nan":
                assert exact.is_nan(half, "f16")
            elif kind == "inf":
                assert half == exact.infinity("f16", sign)
            else:
                value = -table[size] if sign else table[size]
                assert half == exact.rounded(value, "f16", "rn", sign)


@pytest.mark.parametrize("mode", ["rna", "rn", "rz", "rna.satfinite", "rn.satfinite", "rn.relu"])
def test_singles_to_tf32(mode):
    a = operands(np.float32, 300, 9).view(np.uint32)
    ties = np.arange(40, dtype=np.uint32) * 0x1000 + 0x3F800000
    a = np.concatenate([a, ties, ties | 0x80000000, np.array([0x7F7FF000, 0x7F7FEFFF], np.uint32)])
    (got,) = evaluate([(f"cvt.{mode}.tf32.f32 {{d}}, {{a}}", np.uint32)], [a], uniform=False)
    for bits, found in zip(a.tolist(), got.tolist(), strict=True):
        if exact.is_nan(bits, "f32"):
            assert exact.is_nan(found, "f32")
            continue
        sign, size = bits >> 31, bits & 0x7FFFFFFF
        whole, rest = size >> 13, size & 0x1FFF
        up = rest > 0x1000 or (rest == 0x1000 and (mode.startswith("rna") or whole & 1))
        expected = (whole + (up and not mode.startswith("rz"))) << 13
        if "satfinite" in mode:
            expected = min(expected, 0x7F7FE000)
        expected |= sign << 31
        if "relu" in mode and sign:
            expected = 0
        assert found == expected, (mode, hex(bits), hex(found), hex(expected))


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("of", ["f32", "f64", "s32", "u64"])
def test_bfloat16_rounds_in_every_direction(of, mode):
    if of[0] == "f":
        a = operands(np.float32 if of == "f32" else np.float64, 200, 13)
        a = a.view(f"u{a.dtype.itemsize}")
    else:
        a = operands(np.int32 if of == "s32" else np.uint64, 200, 13)
    (got,) = evaluate([(f"cvt.{mode}.bf16.{of} {{d}}, {{a}}", np.uint16)], [a], uniform=False)
    for bits, found in zip(a.tolist(), got.tolist(), strict=True):
        if of[0] == "f":
            expected = exact.converted(bits, of, "bf16", mode)
        else:
            expected = exact.rounded(Fraction(bits), "bf16", mode)
        if expected == exact.NAN:
            assert exact.is_nan(found, "bf16")
        else:
            assert found == expected, (of, mode, hex(bits), hex(found), hex(expected))


@pytest.mark.parametrize("type_", ["s2", "u2", "s4", "u4", "s8", "u8"])
def test_integers_packed_and_saturated(type_):
    bits, signed = int(type_[1:]), type_[0] == "s"
    a, b, c = (operands(np.int32, 60, s, (3, -3, 7, 8, -8, -9, 200)) for s in (1, 2, 3))
    a, b, c = (np.random.default_rng(s).permutation(x) for s, x in enumerate((a, b, c)))
    text = f"cvt.pack.sat.{type_}.s32.b32 {{d}}, {{a}}, {{b}}, {{c}}"
    (got,) = evaluate([(text, np.uint32)], [a, b, c], uniform=False)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    for x, y, z, found in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
        x, y = (max(low, min(high, v)) & ((1 << bits) - 1) for v in (x, y))
        assert found == (z << 2 * bits | x << bits | y) & 0xFFFFFFFF


@pytest.mark.parametrize("half", ["f16", "bf16"])
@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_sums_of_different_widths(half, mode):
    rng = np.random.default_rng(8)
    a, b = (rng.integers(0, 1 << 16, 300).astype(np.uint16) for _ in range(2))
    c = rng.permutation(operands(np.float32, 200, 7))[:300].view(np.uint32)
    texts = [
        (f"add.{mode}.f32.{half} {{d}}, {{a}}, {{c}}", np.uint32),
        (f"sub.{mode}.f32.{half} {{d}}, {{a}}, {{c}}", np.uint32),
        (f"fma.{mode}.f32.{half} {{d}}, {{a}}, {{b}}, {{c}}", np.uint32),
    ]
    results = evaluate(texts, [a, b, c], uniform=False)
    for n, (x, y, z) in enumerate(zip(a.tolist(), b.tolist(), c.tolist(), strict=True)):
        p, q = (exact.converted(v, half, "f32") for v in (x, y))
        if exact.NAN in (p, q):
            continue
        expected = [
            exact.added(p, z, "f32", mode),
            exact.added(p, z ^ 0x80000000, "f32", mode),
            exact.fused(p, q, z, "f32", mode),
        ]
        for got, want in zip(results, expected, strict=True):
            if want == exact.NAN:
                assert exact.is_nan(int(got[n]), "f32")
            else:
                assert got[n] == want
