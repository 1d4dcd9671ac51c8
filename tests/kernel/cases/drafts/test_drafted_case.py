"""Case files drafted from a source: what is read off it, and that they are case files."""

import numpy as np
import pytest

from placewise import execute
from placewise.kernel.cases.case_file import read_case_file
from placewise.kernel.cases.drafts.drafted_case import ELEMENTS, draft_text, drafted_kernels
from placewise.kernel.cases.drafts.drafted_launch import SHARED_BYTES

SOURCE = """
#define THREADS 128
// __global__ void no_kernel(int *gone) {}
__global__ void scale(const float *in, unsigned int *out, int n, float by, bool all) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (unsigned int) (by * in[i]);
}
template <typename T, int N = 4, bool WHOLE>
__global__ void __launch_bounds__(256) shift(const T *__restrict__ a, float4 *b, const uchar3 c[]) {
    int row = blockIdx.z * N;
}
__global__ void image(const struct Body *bodies, int width, int height) {
    int y = blockIdx.y * blockDim.y + threadIdx.y;
}
__global__ void many(double *a, int n, int m) {}
int main() {
    dim3 threads(32, 8);
    scale<<<(n + THREADS - 1) / THREADS, THREADS, 0, stream>>>(a, b, n, 2.0f, true);
    image<<<grid, threads>>>(bodies, w, h);
    many<<<n, dim3(64, 2)>>>(a, n, m);
    other<<<1, compute(3)>>>();
}
"""
SCALE, SHIFT, IMAGE, MANY = drafted_kernels(SOURCE)


def test_parameters_have_their_names_and_types():
    assert [(a.name, a.dtype, a.is_array, a.is_read_only) for a in SCALE.arguments] == [
        ("in", "float32", True, True),
        ("out", "uint32", True, False),
        ("n", "int32", False, False),
        ("by", "float32", False, False),
        ("all", "bool", False, False),
    ]
    assert [(a.dtype, a.width) for a in SHIFT.arguments] == [
        ("float32", 1), ("float32", 4), ("uint8", 3)
    ]  # fmt: skip
    assert [a.unknown for a in IMAGE.arguments] == ["Body", "", ""]


def test_a_template_is_drafted_as_an_instance():
    assert (SHIFT.kernel, SHIFT.name) == ("shift<float, 4, true>", "shift")


def test_blocks_are_those_of_the_sources_own_launches():
    assert SCALE.block == (128,)
    assert IMAGE.block == (32, 8)
    assert (MANY.block, len(MANY.launch.problem)) == ((64, 2), 2)
    # Not launched: its threads have one index, its blocks three.
    assert SHIFT.block == (256,)
    assert len(SHIFT.launch.problem) == 3


def test_arrays_hold_what_a_grid_of_the_sizes_reaches():
    for kernel in (SCALE, SHIFT, IMAGE, MANY):
        assert kernel.elements >= np.prod([float(extent) for extent in kernel.launch.problem])
    assert IMAGE.launch.problem == 2 * (*IMAGE.values.values(),)[:1]
    assert max(MANY.values.values()) ** 2 <= MANY.elements


def test_a_source_without_kernels_has_none():
    assert drafted_kernels("int main() { return 0; }") == ()


@pytest.mark.parametrize("text", ["/* ", "k<<<", "template <", "__global__ void k(", "dim3 b("])
def test_long_texts_take_no_longer_than_their_length(text):
    assert drafted_kernels("__global__ void k() {}" + text * 50_000)[0].name == "k"


@pytest.mark.parametrize("kernel", [SCALE, MANY])
def test_a_draft_is_a_case_that_runs(tmp_path, kernel):
    (tmp_path / "my.cu").write_text(SOURCE.partition("int main")[0])
    file = tmp_path / "my.toml"
    file.write_text(draft_text(kernel, "my.cu"))
    case = read_case_file(file)
    assert case.kernel == kernel.name
    assert [a.name for a in case.inputs.arguments] == [a.name for a in kernel.arguments]
    run = execute(case)
    if kernel is SCALE:
        (data,) = (a.data for a in case.inputs.arrays if a.name == "in")
        out = dict(run.execution.outputs)["out"]
        by = np.float32(2.0)  # as the source's own launch has it
        np.testing.assert_array_equal(out, (by * data).astype(np.uint32))


def test_every_draft_says_what_was_guessed():
    text = draft_text(IMAGE, "my.cu")
    assert 'dtype = "float32"    # guess: of type Body' in text
    assert text.count("# guess") >= 6


STRUCTS = """
typedef double real;
using count_t = unsigned int;
#define DATA float
typedef struct { real x, y; count_t hits[3]; } Cell;
struct Atom { DATA at; short kind; };
struct Odd { Atom inner; };
__global__ void k(const Cell *cells, Atom *atoms, const Odd *odd, const real *weight, DATA scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atoms[i].at = cells[i].x * scale + cells[i].hits[1] + weight[i];
    atoms[i].kind = odd[i].inner.kind;
}
"""


def test_structs_of_numbers_have_members(tmp_path):
    (kernel,) = drafted_kernels(STRUCTS)
    cells, atoms, odd, weight, scale = kernel.arguments
    assert [(m.name, m.dtype, m.count) for m in cells.members] == [
        ("x", "float64", 0), ("y", "float64", 0), ("hits", "uint32", 3),
    ]  # fmt: skip
    assert [m.dtype for m in atoms.members] == ["float32", "int16"]
    assert (odd.members, odd.unknown) == ((), "Odd")
    assert (weight.dtype, weight.unknown) == ("float64", "")
    assert (scale.dtype, scale.is_array) == ("float32", False)

    without = STRUCTS.replace(", const Odd *odd", "").replace("odd[i].inner.kind", "7")
    (tmp_path / "my.cu").write_text(without)
    file = tmp_path / "my.toml"
    file.write_text(draft_text(drafted_kernels(without)[0], "my.cu"))
    case = read_case_file(file)
    (data,) = (a.data for a in case.inputs.arrays if a.name == "cells")
    out = dict(execute(case).execution.outputs)["atoms"]
    assert (out["kind"] == 7).all()
    sums = data["x"] * np.float64(1.0) + data["hits"][:, 1]
    np.testing.assert_allclose(out["at"], sums + weight_of(case), rtol=1e-6)


def weight_of(case):
    (data,) = (a.data for a in case.inputs.arrays if a.name == "weight")
    return data


OTHERS = """
#define DETAILED
struct Box { int x0 = 2, nx = 3; float by = 0.5f; };
struct Table { int at[4]; };
__global__ void nothing() {}
__global__ void part(const float *x, float *y, Box box, Table table, int n
#ifdef DETAILED
                     , double *sums
#else
                     , char *none
#endif
#ifdef TIMED
                     , long *times
#endif
                     ) {
    extern __shared__ float tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = x[i];
    y[i] = tile[threadIdx.x] * box.by + box.nx;
    sums[i] = y[i];
}
__global__ void given(float *y) { y[threadIdx.x] = 1; }
int main() { given<<<1, 64, 512>>>(y); nothing<<<1, 1>>>(); }
"""


def test_dynamic_shared_memory_has_a_size():
    nothing, part, given = drafted_kernels(OTHERS)
    assert [k.shared_bytes for k in (nothing, part, given)] == [0, SHARED_BYTES, 512]


def test_parameters_are_those_of_the_branches_that_hold():
    part = drafted_kernels(OTHERS)[1]
    assert [a.name for a in part.arguments] == ["x", "y", "box", "table", "n", "sums"]


def test_a_struct_by_value_has_its_members(tmp_path):
    source = OTHERS.replace("Table table, ", "")
    (tmp_path / "my.cu").write_text(source)
    file = tmp_path / "my.toml"
    file.write_text(draft_text(drafted_kernels(source)[1], "my.cu"))
    case = read_case_file(file)
    (x,) = (a.data for a in case.inputs.arrays if a.name == "x")
    out = dict(execute(case).execution.outputs)
    np.testing.assert_array_equal(out["y"], x * np.float32(1.0) + np.float32(1.0))
    assert drafted_kernels(OTHERS)[1].arguments[3].members == ()


def test_a_kernel_without_parameters_is_a_case(tmp_path):
    (tmp_path / "my.cu").write_text(OTHERS)
    file = tmp_path / "my.toml"
    file.write_text(draft_text(drafted_kernels(OTHERS)[0], "my.cu"))
    assert read_case_file(file).inputs.arguments == ()


def test_commas_in_types_do_not_end_a_parameter():
    (kernel,) = drafted_kernels(
        "template <typename T> __global__ void k(const Accessor<T, 4, int> *at, float *, int, "
        "Pair<float, float> two = {1, 2}, unsigned *y) {}"
    )
    assert [(a.name, a.dtype, a.is_array) for a in kernel.arguments] == [
        ("at", "float32", True), ("argument2", "float32", True), ("argument3", "int32", False),
        ("two", "int32", False), ("y", "uint32", True),
    ]  # fmt: skip


def test_a_declaration_is_no_kernel():
    declared = "__global__ void k(float *x, int n);\n"
    assert drafted_kernels(declared) == ()
    (kernel,) = drafted_kernels(declared + "__global__ void k(float *x, int n) {}")
    assert kernel.name == "k"


def test_a_type_that_only_scalars_have_is_a_whole_number():
    (kernel,) = drafted_kernels(
        "template <typename T, typename Stride, class U> __global__ "
        "void k(const T *__restrict__ x, U const *y, T by, Stride s, const U u) {}"
    )
    assert kernel.kernel == "k<float, int, float>"
    assert [a.dtype for a in kernel.arguments][2:] == ["float32", "int32", "float32"]


@pytest.mark.parametrize(
    ("text", "kernel", "block"),
    [
        # The block's own number, however the source writes it.
        ("template <int N> K k(int *a) {} void h() { k<64><<<1, 64>>>(p); }", "k<64>", (64,)),
        (
            "#define TPB 128\ntemplate <typename T, int N> K k(T *a) {}"
            "void h() { k<double, TPB><<<1, TPB>>>(p); }",
            "k<double, 128>",
            (128,),
        ),
        (
            "constexpr int side = 8; template <int N, bool M> K k(int *a) { threadIdx.y; }"
            "void h() { k<side, false><<<g, dim3(side, side)>>>(p); }",
            "k<8, false>",
            (8, 8),
        ),
        # A number that the launch takes from elsewhere.
        ("template <int BLOCK_SIZE> K k(int *a) {}", "k<256>", (256,)),
        ("template <int BLOCK_SIZE> K k(int *a) { threadIdx.y; }", "k<16>", (16, 16)),
        ("template <int N> K __launch_bounds__(N) k(int *a) {}", "k<256>", (256,)),
        ("template <int N> K k(int *a) {} void h() { k<n><<<1, n>>>(p); }", "k<256>", (256,)),
        ("K __launch_bounds__(128, 2) k(int *a) {}", "k", (128,)),
        ("#define MOST 64\nK __launch_bounds__(MOST) k(int *a) {}", "k", (64,)),
        ("K __launch_bounds__(1024) k(int *a) {}", "k", (256,)),
    ],
)
def test_blocks_and_template_arguments_agree(text, kernel, block):
    (drafted,) = drafted_kernels(text.replace("K ", "__global__ void ", 1))
    assert (drafted.kernel, drafted.block) == (kernel, block)


LAUNCHED = """
template <int THREADS> __global__ void k(const float *x, float *y, int n, int width,
    int from, float by) {}
void run(float *x, float *y, int rows, int columns, int threads) {
    const int count = rows * columns;
    dim3 grid(ceil_div(count, threads), rows / 2);
    k<256><<<grid, threads, threads * sizeof(float)>>>(x, y, rows*columns, columns, 0, 1e-3f*rows);
}
int main() { int rows = 512; run(x, y, rows, 3 * 128, 256); }
"""


def test_sizes_and_grid_are_those_of_the_sources_own_launch(tmp_path):
    (kernel,) = drafted_kernels(LAUNCHED)
    assert (kernel.kernel, kernel.block, kernel.shared_bytes) == ("k<256>", (256,), 1024)
    assert kernel.values == {"n": 512 * 384, "width": 384}
    assert kernel.launch.grid == ("(n + 255) / 256", "256")
    assert kernel.launch.problem == (512 * 384, 256)
    # Smaller sizes to be tried: those that the program sets, and what follows from them.
    assert [one.sizes["n"] for one in kernel.launches[1:]] == [
        512 * 384, 256 * 192, 64 * 48, 8 * 6,
    ]  # fmt: skip

    (tmp_path / "my.cu").write_text(LAUNCHED.partition("void run")[0])
    file = tmp_path / "my.toml"
    file.write_text(draft_text(kernel, "my.cu"))
    case = read_case_file(file)
    assert case.launch.grid == (768, 256, 1)
    assert [a.value for a in case.inputs.arguments if hasattr(a, "value")] == [
        512 * 384, 384, 0, np.float32(0.512),
    ]  # fmt: skip


def test_a_size_may_be_called_elements(tmp_path):
    source = "__global__ void k(float *x, int elements, int rows) {}"
    (tmp_path / "my.cu").write_text(source)
    file = tmp_path / "my.toml"
    file.write_text(draft_text(drafted_kernels(source)[0], "my.cu"))
    case = read_case_file(file)
    assert [a.value for a in case.inputs.arguments if hasattr(a, "value")] == [1024, 1024]
    assert [a.data.size for a in case.inputs.arrays] == [ELEMENTS]


@pytest.mark.parametrize(
    "host",
    [
        "dim3 b(32, 8), g; dim3 g(n / 32, m / 8); k<<<dim3(g), dim3(b)>>>(x, n, m);",
        "dim3 g(n / 32, m / 8), b(32, 8); k<<<g, b>>>(x, n, m);",
        "dim3 b = dim3(32, 8); dim3 g = {n / 32, m / 8}; k<<<g, b>>>(x, n, m);",
        "dim3 g(n / 32, m / 8); k<<<g, {32, 8}>>>(x, n, m);",
    ],
)
def test_blocks_and_grids_may_be_written_in_many_ways(host):
    source = f"__global__ void k(float *x, int n, int m) {{}} void run(int n, int m) {{ {host} }}"
    (kernel,) = drafted_kernels(f"{source} int main(int c, char **v) {{ run(atoi(v[1]), 64); }}")
    assert kernel.block == (32, 8)
    assert kernel.launch.grid == ("n / 32", "m / 8")
    assert kernel.values == {"n": 1024, "m": 64}


def test_what_a_program_prints_defines_nothing():
    source = """
__global__ void k(float *x, int n) {}
int main(int c, char **v) {
    int n = 3 * 128; char quote = '"'; puts("n = 7, // and \\" n = 8");
    k<<<n / 128, 128>>>(x, n);
}
"""
    assert drafted_kernels(source)[0].values == {"n": 384}


@pytest.mark.parametrize(
    ("loop", "grid", "step"),
    [
        ("for (int i = 0; i < n; ++i)", "n / 64", 0),
        ("for (unsigned int i = n / 2; i > 0; i >>= 1)", "n / 64", 320),
        ("for (i = 1; i <= n / 16; i++)", "i", 40),
        ("dim3 g; for (i = 1; i <= n / 16; i++) { g = i;", "g", 40),
        ("for (int i = 0; i < n; i += 64)", "i / 64 + 1", 639),
        ("for (int i = first(); i < last(); ++i)", "n / 64", 1024),
        ("for (int i = 0; i < n; ++i) { x[i] = 0; }", "n / 64", 1024),
        ("for (int j = 2; j < n; ++j) { f(); { int i = 3 * j; }", "n / 64", 6),
        ("for (int j = 2; j < n; ++j) f(j); int i = 3 * j;", "n / 64", 1024),
    ],
)
def test_a_loops_variable_is_that_of_one_of_its_launches(loop, grid, step):
    source = f"""
__global__ void k(float *x, int n, int step) {{}}
int main() {{ int n = 640; {loop} k<<<{grid}, 64>>>(x, n, i); }}
"""
    (kernel,) = drafted_kernels(source)
    given = kernel.arguments[2].given
    assert (kernel.values["step"] if given is None else given) == step


def test_constants_that_the_kernel_reads_have_data(tmp_path):
    source = """
#define RADIUS 3
typedef float real;
struct Pair { float a; int b; };
__constant__ real taps[2 * RADIUS + 1];
__device__ __constant__ Pair pairs[2];
static __constant__ float4 vectors[RADIUS][2];
__constant__ int offsets[8], other;
__constant__ int corners[8];
__constant__ double factor;
__constant__ int width;
__constant__ float known[2] = {1, 2};
__constant__ float unread[2];
__device__ float tap(int i) { return taps[i]; }
__global__ void k(float *x) {
    int i = threadIdx.x;
    x[i] = tap(i % 7) + pairs[0].a + vectors[0][1].x + corners[i % 8] + factor + width + known[0];
}
void set() { cudaMemcpyToSymbol(taps, p, 28); }
"""
    (kernel,) = drafted_kernels(source)
    (tmp_path / "my.cu").write_text(source)
    file = tmp_path / "my.toml"
    file.write_text(draft_text(kernel, "my.cu"))
    constants = dict(read_case_file(file).inputs.constants)
    assert {name: np.shape(value) for name, value in constants.items()} == {
        "taps": (7,), "pairs": (2,), "vectors": (6, 4), "corners": (8,), "factor": (1,),
    }  # fmt: skip
    assert constants["taps"].dtype == np.float32
    assert 0 < constants["taps"].max() < 1
    assert constants["corners"].max() < 4
