"""Vectors read from arrays of numbers: written out number by number where an index is needed."""

import numpy as np
import pytest

from placewise import make_case
from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

SPACES = ("readonly", "streaming", "texture", "constant", "shared")
HEAD = """__global__ void k(const {kind} *a, {kind} *o, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i * 4 >= n) return;
"""
N = 512


def case(lines, dtype=np.float32, kind="float", seed=1):
    rng = np.random.default_rng(seed)
    source = HEAD.format(kind=kind) + "".join(f"    {line}\n" for line in lines) + "}\n"
    data = rng.integers(-100, 100, N).astype(dtype)
    arguments = [data, np.zeros(N // 4, dtype), np.int32(N)]
    return make_case("k", source, arguments, block=32, grid=N // 128)


def run(one):
    named, checker = named_case(one), Checker()
    ran = execute(compile_case(one), named.launch, named.inputs, check=checker)
    assert checker.clean
    return ran.output("o")


READS = {
    "a plain element beside a vector": (
        "float4 v = reinterpret_cast<const float4 *>(a)[i];", "o[i] = v.x - v.w + a[i];"
    ),
    "the address of an element": (
        "float4 v = *reinterpret_cast<const float4 *>(&a[i * 4]);", "o[i] = v.y * v.z - v.x;"
    ),
    "a pointer from the middle": (
        "const float4 *v = (const float4 *)(a + 4 * blockIdx.x);",
        "o[i] = v[threadIdx.x].x + v[1].w;",
    ),
    "a pointer from a pointer": (
        "const float4 *v = reinterpret_cast<const float4 *>(a + 8) - 2;",
        "const float4 *w = v + i;", "o[i] = (*w).y + a[n - 1 - i];",
    ),
    "load functions": (
        "const float4 *v = reinterpret_cast<const float4 *>(a);",
        "o[i] = __ldg(v + i).y + __ldg(&v[i].z) + __ldg(a + i) + __ldg(&v[0]).x;",
    ),
    "a choice as index": (
        "o[i] = reinterpret_cast<const float4 *>(a)[i & 1 ? i : 0].w + *a;",
    ),
    "pairs and fours": (
        "o[i] = reinterpret_cast<const float2 *>(a)[2 * i].y",
        "     - reinterpret_cast<const float4 *>(a)[max(i - 1, 0)].z;",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", READS)
@pytest.mark.parametrize("space", SPACES)
def test_what_is_written_computes_the_same_on_data_of_its_own(what, space):
    machine, placement = load_machine("A100"), Placement.of({"a": space})
    one, other = case(READS[what]), case(READS[what], seed=2)
    written = rewrite(one, placement, machine, analyse_source(one))
    again = rewrite(other, placement, machine, analyse_source(other))
    assert again.case.source == written.case.source
    assert np.array_equal(run(written.case), run(one))
    assert np.array_equal(run(again.case), run(other))


@pytest.mark.parametrize(
    ("kind", "vector", "dtype"),
    [
        ("double", "double2", "f8"), ("int", "int4", "i4"), ("unsigned char", "uchar4", "u1"),
        ("short", "short2", "i2"), ("unsigned long long", "ulonglong2", "u8"),
        ("signed char", "char4", "i1"), ("unsigned short", "ushort4", "u2"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("space", ["texture", "shared"])
def test_vectors_of_other_numbers(kind, vector, dtype, space):
    lines = (
        f"{vector} v = reinterpret_cast<const {vector} *>(a + 8)[i & 15];",
        "o[i] = v.x * 3 - v.y + a[i];",
    )
    one = case(lines, np.dtype(dtype), kind)
    view = analyse_source(one)
    written = rewrite(one, Placement.of({"a": space}), load_machine("A100"), view)
    assert np.array_equal(run(written.case), run(one))


def test_loads_stay_vectors_where_a_pointer_does():
    one = case(READS["the address of an element"])
    for space, text in (("readonly", "__ldg(reinterpret_cast"), ("constant", "&a_const[i * 4]")):
        placement = Placement.of({"a": space})
        written = rewrite(one, placement, load_machine("A100"), analyse_source(one))
        assert text in written.case.source
        assert "make_float4" not in written.case.source


REFUSED = {
    "an index that changes": (
        "int j = i;", "o[i] = reinterpret_cast<const float4 *>(a)[j++].x + *a;"
    ),
    "a pointer that moves": (
        "const float4 *v = (const float4 *)(a + 4);", "v += i;", "o[i] = v[0].x;"
    ),
    "three numbers": ("o[i] = reinterpret_cast<const float3 *>(a)[i].x + *a;",),
    "other numbers": ("o[i] = reinterpret_cast<const int4 *>(a)[i].x + *a;",),
    "numbers from a pointer to vectors": (
        "const float4 *v = (const float4 *)(a + 4);", "o[i] = ((const float *)(v + i))[1] + *a;"
    ),
    "a reference": ("o[i] = reinterpret_cast<const float4 &>(a[4 * i]).x;",),
    "a vector inside the index of one": (
        "o[i] = ((const float4 *)(a + 4))[(int)((const float4 *)(a + 4))[i].x & 7].y;",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("space", ["texture", "shared"])
def test_what_cannot_be_written_out_is_refused_with_its_line(what, space):
    one = case(REFUSED[what])
    with pytest.raises(UnsupportedError, match=r"line \d"):
        rewrite(one, Placement.of({"a": space}), load_machine("A100"), analyse_source(one))
