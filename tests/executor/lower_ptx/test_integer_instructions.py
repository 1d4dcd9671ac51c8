"""Integer instructions against Python's exact integers."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_harness import evaluate, pairs

from placewise.executor import execute
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch

M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def signed(x: int, bits: int) -> int:
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def quotient(a: int, b: int) -> int:
    """C division: toward zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def clamp(x: int, low: int, high: int) -> int:
    return max(low, min(high, x))


def bits_reversed(x: int, bits: int) -> int:
    return int(format(x & ((1 << bits) - 1), f"0{bits}b")[::-1], 2)


def bfe(a: int, b: int, c: int, bits: int, is_signed: bool) -> int:
    """As the PTX ISA defines it, bit by bit."""
    pos, length, msb = b & 255, c & 255, bits - 1
    sign = 0
    if is_signed and length:
        sign = a >> min(pos + length - 1, msb) & 1
    d = 0
    for i in range(bits):
        inside = i < length and pos + i <= msb
        d |= (a >> (pos + i) & 1 if inside else sign) << i
    return d


def bfi(a: int, b: int, c: int, d: int, bits: int) -> int:
    pos, length, msb = c & 255, d & 255, bits - 1
    f = b
    i = 0
    while i < length and pos + i <= msb:
        f = f & ~(1 << (pos + i)) | (a >> i & 1) << (pos + i)
        i += 1
    return f


def prmt(a: int, b: int, c: int) -> int:
    source = (b << 32 | a).to_bytes(8, "little")
    out = 0
    for n in range(4):
        nibble = c >> 4 * n & 15
        byte = source[nibble & 7]
        if nibble & 8:
            byte = 255 if byte >> 7 else 0
        out |= byte << 8 * n
    return out


def lop3(a: int, b: int, c: int, table: int) -> int:
    return sum(
        (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i
        for i in range(32)
    )


def bfind(a: int, bits: int, is_signed: bool) -> int:
    if is_signed and a >> (bits - 1):
        a = ~a & ((1 << bits) - 1)
    return a.bit_length() - 1 if a else M32


def dp4a(a: int, b: int, c: int, sa: bool, sb: bool) -> int:
    total = c
    for n in range(4):
        x, y = a >> 8 * n & 255, b >> 8 * n & 255
        total += (signed(x, 8) if sa else x) * (signed(y, 8) if sb else y)
    return total


U32 = {
    "add.u32 {d}, {a}, {b}": lambda a, b, c: a + b,
    "sub.s32 {d}, {a}, {b}": lambda a, b, c: a - b,
    "add.sat.s32 {d}, {a}, {b}": lambda a, b, c: clamp(
        signed(a, 32) + signed(b, 32), -(1 << 31), (1 << 31) - 1
    ),
    "sub.sat.s32 {d}, {a}, {b}": lambda a, b, c: clamp(
        signed(a, 32) - signed(b, 32), -(1 << 31), (1 << 31) - 1
    ),
    "mul.lo.s32 {d}, {a}, {b}": lambda a, b, c: a * b,
    "mul.hi.s32 {d}, {a}, {b}": lambda a, b, c: signed(a, 32) * signed(b, 32) >> 32,
    "mul.hi.u32 {d}, {a}, {b}": lambda a, b, c: a * b >> 32,
    "mad.lo.u32 {d}, {a}, {b}, {c}": lambda a, b, c: a * b + c,
    "mad.hi.s32 {d}, {a}, {b}, {c}": lambda a, b, c: (signed(a, 32) * signed(b, 32) >> 32) + c,
    "mul24.lo.s32 {d}, {a}, {b}": lambda a, b, c: signed(a, 24) * signed(b, 24),
    "mul24.hi.u32 {d}, {a}, {b}": lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) >> 16,
    "mad24.lo.u32 {d}, {a}, {b}, {c}": lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c,
    "sad.s32 {d}, {a}, {b}, {c}": lambda a, b, c: abs(signed(a, 32) - signed(b, 32)) + c,
    "sad.u32 {d}, {a}, {b}, {c}": lambda a, b, c: abs(a - b) + c,
    "abs.s32 {d}, {a}": lambda a, b, c: abs(signed(a, 32)),
    "neg.s32 {d}, {a}": lambda a, b, c: -a,
    "min.s32 {d}, {a}, {b}": lambda a, b, c: min(signed(a, 32), signed(b, 32)),
    "max.u32 {d}, {a}, {b}": lambda a, b, c: max(a, b),
    "and.b32 {d}, {a}, {b}": lambda a, b, c: a & b,
    "or.b32 {d}, {a}, {b}": lambda a, b, c: a | b,
    "xor.b32 {d}, {a}, {b}": lambda a, b, c: a ^ b,
    "not.b32 {d}, {a}": lambda a, b, c: ~a,
    "cnot.b32 {d}, {a}": lambda a, b, c: int(a == 0),
    "shl.b32 {d}, {a}, {b}": lambda a, b, c: a << b if b < 32 else 0,
    "shr.u32 {d}, {a}, {b}": lambda a, b, c: a >> b if b < 32 else 0,
    "shr.s32 {d}, {a}, {b}": lambda a, b, c: signed(a, 32) >> min(b, 31),
    "shr.s32 {d}, {a}, 31": lambda a, b, c: signed(a, 32) >> 31,
    "shl.b32 {d}, {a}, 40": lambda a, b, c: 0,
    "shf.l.wrap.b32 {d}, {a}, {b}, {c}": lambda a, b, c: (b << 32 | a) << (c & 31) >> 32,
    "shf.l.clamp.b32 {d}, {a}, {b}, {c}": lambda a, b, c: (b << 32 | a) << min(c, 32) >> 32,
    "shf.r.wrap.b32 {d}, {a}, {b}, {c}": lambda a, b, c: (b << 32 | a) >> (c & 31),
    "shf.r.clamp.b32 {d}, {a}, {b}, {c}": lambda a, b, c: (b << 32 | a) >> min(c, 32),
    "bfe.u32 {d}, {a}, {b}, {c}": lambda a, b, c: bfe(a, b, c, 32, False),
    "bfe.s32 {d}, {a}, {b}, {c}": lambda a, b, c: bfe(a, b, c, 32, True),
    "bfe.s32 {d}, {a}, 4, 7": lambda a, b, c: bfe(a, 4, 7, 32, True),
    "bfe.s32 {d}, {a}, 4, 0": lambda a, b, c: 0,
    "bfi.b32 {d}, {a}, {b}, {c}, 9": lambda a, b, c: bfi(a, b, c, 9, 32),
    "bfi.b32 {d}, {a}, {b}, 5, {c}": lambda a, b, c: bfi(a, b, 5, c, 32),
    "bmsk.clamp.b32 {d}, {a}, {b}": lambda a, b, c: ((1 << min(b, 32)) - 1) << a if a < 32 else 0,
    "bmsk.wrap.b32 {d}, {a}, {b}": lambda a, b, c: ((1 << (b & 31)) - 1) << (a & 31),
    "szext.wrap.s32 {d}, {a}, {b}": lambda a, b, c: signed(a, b & 31) if b & 31 else 0,
    "clz.b32 {d}, {a}": lambda a, b, c: 32 - a.bit_length(),
    "popc.b32 {d}, {a}": lambda a, b, c: a.bit_count(),
    "brev.b32 {d}, {a}": lambda a, b, c: bits_reversed(a, 32),
    "bfind.u32 {d}, {a}": lambda a, b, c: bfind(a, 32, False),
    "bfind.s32 {d}, {a}": lambda a, b, c: bfind(a, 32, True),
    "bfind.shiftamt.u32 {d}, {a}": lambda a, b, c: 31 - bfind(a, 32, False) if a else M32,
    "prmt.b32 {d}, {a}, {b}, {c}": prmt,
    "prmt.b32 {d}, {a}, {b}, 0x7531": lambda a, b, c: prmt(a, b, 0x7531),
    "prmt.b32 {d}, {a}, {b}, 0x9ba0": lambda a, b, c: prmt(a, b, 0x9BA0),
    "prmt.b32.f4e {d}, {a}, {b}, {c}": lambda a, b, c: (b << 32 | a) >> 8 * (c & 3),
    "prmt.b32.b4e {d}, {a}, {b}, {c}": lambda a, b, c: prmt(
        a, b, sum(((c & 3) - n) % 8 << 4 * n for n in range(4))
    ),
    "prmt.b32.rc8 {d}, {a}, {b}, {c}": lambda a, b, c: (a >> 8 * (c & 3) & 255) * 0x01010101,
    "prmt.b32.rc16 {d}, {a}, {b}, {c}": lambda a, b, c: (a >> 16 * (c & 1) & 65535) * 0x10001,
    "prmt.b32.ecl {d}, {a}, {b}, {c}": lambda a, b, c: prmt(
        a, b, sum(max(n, c & 3) << 4 * n for n in range(4))
    ),
    "prmt.b32.ecr {d}, {a}, {b}, {c}": lambda a, b, c: prmt(
        a, b, sum(min(n, c & 3) << 4 * n for n in range(4))
    ),
    "dp4a.u32.u32 {d}, {a}, {b}, {c}": lambda a, b, c: dp4a(a, b, c, False, False),
    "dp4a.s32.u32 {d}, {a}, {b}, {c}": lambda a, b, c: dp4a(a, b, c, True, False),
    "dp2a.hi.u32.s32 {d}, {a}, {b}, {c}": lambda a, b, c: (
        c + sum((a >> 16 * n & 65535) * signed(b >> (16 + 8 * n), 8) for n in range(2))
    ),
    "add.cc.u32 {d}, {a}, {b}; addc.u32 {d}, {c}, 0": lambda a, b, c: c + (a + b >> 32),
    "sub.cc.u32 {d}, {a}, {b}; subc.u32 {d}, {c}, 0": lambda a, b, c: c - (a < b),
    "sub.cc.u32 {d}, {a}, {b}; addc.u32 {d}, {c}, 0": lambda a, b, c: c + (a >= b),
    "add.cc.u32 {d}, {a}, {b}; subc.u32 {d}, {c}, 0": lambda a, b, c: c - 1 + (a + b >> 32),
    "add.cc.u32 {d}, {a}, {b}; addc.cc.u32 {d}, {c}, {a}; addc.u32 {d}, 0, 0": lambda a, b, c: (
        c + a + (a + b >> 32) >> 32
    ),
    "mad.lo.cc.u32 {d}, {a}, {b}, {c}; madc.hi.u32 {d}, {a}, {b}, 5": lambda a, b, c: (
        (a * b >> 32) + 5 + ((a * b & M32) + c >> 32)
    ),
    "max.s16x2 {d}, {a}, {b}": lambda a, b, c: (
        max(signed(a, 16), signed(b, 16)) % 65536
        | max(signed(a >> 16, 16), signed(b >> 16, 16)) % 65536 << 16
    ),
    "setp.lt.s32 {p}, {a}, {b}; selp.b32 {d}, {a}, {b}, {p}": lambda a, b, c: (
        a if signed(a, 32) < signed(b, 32) else b
    ),
    "setp.hi.u32 {p}, {a}, {b}; selp.b32 {d}, 1, 0, {p}": lambda a, b, c: int(a > b),
    "setp.ge.u32 {p}|{q}, {a}, {b}; selp.b32 {d}, 1, 0, {q}": lambda a, b, c: int(a < b),
    "setp.eq.u32 {q}, {c}, 0; setp.ne.and.b32 {p}, {a}, {b}, !{q}; selp.b32 {d}, 7, 3, {p}": (
        lambda a, b, c: 7 if a != b and c != 0 else 3
    ),
    "set.le.u32.s32 {d}, {a}, {b}": lambda a, b, c: M32 if signed(a, 32) <= signed(b, 32) else 0,
    "slct.b32.s32 {d}, {a}, {b}, {c}": lambda a, b, c: a if signed(c, 32) >= 0 else b,
    "mov.b32 {d}, {a}; setp.gt.u32 {p}, {b}, {c}; @{p} add.u32 {d}, {a}, 1": lambda a, b, c: (
        a + (b > c)
    ),
    "mov.b32 {d}, {a}; setp.gt.u32 {p}, {b}, {c}; @!{p} xor.b32 {d}, {a}, {c}": lambda a, b, c: (
        a if b > c else a ^ c
    ),
}


@pytest.mark.parametrize("uniform", [False, True])
def test_32_bits(uniform: bool) -> None:
    a, b, c = pairs(np.uint32, 60, 1, 3)
    results = evaluate([(text, np.uint32) for text in U32], [a, b, c], uniform=uniform)
    for (text, reference), got in zip(U32.items(), results, strict=True):
        for x, y, z, value in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
            assert value == reference(x, y, z) & M32, (text, hex(x), hex(y), hex(z), hex(value))


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("table", range(0, 256, 7))
def test_lop3(table: int, uniform: bool) -> None:
    a, b, c = (x[:200] for x in pairs(np.uint32, 30, table, 3))
    (got,) = evaluate(
        [(f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table}", np.uint32)], [a, b, c], uniform=uniform
    )
    assert got.tolist() == [
        lop3(x, y, z, table) for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    ]


U64 = {
    "add.u64 {d}, {a}, {b}": lambda a, b: a + b,
    "sub.u64 {d}, {a}, {b}": lambda a, b: a - b,
    "mul.lo.u64 {d}, {a}, {b}": lambda a, b: a * b,
    "mul.hi.u64 {d}, {a}, {b}": lambda a, b: a * b >> 64,
    "mul.hi.s64 {d}, {a}, {b}": lambda a, b: signed(a, 64) * signed(b, 64) >> 64,
    "mad.lo.s64 {d}, {a}, {b}, {a}": lambda a, b: a * b + a,
    "abs.s64 {d}, {a}": lambda a, b: abs(signed(a, 64)),
    "min.s64 {d}, {a}, {b}": lambda a, b: min(signed(a, 64), signed(b, 64)),
    "max.u64 {d}, {a}, {b}": lambda a, b: max(a, b),
    "xor.b64 {d}, {a}, {b}": lambda a, b: a ^ b,
    "bfe.u64 {d}, {a}, 60, 30": lambda a, b: a >> 60,
    "bfe.s64 {d}, {a}, 3, 21": lambda a, b: bfe(a, 3, 21, 64, True),
    "bfi.b64 {d}, {a}, {b}, 32, 32": lambda a, b: bfi(a, b, 32, 32, 64),
    "brev.b64 {d}, {a}": lambda a, b: bits_reversed(a, 64),
    "shl.b64 {d}, {a}, 17": lambda a, b: a << 17,
    "shr.s64 {d}, {a}, 63": lambda a, b: signed(a, 64) >> 63,
    "selp.b64 {d}, {a}, {b}, 1": lambda a, b: a,
}


@pytest.mark.parametrize("uniform", [False, True])
def test_64_bits(uniform: bool) -> None:
    a, b = pairs(np.uint64, 60, 2)
    results = evaluate([(text, np.uint64) for text in U64], [a, b], uniform=uniform)
    for (text, reference), got in zip(U64.items(), results, strict=True):
        for x, y, value in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
            assert value == reference(x, y) & M64, (text, hex(x), hex(y), hex(value))
    counts = [
        ("clz.b64 {d}, {a}", np.uint32),
        ("popc.b64 {d}, {a}", np.uint32),
        ("bfind.s64 {d}, {a}", np.uint32),
    ]
    clz, popc, highest = evaluate(counts, [a, b], uniform=uniform)
    assert clz.tolist() == [64 - x.bit_length() for x in a.tolist()]
    assert popc.tolist() == [x.bit_count() for x in a.tolist()]
    assert highest.tolist() == [bfind(x, 64, True) for x in a.tolist()]


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("kind", "us")
def test_division(bits: int, kind: str, uniform: bool) -> None:
    dtype = np.dtype(f"u{bits // 8}")
    a, b = pairs(dtype.type, 80, bits)
    keep = b != 0
    a, b = a[keep], b[keep]
    texts = [(f"{op}.{kind}{bits} {{d}}, {{a}}, {{b}}", dtype.type) for op in ("div", "rem")]
    quotients, rests = evaluate(texts, [a, b], uniform=uniform)
    for x, y, q, r in zip(a.tolist(), b.tolist(), quotients.tolist(), rests.tolist(), strict=True):
        if kind == "s":
            x, y = signed(x, bits), signed(y, bits)
        whole = quotient(x, y)
        assert q == whole % (1 << bits), (x, y)
        assert r == (x - whole * y) % (1 << bits), (x, y)


def test_division_by_zero_does_not_crash() -> None:
    a = np.arange(64, dtype=np.uint64)
    evaluate([("div.u64 {d}, {a}, {b}", np.uint64)], [a, a * 0], uniform=False)
    evaluate([("rem.s64 {d}, {a}, {b}", np.uint64)], [a, a * 0], uniform=True)


@pytest.mark.parametrize("uniform", [False, True])
def test_wide_products_and_16_bits(uniform: bool) -> None:
    a, b = pairs(np.uint32, 60, 3)
    wide = [("mul.wide.u32 {d}, {a}, {b}", np.uint64), ("mul.wide.s32 {d}, {a}, {b}", np.int64)]
    unsigned, with_sign = evaluate(wide, [a, b], uniform=uniform)
    assert unsigned.tolist() == [x * y for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert with_sign.tolist() == [
        signed(x, 32) * signed(y, 32) for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    a, b = pairs(np.uint16, 60, 4)
    texts = [
        ("mul.wide.s16 {d}, {a}, {b}", np.int32),
        ("mul.hi.u16 {d}, {a}, {b}", np.uint16),
        ("mad.lo.s16 {d}, {a}, {b}, {a}", np.uint16),
        ("shr.s16 {d}, {a}, 3", np.int16),
        ("min.s16 {d}, {a}, {b}", np.int16),
    ]
    results = evaluate(texts, [a, b], uniform=uniform)
    references = [
        lambda x, y: signed(x, 16) * signed(y, 16),
        lambda x, y: x * y >> 16,
        lambda x, y: (x * y + x) & 0xFFFF,
        lambda x, y: signed(x, 16) >> 3,
        lambda x, y: min(signed(x, 16), signed(y, 16)),
    ]
    for got, reference in zip(results, references, strict=True):
        assert got.tolist() == [
            reference(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)
        ]


def test_packing_and_unpacking() -> None:
    a, b = pairs(np.uint32, 40, 5)
    texts = [
        ("mov.b64 {d}, {{{a}, {b}}}", np.uint64),
        (".reg .b16 l, h; mov.b32 {{l, h}}, {a}; mov.b32 {d}, {{h, l}}", np.uint32),
    ]
    joined, swapped = evaluate(texts, [a, b], uniform=False)
    assert joined.tolist() == [y << 32 | x for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert swapped.tolist() == [(x << 16 | x >> 16) & M32 for x in a.tolist()]


def test_128_bit_integers_of_cuda() -> None:
    """NVRTC writes the division out, with carries of additions and subtractions mixed."""
    source = """
    extern "C" __global__ void k(unsigned long long* out, const unsigned long long* a) {
        int i = threadIdx.x;
        unsigned __int128 x = ((unsigned __int128)a[i] << 64) | a[i + 32];
        unsigned __int128 d = (unsigned __int128)a[i + 64] * (i % 3 ? 1000003 : 1);
        __int128 s = (__int128)x * (i % 2 ? -1 : 1) / 3;
        unsigned __int128 all[] = {x / d, x % d, x * x + (x >> 7), (unsigned __int128)s};
        for (int n = 0; n < 4; ++n) {
            out[8 * i + 2 * n] = (unsigned long long)all[n];
            out[8 * i + 2 * n + 1] = (unsigned long long)(all[n] >> 64);
        }
    }"""
    options = CompileOptions(arch="sm_90", flags=("--device-int128",))
    kernel = compile_kernel(source, "wide.cu", "k", options)
    a = np.random.default_rng(3).integers(1, 1 << 63, 96).astype(np.uint64)
    inputs = (ArrayArgument("out", np.zeros((32, 4, 2), np.uint64)), ArrayArgument("a", a))
    found = execute(kernel, Launch((1, 1, 1), (32, 1, 1)), Inputs(inputs)).output("out")
    for i in range(32):
        x, d = int(a[i]) << 64 | int(a[i + 32]), int(a[i + 64]) * (1000003 if i % 3 else 1)
        s = signed(x, 128) * (-1 if i % 2 else 1)
        expected = [x // d, x % d, x * x + (x >> 7), quotient(s, 3)]
        for n, value in enumerate(expected):
            assert int(found[i, n, 1]) << 64 | int(found[i, n, 0]) == value % (1 << 128), (i, n)
