"""Video instructions and fns against Python's integers, from the pseudocode in the PTX ISA."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from cuda_run import run
from ptx_harness import evaluate, pairs

M32 = (1 << 32) - 1
TYPES = ("u32", "s32")
COMPARE = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def signed(x, bits):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def part(word, start, bits, type_):
    field = word >> start & ((1 << bits) - 1)
    return signed(field, bits) if type_ == "s32" else field


def operate(name, a, b):
    if name == "vadd":
        return a + b
    if name == "vsub":
        return a - b
    if name == "vabsdiff":
        return abs(a - b)
    if name == "vmin":
        return min(a, b)
    if name == "vmax":
        return max(a, b)
    # vavrg: the mean, a half rounded away from zero.
    total = a + b
    return (total + (total >= 0)) >> 1


def saturated(value, bits, type_):
    low, high = (
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type_ == "s32" else (0, (1 << bits) - 1)
    )
    return max(low, min(high, value))


def check(texts, inputs, uniform):
    results = evaluate([(t, np.uint32) for t, _ in texts], inputs, uniform=uniform)
    rows = list(zip(*(x.tolist() for x in inputs), strict=True))
    for (text, reference), got in zip(texts, results, strict=True):
        for row, found in zip(rows, got.tolist(), strict=True):
            assert found == reference(*row) & M32, (text, [hex(v) for v in row], hex(found))


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("name", ["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg"])
def test_operations_on_all_parts(name, count):
    bits = 32 // count
    texts = []
    for d in TYPES:
        for a_type, b_type in ((d, d), ("u32", "s32"), ("s32", "u32")):
            for mode in ("", ".sat", ".add"):

                def reference(a, b, c, d=d, a_type=a_type, b_type=b_type, mode=mode):
                    out = c if mode == ".add" else 0
                    for n in range(count):
                        x, y = part(a, bits * n, bits, a_type), part(b, bits * n, bits, b_type)
                        value = operate(name, x, y)
                        if mode == ".sat":
                            value = saturated(value, bits, d)
                        if mode == ".add":
                            out += value
                        else:
                            out |= (value & ((1 << bits) - 1)) << bits * n
                    return out

                opcode = f"{name}{count}.{d}.{a_type}.{b_type}{mode}"
                texts.append((f"{opcode} {{d}}, {{a}}, {{b}}, {{c}}", reference))
    check(texts, [x[:200] for x in pairs(np.uint32, 30, count, 3)], uniform=False)


@pytest.mark.parametrize("count", [2, 4])
def test_comparisons_of_all_parts(count):
    bits = 32 // count
    texts = []
    for type_ in TYPES:
        for condition, compare in COMPARE.items():
            for add in ("", ".add"):

                def reference(a, b, c, type_=type_, compare=compare, add=add):
                    flags = [
                        int(compare(part(a, bits * n, bits, type_), part(b, bits * n, bits, type_)))
                        for n in range(count)
                    ]
                    if add:
                        return c + sum(flags)
                    return sum(f << bits * n for n, f in enumerate(flags))

                opcode = f"vset{count}.{type_}.{type_}.{condition}{add}"
                texts.append((f"{opcode} {{d}}, {{a}}, {{b}}, {{c}}", reference))
    check(texts, [x[:200] for x in pairs(np.uint32, 30, count + 5, 3)], uniform=False)


SELECTORS = {
    "": (0, 32),
    ".b0": (0, 8),
    ".b2": (16, 8),
    ".b3": (24, 8),
    ".h0": (0, 16),
    ".h1": (16, 16),
}


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("name", ["vadd", "vsub", "vabsdiff", "vmin", "vmax"])
def test_operations_on_one_part(name, uniform):
    texts = []
    selectors = list(SELECTORS)
    for n, d in enumerate(TYPES * 6):
        a_type, b_type = TYPES[n & 1], TYPES[n >> 1 & 1]
        a_part, b_part = selectors[n % 6], selectors[(n + 2) % 6]
        sat = ".sat" if n % 3 else ""
        for second in ("", ".add", ".min", ".max", ".b1", ".h1"):
            target = second if second[1:2] in ("b", "h") else ""

            def reference(a, b, c, d=d, t=(a_type, b_type), p=(a_part, b_part), sat=sat,
                          second=second, target=target):  # fmt: skip
                x, y = (part(v, *SELECTORS[s], q) for v, s, q in zip((a, b), p, t, strict=True))
                value = operate(name, x, y)
                start, bits = {**SELECTORS, ".b1": (8, 8)}[target]
                if sat:
                    value = saturated(value, bits, d)
                if target:
                    mask = ((1 << bits) - 1) << start
                    return c & ~mask | value << start & mask
                value = signed(value, 32) if d == "s32" else value & M32
                other = signed(c, 32) if d == "s32" else c
                if second == ".add":
                    return value + other
                return {".min": min, ".max": max}.get(second, lambda v, _: v)(value, other)

            opcode = f"{name}.{d}.{a_type}.{b_type}{sat}{'' if target else second}"
            third = ", {c}" if second else ""
            texts.append(
                (f"{opcode} {{d}}{target}, {{a}}{a_part}, {{b}}{b_part}{third}", reference)
            )
    count = 40 if uniform else 150
    check(texts, [x[:count] for x in pairs(np.uint32, 25, 3, 3)], uniform=uniform)


def test_shifts_and_comparisons_of_one_part():
    texts = []
    for a_type in TYPES:
        for mode in ("clamp", "wrap"):
            for name in ("vshl", "vshr"):

                def reference(a, b, c, a_type=a_type, mode=mode, name=name):
                    amount = b & 31 if mode == "wrap" else min(b, 32)
                    value = part(a, 0, 32, a_type)
                    return value << amount if name == "vshl" else value >> amount

                opcode = f"{name}.{a_type}.{a_type}.u32.{mode}"
                texts.append((f"{opcode} {{d}}, {{a}}, {{b}}", reference))
        for condition, compare in COMPARE.items():
            texts.append(
                (
                    f"vset.{a_type}.u32.{condition} {{d}}, {{a}}.h1, {{b}}.b0",
                    lambda a, b, c, t=a_type, f=compare: int(f(part(a, 16, 16, t), b & 255)),
                )
            )
    check(texts, [x[:200] for x in pairs(np.uint32, 30, 8, 3)], uniform=False)


def nth_set(mask, base, offset):
    """PTX ISA, fns."""
    if offset == 0:
        return base if mask >> base & 1 else M32
    position, left = base, abs(offset) - 1
    step = 1 if offset > 0 else -1
    while 0 <= position < 32:
        if mask >> position & 1:
            if left == 0:
                return position
            left -= 1
        position += step
    return M32


@pytest.mark.parametrize("uniform", [False, True])
def test_nth_set_bit(uniform):
    rng = np.random.default_rng(6)
    n = 100 if uniform else 1500
    masks = rng.integers(0, 1 << 32, n).astype(np.uint32)
    masks[: n // 4] &= rng.integers(0, 1 << 32, n // 4).astype(np.uint32)
    masks[-4:] = (0, M32, 1, 1 << 31)
    base = rng.integers(0, 32, n).astype(np.uint32)
    offset = rng.integers(-34, 35, n).astype(np.int32)
    offset[-2:] = (-(2**31), 2**31 - 1)
    (got,) = evaluate(
        [("fns.b32 {d}, {a}, {b}, {c}", np.uint32)], [masks, base, offset], uniform=uniform
    )
    rows = zip(masks.tolist(), base.tolist(), offset.tolist(), strict=True)
    assert got.tolist() == [nth_set(*row) for row in rows]


def test_intrinsics_of_cuda():
    source = """
    extern "C" __global__ void k(unsigned* out, const unsigned* a, const unsigned* b) {
        int i = threadIdx.x;
        unsigned x = a[i], y = b[i];
        unsigned* o = out + 8 * i;
        o[0] = __vabsdiffu4(x, y); o[1] = __vabsdiffs2(x, y); o[2] = __vsadu4(x, y);
        o[3] = __vaddus4(x, y);    o[4] = __vavgs2(x, y);     o[5] = __vmaxs4(x, y);
        o[6] = __vcmpgtu2(x, y);   o[7] = __vsubss2(x, y);
    }"""
    a, b = (x[:64].copy() for x in pairs(np.uint32, 30, 12))
    found = run(source, "k", 1, 64, out=np.zeros((64, 8), np.uint32), a=a, b=b).output("out")
    b4, h2 = [(8 * n, 8) for n in range(4)], [(0, 16), (16, 16)]

    def each(fields, type_, f):
        rows = []
        for x, y in zip(a.tolist(), b.tolist(), strict=True):
            values = [f(part(x, s, w, type_), part(y, s, w, type_)) for s, w in fields]
            rows.append(
                sum((v & ((1 << w) - 1)) << s for v, (s, w) in zip(values, fields, strict=True))
            )
        return rows

    expected = [
        each(b4, "u32", lambda x, y: abs(x - y)),
        each(h2, "s32", lambda x, y: abs(x - y)),
        [sum(abs((x >> s & 255) - (y >> s & 255)) for s, _ in b4)
         for x, y in zip(a.tolist(), b.tolist(), strict=True)],
        each(b4, "u32", lambda x, y: min(255, x + y)),
        each(h2, "s32", lambda x, y: operate("vavrg", x, y)),
        each(b4, "s32", max),
        each(h2, "u32", lambda x, y: 0xFFFF if x > y else 0),
        each(h2, "s32", lambda x, y: saturated(x - y, 16, "s32")),
    ]  # fmt: skip
    for column, want in enumerate(expected):
        assert found[:, column].tolist() == want, column
