"""What the source view says of accesses and obstacles, against what a reader sees."""

import numpy as np
import pytest

import placewise
from placewise.errors import CaseError, UnsupportedError
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.source import source_obstacle
from placewise.kernel.view import analyse_source
from placewise.space import Way

F = np.zeros(64, np.float32)
N = np.int32(64)


def view_of(body, parameters="const float *A, float *B, int n", args=(F, F, N), before="", **more):
    source = f"{before}\n__global__ void k({parameters}) {{\n{body}\n}}\n"
    kernel = more.pop("kernel", "k")
    return analyse_source(make_case(kernel, source, list(args), block=32, grid=2, **more)), source


def seen(view, source, array):
    """(kind, text, pointer) of every access, in source order."""
    text = source.encode()
    return [(a.kind, text[a.start : a.end].decode(), a.pointer) for a in view.array(array).accesses]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("float x = A[n];", [("load", "A[n]", "A")]),
        ("float x = *A;", [("load", "*A", "A")]),
        ("float x = *(A + n);", [("load", "*(A + n)", "A")]),
        ("float x = (A + n)[2];", [("load", "(A + n)[2]", "A")]),
        ("float x = __ldg(&A[n]);", [("load", "&A[n]", "A")]),
        ("float x = __ldg(A + 1);", [("load", "A + 1", "A")]),
        ("const float &x = A[n];", [("load", "A[n]", "A")]),
        ("float x = A[n] * A[n + 1];", [("load", "A[n]", "A"), ("load", "A[n + 1]", "A")]),
        ("const float *p = A + n; float x = p[1];", [("load", "p[1]", "p")]),
        ("auto p = &A[n]; auto q = p + 2; float x = *q;", [("load", "*q", "q")]),
        ("auto f = [&](int i) { return A[i]; }; float x = f(1);", [("load", "A[i]", "A")]),
        ("float x = n > 1 ? A[0] : 0.f;", [("load", "A[0]", "A")]),
        ("if (A[n] > 1) return;", [("load", "A[n]", "A")]),
    ],
)
def test_loads(statement, expected):
    view, source = view_of(statement)
    assert seen(view, source, "A") == expected
    use = view.array("A")
    assert use.read
    assert not use.written


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("B[n] = 1;", "store"),
        ("*B = 1;", "store"),
        ("(B[n]) = 1;", "store"),
        ("B[n] += 1;", "update"),
        ("B[n]++;", "update"),
        ("--B[n];", "update"),
        ("atomicAdd(&B[n], 1.0f);", "atomic"),
        ("atomicAdd(B + n, 1.0f);", "atomic"),
        ("atomicMax_block((int *)0, 1); atomicExch(B, 1.0f);", "atomic"),
        ("float *p = B + 1; p[n] = 2;", "store"),
    ],
)
def test_writes(statement, kind):
    view, _ = view_of(statement)
    use = view.array("B")
    assert [a.kind for a in use.accesses] == [kind]
    assert use.written
    assert use.read == (kind != "store")
    for way in (Way.INTRINSIC, Way.BINDING, Way.HOST_BUFFER):
        assert "written (line 3)" in source_obstacle(view, "B", way)


def test_members_of_an_element():
    before = "struct S { float4 p; int m[3]; };"
    data = np.zeros((8, 8), np.float32)
    view, source = view_of(
        "B[0] = A[n].p.x + A[1].m[2];", "const S *A, float *B, int n", (data, F, N), before
    )
    texts = [source[a.start : a.member_end] for a in view.array("A").accesses]
    assert texts == ["A[n].p.x", "A[1].m[2]"]
    assert [a.member_type for a in view.array("A").accesses] == ["const float", "const int"]
    assert view.array("A").parameter.element_bytes == 32
    assert source_obstacle(view, "A", Way.INTRINSIC) is None
    assert "no texel type" in source_obstacle(view, "A", Way.BINDING)


def test_a_whole_struct_has_no_load_function():
    before = "struct S { float a, b; };"
    view, _ = view_of("S s = A[n];", "const S *A, float *B, int n", (F, F, N), before)
    assert "no load function" in source_obstacle(view, "A", Way.INTRINSIC)
    assert source_obstacle(view, "A", Way.HOST_BUFFER) is None


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("float x = f(A, n);", "passed to function 'f' (line 3)"),
        ("int x = ((const int3 *)A)[n].x;", "reinterpreted as 'const int3 *' (line 3)"),
        ("const float *p = n ? A : B; float x = p[0];", "a condition chooses (line 3)"),
        ("const int3 *p = (const int3 *)A;", "reinterpreted as 'const int3 *' (line 3)"),
        ("const float *p = B; p = A; float x = *p;", "assigned to 'p', which is more"),
        ("if (A) return;", "used as a truth value (line 3)"),
        ("float x = PASTE(n);", "used inside a macro (line 3)"),
        ("auto g = [A](int i) { return A[i]; };", "could not follow the use of 'A' (line 3)"),
        ('asm volatile("" :: "l"(A));', "used as a pointer (line 3)"),
    ],
)
def test_what_cannot_be_followed_is_an_obstacle_for_every_move(statement, reason):
    before = """#define PASTE(i) A[i] + sizeof(#i)
__device__ float f(const float *p, int i) { return i ? f(p, i - 1) : p[0]; }"""
    lines = before.count("\n")
    view, _ = view_of(statement, before=before)
    for way in (Way.INTRINSIC, Way.BINDING, Way.HOST_BUFFER, Way.KERNEL_BUFFER):
        found = source_obstacle(view, "A", way)
        assert found is not None
        assert reason.replace("line 3", f"line {3 + lines}") in found
        assert f"(line {3 + lines})" in found


def test_written_through_a_reference():
    view, _ = view_of("float &x = B[n]; x = 2;")
    assert "bound to the reference 'x'" in source_obstacle(view, "B", Way.KERNEL_BUFFER)
    view, _ = view_of("f(B[n]);", before="__device__ void f(float &x) { x = 1; }")
    assert "passed by reference to 'f'" in source_obstacle(view, "B", Way.KERNEL_BUFFER)
    view, _ = view_of("f(B[n]);", before="__device__ void f(float x) { }")
    assert seen(view, _, "B") == [("load", "B[n]", "B")]


def test_volatile_and_arrays_of_arrays_stay():
    view, _ = view_of("float x = A[n];", "volatile float *A, float *B, int n")
    assert "volatile" in source_obstacle(view, "A", Way.HOST_BUFFER)
    view, _ = view_of("A[n][1] = 2;", "float (*A)[4], float *B, int n")
    assert "arrays" in source_obstacle(view, "A", Way.INTRINSIC)


def test_comments_strings_and_members_of_the_same_name_are_no_accesses():
    view, source = view_of(
        '// A[0] B[1]\n/* A */ P p; p.A = 1; printf("A[%d]", n); B[threadIdx.x] = p.A;',
        before="struct P { float A; };",
    )
    assert seen(view, source, "A") == []
    assert "never accessed" in source_obstacle(view, "A", Way.INTRINSIC)


def test_a_local_that_hides_the_parameter():
    view, source = view_of("{ float A[3]; A[0] = 1; B[n] = A[0]; } B[0] = A[5];")
    assert seen(view, source, "A") == [("load", "A[5]", "A")]


def test_code_that_the_preprocessor_leaves_out():
    view, source = view_of("#if 0\nfloat y = A[3];\n#endif\nB[n] = A[1];")
    assert seen(view, source, "A") == [("load", "A[1]", "A")]
    assert source_obstacle(view, "A", Way.HOST_BUFFER) is None


def test_arguments_of_macros_are_accesses():
    view, source = view_of(
        "B[n] = MAX(A[n], A[n + 1]);", before="#define MAX(a, b) ((a)>(b)?(a):(b))"
    )
    assert seen(view, source, "A") == [("load", "A[n]", "A"), ("load", "A[n + 1]", "A")]
    view, source = view_of("SET(B[n]);", before="#define SET(a) a = a + 1")
    assert seen(view, source, "B") == [("update", "B[n]", "B")]


def test_present_placement_is_read_off_the_loads():
    assert view_of("B[n] = __ldg(&A[n]);")[0].array("A").present is Way.INTRINSIC
    assert view_of("B[n] = __ldg(&A[n]) + A[0];")[0].array("A").present is Way.DIRECT
    assert view_of("B[n] = A[n];")[0].array("A").present is Way.DIRECT


def test_two_kernels_in_one_file():
    before = "__global__ void other(float *A) { A[0] = 1; }"
    view, source = view_of("B[n] = A[n];", before=before)
    assert seen(view, source, "A") == [("load", "A[n]", "A")]
    assert not view.array("A").written


@pytest.mark.parametrize("kernel", ["k<float, 4>", "k<float>"])
def test_template_instances_have_concrete_types(kernel):
    source = """
template <typename T, int R = 4>
__global__ void k(const T *A, T *B, int n)
{
    B[n * R] = A[n] * T(R);
}
"""
    view = analyse_source(make_case(kernel, source, [F, F, N], block=1, grid=1))
    assert view.parameters[0].type_text == "const float *"
    assert view.parameters[0].element_dtype == "float32"
    assert source[view.signature_start :].startswith("template <typename T, int R = 4>")
    place = view.array("A").accesses[0]
    assert source[place.start : place.end] == "A[n]"
    assert place.line == 5


def test_parameters():
    view, _ = view_of(
        "B[0] = h;", "const double *__restrict__ A, float *B, int n, unsigned short h",
        (np.zeros(3), F, N, np.uint16(3)),
    )  # fmt: skip
    a, _, n, h = view.parameters
    assert (a.is_pointer, a.element_type, a.element_bytes, a.element_dtype) == (
        True, "double", 8, "float64",
    )  # fmt: skip
    assert (n.is_pointer, n.element_type, n.element_bytes, n.element_dtype) == (
        False, "int", 4, "int32",
    )  # fmt: skip
    assert (h.element_type, h.element_dtype) == ("unsigned short", "uint16")


def test_offsets_count_bytes_of_utf8():
    source = (
        "// größer als π\n__global__ void k(const float *A, float *B) { B[0] = A[1]; /* ü */ }\n"
    )
    view = analyse_source(make_case("k", source, [F, F], block=1, grid=1))
    place = view.array("A").accesses[0]
    assert source.encode()[place.start : place.end] == b"A[1]"
    assert source.encode()[view.body_start : view.body_end].startswith(b"{ B[0]")


def test_the_kernel_must_be_defined_in_the_file(tmp_path):
    with pytest.raises(UnsupportedError, match="no definition of kernel 'q'"):
        analyse_source(make_case("q", "__global__ void k() {}\n", [], block=1, grid=1))
    (tmp_path / "inside.h").write_text("__global__ void k(float *A) { A[0] = 1; }\n")
    source = '#include "inside.h"\n'
    with pytest.raises(UnsupportedError, match="included file"):
        analyse_source(make_case("k", source, [F], block=1, grid=1, include_paths=[tmp_path]))


def test_arguments_that_do_not_fit_are_refused():
    with pytest.raises(CaseError):
        view_of("B[0] = 1;", args=(F, F))


def test_headers_and_defines_reach_the_parser(tmp_path):
    (tmp_path / "size.h").write_text("#define SIZE 16\n")
    view, _ = view_of(
        "B[threadIdx.x] = A[threadIdx.x / DIV + SIZE];", before='#include "size.h"',
        include_paths=[tmp_path], defines={"DIV": 4},
    )  # fmt: skip
    tile = view.array("A").tile
    assert (tile.column0_text, tile.width) == ("16", 8)


def test_half_precision_from_cudas_header():
    half = np.zeros(64, np.float16)
    view, source = view_of(
        "B[n] = __float2half(__half2float(A[n]) * 2); A2(B, n);",
        "const __half *A, __half *B, int n", (half, half, N),
        before="#include <cuda_fp16.h>\n__device__ void A2(__half *, int) {}",
    )  # fmt: skip
    assert seen(view, source, "A") == [("load", "A[n]", "A")]
    assert view.array("A").parameter.element_dtype == "float16"
    assert source_obstacle(view, "A", Way.INTRINSIC) is None


@pytest.mark.parametrize("space", ["readonly", "shared", "constant"])
@pytest.mark.parametrize("kind", ["__half", "__nv_bfloat16"])
def test_numbers_of_16_bits_that_become_float_move_like_others(kind, space):
    source = f"""\
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void f(const {kind} *a, const {kind} *b, float *out, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = static_cast<float>(b[i]);
    for (int k = 0; k < n; k++) sum += (float)a[k] * float(b[k]);
    out[i] = sum;
}}
"""
    numbers = np.random.default_rng(4).integers(0x3C00, 0x3E00, (2, 64))
    dtype = np.float16 if kind == "__half" else np.uint16
    a, b = numbers.astype(np.uint16).view(dtype)
    case = make_case("f", source, [a, b, np.zeros(64, np.float32), np.int32(64)], block=32, grid=2)
    moved = placewise.rewrite(case, {"a": space, "b": space}, "A100")
    found = placewise.verify(moved, case)
    assert found.identical, found.detail


def test_methods_of_other_elements_are_not_followed():
    source = """\
struct Number { float x; __device__ operator float() { return x++; } };
__global__ void f(Number *a, float *out) { out[threadIdx.x] = (float)a[threadIdx.x]; }
"""
    numbers = np.zeros(32, np.dtype([("x", "f4")]))
    case = make_case("f", source, [numbers, np.zeros(32, np.float32)], block=32, grid=1)
    assert "method" in source_obstacle(analyse_source(case), "a", Way.KERNEL_BUFFER)
