"""Floating-point instructions against exact rational arithmetic rounded once."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import exact_floats as exact
import numpy as np
import pytest
from ptx_harness import evaluate, operands, pairs

MODES = ("rn", "rz", "rm", "rp")
FLOAT = {"f32": np.float32, "f64": np.float64}
BITS = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}


def check(
    texts: dict[str, Callable[..., int | str]], inputs: list[np.ndarray], form: str, uniform: bool
) -> None:
    """Compare bit patterns; any NaN stands for any other."""
    out = BITS[form]
    results = evaluate([(t, out) for t in texts], inputs, uniform=uniform)
    columns = [x.view(f"u{x.dtype.itemsize}").tolist() for x in inputs]
    for (text, reference), got in zip(texts.items(), results, strict=True):
        for values, value in zip(zip(*columns, strict=True), got.tolist(), strict=True):
            expected = reference(*values)
            if expected == exact.NAN:
                assert exact.is_nan(value, form), (text, [hex(v) for v in values], hex(value))
            else:
                assert value == expected, (text, [hex(v) for v in values], hex(value), expected)


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("form", ["f32", "f64"])
def test_arithmetic_in_all_rounding_modes(form: str, uniform: bool) -> None:
    inputs = pairs(FLOAT[form], 40, 11, 3)
    texts: dict[str, Callable[..., int | str]] = {}
    for m in MODES:
        texts |= {
            f"add.{m}.{form} {{d}}, {{a}}, {{b}}": lambda a, b, c, m=m: exact.added(a, b, form, m),
            f"mul.{m}.{form} {{d}}, {{a}}, {{b}}": lambda a, b, c, m=m: exact.multiplied(
                a, b, form, m
            ),
            f"div.{m}.{form} {{d}}, {{a}}, {{b}}": lambda a, b, c, m=m: exact.divided(
                a, b, form, m
            ),
            f"sqrt.{m}.{form} {{d}}, {{a}}": lambda a, b, c, m=m: exact.rooted(a, form, m),
            f"rcp.{m}.{form} {{d}}, {{a}}": lambda a, b, c, m=m: exact.divided(
                exact.rounded(Fraction(1), form), a, form, m
            ),
            f"fma.{m}.{form} {{d}}, {{a}}, {{b}}, {{c}}": lambda a, b, c, m=m: exact.fused(
                a, b, c, form, m
            ),
        }
    check(texts, inputs, form, uniform)


@pytest.mark.parametrize("form", ["f32", "f64"])
def test_sums_that_nearly_cancel(form: str) -> None:
    """Fused results whose product and addend almost agree, where the error terms matter most."""
    rng = np.random.default_rng(5)
    a = (1 + rng.random(400)).astype(FLOAT[form])
    b = (1 + rng.random(400)).astype(FLOAT[form])
    c = -(a * b) * (1 + rng.integers(-2, 3, 400) * np.finfo(FLOAT[form]).eps).astype(FLOAT[form])
    texts = {
        f"fma.{m}.{form} {{d}}, {{a}}, {{b}}, {{c}}": lambda a, b, c, m=m: exact.fused(
            a, b, c, form, m
        )
        for m in MODES
    }
    check(texts, [a, b, c], form, False)


def subtracted(a: int, b: int, form: str, mode: str) -> int | str:
    return exact.added(a, b ^ 1 << (exact.FORMATS[form][0] - 1), form, mode)


@pytest.mark.parametrize("form", ["f32", "f64"])
def test_subtraction_and_signs(form: str) -> None:
    top = 1 << (exact.FORMATS[form][0] - 1)
    inputs = pairs(FLOAT[form], 40, 13)
    texts: dict[str, Callable[..., int | str]] = {
        f"sub.{m}.{form} {{d}}, {{a}}, {{b}}": lambda a, b, m=m: subtracted(a, b, form, m)
        for m in MODES
    }
    texts[f"abs.{form} {{d}}, {{a}}"] = lambda a, b: a & ~top
    texts[f"neg.{form} {{d}}, {{a}}"] = lambda a, b: a ^ top
    texts[f"copysign.{form} {{d}}, {{a}}, {{b}}"] = lambda a, b: b & ~top | a & top
    check(texts, inputs, form, False)


def ordered(a: int, form: str) -> tuple[Fraction | float, int]:
    """A key that sorts patterns by value, -0 below +0."""
    if exact.is_infinite(a, form):
        return (float("-inf") if exact.sign_of(a, form) else float("inf"), 0)
    return (exact.value_of(a, form), 1 - exact.sign_of(a, form))


def extreme(a: int, b: int, form: str, pick: Callable[..., int], nan: bool) -> int | str:
    if exact.is_nan(a, form) or exact.is_nan(b, form):
        if nan or (exact.is_nan(a, form) and exact.is_nan(b, form)):
            return exact.NAN
        return b if exact.is_nan(a, form) else a
    return pick(a, b, key=lambda x: ordered(x, form))


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("form", ["f32", "f64"])
def test_minimum_and_maximum(form: str, uniform: bool) -> None:
    texts: dict[str, Callable[..., int | str]] = {}
    for op, pick in (("min", min), ("max", max)):
        texts[f"{op}.{form} {{d}}, {{a}}, {{b}}"] = lambda a, b, p=pick: extreme(
            a, b, form, p, False
        )
        if form == "f32":
            texts[f"{op}.NaN.{form} {{d}}, {{a}}, {{b}}"] = lambda a, b, p=pick: extreme(
                a, b, form, p, True
            )
    check(texts, pairs(FLOAT[form], 40, 17), form, uniform)


def flushed(a: int) -> int:
    return a & 0x80000000 if a & 0x7F800000 == 0 else a


def flush_result(r: int | str) -> int | str:
    return flushed(r) if isinstance(r, int) else r


def saturated(r: int | str) -> int:
    if r == exact.NAN or exact.sign_of(int(r), "f32"):
        return 0
    return min(int(r), 0x3F800000)


def test_flush_to_zero_and_saturation() -> None:
    f = "f32"
    texts: dict[str, Callable[..., int | str]] = {
        "add.ftz.f32 {d}, {a}, {b}": lambda a, b: flush_result(
            exact.added(flushed(a), flushed(b), f)
        ),
        "mul.ftz.f32 {d}, {a}, {b}": lambda a, b: flush_result(
            exact.multiplied(flushed(a), flushed(b), f)
        ),
        "fma.rn.ftz.sat.f32 {d}, {a}, {b}, {a}": lambda a, b: saturated(
            flush_result(exact.fused(flushed(a), flushed(b), flushed(a), f))
        ),
        "add.sat.f32 {d}, {a}, {b}": lambda a, b: saturated(exact.added(a, b, f)),
        "mul.sat.f32 {d}, {a}, {b}": lambda a, b: saturated(exact.multiplied(a, b, f)),
        "abs.ftz.f32 {d}, {a}": lambda a, b: (
            exact.NAN if exact.is_nan(a, f) else flushed(a) & 0x7FFFFFFF
        ),
        "div.full.f32 {d}, {a}, {b}": lambda a, b: exact.divided(a, b, f),
        "rcp.approx.f32 {d}, {a}": lambda a, b: exact.divided(0x3F800000, a, f),
        "sqrt.approx.f32 {d}, {a}": lambda a, b: exact.rooted(a, f),
    }
    check(texts, pairs(np.float32, 60, 19), f, False)


COMPARISONS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("form", ["f32", "f64"])
def test_comparisons(form: str, uniform: bool) -> None:
    a, b = pairs(FLOAT[form], 40, 23)
    texts, expected = [], []
    unordered = np.isnan(a) | np.isnan(b)
    for name, compare in COMPARISONS.items():
        holds = compare(a, b)
        texts.append(
            (f"setp.{name}.{form} {{p}}, {{a}}, {{b}}; selp.b32 {{d}}, 1, 0, {{p}}", np.uint32)
        )
        expected.append(holds & ~unordered)
        texts.append(
            (f"setp.{name}u.{form} {{p}}, {{a}}, {{b}}; selp.b32 {{d}}, 1, 0, {{p}}", np.uint32)
        )
        expected.append(holds | unordered)
    for name, values in (("num", ~unordered), ("nan", unordered)):
        texts.append(
            (f"setp.{name}.{form} {{p}}, {{a}}, {{b}}; selp.b32 {{d}}, 1, 0, {{p}}", np.uint32)
        )
        expected.append(values)
    texts.append((f"set.gt.f32.{form} {{d}}, {{a}}, {{b}}", np.uint32))
    expected.append(np.where((a > b) & ~unordered, 0x3F800000, 0))
    for (text, _), got, want in zip(
        texts, evaluate(texts, [a, b], uniform=uniform), expected, strict=True
    ):
        assert np.array_equal(got, want.astype(np.uint32)), text


def test_class_tests() -> None:
    a = operands(np.float32, 200, 29)
    size = np.abs(a)
    tiny = np.finfo(np.float32).tiny
    expected = {
        "finite": np.isfinite(a),
        "infinite": np.isinf(a),
        "number": ~np.isnan(a),
        "notanumber": np.isnan(a),
        "normal": np.isfinite(a) & (size >= tiny),
        "subnormal": (size < tiny) & (size > 0),
    }
    texts = [
        (f"testp.{n}.f32 {{p}}, {{a}}; selp.b32 {{d}}, 1, 0, {{p}}", np.uint32) for n in expected
    ]
    for name, got in zip(expected, evaluate(texts, [a], uniform=False), strict=True):
        assert np.array_equal(got.astype(bool), expected[name]), name


@pytest.mark.parametrize("form", ["f16", "bf16"])
def test_half_precisions(form: str) -> None:
    rng = np.random.default_rng(31)
    one = exact.rounded(Fraction(1), form)
    top = exact.infinity(form, 0)
    edges = [0, 1 << 15, one, one | 1 << 15, 1, 2, top, top | 1 << 15, one + 1, one - 1, top - 1]
    pool = np.concatenate(
        [np.array(edges, np.uint16), rng.integers(0, 1 << 16, 300, dtype=np.uint16)]
    )
    inputs = [pool[rng.integers(0, len(pool), 1500)] for _ in range(3)]
    texts: dict[str, Callable[..., int | str]] = {
        f"add.rn.{form} {{d}}, {{a}}, {{b}}": lambda a, b, c: exact.added(a, b, form),
        f"sub.rn.{form} {{d}}, {{a}}, {{b}}": lambda a, b, c: subtracted(a, b, form, "rn"),
        f"mul.rn.{form} {{d}}, {{a}}, {{b}}": lambda a, b, c: exact.multiplied(a, b, form),
        f"fma.rn.{form} {{d}}, {{a}}, {{b}}, {{c}}": lambda a, b, c: exact.fused(a, b, c, form),
        f"neg.{form} {{d}}, {{a}}": lambda a, b, c: a ^ 0x8000,
        f"abs.{form} {{d}}, {{a}}": lambda a, b, c: a & 0x7FFF,
        f"min.{form} {{d}}, {{a}}, {{b}}": lambda a, b, c: extreme(a, b, form, min, False),
    }
    check(texts, inputs, form, False)


def test_packed_halves() -> None:
    rng = np.random.default_rng(37)
    a, b, c = (rng.integers(0, 1 << 32, 500, dtype=np.uint32) for _ in range(3))
    (got,) = evaluate([("fma.rn.f16x2 {d}, {a}, {b}, {c}", np.uint32)], [a, b, c], uniform=False)
    for x, y, z, value in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
        for shift in (0, 16):
            expected = exact.fused(*(v >> shift & 0xFFFF for v in (x, y, z)), "f16")
            part = value >> shift & 0xFFFF
            assert part == expected or (expected == exact.NAN and exact.is_nan(part, "f16"))


def test_approximations_are_close() -> None:
    """ex2, lg2, sin, cos, tanh, rsqrt are within two units in the last place of NumPy's doubles."""
    rng = np.random.default_rng(41)
    x = np.concatenate([rng.standard_normal(500) * 20, rng.random(500), [0.0, 1.0, 2.0]])
    x = x.astype(np.float32)
    texts = [
        (f"{op}.approx.f32 {{d}}, {{a}}", np.float32)
        for op in ("ex2", "lg2", "sin", "cos", "tanh", "rsqrt")
    ]
    got = evaluate(texts, [x], uniform=False)
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        expected = [
            np.exp2(wide),
            np.log2(wide),
            np.sin(wide),
            np.cos(wide),
            np.tanh(wide),
            1 / np.sqrt(wide),
        ]
    for (text, _), values, want in zip(texts, got, expected, strict=True):
        single = want.astype(np.float32)
        ulp = np.spacing(np.abs(single))
        close = np.abs(values.astype(np.float64) - want) <= 2 * ulp
        same = (values == single) | (np.isnan(values) & np.isnan(single))
        assert np.all(close | same), text
