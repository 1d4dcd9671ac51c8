"""Every form of every scalar arithmetic instruction against the reference's exact arithmetic.

The reference (``reference/``) computes on Python's integers and has tests of its own against NumPy.
"""

from __future__ import annotations

import functools
import zlib

import numpy as np
import pytest
from instruction_forms import ARITHMETIC, CONVERSIONS, PREDICATES, all_of
from ptx_harness import evaluate, operands
from reference.arithmetic import comparison, operation
from reference.floats import FORMATS, decode
from reference.integers import WIDTHS, mask

_BATCH = 40
_NUMPY = {8: np.uint16, 16: np.uint16, 32: np.uint32, 64: np.uint64, 1: np.uint16}


@functools.cache
def values(type_, seed, count):
    """Patterns of a type: edges and random ones, as unsigned integers."""
    rng = np.random.default_rng(seed)
    bits = WIDTHS[type_]
    if type_ in ("f32", "f64", "f16"):
        kind = {"f32": np.float32, "f64": np.float64, "f16": np.float16}[type_]
        pool = operands(kind, count, seed).view(_NUMPY[bits])
    elif type_ in ("f16x2", "bf16x2", "u16x2", "s16x2"):
        halves = values(type_[:-2], seed, count)
        pool = rng.permutation(halves).astype(np.uint32) << 16 | rng.permutation(halves)
    elif type_ == "f32x2":
        words = values("f32", seed, count)
        pool = rng.permutation(words).astype(np.uint64) << np.uint64(32) | rng.permutation(words)
    elif type_ == "bf16":
        pool = (values("f32", seed, count) >> 16).astype(np.uint16)
    elif bits == 8:
        pool = rng.integers(0, 1 << 16, 2 * count).astype(np.uint16)
    else:
        kind = {16: np.uint16, 32: np.uint32, 64: np.uint64}[bits]
        pool = operands(kind, count, seed)
    return rng.permutation(pool)


def columns(sources, seed, length, opcode):
    """Operand arrays of equal length, with divisors for which the PTX ISA defines a result."""
    found = []
    for n, type_ in enumerate(sources):
        pool = values(type_, seed + 7 * n, 150)
        picked = np.resize(pool, length)
        if n == 1 and opcode.split(".")[0] in ("div", "rem") and type_[0] in "us":
            picked = np.where(picked == 0, 3, picked).astype(picked.dtype)
            if type_[0] == "s":
                # The least number by -1 has no result.
                lowest = 1 << (WIDTHS[type_] - 1)
                overflow = (found[0] == lowest) & (picked == mask(WIDTHS[type_]))
                picked = np.where(overflow, 5, picked).astype(picked.dtype)
        found.append(picked)
    return found


def is_nan(pattern, type_):
    return type_ in FORMATS and decode(pattern, FORMATS[type_]).kind == "nan"


def same(found, expected, type_):
    """Equal patterns; any NaN stands for any other, element by element."""
    if type_ in ("f16x2", "bf16x2", "f32x2"):
        bits = WIDTHS[type_] // 2
        pairs = ((found >> s & mask(bits), expected >> s & mask(bits)) for s in (0, bits))
        return all(same(f, e, type_[:-2]) for f, e in pairs)
    return found == expected or (is_nan(found, type_) and is_nan(expected, type_))


def plan_arithmetic(opcode):
    """(source types, result type, function, instruction text)"""
    parts = tuple(opcode.split("."))
    shape = operation(parts)
    assert shape is not None, f"the reference does not know {opcode}"
    sources, result, function = shape
    names = ["{a}", "{b}", "{c}", "{e}"][: len(sources)]
    return sources, result, function, f"{opcode} {{d}}, {', '.join(names)}"


def plan_predicate(opcode):
    parts = tuple(opcode.split("."))
    of = parts[-1]
    if parts[0] == "testp":
        _, _, function = operation(parts)
        return (of,), "u16", function, f"{opcode} {{p}}, {{a}}; selp.u16 {{d}}, 1, 0, {{p}}"
    compare = comparison(parts, of)
    if parts[0] == "setp":
        text = f"{opcode} {{p}}, {{a}}, {{b}}; selp.u16 {{d}}, 1, 0, {{p}}"
        return (of, of), "u16", lambda a, b: compare(a, b)[0], text
    to = parts[-2]
    ones = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}
    one = ones.get(to, mask(WIDTHS[to]))

    def chosen(a, b):
        return sum((one if holds else 0) << 16 * n for n, holds in enumerate(compare(a, b)))

    return (of, of), to, chosen, f"{opcode} {{d}}, {{a}}, {{b}}"


def check(opcodes, plan, length, *, uniform):
    """Run opcodes of equal operand types together and compare every result."""
    groups = {}
    for opcode in opcodes:
        sources, result, function, text = plan(opcode)
        groups.setdefault(sources, []).append((opcode, result, function, text))
    wrong = []
    for sources, members in groups.items():
        for start in range(0, len(members), _BATCH):
            batch = members[start : start + _BATCH]
            seed = zlib.crc32(repr(sources).encode()) % 1000
            kind = "div." if any(o.split(".")[0] in ("div", "rem") for o, *_ in batch) else ""
            given = columns(sources, seed, length, kind)
            texts = [(text, _NUMPY[WIDTHS[result]]) for _, result, _, text in batch]
            results = evaluate(texts, given, uniform=uniform)
            rows = list(zip(*(g.tolist() for g in given), strict=True))
            for (opcode, result, function, _), got in zip(batch, results, strict=True):
                for row, found in zip(rows, got.tolist(), strict=True):
                    arguments = [v & mask(WIDTHS[t]) for v, t in zip(row, sources, strict=True)]
                    expected = function(*arguments) & mask(WIDTHS[result])
                    if not same(found & mask(WIDTHS[result]), expected, result):
                        wrong.append((opcode, [hex(v) for v in row], hex(found), hex(expected)))
                        break
    assert not wrong, wrong[:5]


KINDS = {
    "arithmetic": (all_of(ARITHMETIC), plan_arithmetic),
    "predicates": (all_of(PREDICATES), plan_predicate),
    "conversions": (all_of(CONVERSIONS), plan_arithmetic),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_form(kind):
    opcodes, plan = KINDS[kind]
    check(opcodes, plan, 24, uniform=False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("uniform", [False, True])
def test_every_form_on_many_values(kind, uniform):
    opcodes, plan = KINDS[kind]
    check(opcodes, plan, 60 if uniform else 300, uniform=uniform)
