"""Which NumPy types pass for the vector, complex and struct types of a kernel's parameters."""

from typing import Any

import numpy as np
import pytest

from placewise.errors import CaseError
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import named_case

STRUCT = "struct Body { float x, y; int id; unsigned char tag[4]; };"
COMPLEX = "namespace thrust { template <class T> struct complex { T re, im; }; }"


def bind(parameter: str, value: Any, before: str = "") -> None:
    source = f"{before}\n__global__ void k({parameter}, int *out) {{ out[0] = 1; }}"
    named_case(make_case("k", source, [value, np.zeros(1, np.int32)], block=1, grid=1))


@pytest.mark.parametrize(
    ("parameter", "dtype", "shape"),
    [
        ("const float2 *x", "float32", (8, 2)),
        ("const float2 *x", "float32", 16),
        ("const float2 *x", "float32", (4, 4)),
        ("const float2 *x", "complex64", 8),
        ("const float2 *x", "V8", 8),
        ("const float2 *x", [("re", "f4"), ("im", "f4")], 8),
        ("const float3 *x", "float32", (8, 3)),
        ("const double2 *x", "complex128", 8),
        ("const int4 *x", "int32", (8, 4)),
        ("const uint4 *x", "int32", (8, 4)),
        ("const uchar4 *x", "uint8", 32),
        ("const float x[][4]", "float32", (8, 4)),
        ("const void *x", "complex128", 8),
        ("float *const *x", "uint64", 8),
        ("const thrust::complex<float> *x", "complex64", 8),
        ("const Body *x", [("x", "f4"), ("y", "f4"), ("id", "u4"), ("tag", "u1", 4)], 8),
        ("const Body *x", "uint8", (8, 16)),
        ("const Body *x", "float32", (8, 4)),
    ],
)
def test_types_with_the_same_numbers_pass(parameter: str, dtype: Any, shape: Any) -> None:
    bind(parameter, np.zeros(shape, dtype), STRUCT + COMPLEX)


@pytest.mark.parametrize(
    ("parameter", "dtype", "names"),
    [
        ("const float2 *x", "complex128", ("float2", "2 float32", "complex128")),
        ("const float2 *x", "int64", ("float2", "int64")),
        ("const float2 *x", "float64", ("float2", "float64")),
        ("const float2 *x", "float16", ("float2", "float16")),
        ("const float2 *x", "uint8", ("float2", "uint8")),
        ("const double2 *x", "complex64", ("double2", "2 float64", "complex64")),
        ("const float3 *x", "float64", ("float3", "float64")),
        ("const uint2 *x", "uint64", ("uint2", "uint64", "view(np.uint32)")),
        ("const thrust::complex<float> *x", "complex128", ("complex<float>", "complex64")),
        ("const Body *x", "float64", ("Body", "float32", "float64")),
        (
            "const Body *x",
            [("x", "i4"), ("y", "f4"), ("id", "i4"), ("tag", "u1", 4)],
            ("member 'x'", "int32", "float32"),
        ),
        ("const Body *x", [("xy", "f8"), ("id", "i4"), ("tag", "i4")], ("member 'xy'", "float64")),
    ],
)
def test_other_numbers_are_refused(parameter: str, dtype: Any, names: tuple[str, ...]) -> None:
    with pytest.raises(CaseError) as caught:
        bind(parameter, np.zeros((12, 12), dtype), STRUCT + COMPLEX)
    assert "'x'" in str(caught.value)
    assert all(name in str(caught.value) for name in names), str(caught.value)


def test_values_are_checked_as_elements_are() -> None:
    bind("float2 x", np.complex64(1 + 2j))
    with pytest.raises(CaseError, match="float2"):
        bind("float2 x", np.float64(1))
    right = np.dtype([("dt", "f4"), ("box", "f4"), ("n", "u4")], align=True)
    wrong = np.dtype([("dt", "i4"), ("box", "f4"), ("n", "i4")], align=True)
    struct = "struct P { float dt; float box; int n; };"
    bind("P x", np.zeros((), right)[()], struct)
    with pytest.raises(CaseError, match="member 'dt' is int32"):
        bind("P x", np.zeros((), wrong)[()], struct)


def test_members_are_found_in_nested_types_and_unions_hold_anything() -> None:
    before = (
        "struct In { double d; float3 v; }; struct Out { In in[2]; __half h; short s; int *p; };"
        "union U { int i; float f; }; struct Either { float a; U u; };"
    )
    inner = np.dtype([("d", "f8"), ("v", "f4", 3)], align=True)
    half = "#include <cuda_fp16.h>\n" + before
    fits = np.dtype([("in", inner, 2), ("h", "f2"), ("s", "i2"), ("p", "u8")], align=True)
    bind("Out *x", np.zeros(3, fits), half)
    unlike = np.dtype([("in", inner, 2), ("h", "f2"), ("s", "f2"), ("p", "u8")], align=True)
    with pytest.raises(CaseError, match="member 's' is float16"):
        bind("Out *x", np.zeros(3, unlike), half)
    for kind in ("f4", "i4"):
        bind(
            "Either *x", np.zeros(3, [("a", "f4"), ("u", kind)]), before.replace("__half", "short")
        )


def test_halves_come_as_halves() -> None:
    include = "#include <cuda_fp16.h>"
    bind("const half2 *x", np.zeros(8, np.float16), include)
    for dtype in (np.float32, np.int16, np.uint32):
        with pytest.raises(CaseError, match="__half2"):
            bind("const half2 *x", np.zeros(8, dtype), include)
