"""Instructions that look at other lanes, against what the PTX ISA says lane by lane."""

from __future__ import annotations

import functools
import operator

import numpy as np
import pytest
from cuda_run import run
from ptx_harness import evaluate

RNG = np.random.default_rng(41)
FULL = (1 << 32) - 1
WARPS = 6
N = 32 * WARPS


def words(below=1 << 32):
    return RNG.integers(0, below, N).astype(np.uint32)


def warps(*columns):
    """The rows of each warp."""
    rows = list(zip(*(c.tolist() for c in columns), strict=True))
    return [rows[start : start + 32] for start in range(0, N, 32)]


def shuffled(mode, lanes):
    """(value, in range) of each lane; PTX ISA, shfl.sync."""
    out = []
    for lane, (value, b, c) in enumerate(lanes):
        segment, clamp = c >> 8 & 31, c & 31
        least = lane & segment
        most = least | clamp & ~segment & 31
        b &= 31
        source, fine = {
            "up": (lane - b, lane - b >= most),
            "down": (lane + b, lane + b <= most),
            "bfly": (lane ^ b, lane ^ b <= most),
            "idx": (least | b & ~segment & 31, (least | b & ~segment & 31) <= most),
        }[mode]
        out.append((lanes[source][0] if fine else value, int(fine)))
    return out


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles(mode):
    a, b = words(), words(64)
    # Whole warps, and segments of 16, 8, 4 and 2 lanes as the CUDA intrinsics make them.
    widths = np.repeat([32, 16, 8, 4, 2, 32], 32)
    c = ((32 - widths) << 8 | (0 if mode == "up" else 31)).astype(np.uint32)
    c[-32:] = RNG.integers(0, 1 << 13, 32)
    text = f"shfl.sync.{mode}.b32 {{d}}|{{p}}, {{a}}, {{b}}, {{c}}, -1"
    texts = [(text, np.uint32), (f"{text}; selp.u32 {{d}}, 1, 0, {{p}}", np.uint32)]
    values, flags = evaluate(texts, [a, b, c], uniform=False)
    expected = [pair for rows in warps(a, b, c) for pair in shuffled(mode, rows)]
    assert flags.tolist() == [fine for _, fine in expected]
    inside = flags == 1
    assert values[inside].tolist() == np.array([v for v, _ in expected])[inside].tolist()


GROUPS = {
    "all": np.full(N, FULL, np.uint32),
    "halves": np.tile(np.repeat([0xFFFF, 0xFFFF0000], 16), WARPS).astype(np.uint32),
    "even_and_odd": np.tile([0x55555555, 0xAAAAAAAA], N // 2).astype(np.uint32),
}


def by_group(a, members, function):
    """``function`` of the values of each lane's group, and the lane's own."""
    out = []
    for rows in warps(a, members):
        for value, mask in rows:
            out.append(
                function([v for n, (v, _) in enumerate(rows) if mask >> n & 1], value, mask, rows)
            )
    return out


@pytest.mark.parametrize("group", GROUPS)
def test_votes(group):
    members = GROUPS[group]
    a = words(3)
    a[:32] = 1
    a[32:64] = 0
    texts = []
    for mode in ("all", "any", "uni"):
        texts.append(
            (
                f"setp.ne.u32 {{q}}, {{a}}, 0; vote.sync.{mode}.pred {{p}}, {{q}}, {{b}};"
                "selp.u32 {d}, 1, 0, {p}",
                np.uint32,
            )
        )
    texts.append(("setp.ne.u32 {q}, {a}, 0; vote.sync.ballot.b32 {d}, {q}, {b}", np.uint32))
    results = evaluate(texts, [a, members], uniform=False)
    assert results[0].tolist() == by_group(a, members, lambda vs, *_: int(all(vs)))
    assert results[1].tolist() == by_group(a, members, lambda vs, *_: int(any(vs)))
    assert results[2].tolist() == by_group(
        a, members, lambda vs, *_: int(len({bool(v) for v in vs}) == 1)
    )
    assert results[3].tolist() == by_group(
        a, members,
        lambda vs, v, m, rows: sum(bool(x) << n for n, (x, _) in enumerate(rows) if m >> n & 1),
    )  # fmt: skip


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("group", GROUPS)
def test_matches(group, bits):
    members = GROUPS[group]
    a = words(3).astype(f"u{bits // 8}") * np.dtype(f"u{bits // 8}").type((1 << (bits - 3)) + 5)
    a[:32] = 9
    texts = [
        (f"match.any.sync.b{bits} {{d}}, {{a}}, {{b}}", np.uint32),
        (f"match.all.sync.b{bits} {{d}}|{{p}}, {{a}}, {{b}}", np.uint32),
        (
            f"match.all.sync.b{bits} {{d}}|{{p}}, {{a}}, {{b}}; selp.u32 {{d}}, 1, 0, {{p}}",
            np.uint32,
        ),
    ]
    some, every, flags = evaluate(texts, [a, members], uniform=False)

    def equal(vs, value, mask, rows):
        return sum(1 << n for n, (x, _) in enumerate(rows) if mask >> n & 1 and x == value)

    assert some.tolist() == by_group(a, members, equal)
    alike = by_group(a, members, lambda vs, value, mask, rows: len(set(vs)) == 1)
    assert flags.tolist() == [int(x) for x in alike]
    assert every.tolist() == [m if x else 0 for m, x in zip(members.tolist(), alike, strict=True)]


def signed(x):
    return x - (1 << 32) if x >> 31 else x


REDUCTIONS = {
    "add.u32": lambda vs: sum(vs) & FULL, "add.s32": lambda vs: sum(vs) & FULL,
    "min.u32": min, "max.u32": max,
    "min.s32": lambda vs: min(map(signed, vs)) & FULL,
    "max.s32": lambda vs: max(map(signed, vs)) & FULL,
    "and.b32": lambda vs: functools.reduce(operator.and_, vs),
    "or.b32": lambda vs: functools.reduce(operator.or_, vs),
    "xor.b32": lambda vs: functools.reduce(operator.xor, vs),
}  # fmt: skip


@pytest.mark.parametrize("group", GROUPS)
def test_reductions(group):
    a, members = words(), GROUPS[group]
    texts = [(f"redux.sync.{op} {{d}}, {{a}}, {{b}}", np.uint32) for op in REDUCTIONS]
    for op, got in zip(REDUCTIONS, evaluate(texts, [a, members], uniform=False), strict=True):
        assert got.tolist() == by_group(a, members, lambda vs, *_, op=op: REDUCTIONS[op](vs)), op


@pytest.mark.parametrize("group", GROUPS)
def test_reductions_of_floats(group):
    a, members = RNG.standard_normal(N).astype(np.float32), GROUPS[group]
    a[::7] = np.nan
    a[64:96] = np.nan
    a[96:128] = np.where(np.arange(32) % 2, np.float32(-0.0), np.float32(0))
    a[130] = -np.inf
    texts, expected = [], []
    for op, pick in (("min", min), ("max", max)):
        for extra in ("", ".abs", ".NaN", ".abs.NaN"):
            texts.append((f"redux.sync.{op}{extra}.f32 {{d}}, {{a}}, {{b}}", np.float32))

            def reduced(vs, *_, pick=pick, extra=extra):
                sized = [abs(v) if "abs" in extra else v for v in vs]
                numbers = [v for v in sized if not np.isnan(v)]
                if not numbers or ("NaN" in extra and len(numbers) < len(vs)):
                    return np.nan
                return pick(numbers, key=lambda v: (v, np.copysign(1, v)))

            expected.append(by_group(a, members, reduced))
    for (text, _), got, want in zip(
        texts, evaluate(texts, [a, members], uniform=False), expected, strict=True
    ):
        np.testing.assert_array_equal(got, np.array(want, np.float32), err_msg=text)
        finite = ~np.isnan(got)
        same_sign = np.signbit(got[finite]) == np.signbit(np.array(want, np.float32)[finite])
        assert same_sign.all(), text


def test_active_lanes_and_the_elected_one():
    source = """
    extern "C" __global__ void k(unsigned* active, unsigned* elected, unsigned* leads) {
        int i = threadIdx.x;
        if (i % 5 == 0 || i > 40) {
            active[i] = __activemask();
            unsigned d, p;
            asm volatile("{.reg .pred q; elect.sync %0|q, %2; selp.u32 %1, 1, 0, q;}"
                         : "=r"(d), "=r"(p) : "r"(__activemask()));
            elected[i] = d;
            leads[i] = p;
        }
    }"""
    zeros = np.zeros(64, np.uint32)
    result = run(source, "k", 1, 64, arch="sm_90", active=zeros, elected=zeros, leads=zeros)
    i = np.arange(64)
    inside = (i % 5 == 0) | (i > 40)
    for start in (0, 32):
        lanes = [n for n in range(32) if inside[start + n]]
        mask = sum(1 << n for n in lanes)
        for n in lanes:
            assert result.output("active")[start + n] == mask
            assert result.output("elected")[start + n] == lanes[0]
            assert result.output("leads")[start + n] == (n == lanes[0])


def test_instructions_without_effect():
    source = """
    extern "C" __global__ void k(int* out, const int* in) {
        int i = threadIdx.x;
        unsigned long long policy;
        asm volatile("prefetch.global.L2 [%0];" :: "l"(in + i));
        asm volatile("prefetchu.L1 [%0];" :: "l"(in + i));
        asm volatile("applypriority.global.L2::evict_normal [%0], 128;" :: "l"(in));
        asm volatile("discard.global.L2 [%0], 128;" :: "l"(out + 1024));
        asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 0.5;" : "=l"(policy));
        asm volatile("nanosleep.u32 20;");
        asm volatile("pmevent 1;");
        asm volatile("griddepcontrol.wait;");
        asm volatile("griddepcontrol.launch_dependents;");
        int v;
        asm volatile("ld.global.L1::evict_last.L2::cache_hint.b32 %0, [%1], %2;"
                     : "=r"(v) : "l"(in + i), "l"(policy));
        out[i] = v + __ldcs(in + i) + __ldcv(in + i);
        __stwt(out + 32 + i, v);
    }"""
    x = words()[:32].view(np.int32)
    result = run(source, "k", 1, 32, arch="sm_90", out=np.zeros(2048, np.int32), in_=x)
    assert result.output("out")[:32].tolist() == (x * np.int32(3)).tolist()
    assert result.output("out")[32:64].tolist() == x.tolist()


def test_address_spaces_are_told_apart():
    source = """
    __constant__ int fixed[4];
    __device__ int variable;
    extern "C" __global__ void k(int* out, const int* in, const __grid_constant__ int value) {
        __shared__ int s[32];
        int own[2] = {(int)threadIdx.x, 1};
        s[threadIdx.x] = own[threadIdx.x & 1];
        const void* all[] = {out, in, &variable, fixed, s, own, &value};
        for (int n = 0; n < 7; ++n)
            out[n] = __isGlobal(all[n]) + 2 * __isShared(all[n]) + 4 * __isLocal(all[n])
                   + 8 * __isConstant(all[n]) + 16 * __isGridConstant(all[n]);
    }"""
    result = run(
        source, "k", 1, 32, out=np.zeros(8, np.int32), in_=np.zeros(8, np.int32), value=np.int32(3)
    )
    assert result.output("out").tolist()[:7] == [1, 1, 1, 8, 2, 4, 17]
