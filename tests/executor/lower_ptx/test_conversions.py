"""cvt between all types against exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import exact_floats as exact
import numpy as np
import pytest
from ptx_harness import evaluate, operands

from placewise.executor import translate
from placewise.executor.codegen.backend.processor import Processor, this_processor
from placewise.executor.codegen.state import Options

INTEGERS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
NUMPY = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}


@pytest.fixture
def without_avx512(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Code for a processor that has no conversions of unsigned numbers."""
    here = this_processor()
    features = tuple(f"-{f[1:]}" if f.startswith("+avx512") else f for f in here.features)
    lesser = Processor(here.name, features)
    monkeypatch.setattr(translate, "Options", partial(Options, processor=lesser))
    translate.translate.cache_clear()
    yield
    translate.translate.cache_clear()


def integer_range(type_: str) -> tuple[int, int]:
    bits = int(type_[1:])
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type_[0] == "s" else (0, (1 << bits) - 1)


def wrapped(x: int, type_: str) -> int:
    bits = int(type_[1:])
    x &= (1 << bits) - 1
    return x - (1 << bits) if type_[0] == "s" and x >> (bits - 1) else x


def float_inputs(form: str, seed: int) -> np.ndarray:
    if form in ("f32", "f64"):
        dtype = np.float32 if form == "f32" else np.float64
        edges = [
            2.0**31,
            -(2.0**31),
            2.0**32,
            2.0**63,
            2.0**64,
            -(2.0**63),
            127.5,
            -128.5,
            255.5,
            65504.0,
            65520.0,
        ]
        rng = np.random.default_rng(seed)
        scaled = rng.standard_normal(300) * 2.0 ** rng.integers(-30, 66, 300)
        return np.concatenate([operands(dtype, 200, seed, edges), scaled.astype(dtype)]).view(
            NUMPY[form]
        )
    return np.random.default_rng(seed).integers(0, 1 << 16, 800, dtype=np.uint16)


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("form", ["f32", "f64", "f16"])
def test_float_to_integer(form: str, uniform: bool) -> None:
    a = float_inputs(form, 43)
    cases = [(to, mode) for to in INTEGERS for mode in ("rni", "rzi", "rmi", "rpi")]
    texts = [
        (f"cvt.{mode}.{to}.{form} {{d}}, {{a}}", np.uint64 if to[1:] == "64" else np.uint32)
        for to, mode in cases
    ]
    for (to, mode), got in zip(cases, evaluate(texts, [a], uniform=uniform), strict=True):
        low, high = integer_range(to)
        width = 64 if to[1:] == "64" else 32
        for bits, value in zip(a.tolist(), got.tolist(), strict=True):
            if exact.is_nan(bits, form):
                continue
            if exact.is_infinite(bits, form):
                expected = low if exact.sign_of(bits, form) else high
            else:
                expected = max(low, min(high, exact.to_whole(exact.value_of(bits, form), mode)))
            assert value == expected % (1 << width), (to, mode, hex(bits), value, expected)


@pytest.mark.parametrize("form", ["f32", "f64"])
def test_nan_to_integer(form: str) -> None:
    """PTX ISA, cvt: 0 for narrow types of singles, else the number with only the top bit set."""
    a = np.array([np.nan] * 4, np.float32 if form == "f32" else np.float64)
    texts = [
        (f"cvt.rzi.{t}.{form} {{d}}, {{a}}", np.dtype(f"u{int(t[1:]) // 8}").type)
        for t in ("s32", "u32", "s64", "u64")
    ]
    for (text, _), got in zip(texts, evaluate(texts, [a], uniform=False), strict=True):
        bits = got.dtype.itemsize * 8
        expected = 0 if form == "f32" and bits == 32 else 1 << (bits - 1)
        assert got.tolist() == [expected] * 4, text


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("of", INTEGERS)
def test_integer_to_float(of: str, uniform: bool) -> None:
    bits = int(of[1:])
    held = max(bits, 16)
    a = operands(
        np.dtype(f"u{held // 8}").type, 200, 47, [(1 << 24) + 1, (1 << 25) + 2] if bits > 25 else ()
    )
    if bits == 64:
        a = np.concatenate(
            [
                a,
                np.array(
                    [(1 << 53) + 1, (1 << 63) + (1 << 10), (1 << 62) + 1, (1 << 63) + 1025],
                    np.uint64,
                ),
            ]
        )
    cases = [(to, m) for to in ("f16", "f32", "f64") for m in ("rn", "rz", "rm", "rp")]
    texts = [(f"cvt.{m}.{to}.{of} {{d}}, {{a}}", NUMPY[to]) for to, m in cases]
    for (to, m), got in zip(cases, evaluate(texts, [a], uniform=uniform), strict=True):
        for x, value in zip(a.tolist(), got.tolist(), strict=True):
            assert value == exact.rounded(Fraction(wrapped(x, of)), to, m), (to, m, x)


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.usefixtures("without_avx512")
def test_unsigned_to_float_elsewhere(uniform: bool) -> None:
    for of in ("u8", "u16", "u32", "u64"):
        test_integer_to_float(of, uniform)


@pytest.mark.parametrize("uniform", [False, True])
def test_float_to_float(uniform: bool) -> None:
    for of in ("f64", "f32", "f16", "bf16"):
        a = float_inputs(of, 53)
        cases = [(to, m) for to in ("f32", "f16") for m in ("rn", "rz", "rm", "rp") if to != of]
        cases += [("bf16", "rn"), ("bf16", "rz")] if of == "f32" else []
        cases = [
            (to, m) for to, m in cases if exact.FORMATS[of][1] > exact.FORMATS[to][1] or m == "rn"
        ]
        texts = []
        for to, m in cases:
            widens = (
                exact.FORMATS[of][1] < exact.FORMATS[to][1]
                and exact.FORMATS[of][0] < exact.FORMATS[to][0]
            )
            mode = "" if widens else f".{m}"
            texts.append((f"cvt{mode}.{to}.{of} {{d}}, {{a}}", NUMPY[to]))
        for (to, m), got in zip(cases, evaluate(texts, [a], uniform=uniform), strict=True):
            for x, value in zip(a.tolist(), got.tolist(), strict=True):
                expected = exact.converted(x, of, to, m)
                good = exact.is_nan(value, to) if expected == exact.NAN else value == expected
                assert good, (of, to, m, hex(x), hex(value), expected)


def test_widening_to_double() -> None:
    a = float_inputs("f32", 59)
    (got,) = evaluate([("cvt.f64.f32 {d}, {a}", np.float64)], [a], uniform=False)
    assert np.array_equal(got, a.view(np.float32).astype(np.float64), equal_nan=True)


@pytest.mark.parametrize("form", ["f32", "f64"])
def test_round_to_whole_number(form: str) -> None:
    a = float_inputs(form, 61)
    cases = ["rni", "rzi", "rmi", "rpi"]
    texts = [(f"cvt.{m}.{form}.{form} {{d}}, {{a}}", NUMPY[form]) for m in cases]
    for m, got in zip(cases, evaluate(texts, [a], uniform=False), strict=True):
        for x, value in zip(a.tolist(), got.tolist(), strict=True):
            if exact.is_nan(x, form):
                assert exact.is_nan(value, form)
            elif exact.is_infinite(x, form):
                assert value == x
            else:
                whole = Fraction(exact.to_whole(exact.value_of(x, form), m))
                assert value == exact.rounded(whole, form, "rn", exact.sign_of(x, form)), (
                    m,
                    hex(x),
                )


def test_integer_to_integer() -> None:
    a = operands(np.uint64, 200, 67)
    cases = [(to, of, sat) for to in INTEGERS for of in INTEGERS for sat in ("", ".sat")]
    texts = [(f"cvt{sat}.{to}.{of} {{d}}, {{a}}", np.uint64) for to, of, sat in cases]
    for (to, of, sat), got in zip(cases, evaluate(texts, [a], uniform=False), strict=True):
        low, high = integer_range(to)
        for x, value in zip(a.tolist(), got.tolist(), strict=True):
            y = wrapped(x, of)
            y = max(low, min(high, y)) if sat else wrapped(y, to)
            assert value == y % (1 << 64), (to, of, sat, hex(x))


def test_packing_conversions() -> None:
    rng = np.random.default_rng(71)
    a, b = (float_inputs("f32", s) for s in (73, 79))
    texts = [
        ("cvt.rn.f16x2.f32 {d}, {a}, {b}", np.uint32),
        ("cvt.rn.bf16x2.f32 {d}, {a}, {b}", np.uint32),
    ]
    for form, got in zip(("f16", "bf16"), evaluate(texts, [a, b], uniform=False), strict=True):
        for x, y, value in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
            for source, part in ((x, value >> 16), (y, value & 0xFFFF)):
                expected = exact.converted(source, "f32", form)
                assert part == expected or (expected == exact.NAN and exact.is_nan(part, form))
    i, j = (
        rng.integers(-(1 << 31), 1 << 31, 100, dtype=np.int64).astype(np.int32) // 65536
        for _ in range(2)
    )
    c = rng.integers(0, 1 << 32, 100, dtype=np.uint32)
    (got,) = evaluate(
        [("cvt.pack.sat.u8.s32.b32 {d}, {a}, {b}, {c}", np.uint32)], [i, j, c], uniform=False
    )
    for x, y, z, value in zip(i.tolist(), j.tolist(), c.tolist(), got.tolist(), strict=True):
        u8 = [max(0, min(255, v)) for v in (y, x)]
        assert value == (u8[0] | u8[1] << 8 | z << 16) & 0xFFFFFFFF
