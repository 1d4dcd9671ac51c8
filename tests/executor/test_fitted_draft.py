"""Drafted cases that are tried: what was too small is enlarged, types are the compiler's."""

import pytest

from placewise.errors import CompileError, ExecutionError, PlacewiseError
from placewise.executor import fitted_draft as drafts
from placewise.executor.fitted_draft import as_product, fitted_draft
from placewise.kernel.cases.drafts.drafted_case import drafted_kernels
from placewise.kernel.cases.drafts.drafted_launch import FEW
from placewise.kernel.cases.prepare_case import named_case

FAR = """
extern __shared__ float tile[];
__global__ void far(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[20 * threadIdx.x] = x[3 * i];
    y[i] = tile[20 * threadIdx.x];
}
"""
LOOP = """
__global__ void loop(float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < n; ++k) y[i] = y[i] * 1.5f + k;
}
"""
STRIDE = """
__global__ void stride(const float *x, float *y, int n) {
    y[blockIdx.x * blockDim.x + threadIdx.x] = x[(size_t) threadIdx.x * n * 64];
}
"""
TYPES = """
#include "types.h"
template <typename T> __global__ void typed(const index_t *at, T *y, Pair::second_t last) {
    y[threadIdx.x] = at[threadIdx.x] + last;
}
"""


def fitted(tmp_path, source):
    (tmp_path / "my.cu").write_text(source)
    return fitted_draft(drafted_kernels(source)[0], "my.cu", tmp_path / "my.toml")


def test_arrays_and_shared_memory_grow_until_the_kernel_runs(tmp_path):
    found, stopped = fitted(tmp_path, FAR)
    assert stopped is None
    assert [a.times for a in found.arguments if a.is_array] == [4, 1]
    assert found.shared_bytes == 20 * 255 * 4 + 16  # up to the last thread's element
    assert not (tmp_path / "my.toml").exists()


@pytest.mark.parametrize("source", [LOOP, STRIDE])
def test_sizes_shrink_where_the_kernel_loops_or_strides_over_them(tmp_path, source):
    found, stopped = fitted(tmp_path, source)
    assert stopped is None
    assert found.values["n"] == FEW[0]
    assert found.launch.problem == drafted_kernels(source)[0].launch.problem


def test_types_are_the_compilers(tmp_path):
    (tmp_path / "types.h").write_text(
        "namespace deep { typedef long long wide; }\nusing index_t = deep::wide;\n"
        "struct Pair { typedef unsigned char second_t; };\n"
    )
    found, stopped = fitted(tmp_path, TYPES)
    assert stopped is None
    assert [a.dtype for a in found.arguments] == ["int64", "float32", "uint8"]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("__trap();", ExecutionError),
        ("y[threadIdx.x] = missing(n);", CompileError),
        ("y[-1 - (int) threadIdx.x] = n;", ExecutionError),
    ],
)
def test_what_still_stops_it_is_told(tmp_path, body, error):
    source = f"__global__ void k(float *y, int n) {{ {body} }}"
    found, stopped = fitted(tmp_path, source)
    assert isinstance(stopped, error)
    assert [a.times for a in found.arguments] == [1, 1]


def test_structs_of_structs_are_words(tmp_path):
    source = """
struct In { int a; float b[2]; };
struct Out { In one, two; };
__global__ void k(const Out *x, Out by, float *y) {
    y[threadIdx.x] = x[threadIdx.x].two.b[1] + by.two.a;
}
"""
    found, stopped = fitted(tmp_path, source)
    assert stopped is None
    assert (found.arguments[0].dtype, found.arguments[0].width) == ("float32", 6)
    assert len(found.arguments[1].members) == 6


def test_what_a_draft_cannot_know_is_told(tmp_path):
    source = (
        "struct At { const int *first; };\n"
        "__global__ void k(float *y, At at) { y[threadIdx.x] = at.first[threadIdx.x]; }"
    )
    assert isinstance(fitted(tmp_path, source)[1], PlacewiseError)


def test_launches_that_take_long_get_smaller_sizes(tmp_path, monkeypatch):
    monkeypatch.setattr(drafts, "SECONDS", -1.0)
    found, stopped = fitted(tmp_path, LOOP.replace("k < n", "k < n % 7"))
    assert stopped is None
    assert found.values["n"] == FEW[-1]


ALLOCATED = """
__global__ void k(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[AT];
}
int main() {
    int n = 1024;
    cudaMalloc(&x, BYTES); cudaMalloc(&y, 2 * n * sizeof(float));
    k<<<(n + 63) / 64, 64>>>(x, y, n);
}
"""


@pytest.mark.parametrize(
    ("bytes_", "at", "n", "shapes"),
    [
        # What the program allocates, though the kernel reaches less of it.
        ("n * n * sizeof(float)", "i", 1024, ["", ""]),
        # Too much for a draft: smaller sizes.
        ("(size_t)n * n * n * n * n * sizeof(float)", "i", 8, ["", ""]),
        # Too much whatever the sizes: as long as the kernel reaches.
        ("n * (1 << 30)", "i", 8, ["n", ""]),
        # Too little for the kernel: enlarged, and as long as the kernel reaches.
        ("n * sizeof(float)", "4 * i + 3", 1024, ["4 * n", ""]),
    ],
)
def test_arrays_are_the_programs_where_that_can_be(tmp_path, bytes_, at, n, shapes):
    found, stopped = fitted(tmp_path, ALLOCATED.replace("BYTES", bytes_).replace("AT", at))
    assert stopped is None
    assert found.values["n"] == n
    assert [a.shape for a in found.arguments if a.is_array] == shapes


def test_a_launch_that_is_too_large_is_tried_with_smaller_sizes(tmp_path):
    source = """
__global__ void k(double *x, int boxes) { x[blockIdx.x * 256 + threadIdx.x] = 1; }
int main() { int n = 4096 * 4096, boxes = n / 64; k<<<n, 256>>>(x, boxes); }
"""
    found, stopped = fitted(tmp_path, source)
    assert stopped is None
    assert found.launch.problem == (512 * 256,)


@pytest.mark.parametrize(
    ("count", "formula"),
    [
        (6000, "w * h"),
        (3 * 6000, "3 * w * h"),
        (3600, "h * h"),
        (5898, "w * h"),  # a stencil that leaves the last row out
        (6007, "w * h + 7"),
        (459, "459"),
        (60, "h"),
        (58, "h"),
        (50, "50"),
    ],
)
def test_ends_of_accesses_are_products_of_sizes(count, formula):
    assert as_product(count, {"w": 100, "h": 60, "one": 1}) == formula


def test_of_equal_sizes_each_counts_once():
    assert as_product(1 << 20, {"w": 1024, "h": 1024}) == "w * h"
    assert as_product(1 << 20, {"w": 1024}) == "w * w"


def test_what_the_kernel_reads_and_writes_starts_from_random_numbers(tmp_path):
    source = """
__global__ void k(float *sorted, int *marks, int *bins, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n && marks[i] && sorted[i] > sorted[i + 1]) out[i] = sorted[i] = 1;
    atomicAdd(bins + i % 8, 1);
}
"""
    found, stopped = fitted(tmp_path, source)
    assert stopped is None
    assert [a.filling for a in found.arguments if a.is_array] == [
        "uniform", "integers", "fill", "fill",
    ]  # fmt: skip
    assert found.unreached == ()


def test_zeros_that_a_kernel_needs_are_kept(tmp_path):
    source = """
__global__ void k(unsigned *table, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (table[i]) __trap();
    table[i] = i;
}
"""
    found, stopped = fitted(tmp_path, source)
    assert stopped is None
    assert [a.filling for a in found.arguments if a.is_array] == ["fill"]


def test_arrays_that_the_kernel_never_gets_to_are_named(tmp_path):
    source = """
__global__ void k(const int *from, const float *x, float *y, int first, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = first; j < n; ++j) y[i] += x[from[j]];
}
"""
    assert fitted(tmp_path, source)[0].unreached == ("from", "x", "y")


def test_a_sparse_matrix_has_rows_and_columns(tmp_path):
    source = """
__global__ void k(const int *starts, int *columns, const float *v, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = starts[i]; j < starts[i + 1]; ++j) y[i] += v[j] * x[columns[j]];
}
int main() { int n = 1024; cudaMalloc(&x, n * sizeof(float)); k<<<n / 64, 64>>>(s, c, v, x, y, n); }
"""
    found, stopped = fitted(tmp_path, source)
    assert (stopped, found.unreached) == (None, ())
    starts, columns = found.arguments[:2]
    assert [a.shape for a in found.arguments[:4]] == ["n + 1", "8 * n", "8 * n", ""]
    assert (starts.is_starts, columns.filling, columns.high) == (True, "integers", 1024)


def test_a_source_is_read_for_names_once_however_often_it_is_run(tmp_path, monkeypatch):
    read = []
    monkeypatch.setattr(drafts, "named_case", lambda case: read.append(1) or named_case(case))
    source = "__global__ void k(const float *x, float *y, int n) { y[40 * threadIdx.x * n] = 1; }"
    found, stopped = fitted(tmp_path, source)
    assert (stopped, read) == (None, [1])
    assert found.arguments[1].name == "y"


def test_every_step_that_may_take_long_is_named(tmp_path):
    (tmp_path / "my.cu").write_text(LOOP)
    steps = []
    drafted = drafted_kernels(LOOP)[0]
    fitted_draft(drafted, "my.cu", tmp_path / "my.toml", lambda step, *_: steps.append(step))
    assert list(dict.fromkeys(steps)) == [
        "reading the source", "compiling", "running with guessed inputs",
    ]  # fmt: skip
