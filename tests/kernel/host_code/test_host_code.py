"""Files that hold host code beside the kernel."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placewise.errors import CaseError, CompileError
from placewise.executor import execute
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.frontends.nvrtc import compile_kernel, device_source, left_out
from placewise.kernel.host_code.declarations import declarations, innermost, walk
from placewise.kernel.host_code.tokens import tokens
from placewise.kernel.toolchain.nvrtc_library import NvrtcLibrary
from placewise.kernel.view.tree.clang import parse_kernel

OPTIONS = CompileOptions()
APPLICATION = """\
// Größe: a comment that is not ASCII
#include <stdio.h>
#include <iostream>
#include <vector>
#include <cuda_runtime.h>
#define CHECK(call) do { if ((call) != cudaSuccess) exit(1); } while (0)
#define KERNEL __global__ void
using namespace std;

const int width = 4;
std::vector<float> results;
static cudaStream_t stream;
int counts[] = {1, 2, 3}, *where;

struct Options {
    int n = 0;
    std::string name;
    void print() const { std::cout << name; }
};

struct Pair {
    float a, b;
    Pair(float x) { a = b = x; printf("}"); }
    __device__ float sum() const { return a + b; }
};

constexpr int twice(int n) { return 2 * n; }
__host__ __device__ inline float half(float x) { return x / 2; }

void launch(float *a, int n);

KERNEL scale(float *a, Pair p) {
    __shared__ float s[twice(width)];
    s[threadIdx.x] = half(a[threadIdx.x]) * p.sum();
    a[threadIdx.x] = s[threadIdx.x];
}

template <class T>
void fill(std::vector<T> &v) { for (auto &x : v) x = rand(); }

void launch(float *a, int n) {
    scale<<<1, n>>>(a, Pair(1.0f)); /* Größe } */
    CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv) {
    Options options;
    const char *text = R"(} not the end)";
#ifdef VERBOSE
    if (argc > 1) {
#else
    if (argc > 2) {
#endif
        options.print();
    }
    fill(results);
    launch(nullptr, 4);
    return '}' == 3;
}
"""


def test_a_kernel_of_a_whole_application_compiles():
    kernel = compile_kernel(APPLICATION, "app.cu", "scale", OPTIONS)
    assert kernel.static_shared_bytes == 32
    assert left_out(APPLICATION, "app.cu", "scale", OPTIONS) == (
        "Pair::Pair",
        "fill",
        "launch",
        "main",
    )


def test_what_is_left_stays_where_it_was():
    text = device_source(APPLICATION, "app.cu", "scale", OPTIONS).text
    before, after = APPLICATION.encode(), text.encode()
    assert len(before) == len(after)
    assert before.count(b"\n") == after.count(b"\n")
    start = APPLICATION.encode().index(b"KERNEL scale")
    end = APPLICATION.encode().index(b"template <class T>")
    assert before[start:end] == after[start:end]
    assert "main" not in text
    # The conditional in main is still closed.
    assert text.count("#if") == text.count("#endif") == 1


def test_the_syntax_tree_has_the_offsets_of_the_whole_source():
    case = make_case(
        "scale",
        APPLICATION.replace("Pair p", "int p").replace("p.sum()", "p"),
        [np.zeros(4, np.float32), np.int32(2)],
        block=4,
        grid=1,
    )
    parsed = parse_kernel(case)
    assert parsed.text == case.source.encode()
    body = parsed.text[parsed.body.start : parsed.body.end]
    assert body.startswith(b"{\n    __shared__")
    assert body.endswith(b"s[threadIdx.x];\n}")
    assert parsed.errors == ()


def test_a_source_for_the_device_alone_is_untouched():
    source = "__global__ void f(float *a) { a[0] = 1; }\n"
    found = device_source(source, "f.cu", "f", OPTIONS)
    assert found.text == source
    assert found.left_out == found.headers == ()


def test_an_error_of_the_kernel_is_reported_in_its_place():
    source = APPLICATION.replace("* p.sum()", "* q.sum()")
    line = source.split("q.sum()")[0].count("\n") + 1
    with pytest.raises(CompileError, match='"q" is undefined') as caught:
        compile_kernel(source, "app.cu", "scale", OPTIONS)
    assert caught.value.where == f"app.cu:{line}"


def test_an_error_of_a_device_function_is_no_host_code():
    source = """\
int main() { return 0; }
__device__ float twice(float x) { return 2 * y; }
__global__ void f(float *a) { a[0] = twice(a[0]); }
"""
    with pytest.raises(CompileError, match='"y" is undefined') as caught:
        compile_kernel(source, "f.cu", "f", OPTIONS)
    assert caught.value.where == "f.cu:2"


def test_a_kernel_that_calls_a_host_function_is_refused():
    source = """\
#include <cstdlib>
int draw() { return rand(); }
__global__ void f(int *a) { *a = draw(); }
"""
    with pytest.raises(CompileError, match="draw") as caught:
        compile_kernel(source, "f.cu", "f", OPTIONS)
    assert caught.value.where == "f.cu:3"
    assert "__device__" in (caught.value.hint or "")


def test_a_struct_that_a_kernel_takes_keeps_all_its_members():
    source = """\
#include <vector>
struct Table { int n; std::vector<float> rows; };
int main() { return 0; }
__global__ void f(Table t, int *out) { *out = t.n; }
"""
    with pytest.raises(CompileError, match="Table") as caught:
        compile_kernel(source, "f.cu", "f", OPTIONS)
    assert "members" in (caught.value.hint or "")


def test_a_header_that_was_left_out_and_is_missed_is_named():
    source = """\
#include <thrust/device_vector.h>
int main() {}
__global__ void f(int *a) { a[0] = sizeof(thrust::device_vector<int>); }
"""
    with pytest.raises(CompileError) as caught:
        compile_kernel(source, "f.cu", "f", OPTIONS)
    assert "thrust/device_vector.h was left out" in (caught.value.hint or "")


def test_collectives_of_cub_are_there_for_who_includes_all_of_it():
    source = """\
#include <cub/cub.cuh>
struct Sum { typedef cub::BlockReduce<int, 64> Block; Block::TempStorage memory; };
__global__ void f(const int *a, int *sum) {
    __shared__ Sum s;
    int all = Sum::Block(s.memory).Sum(a[threadIdx.x]);
    if (threadIdx.x == 0) *sum = all;
}
int main() { size_t n = 0; cub::DeviceReduce::Sum(nullptr, n, (int *)0, (int *)0, 1); }
"""
    arguments = {"a": np.arange(64, dtype=np.int32), "sum": np.zeros(1, np.int32)}
    case = make_case("f", source, arguments, block=64, grid=1)
    kernel = compile_case(case)
    outputs = execute(kernel, case.launch, named_case(case).inputs).outputs
    assert dict(outputs)["sum"][0] == 64 * 63 // 2


@pytest.mark.parametrize("header", ["#include <vector>", "#include <cuda.h>", "#include <cstdint>"])
def test_integer_types_come_with_headers_of_the_host(header):
    source = f"""\
{header}
const uint32_t width = 32;
typedef struct {{ int8_t digit; }} Row;
__global__ void f(int64_t n, uint16_t *a, uint k, int_least8_t m) {{
    Row row = {{m}};
    a[n] = UINT16_MAX % width + k * row.digit;
}}
"""
    arguments = [np.int64(0), np.zeros(4, np.uint16), np.uint32(1), np.int8(2)]
    case = make_case("f", source, arguments, block=1, grid=1)
    compile_case(case)
    types = [a.value.dtype for a in named_case(case).inputs.arguments if a.name != "a"]
    assert types == [np.int64, np.uint32, np.int8]
    parameters = [(p.name, p.type) for p in parse_kernel(case).parameters]
    assert parameters == [
        ("n", "long long"), ("a", "unsigned short *"), ("k", "unsigned int"), ("m", "signed char")
    ]  # fmt: skip


def test_a_host_variable_in_a_kernel_is_named():
    source = "int scale = 2;\nint main() {}\n__global__ void f(int *a) { *a = scale; }\n"
    with pytest.raises(CompileError, match="scale") as caught:
        compile_kernel(source, "f.cu", "f", OPTIONS)
    assert caught.value.where == "f.cu:3"
    assert "host" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "member", ["void (*call)(std::string);", "MEMBER(std::string)", "virtual int f() { return 1; }"]
)
def test_members_that_shape_an_object_are_never_left_out_alone(member):
    source = f"""\
#define MEMBER(type) type made;
struct Table {{ int n; {member} int m; }};
int main() {{ return 0; }}
__global__ void f(Table t, int *out) {{ *out = t.m; }}
"""
    with pytest.raises(CompileError):
        compile_kernel(source, "f.cu", "f", OPTIONS)


def test_methods_of_the_host_are_left_out_of_a_struct_that_a_kernel_takes():
    source = """\
#include <vector>
struct View {
    float *data; int n;
    View(std::vector<float> &v);
    View(const View &other) = default;
    ~View() { cudaFree(data); }
    std::vector<float> copy() const;
    __device__ float first() const { return data[0]; }
};
View::View(std::vector<float> &v) : data(v.data()), n{(int)v.size()} {}
__global__ void f(View v, int *out) { *out = v.first() + v.n; }
"""
    compile_kernel(source, "f.cu", "f", OPTIONS)
    assert left_out(source, "f.cu", "f", OPTIONS) == ("View::~View", "View::View")


def test_another_kernel_that_does_not_compile_is_left_out():
    source = """\
texture<float, 1> table;
__global__ void old(float *a) { a[0] = tex1Dfetch(table, 0); }
__global__ void good(float *a) { a[0] = 1; }
"""
    compile_kernel(source, "f.cu", "good", OPTIONS)
    assert left_out(source, "f.cu", "good", OPTIONS) == ("old",)
    with pytest.raises(CompileError):
        compile_kernel(source, "f.cu", "old", OPTIONS)


def test_kernels_beside_host_code_are_named():
    with pytest.raises(CaseError) as caught:
        compile_kernel(APPLICATION, "app.cu", "scael", OPTIONS)
    assert "scale" in (caught.value.hint or "")
    assert "main" not in (caught.value.hint or "")


def test_host_code_of_included_files_is_left_out_as_well(tmp_path: Path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "timer.h").write_text(
        '#pragma once\n#include "more.h"\n#include <sys/time.h>\n'
        "double now() { struct timeval t; gettimeofday(&t, 0); return t.tv_sec; }\n"
        "__device__ inline float third(float x) { return x / THREE; }\n"
    )
    (tmp_path / "inner" / "more.h").write_text("#define THREE 3\nstatic int uses;\n")
    source = (
        '#include "inner/timer.h"\n#include "kernel.cu"\nint main() { f<<<1, 1>>>(0); now(); }\n'
    )
    (tmp_path / "kernel.cu").write_text("__global__ void f(float *a) { *a = third(*a); }\n")
    main = tmp_path / "main.cu"
    compile_kernel(source, str(main), "f", OPTIONS)
    assert left_out(source, str(main), "f", OPTIONS) == ("main",)


def test_a_library_of_the_host_is_left_out_where_nvrtc_cannot_read_it(tmp_path: Path):
    (tmp_path / "GL").mkdir()
    (tmp_path / "GL" / "glew.h").write_text("typedef unsigned GLuint;\nvoid glBegin(GLuint);\n")
    source = "#include <GL/glew.h>\nGLuint buffer;\n__global__ void f(int *out) { *out = 1; }\n"
    compile_kernel(source, "f.cu", "f", CompileOptions(include_paths=(tmp_path,)))


def test_a_class_that_a_conditional_cuts_through_does_not_take_its_surroundings_along():
    source = """\
extern "C" {
#ifdef AS_STRUCT
struct Context {
#endif
int handle;
#ifdef AS_STRUCT
};
#endif
}
__global__ void f(int *out) { *out = 1; }
"""
    with pytest.raises(CompileError) as caught:
        compile_kernel(source, "f.cu", "f", OPTIONS)
    assert caught.value.where == "f.cu:5"


def test_a_shared_name_of_two_included_files_is_not_mixed_up(tmp_path: Path):
    for folder, value in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "size.h").write_text(f"const int {folder} = {value};\n")
        (tmp_path / folder / f"use_{folder}.h").write_text('#include "size.h"\n')
    source = (
        '#include "a/use_a.h"\n#include "b/use_b.h"\nint main() { return 0; }\n'
        "__global__ void f(int *out) {\n"
        "  __shared__ int s[a + b]; s[threadIdx.x] = *out; __syncthreads(); *out = s[*out]; }\n"
    )
    kernel = compile_kernel(source, str(tmp_path / "main.cu"), "f", OPTIONS)
    assert kernel.static_shared_bytes == 12


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int f(int a) { return a; }", [("function", "f")]),
        ("int f(int a);", [("other", "f")]),
        ("namespace a { namespace b { void f() {} } int x; }", [("function", "f"), ("other", "x")]),
        ('extern "C" {\nvoid f() {}\n}', [("function", "f")]),
        ('extern "C" void f() {}', [("function", "f")]),
        ("#ifdef __cplusplus\nextern \"C\" {\n#endif\nint x;\n#ifdef __cplusplus\n}\n#endif\n",
         [("other", "x")]),
        ("struct A { int x; A() : x{1} {} void f() {} } a;",
         [("class", "A"), ("other", "x"), ("function", "A"), ("function", "f")]),
        ("class B : public A<int> { };", [("class", "B")]),
        ("enum class E : int { one, two };", [("class", "E")]),
        ("struct A f(struct A a) { return a; }", [("function", "f")]),
        ("__global__ void __launch_bounds__(256, 2) k(float *a) {}", [("function", "k")]),
        ("struct __align__(8) P { float x, y; };", [("class", "P"), ("other", "y")]),
        ("template <class T, int N = 3> void f(T t) { }", [("function", "f")]),
        ("bool operator==(A a, A b) { return 1; } int y;",
         [("function", "operator"), ("other", "y")]),
        ("A &operator+=(A &a, int b) { return a; } int y;",
         [("function", "operator"), ("other", "y")]),
        ("auto f = [](int a) { return a; }; int y;", [("other", "f"), ("other", "y")]),
        ("int a[] = {1, 2}; std::vector<int> v{1};", [("other", "a"), ("other", "v")]),
        ("#ifdef A\nint f(int a) {\n#else\nint f(int a, int b) {\n#endif\n  return a;\n}\nint y;",
         [("function", "f"), ("other", "y")]),
        ('const char *s = "}"; char c = \'"\'; // }\nint y; /* { */ int z;',
         [("other", "s"), ("other", "c"), ("other", "y"), ("other", "z")]),
        ("int n = 1'000'000; int y;", [("other", "n"), ("other", "y")]),
        ("#define OPEN {\nint y;", [("other", "y")]),
        ("#define LONG a \\\n  {\nint y;", [("other", "y")]),
    ],
)  # fmt: skip
def test_declarations_are_found(text, expected):
    assert [(d.kind, d.name) for d in walk(declarations(text))] == expected


@given(st.text(alphabet="{}()<>;=:#\"'\\/*\n abR", max_size=60))
def test_any_text_is_scanned(text):
    found = declarations(text)
    covered = [(d.start, d.end) for d in found]
    assert all(0 <= start < end <= len(text) for start, end in covered)
    assert all(b[0] >= a[1] for a, b in pairwise(covered))
    for token in tokens(text):
        assert text[token.start : token.end] == token.text
    for at in range(len(text)):
        one = innermost(found, at)
        assert one is None or one.start <= at < one.end


def result(source, flags=()):
    a = np.arange(32, dtype=np.int32)
    case = make_case("f", source, {"a": a}, block=32, grid=1, flags=flags)
    return dict(execute(compile_case(case), case.launch, named_case(case).inputs).outputs)["a"]


def test_a_source_that_asks_for_nvcc_has_it():
    found = result("""
    #ifndef __NVCC__
    #define __device__
    #endif
    __device__ int doubled(int x) { return 2 * x; }
    __global__ void f(int *a) { a[threadIdx.x] = doubled(a[threadIdx.x]); }
    int main() { return 0; }
    """)
    assert found.tolist() == list(range(0, 64, 2))


def test_a_host_function_under_a_condition_that_does_not_hold():
    source = """
    #ifdef __CUDACC_RTC__
    enum { INT_MAX = 7 };
    #else
    #include <limits.h>
    int main() { return 0; }
    #endif
    __global__ void f(int *a) { a[threadIdx.x] = INT_MAX; }
    """
    assert result(source).tolist() == [7] * 32
    assert device_source(source, "f.cu", "f", OPTIONS).text == source


def test_functions_that_an_option_makes_the_device_s_are_kept():
    found = result(
        """
    int tripled(int x) { return 3 * x; }
    __global__ void f(int *a) { a[threadIdx.x] = tripled(a[threadIdx.x]); }
    """,
        ["--device-as-default-execution-space"],
    )
    assert found.tolist() == list(range(0, 96, 3))


@pytest.mark.parametrize(
    "other",
    [
        # Each passes the front end and fails in ptxas.
        "extern __device__ int elsewhere(int);\n"
        "__global__ void other(int *a) { *a = elsewhere(*a); }",
        "__global__ void other(int *a) { __shared__ int s[90000]; s[*a] = 1; *a = s[a[1]]; }",
        '__global__ void other(int *a) { asm volatile("wgmma.fence.sync.aligned;"); }',
        # This one fails in the front end, and its name stands elsewhere, too.
        "template <typename T> __global__ void other(T *a) { *a = nothing; }\n"
        "template __global__ void other<int>(int *);",
        "__device__ int wrong() { return nothing; }\n"
        "__global__ void other(int *a) { *a = wrong(); }\n"
        "__global__ void third(int *a) { *a = wrong() + 1; }",
    ],
)
def test_what_a_kernel_does_not_need_may_be_refused(other):
    source = f"{other}\n__device__ int one() {{ return 1; }}\n"
    source += "__global__ void f(int *a) { *a = one(); }\n"
    case = make_case("f", source, {"a": np.zeros(1, np.int32)}, block=1, grid=1)
    outputs = execute(compile_case(case), case.launch, named_case(case).inputs).outputs
    assert dict(outputs)["a"][0] == 1
    assert "other" in left_out(source, "kernel.cu", "f", OPTIONS)
    assert "one" not in left_out(source, "kernel.cu", "f", OPTIONS)


def test_a_function_of_another_file_is_named():
    source = """\
#include <cuda.h>
__device__ double special(double);
__global__ void f(double *a) { *a = special(*a); }
"""
    with pytest.raises(CompileError, match="'special' is declared but nowhere defined") as caught:
        compile_kernel(source, "f.cu", "f", OPTIONS)
    assert "include the file" in (caught.value.hint or "")


def test_a_texture_reference_is_named():
    source = """\
texture<float, 2, cudaReadModeElementType> image;
__global__ void f(float *a) { *a = tex2D(image, 0, 0); }
"""
    with pytest.raises(CompileError) as caught:
        compile_kernel(source, "f.cu", "f", OPTIONS)
    assert "image is a texture or surface reference" in (caught.value.hint or "")


def test_constants_that_need_the_library_come_back_with_it():
    source = """\
#include <vector>
template <typename T, typename... Ts>
inline constexpr bool is_any = (std::is_same_v<T, Ts> || ...);
struct Host { std::vector<int> items; };
template <typename T> __device__ int kind() { return is_any<T, float, int> ? 1 : 2; }
__global__ void f(int *a) { *a = kind<int>() + 10 * kind<double>(); }
int main() { Host h; return 0; }
"""
    case = make_case("f", source, {"a": np.zeros(1, np.int32)}, block=1, grid=1)
    outputs = execute(compile_case(case), case.launch, named_case(case).inputs).outputs
    assert dict(outputs)["a"][0] == 21


def test_a_file_that_is_included_by_two_names_is_read_once(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "common.cuh").write_text(
        "#pragma once\n#include <vector>\nstd::vector<int> host();\n"
        "struct Pair { int first, second; };\n"
        "__device__ inline int sum(Pair p) { return p.first + p.second; }\n"
    )
    (tmp_path / "inner" / "more.cuh").write_text(
        '#include "common.cuh"\nint more() { return 1; }\n'
    )
    path = tmp_path / "f.cu"
    path.write_text(
        '#include "inner/more.cuh"\n#include "inner/common.cuh"\n'
        "__global__ void f(int *a) { *a = sum({1, 2}); }\nint main() { return host().size(); }\n"
    )
    case = make_case("f", path, {"a": np.zeros(1, np.int32)}, block=1, grid=1)
    outputs = execute(compile_case(case), case.launch, named_case(case).inputs).outputs
    assert dict(outputs)["a"][0] == 3


@pytest.mark.parametrize("type_", ["__nv_bfloat16", "half", "__half2"])
def test_sixteen_bit_floats_come_with_the_headers_of_cublas(type_):
    source = f"""\
#include <cublas_v2.h>
typedef {type_} Number;
__global__ void f(Number *out, const Number *in) {{
    out[threadIdx.x] = in[threadIdx.x];
}}
"""
    kernel = compile_kernel(source, "case.cu", "f", CompileOptions())
    assert kernel.entry.startswith("_Z1f")


def test_a_further_version_is_compiled_at_once(tmp_path, monkeypatch):
    before = """\
#include <vector>
#include <cublas_v2.h>
static std::vector<float> all;
struct Row { uint16_t at; };
void host() { all.resize(3); }
__global__ void other(Row *a) { a[0].at = missing(a); }
__global__ void f(float *a, Row b) { a[b.at] = 1; }
"""
    compiled = []
    compile_text = NvrtcLibrary.compile

    def counting(library, text, *more, **options):
        compiled.append(text)
        return compile_text(library, text, *more, **options)

    monkeypatch.setattr(NvrtcLibrary, "compile", counting)
    path = str(tmp_path / "versions.cu")
    compile_kernel(before, path, "f", CompileOptions())
    rounds = len(compiled)
    assert rounds > 1
    after = before.replace("a[b.at] = 1", "a[b.at + 1] = 2")
    assert left_out(after, path, "f", CompileOptions()) == ("host", "other")
    assert len(compiled) == rounds + 1
    # One that needs what was left out is searched anew.
    needs = before.replace("missing(a)", "f(a)").replace("__global__ void f(float *a, Row b)", "")
    with pytest.raises(CompileError):
        compile_kernel(needs, path, "other", CompileOptions())


def test_pragmas_of_host_functions_do_not_hide_the_kernel_from_the_parser(tmp_path):
    source = """\
template<int R> void reference(float *a) {
    #pragma omp parallel for
    for (int i = 0; i < R; i++)
        #pragma unroll
        for (int j = 0; j < R; j++) a[i] += j;
}
template<int R> __global__ void f(float *a) {
    #pragma unroll
    for (int j = 0; j < R; j++) a[threadIdx.x] += j;
}
"""
    arguments = {"a": np.zeros(32, np.float32)}
    case = make_case("f<4>", source, arguments, block=32, grid=1)
    assert parse_kernel(named_case(case)).function.name == "f"
    assert (
        "#pragma unroll\n    for (int j"
        in device_source(source, case.filename, "f<4>", case.options).text
    )
