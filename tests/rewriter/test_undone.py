"""Constant and shared arrays of a source go back to global memory, with the same bits."""

from dataclasses import replace

import numpy as np
import pytest

from placewise import PointerTo, make_case
from placewise.cases import load_case
from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.rewriter.own.undone import undo

SOURCE = """#define FIXED __constant__
struct Pair { float x, y; };
__constant__ float weights[9];
static __device__ __constant__ float scale[2] = {2.0f, 3.0f};
__constant__ int first[4], second[4];
FIXED float hidden[4];
__constant__ Pair pairs[2][2];
static __device__ float weight(int n) { return weights[n] * scale[1] + hidden[0]; }

// Smooths a.
__global__ void k(const float *a, const Pair *p, float *o, int n)
{
    __shared__ float tile[72];
    __shared__ Pair own[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int t = threadIdx.x; t < 72; t += blockDim.x)
        tile[t] = a[blockIdx.x * blockDim.x + t];
    own[threadIdx.x] = p[i];
    __syncthreads();
    float s = own[63 - threadIdx.x].y + first[i & 3] - second[1] + pairs[1][i & 1].x;
    for (unsigned d = 0; d < 9u; d++)
        s += tile[threadIdx.x + d] * weight(d) * scale[d & 1];
    o[i] = s;
}
"""


def case(seed, source=SOURCE):
    rng = np.random.default_rng(seed)
    pair = np.dtype([("x", "f4"), ("y", "f4")])
    made = rng.uniform(-1, 1, 600).astype("f4")
    constants = {
        "weights": made[:9], "first": np.arange(4, dtype="i4") * seed, "hidden": made[9:13],
        "second": np.arange(4, dtype="i4") + seed, "pairs": made[20:28].view(pair).reshape(2, 2),
    }  # fmt: skip
    arguments = [made[:264], made[:512].view(pair), np.zeros(256, np.float32), np.int32(256)]
    return make_case("k", source, arguments, block=64, grid=4, constants=constants)


def run(one, output="o"):
    named, checker = named_case(one), Checker()
    ran = execute(compile_case(one), named.launch, named.inputs, check=checker)
    assert checker.clean
    return ran.output(output)


@pytest.mark.parametrize("name", ["weights", "scale", "pairs", "tile", "own"])
def test_each_computes_the_same_on_data_of_its_own(name):
    one, other = case(1), case(2)
    written = undo(one, analyse_source(one), name, "global")
    again = undo(other, analyse_source(other), name, "global")
    assert again.case.source == written.case.source != one.source
    assert np.array_equal(run(written.case), run(one))
    assert np.array_equal(run(again.case), run(other))


def test_all_of_them_one_after_the_other():
    one = case(3)
    left = one
    for name in ("own", "weights", "tile", "pairs", "scale"):
        left = undo(left, analyse_source(left), name, "global").case
    assert "__shared__" not in left.source
    assert "static __device__ float scale[2]" in left.source
    assert np.array_equal(run(left), run(one))


@pytest.mark.parametrize(
    ("name", "reason"),
    [("first", r"beside 'second' \(line 5\)"), ("hidden", r"from a macro \(line 6\)")],
)
def test_declarations_of_more_than_one_array_stay(name, reason):
    one = case(1)
    with pytest.raises(UnsupportedError, match=reason):
        undo(one, analyse_source(one), name, "global")


def test_comments_and_line_ends_stay():
    one = case(1, SOURCE.replace("\n", "\r\n"))
    source = undo(one, analyse_source(one), "tile", "global").case.source
    assert "// Smooths a.\r\n" in source
    assert "\n" not in source.replace("\r\n", "")


def test_constants_that_no_function_names_are_not_offered():
    one = case(1, SOURCE.replace("second[1]", "1"))
    assert "second" not in [c.name for c in analyse_source(one).constants]


MULTIPLY = """#define T 8
__global__ void multiply(const float *A, const float *B, float *C, int n, int k)
{
    __shared__ float left[T][T];
    __shared__ float right[T][T + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    float sum = 0;
    HEAD {
        left[ty][tx] = A[FROM_A + k * ty + tx];
        right[ty][tx] = B[FROM_B + n * ty + tx];
        __syncthreads();
        for (int i = 0; i < T; ++i)
            sum += left[ty][i] * right[i][tx];
        __syncthreads();
    }
    C[(blockIdx.y * T + ty) * n + blockIdx.x * T + tx] = sum;
}
"""

LOOPS = {
    "a tile's number": (
        "for (int m = 0; m < k / T; m++)", "blockIdx.y * T * k + m * T",
        "m * T * n + blockIdx.x * T",
    ),
    "two places in step": (
        "for (int a = k * T * blockIdx.y, b = T * blockIdx.x; a < k * (T * blockIdx.y + 1); "
        "a += T, b += T * n)", "a", "b",
    ),
    "an unsigned start": (
        "for (unsigned p = 0; p < k; p += blockDim.x)", "blockIdx.y * T * k + p",
        "p * n + blockIdx.x * T",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", LOOPS)
def test_tiles_that_each_round_of_a_loop_fills(what):
    head, left, right = LOOPS[what]
    source = MULTIPLY.replace("HEAD", head).replace("FROM_A", left).replace("FROM_B", right)
    rng = np.random.default_rng(5)
    m, n, k = 16, 24, 32
    a, b = (rng.integers(-9, 9, s).astype("f4") for s in ((m, k), (k, n)))
    arguments = [a.ravel(), b.ravel(), np.zeros(m * n, np.float32), np.int32(n), np.int32(k)]
    left = make_case("multiply", source, arguments, block=(8, 8), grid=(3, 2))
    for name in ("left", "right"):
        left = undo(left, analyse_source(left), name, "global").case
    assert "__shared__" not in left.source
    assert "__syncthreads" not in left.source
    named, checker = named_case(left), Checker()
    ran = execute(compile_case(left), named.launch, named.inputs, check=checker)
    assert checker.clean
    assert np.array_equal(ran.output("C").reshape(m, n), a @ b)


TRANSPOSE = """__global__ void k(const float *a, float *o, int rows, int columns)
{
    __shared__ float tile[16][17];
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    for (int r = 0; r < 16; r += 4)
        tile[threadIdx.y + r][threadIdx.x] = a[(y + r) * columns + x];
    __syncthreads();
    const int to = blockIdx.y * 16 + threadIdx.x, row = blockIdx.x * 16 + threadIdx.y;
    for (int r = 0; r < 16; r += 4)
        o[(row + r) * rows + to] = tile[threadIdx.x][threadIdx.y + r];
}
"""


def test_a_transpose_reads_its_array_itself():
    a = np.random.default_rng(2).uniform(size=(32, 48)).astype("f4")
    arguments = [a.ravel(), np.zeros(a.size, np.float32), np.int32(32), np.int32(48)]
    one = make_case("k", TRANSPOSE, arguments, block=(16, 4), grid=(3, 2))
    written = undo(one, analyse_source(one), "tile", "global").case
    assert "tile" not in written.source.split("{", 1)[1]
    assert np.array_equal(run(written), a.T.ravel())


def test_a_halo_filled_by_two_loops():
    source = """__global__ void k(const float *a, float *o, int n)
{
    __shared__ float tile[10][10];
    for (int y = threadIdx.y; y < 10; y += 8)
        for (int x = threadIdx.x; x < 10; x += 8) {
            tile[y][x] = a[(blockIdx.y * 8 + y) * n + blockIdx.x * 8 + x];
        }
    __syncthreads();
    float s = 0;
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++) s += tile[threadIdx.y + dy][threadIdx.x + dx];
    o[(blockIdx.y * 8 + threadIdx.y) * (n - 2) + blockIdx.x * 8 + threadIdx.x] = s;
}
"""
    a = np.random.default_rng(2).integers(0, 9, (18, 26)).astype("f4")
    arguments = [a.ravel(), np.zeros(16 * 24, np.float32), np.int32(26)]
    one = make_case("k", source, arguments, block=(8, 8), grid=(3, 2))
    written = undo(one, analyse_source(one), "tile", "global").case
    around = sum(a[y : y + 16, x : x + 24] for y in range(3) for x in range(3))
    assert "__shared__" not in written.source
    assert np.array_equal(run(written), around.ravel())


EDGES = {
    "left out": "if (row < n && t * 8 + tx < k) left[ty][tx] = A[row * k + t * 8 + tx]; "
                "else left[ty][tx] = 0;",
    "chosen": "left[ty][tx] = row < n && t * 8 + tx < k ? A[row * k + t * 8 + tx] : 0.0f;",
}  # fmt: skip


@pytest.mark.parametrize("what", EDGES)
def test_tiles_that_hold_zeros_beyond_the_edges(what):
    source = f"""__global__ void k(const float *A, float *o, int n, int k)
{{
    __shared__ float left[8][8];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 8 + ty;
    float sum = 0;
    for (int t = 0; t < (k + 7) / 8; t++) {{
        {EDGES[what]}
        __syncthreads();
        for (int i = 0; i < 8; i++) sum += (i + 1) * left[ty][i];
        __syncthreads();
    }}
    if (row < n && tx == 0) o[row] = sum;
}}
"""
    a = np.random.default_rng(4).integers(0, 9, (13, 21)).astype("f4")
    arguments = [a.ravel(), np.zeros(13, np.float32), np.int32(13), np.int32(21)]
    one = make_case("k", source, arguments, block=(8, 8), grid=(1, 2))
    written = undo(one, analyse_source(one), "left", "global").case
    assert "__shared__" not in written.source
    assert np.array_equal(run(written), a @ (np.arange(21) % 8 + 1))


def test_edges_are_compared_as_signed_numbers():
    """``n - 1 - threadIdx.x`` is never below zero in unsigned arithmetic."""
    source = """__global__ void k(const float *A, float *o, int n)
{
    __shared__ float row[64];
    row[threadIdx.x] = (int)threadIdx.x < n ? A[threadIdx.x] : 7.0f;
    __syncthreads();
    o[threadIdx.x] = row[(threadIdx.x + 5) % 64];
}
"""
    a = np.arange(40, dtype="f4")
    one = make_case("k", source, [a, np.zeros(64, "f4"), np.int32(40)], block=64, grid=1)
    written = undo(one, analyse_source(one), "row", "global").case
    filled = np.concatenate([a, np.full(24, 7, "f4")])
    assert np.array_equal(run(written), np.roll(filled, -5))


def test_a_number_in_a_template_has_the_templates_type():
    source = """template <typename T> __global__ void k(const T *A, T *o, int n)
{
    __shared__ T row[64];
    row[threadIdx.x] = (int)threadIdx.x < n ? A[threadIdx.x] : 0.1;
    __syncthreads();
    o[threadIdx.x] = row[63 - threadIdx.x];
}
"""
    one, other = (
        make_case(f"k<{t}>", source, [np.ones(40, d), np.zeros(64, d), np.int32(40)], block=64,
                  grid=1)
        for t, d in (("float", "f4"), ("double", "f8"))
    )  # fmt: skip
    written = undo(one, analyse_source(one), "row", "global").case
    assert run(written)[0] == np.float32(0.1)
    assert run(replace(other, source=written.source))[0] == 0.1


def test_a_staged_stencil_of_the_bundled_cases_needs_no_guards():
    one = load_case("stencil2d")
    written = undo(one, analyse_source(one), "tile", "global").case
    assert "__shared__" not in written.source
    assert "?" not in written.source.split("{", 1)[1]
    few = replace(one.launch, grid=(2, 2, 1))
    assert np.array_equal(
        run(replace(written, launch=few), "result"), run(replace(one, launch=few), "result")
    )


def test_an_array_that_another_argument_shares_stays_staged():
    a = np.zeros(600, np.float32)
    pairs = np.zeros(256, [("x", "f4"), ("y", "f4")])
    one = make_case(
        "k", SOURCE, [a, pairs, PointerTo("a", 300), np.int32(256)], block=64, grid=4,
        constants=dict(case(1).inputs.constants),
    )  # fmt: skip
    with pytest.raises(UnsupportedError, match="'o' and 'a' share memory"):
        undo(one, analyse_source(one), "tile", "global")
