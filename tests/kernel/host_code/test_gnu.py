"""What nvcc takes over from the host's compiler and C library."""

import numpy as np
import pytest

from placewise.errors import CompileError
from placewise.executor import execute
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.frontends.nvrtc import compile_kernel, device_source
from placewise.kernel.host_code.gnu import (
    compound_literals,
    has_statement_expressions,
    statement_macros,
)
from placewise.kernel.view.tree.clang import parse_kernel

OPTIONS = CompileOptions()


def _outputs(source, kernel, arguments, block=32):
    case = make_case(kernel, source, arguments, block=block, grid=1)
    compiled = compile_case(case)
    parse_kernel(case)
    return dict(execute(compiled, case.launch, named_case(case).inputs).outputs)


def test_parentheses_of_compound_literals_are_told_from_others():
    text = """\
#define ONE (T){ 1, 0 }
#define MADE(x) (T){ x, x }
T f(T) { return (T){ 1, 2 }; }
struct S { S &operator=(S) { if (n) { n = 1; } while (n) {} } };
auto g = [](T) { return 1; };
X x{ (space::T){ 1 }, (struct T)
    { 2 }, (unsigned char){ 3 } };
"""
    made = list(text)
    for at in compound_literals(text):
        made[at] = " "
    assert (
        "".join(made)
        == """\
#define ONE  T { 1, 0 }
#define MADE(x)  T { x, x }
T f(T) { return  T { 1, 2 }; }
struct S { S &operator=(S) { if (n) { n = 1; } while (n) {} } };
auto g = [](T) { return 1; };
X x{  space::T { 1 },         T \n    { 2 }, (unsigned char){ 3 } };
"""
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("({ T x = (a); x < 1 ? x : 1; })", "[&]{ T x = (a); return x < 1 ? x : 1; }()"),
        ("({ go(a); })", "[&]{ return go(a); }()"),
        ("({ if (a) { go(); } })", "[&]{ if (a) { go(); } }()"),
        ("f(({ int q = a; { q++; } q; }), 2)", "f([&]{ int q = a; { q++; } return q; }(), 2)"),
        ("({ ({ int z = a; z; }) + 1; })", "[&]{ return [&]{ int z = a; return z; }() + 1; }()"),
        ("f({ 1, 2 })", None),
    ],
)
def test_statements_in_expressions_of_macros_become_functions(body, expected):
    directive = f"#define M(a) {body}"
    made = [text for _, text in statement_macros(f"int n;\n{directive}\n")]
    assert made == ([] if expected is None else [f"#define M(a) {expected}"])
    assert not has_statement_expressions(directive)
    assert has_statement_expressions(f"int f() {{ return {body}; }}") == (expected is not None)


def test_a_source_with_them_computes_what_gnu_says():
    # A copy is swapped, not what the copied expression refers to.
    source = """\
#include <vector>
#define least(x, y) ({ __typeof__(x) a = (x); \\
                       typeof(y) b = (y); a < b ? a : b; })
#define swap(x, y) ({ __typeof__(x) kept = (x); (x) = (y); (y) = kept; })
#define UNIT (float2){ 0, 1 }
__device__ float2 times(float2 a, float2 b) {
    return (float2){ a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x };
}
int main() { std::vector<int> v; return 0; }
__global__ void f(float2 *z, const int *n, int *m) {
    int i = threadIdx.x;
    z[i] = times(z[i], UNIT);
    m[i] = least(n[i], 10 - n[i]);
    if (i % 2 == 0 && i < 30) { float2 *p = z + i; swap(p[0].x, p[0].y); }
}
"""
    rng = np.random.default_rng(4)
    z = (rng.integers(-9, 9, 32) + 1j * rng.integers(-9, 9, 32)).astype(np.complex64)
    n = rng.integers(0, 10, 32, dtype=np.int32)
    outputs = _outputs(source, "f", {"z": z, "n": n, "m": np.zeros(32, np.int32)})
    turned = z * 1j
    swapped = np.where((np.arange(32) % 2 == 0) & (np.arange(32) < 30),
                       turned.imag + 1j * turned.real, turned)  # fmt: skip
    np.testing.assert_array_equal(outputs["z"], swapped)
    np.testing.assert_array_equal(outputs["m"], np.minimum(n, 10 - n))
    device = device_source(source, "kernel.cu", "f", OPTIONS)
    assert [len(line) for line in device.text.split("\n")] == [
        len(line) for line in source.split("\n")
    ]


def test_where_they_stand_in_a_kernel_the_error_says_so():
    source = "__global__ void f(int *a) { *a = ({ int b = a[1]; b * b; }); }\n"
    with pytest.raises(CompileError) as caught:
        compile_kernel(source, "f.cu", "f", OPTIONS)
    assert caught.value.where == "f.cu:1"
    assert "({ … })" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("parameter", "argument"),
    [
        ("uint64_t *", "unsigned long *"),
        ("unsigned long *", "uint64_t *"),
        ("const int64_t *", "long *"),
        ("uint64_t *", "size_t *"),
        ("const std::uint64_t *", "size_t *"),
    ],
)
def test_integers_of_64_bits_are_long_where_the_source_takes_them_for_it(parameter, argument):
    source = f"""\
#include <cstdint>
__device__ unsigned long twice({parameter} p) {{ return 2 * *p; }}
__global__ void f({argument} a, unsigned long *out) {{ *out = twice(a); }}
"""
    arguments = [np.array([21], np.uint64), np.zeros(1, np.uint64)]
    assert _outputs(source, "f", arguments, block=1)["out"] == [42]


def test_integers_of_64_bits_are_long_long_elsewhere():
    source = """\
#include <cstdint>
__global__ void f(uint64_t *a) { atomicAdd(a, (uint64_t)2); }
"""
    assert _outputs(source, "f", [np.array([1], np.uint64)], block=1)["a"] == [3]


def test_integers_in_std_come_with_headers_of_the_host():
    source = """\
#include <vector>
template <std::uint64_t n> struct Log { static const int value = Log<n / 2>::value + 1; };
template <> struct Log<1> { static const int value = 0; };
__global__ void f(int *a) { *a = Log<64>::value; }
"""
    assert _outputs(source, "f", [np.zeros(1, np.int32)], block=1)["a"] == [6]


def test_register_is_read_over():
    source = "__global__ void f(int *a) { register int b = a[0]; a[0] = b + 1; }\n"
    assert _outputs(source, "f", [np.zeros(1, np.int32)], block=1)["a"] == [1]


def test_integers_of_128_bits_are_there():
    source = "__global__ void f(long *a) { __int128 b = a[0]; b *= b; a[0] = (long)(b >> 64); }\n"
    number = (1 << 62) + 12345
    outputs = _outputs(source, "f", [np.array([number], np.int64)], block=1)
    assert outputs["a"] == [number * number >> 64]


def test_a_kernel_that_launches_kernels_is_told_so():
    source = "__global__ void g() {}\n__global__ void f(int *a) { g<<<1, 1>>>(); }\n"
    with pytest.raises(CompileError) as caught:
        compile_kernel(source, "f.cu", "f", OPTIONS)
    assert "launch kernels" in (caught.value.hint or "")


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf", b"// \xe9\n"])
def test_files_in_other_encodings_are_read(tmp_path, start):
    path = tmp_path / "f.cu"
    path.write_bytes(start + b"__global__ void f(int *a) { *a = 5; }\r\nint main() {}\r\n")
    assert _outputs(path, "f", [np.zeros(1, np.int32)], block=1)["a"] == [5]


def test_what_the_host_code_does_changes_no_types():
    source = """\
#include <cstdint>
struct Counts { uint64_t n; unsigned long *first() { return &n; } };
__global__ void f(uint64_t *a) { Counts c = {2}; atomicAdd(a, c.n); }
"""
    assert _outputs(source, "f", [np.array([1], np.uint64)], block=1)["a"] == [3]


def test_keywords_and_types_of_other_headers_are_there():
    source = """\
#include <vector>
#include <cufft.h>
struct Block { __extension__ union { struct { int low, high; }; int both[2]; }; };
__global__ void f(int *a, cufftComplex *z) {
    Block b;
    b.low = 1;
    b.high = INT32_MAX;
    __asm__ __volatile__("add.s32 %0, %1, 1;" : "=r"(a[0]) : "r"(b.both[0]));
    z[0] = make_cuComplex(b.both[1] == 0x7fffffff, z[0].x);
}
int main() { std::vector<int> v; return cufftDestroy(0); }
"""
    arguments = {"a": np.zeros(1, np.int32), "z": np.array([5], np.complex64)}
    outputs = _outputs(source, "f", arguments, block=1)
    assert outputs["a"] == [2]
    assert outputs["z"] == [1 + 5j]
