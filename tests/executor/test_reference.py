"""The reference interpreter's arithmetic against NumPy, and its scheduling on worked examples."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import KernelError, interpret
from reference.arithmetic import operation
from reference.collectives import meet

from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch, ScalarArgument

FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
INTEGERS = {
    f"{k}{b}": np.dtype(f"{'i' if k == 's' else 'u'}{b // 8}") for k in "us" for b in (16, 32, 64)
}


def apply(opcode, *patterns):
    _, _, function = operation(tuple(opcode.split(".")))
    return function(*patterns)


def patterns(type_):
    """Bit patterns with the special ones often."""
    bits = int(type_.strip("usf"))
    edges = [0, 1, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1]
    if type_[0] == "f":
        names = ("inf", "-inf", "nan", "1", "-1", "0.5", "3", "-2.5", "1.5", "65504")
        edges += [int(FLOATS[type_](n).view(f"u{bits // 8}")) for n in names]
        tiny = int(np.finfo(FLOATS[type_]).tiny.view(f"u{bits // 8}"))
        edges += [tiny, tiny - 1, tiny + 1]
    return st.sampled_from(edges) | st.integers(0, (1 << bits) - 1)


def as_number(pattern, dtype):
    return np.frombuffer(pattern.to_bytes(np.dtype(dtype).itemsize, "little"), dtype)[0]


def same_float(pattern, expected):
    found = as_number(pattern, expected.dtype)
    both_nan = np.isnan(found) and np.isnan(expected)
    return both_nan or found.tobytes() == expected.tobytes()


BINARY = {"add.rn": np.add, "sub.rn": np.subtract, "mul.rn": np.multiply, "div.rn": np.divide}


@pytest.mark.parametrize("type_", FLOATS)
@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_arithmetic_rounds_as_numpy_does(name, type_, data):
    a, b = data.draw(patterns(type_)), data.draw(patterns(type_))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = BINARY[name](as_number(a, FLOATS[type_]), as_number(b, FLOATS[type_]))
    assert same_float(apply(f"{name}.{type_}", a, b), expected)


@pytest.mark.parametrize("type_", FLOATS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_square_roots_round_as_numpy_does(type_, data):
    a = data.draw(patterns(type_))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.sqrt(as_number(a, FLOATS[type_]))
    assert same_float(apply(f"sqrt.rn.{type_}", a), expected)


@settings(max_examples=40, deadline=None)
@given(st.integers(-(2**53), 2**53), st.integers(-(2**53), 2**53))
def test_a_fused_multiply_add_rounds_once(m, n):
    # (2**60 + n) - with a product of exact halves the sum is exact in Python's integers.
    a, b, c = float(m), 2.0, float(n)
    exact = 2 * m + n
    bits = [int(np.float64(v).view(np.uint64)) for v in (a, b, c)]
    assert same_float(apply("fma.rn.f64", *bits), np.float64(exact))


@pytest.mark.parametrize("to", FLOATS)
@pytest.mark.parametrize("of", FLOATS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_float_conversions_round_as_numpy_does(to, of, data):
    a = data.draw(patterns(of))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = as_number(a, FLOATS[of]).astype(FLOATS[to])
    assert same_float(apply(f"cvt.rn.{to}.{of}", a), expected)


@pytest.mark.parametrize("to", FLOATS)
@pytest.mark.parametrize("of", INTEGERS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_integers_become_floats_as_in_numpy(to, of, data):
    a = data.draw(patterns(of))
    number = int(as_number(a, INTEGERS[of]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if to == "f16":
            # Every half-precision tie is exact in double precision up to 2**53, and beyond 65520
            # all is infinity.
            expected = np.float64(min(max(number, -(2**20)), 2**20)).astype(np.float16)
        else:
            expected = as_number(a, INTEGERS[of]).astype(FLOATS[to])
    assert same_float(apply(f"cvt.rn.{to}.{of}", a), expected)


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
@settings(max_examples=40, deadline=None)
@given(st.floats(width=64, allow_nan=False))
def test_floats_become_integers_rounded_and_clamped(mode, x):
    function = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[mode]
    expected = min(max(float(function(x)), -(2.0**31)), 2.0**31 - 1)
    assert apply(f"cvt.{mode}.s32.f64", int(np.float64(x).view(np.uint64))) == int(expected)


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
@settings(max_examples=40, deadline=None)
@given(st.integers(-(2**40), 2**40), st.integers(1, 2**20))
def test_directed_rounding_brackets_the_exact_quotient(mode, m, n):
    bits = [int(np.float64(v).view(np.uint64)) for v in (float(m), float(n))]
    found = float(as_number(apply(f"div.{mode}.f64", *bits), np.float64))
    up, down = np.nextafter(found, np.inf), np.nextafter(found, -np.inf)
    numerator, denominator = found.as_integer_ratio()
    difference = numerator * n - m * denominator
    if mode == "rz":
        assert difference * (1 if m > 0 else -1) <= 0
    elif mode == "rm":
        assert difference <= 0
        assert (lambda p, q: p * n > m * q)(*up.as_integer_ratio())
    else:
        assert difference >= 0
        assert (lambda p, q: p * n < m * q)(*down.as_integer_ratio())


@pytest.mark.parametrize("type_", INTEGERS)
@pytest.mark.parametrize("name", ["add", "sub", "mul.lo", "and", "or", "xor", "min", "max"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_integer_arithmetic_wraps_as_numpy_does(name, type_, data):
    a, b = data.draw(patterns(type_)), data.draw(patterns(type_))
    function = {
        "add": np.add,
        "sub": np.subtract,
        "mul.lo": np.multiply,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "min": np.minimum,
        "max": np.maximum,
    }[name]
    dtype = INTEGERS[type_]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = function(as_number(a, dtype), as_number(b, dtype))
    found = apply(f"{name}.{type_}", a, b) & ((1 << 8 * dtype.itemsize) - 1)
    assert found == int.from_bytes(expected.tobytes(), "little")


def test_bit_instructions_on_worked_examples():
    assert apply("bfe.u32", 0xABCD1234, 8, 8) == 0x12
    assert apply("bfe.s32", 0x0000F000, 12, 4) & 0xFFFFFFFF == 0xFFFFFFFF
    assert apply("bfi.b32", 0xF, 0, 28, 8) == 0xF0000000
    assert apply("prmt.b32", 0x33221100, 0x77665544, 0x7250) == 0x77225500
    assert apply("prmt.b32", 0x80, 0, 0x2228) == 0xFF
    assert apply("prmt.b32.f4e", 0x33221100, 0x77665544, 1) == 0x44332211
    assert apply("lop3.b32", 0b1100, 0b1010, 0b1111, 0x80) == 0b1000
    assert apply("shf.l.wrap.b32", 0x80000000, 1, 33) & 0xFFFFFFFF == 3
    assert apply("shf.r.clamp.b32", 5, 7, 40) & 0xFFFFFFFF == 7
    assert apply("bfind.s32", 0xFFFFFF00) == 7
    assert apply("brev.b32", 1) == 1 << 31
    assert apply("dp4a.s32.s32", 0xFF010203, 0x01010101, 10) == 15
    assert apply("shl.b32", 1, 32) & 0xFFFFFFFF == 0
    assert apply("shr.s32", 1 << 31, 99) & 0xFFFFFFFF == 0xFFFFFFFF


def test_minimum_orders_zeros_and_skips_nan():
    negative_zero, nan = 1 << 31, 0x7FC00000
    assert apply("min.f32", 0, negative_zero) == negative_zero
    assert apply("max.f32", negative_zero, 0) == 0
    assert apply("min.f32", nan, 0x3F800000) == 0x3F800000
    assert apply("min.NaN.f32", nan, 0x3F800000) == 0x7FFFFFFF


def test_shuffles_stay_in_their_segments():
    lanes = {lane: (lane, 1, 0x1F00 & (8 << 8 | 16 << 8) | 7) for lane in range(8)}
    down = meet(("shfl", "sync", "down", "b32"), lanes)
    assert [down[lane] for lane in range(8)] == [(min(n + 1, 7), int(n < 7)) for n in range(8)]
    up = meet(("shfl", "sync", "up", "b32"), {n: (n, 2, 0) for n in range(32)})
    assert [up[n] for n in range(32)] == [(n - 2, 1) if n >= 2 else (n, 0) for n in range(32)]


HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"

VOTE_IN_BRANCHES = (
    HEADER
    + """\
.visible .entry k(.param .u64 out) {
    .reg .pred %p<3>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    setp.lt.u32 %p1, %r1, 20;
    mov.u32 %r2, 0;
    @%p1 bra IN;
    bra OUT;
IN:
    activemask.b32 %r2;
OUT:
    bar.sync 0;
    setp.gt.u32 %p2, %r1, 3;
    vote.sync.ballot.b32 %r3, %p2, 0xffffffff;
    xor.b32 %r2, %r2, %r3;
    st.global.u32 [%rd1], %r2;
    ret;
}
"""
)


def test_lanes_meet_where_they_are():
    kernel = Kernel("k", "k", VOTE_IN_BRANCHES, "sm_80", "k.ptx")
    arrays = ArrayArgument("out", np.zeros(32, np.uint32))
    result = interpret(kernel, Launch((1, 1, 1), (32, 1, 1)), Inputs((arrays,)))
    expected = np.where(np.arange(32) < 20, 0xFFFFF, 0) ^ 0xFFFFFFF0
    assert np.array_equal(result.outputs["out"], expected)
    assert [(a.where, a.thread, a.offset, a.size) for a in sorted(result.accesses)] == [
        ("out", n, 4 * n, 4) for n in range(32)
    ]


def test_an_access_beyond_its_array_is_a_fault():
    kernel = Kernel("k", "k", VOTE_IN_BRANCHES, "sm_80", "k.ptx")
    arrays = ArrayArgument("out", np.zeros(31, np.uint32))
    with pytest.raises(KernelError, match="beyond"):
        interpret(kernel, Launch((1, 1, 1), (32, 1, 1)), Inputs((arrays,)))


def test_an_argument_of_the_wrong_size_is_a_fault():
    kernel = Kernel("k", "k", VOTE_IN_BRANCHES, "sm_80", "k.ptx")
    scalar = ScalarArgument("out", np.int32(1))
    with pytest.raises(KernelError, match="4 bytes"):
        interpret(kernel, Launch((1, 1, 1), (32, 1, 1)), Inputs((scalar,)))
