"""Atomic operations at every width and on vectors, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_run import run
from ptx_harness import kernel_from

from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.kernel.launch import ArrayArgument, Inputs, Launch

RNG = np.random.default_rng(21)


def atomic_kernel(opcode, element, count, *, space="global", reduction=False):
    """Each thread applies its ``b`` (and ``c``) at ``target[which]`` and keeps what was there."""
    bits = np.dtype(element).itemsize * 8 if not isinstance(element, int) else element
    size = bits // 8 * count
    registers = [f"%{x}{n}" for x in "abcd" for n in range(count)]

    def group(letter):
        names = [f"%{letter}{n}" for n in range(count)]
        return names[0] if count == 1 else "{" + ", ".join(names) + "}"

    vector = f".v{count}" if count > 1 else ""
    word = f"{vector}.b{bits}"
    if bits == 128:

        def access(verb, letter, place):
            names = "{%lo, %hi}"
            if verb == "ld":
                return [f"ld.global.v2.b64 {names}, {place};", f"mov.b128 %{letter}0, {names};"]
            return [f"mov.b128 {names}, %{letter}0;", f"st.global.v2.b64 {place}, {names};"]
    else:

        def access(verb, letter, place):
            if bits * count > 128:
                half = count // 2
                parts = [
                    "{" + ", ".join(f"%{letter}{n}" for n in r) + "}"
                    for r in (range(half), range(half, count))
                ]
                at = [place, place.replace("]", f"+{size // 2}]")]
                return [
                    f"ld.global.v{half}.b{bits} {p}, {w};"
                    if verb == "ld"
                    else f"st.global.v{half}.b{bits} {w}, {p};"
                    for p, w in zip(parts, at, strict=True)
                ]
            if verb == "ld":
                return [f"ld.global{word} {group(letter)}, {place};"]
            return [f"st.global{word} {place}, {group(letter)};"]

    two = ".cas" in opcode
    lines = [
        ".version 8.8\n.target sm_90\n.address_size 64",
        ".visible .entry k(.param .u64 pt, .param .u64 pw, .param .u64 pb, .param .u64 pc,",
        ".param .u64 po)\n{",
        ".reg .b64 %t, %w, %at, %lo, %hi; .reg .b32 %i, %j;",
        *(f".reg .b{bits} {r};" for r in registers),
        "mov.u32 %i, %tid.x; cvt.u64.u32 %w, %i;",
        "ld.param.u64 %at, [pw]; mad.lo.u64 %at, %w, 4, %at; ld.global.u32 %j, [%at];",
        "ld.param.u64 %t, [pt];",
        f"cvt.u64.u32 %at, %j; mad.lo.u64 %t, %at, {size}, %t;",
        f"ld.param.u64 %at, [pb]; mad.lo.u64 %at, %w, {size}, %at;",
        *access("ld", "b", "[%at]"),
        f"ld.param.u64 %at, [pc]; mad.lo.u64 %at, %w, {size}, %at;",
        *access("ld", "c", "[%at]"),
    ]
    operands = f"[%t], {group('b')}" + (f", {group('c')}" if two else "")
    lines.append(f"{opcode} {operands};" if reduction else f"{opcode} {group('a')}, {operands};")
    if not reduction:
        lines += [
            f"ld.param.u64 %at, [po]; mad.lo.u64 %at, %w, {size}, %at;",
            *access("st", "a", "[%at]"),
        ]
    return kernel_from("\n".join([*lines, "ret;\n}"]))


def apply(opcode, target, which, b, c=None, *, reduction=False):
    """(target, old values) after the threads, all arrays (n, elements) of one type."""
    bits = target.dtype.itemsize * 8
    count = target.shape[1]
    if ".b128" in opcode:
        bits, count = 128, 1
    kernel = atomic_kernel(opcode, bits, count, reduction=reduction)
    arrays = {
        "t": target,
        "w": which.astype(np.int32),
        "b": b,
        "c": b if c is None else c,
        "o": np.zeros_like(b),
    }
    inputs = Inputs(tuple(ArrayArgument(n, a) for n, a in arrays.items()))
    result = execute(kernel, Launch((1, 1, 1), (len(b), 1, 1)), inputs)
    return result.output("t"), result.output("o")


def one_by_one(operation, target, which, *values):
    """Threads in ascending order, as the executor documents."""
    target, old = target.copy(), np.zeros_like(values[0])
    for n, w in enumerate(which):
        old[n] = target[w]
        target[w] = operation(target[w], *(v[n] for v in values))
    return target, old


def wrap(f):
    def applied(*values):
        with np.errstate(over="ignore"):
            return f(*values)

    return applied


INTEGER = {
    "add.u32": (np.uint32, np.add), "add.u64": (np.uint64, np.add),
    "min.s32": (np.int32, np.minimum), "max.s32": (np.int32, np.maximum),
    "min.u32": (np.uint32, np.minimum), "max.u32": (np.uint32, np.maximum),
    "min.s64": (np.int64, np.minimum), "max.s64": (np.int64, np.maximum),
    "min.u64": (np.uint64, np.minimum), "max.u64": (np.uint64, np.maximum),
    "and.b32": (np.uint32, np.bitwise_and), "and.b64": (np.uint64, np.bitwise_and),
    "or.b32": (np.uint32, np.bitwise_or), "or.b64": (np.uint64, np.bitwise_or),
    "xor.b32": (np.uint32, np.bitwise_xor), "xor.b64": (np.uint64, np.bitwise_xor),
    "exch.b32": (np.uint32, lambda old, b: b), "exch.b64": (np.uint64, lambda old, b: b),
    "inc.u32": (np.uint32, lambda old, b: np.where(old >= b, 0, old + np.uint32(1))),
    "dec.u32": (np.uint32, lambda old, b: np.where((old == 0) | (old > b), b, old - np.uint32(1))),
    "add.f32": (np.float32, np.add), "add.f64": (np.float64, np.add),
}  # fmt: skip


@pytest.mark.parametrize("opcode", INTEGER)
def test_one_element(opcode):
    dtype, operation = INTEGER[opcode]
    if np.dtype(dtype).kind == "f":
        target, b = (RNG.standard_normal((n, 1)).astype(dtype) for n in (5, 64))
    else:
        target = RNG.integers(0, 256, (5, 8 * np.dtype(dtype).itemsize // 8), np.uint8).view(dtype)
        b = RNG.integers(0, 256, (64, np.dtype(dtype).itemsize), np.uint8).view(dtype)
        if opcode[:3] in ("inc", "dec"):
            target, b = target % 9, b % 7
    which = RNG.integers(0, 5, 64)
    expected, old = one_by_one(wrap(operation), target, which, b)
    found, was = apply(f"atom.relaxed.gpu.global.{opcode}", target, which, b)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(was, old)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.uint64])
def test_compare_and_swap(dtype):
    bits = np.dtype(dtype).itemsize * 8
    target = RNG.integers(0, 3, (4, 1)).astype(dtype)
    b, c = (RNG.integers(0, 3, (96, 1)).astype(dtype) for _ in range(2))
    which = RNG.integers(0, 4, 96)
    swapped = one_by_one(lambda old, b, c: np.where(old == b, c, old), target, which, b, c)
    found = apply(f"atom.acq_rel.sys.global.cas.b{bits}", target, which, b, c)
    for f, e in zip(found, swapped, strict=True):
        np.testing.assert_array_equal(f, e)


@pytest.mark.parametrize("name", ["exch", "cas"])
def test_128_bits(name):
    target = RNG.integers(0, 2, (3, 2)).astype(np.uint64)
    b, c = (RNG.integers(0, 2, (64, 2)).astype(np.uint64) for _ in range(2))
    which = RNG.integers(0, 3, 64)

    def swap(old, b, c):
        return c if (old == b).all() else old

    if name == "exch":
        expected = one_by_one(lambda old, b: b, target, which, b)
    else:
        expected = one_by_one(swap, target, which, b, c)
    found = apply(f"atom.global.{name}.b128", target, which, b, c)
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_array_equal(f, e)


def from_bfloat(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_bfloat(values):
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def bfloat(f):
    return lambda *values: to_bfloat(f(*map(from_bfloat, values)))


VECTORS = {
    "add.v2.f32": (np.float32, 2, np.add), "add.v4.f32": (np.float32, 4, np.add),
    "add.noftz.v2.f16": (np.float16, 2, np.add), "add.noftz.v4.f16": (np.float16, 4, np.add),
    "add.noftz.v8.f16": (np.float16, 8, np.add), "min.noftz.v4.f16": (np.float16, 4, np.minimum),
    "max.noftz.v2.f16x2": (np.float16, 4, np.maximum),
    "add.noftz.v4.f16x2": (np.float16, 8, np.add),
    "add.noftz.v2.bf16": ("bf16", 2, np.add), "max.noftz.v8.bf16": ("bf16", 8, np.maximum),
    "min.noftz.v4.bf16x2": ("bf16", 8, np.minimum), "add.noftz.v2.bf16x2": ("bf16", 4, np.add),
}  # fmt: skip
PAIRS = {
    "add.noftz.f16x2": (np.float16, 2, np.add), "add.noftz.bf16x2": ("bf16", 2, np.add),
    "add.noftz.f16": (np.float16, 1, np.add), "add.noftz.bf16": ("bf16", 1, np.add),
}  # fmt: skip


@pytest.mark.parametrize("reduction", [False, True])
@pytest.mark.parametrize("opcode", [*VECTORS, *PAIRS])
def test_vectors_and_halves(opcode, reduction):
    dtype, count, operation = {**VECTORS, **PAIRS}[opcode]
    if dtype == "bf16":
        operation = bfloat(operation)

    def drawn(n):
        values = RNG.standard_normal((n, count))
        return to_bfloat(values) if dtype == "bf16" else values.astype(dtype)

    target, b, which = drawn(3), drawn(40), RNG.integers(0, 3, 40)
    expected, old = one_by_one(operation, target, which, b)
    packed = opcode.endswith("x2")
    raw = np.uint32 if packed else target.view().dtype
    verb = "red" if reduction else "atom"
    found, was = apply(
        f"{verb}.relaxed.gpu.global.{opcode}", target.view(raw), which, b.view(raw),
        reduction=reduction,
    )  # fmt: skip
    np.testing.assert_array_equal(found.view(target.dtype), expected)
    if not reduction:
        np.testing.assert_array_equal(was.view(target.dtype), old)


@pytest.mark.parametrize(
    "opcode",
    ["red.async.relaxed.cluster.global.add.u32", "atom.global.min.f32", "atom.global.and.b128"],
)
def test_what_is_no_atomic_is_refused(opcode):
    ones = np.ones((4, 1), np.uint32)
    wide = np.ones((4, 2), np.uint64)
    data = wide if "128" in opcode else ones
    with pytest.raises(UnsupportedError, match="is not covered"):
        apply(opcode, data, np.zeros(4), data)


def test_vector_atomics_of_cuda():
    source = """
    extern "C" __global__ void k(float4* total, float2* pair, float4* old, const float4* x) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        old[i] = atomicAdd(total + (i & 1), x[i]);
        atomicAdd(pair, make_float2(x[i].x, 1.0f));
    }"""
    x = RNG.integers(-9, 9, (128, 4)).astype(np.float32)
    result = run(
        source, "k", 2, 64, arch="sm_90", total=np.zeros((2, 4), np.float32),
        pair=np.zeros(2, np.float32), old=np.zeros_like(x), x=x,
    )  # fmt: skip
    sums = np.stack([x[::2].sum(0), x[1::2].sum(0)])
    np.testing.assert_array_equal(result.output("total"), sums)
    np.testing.assert_array_equal(result.output("pair"), [x[:, 0].sum(), 128])
    before = np.concatenate(
        [np.zeros((2, 4)), np.stack([x[::2].cumsum(0), x[1::2].cumsum(0)], 1).reshape(-1, 4)[:-2]]
    )
    np.testing.assert_array_equal(result.output("old"), before)
