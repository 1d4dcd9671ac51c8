"""Loops written chunk by chunk compute the same bits, on the inputs that they were written for and
on others."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.errors import ExecutionError, UnsupportedError
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

RNG = np.random.default_rng(3)


def floats(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def outputs(case):
    named = named_case(case)
    run = execute(compile_case(case), named.launch, named.inputs)
    return {name: data.tobytes() for name, data in run.outputs if name in run.written}


def chunked(case, machine, arrays, iterations, buffers=1):
    view = analyse_source(case)
    placement = Placement.of(dict.fromkeys(arrays, "shared"), iterations, buffers)
    return rewrite(case, placement, machine, view).case


def plans(case):
    return {plan.arrays: plan for plan in analyse_source(case).chunk_plans}


# Each: source, arguments by size, launch by size, arrays in tiles, chunk lengths.
GUARDED = """
__global__ void k(const float *A, const float *B, float *C, int m, int n, int l) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < m && c < n) {
        float sum = C[r * n + c];
        const float *row = A + r * l;
        for (int i = 0; i < l; i++) {
            sum += row[i] * B[i * n + c];
        }
        C[r * n + c] = sum;
    }
}
"""
STEPS = """
__global__ void k(const double *x, double *y, unsigned n, int first) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) { return; }
    double sum = x[i];
    int j;
#pragma unroll 2
    for (j = first; j <= (int)n - 3; j += 3) {
        if (j % 2) continue;
        sum += x[j] / (1 + j) + x[j + 2];
    }
    y[i] = sum + j;
}
"""
TWO_LOOPS = """
__global__ void k(const float *in, float *out, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float most = in[row * cols];
    for (int c = 1; c < cols; c++)
        most = fmaxf(most, in[row * cols + c]);
    float sum = 0.0f;
    if (most > 0.9f) sum = 1.0f;
    for (int c = 0; c < cols; c++) sum += in[row * cols + c] - most;
    if (sum < 0) { out[row] = most; return; }
    out[row] = sum;
}
"""
NESTED = """
__global__ void k(const float *a, const float *b, float *out, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float total = 0.0f;
    for (int block = 0; block < 3; block++) {
        float part = i < n ? a[i] : 0.0f;
        for (int j = 0; j < m; ++j)
            for (int d = 0; d < 2; ++d)
                part += b[(block * m + j) * 2 + d] * (d + 1);
        total += part;
    }
    if (i < n) out[i] = total;
}
"""
HALO = """
__global__ void k(const float *in, const float *w, float *out, int n, int radius) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int d = -radius; d <= radius; d++)
        if (i + d >= 0 && i + d < n)
            sum += in[i + d] * w[d + radius];
    out[i] = sum;
}
"""


MACROS = """
#define BOUND(constant, given) given
#define ROWS BOUND(64, m)
#define COLUMNS BOUND(48, n)
#define LENGTH BOUND(96, l)
#define NEXT i++
#define ONE 1.0f
__global__ void k(const float *A, const float *B, float *C, int m, int n, int l) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= ROWS) return;
    float scale = ONE;
    scale = 2.0f * ONE;
    if (c < COLUMNS)
        for (int i = 0; i < LENGTH; NEXT)
            C[r * COLUMNS + c] += A[r * LENGTH + i] * B[i * BOUND(48, n) + c] * scale * ONE;
    if (c < COLUMNS && r < BOUND(64, m)) {
        int i;
        for (i = 0; i < BOUND(96, l); i++) { C[r * n + c] -= A[r * l + i] / ONE; }
    }
}
"""


FAR_APART = """
__global__ void k(const float *a, const float *w, float *C, int n, int m) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) {
        float sum = 0.0f;
        for (int k = 0; k < m; k++) {
            float d = a[i * m + k] - a[j * m + k];
            sum += d * d * w[k];
        }
        C[i * n + j] = sum;
    }
}
"""
SQUARED = """
__global__ void k(const int *a, int *b, int n) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= n || c >= n) return;
    int sum = 0;
    for (int k = 0; k < n; k += 1) sum += a[r * n + k] * a[k * n + c] + a[r * n + k];
    b[r * n + c] = sum;
}
"""


def guarded(m, n, length):
    args = [floats(m, length), floats(length, n), floats(m, n), *map(np.int32, (m, n, length))]
    return make_case("k", GUARDED, args, block=(16, 8), problem=(n, m))


def far_apart(n, m):
    args = [floats(n, m), floats(m), np.zeros((n, n), np.float32), np.int32(n), np.int32(m)]
    return make_case("k", FAR_APART, args, block=(16, 8), problem=(n, n))


def squared(n):
    a = RNG.integers(-99, 99, (n, n)).astype(np.int32)
    args = [a, np.zeros_like(a), np.int32(n)]
    return make_case("k", SQUARED, args, block=(8, 16), problem=(n, n))


def macros(m, n, length):
    return replace(guarded(m, n, length), source=MACROS)


def steps(n, first):
    args = [RNG.uniform(size=n), np.zeros(n), np.uint32(n), np.int32(first)]
    return make_case("k", STEPS, args, block=64, problem=n)


def two_loops(rows, cols):
    args = [floats(rows, cols), floats(rows), np.int32(rows), np.int32(cols)]
    return make_case("k", TWO_LOOPS, args, block=32, problem=rows)


def nested(n, m):
    args = [floats(n), floats(3, m, 2), floats(n), np.int32(n), np.int32(m)]
    return make_case("k", NESTED, args, block=64, problem=n)


def halo(n, radius):
    args = [floats(n), floats(2 * radius + 1), floats(n), np.int32(n), np.int32(radius)]
    return make_case("k", HALO, args, block=64, problem=n)


KERNELS = {
    "guarded": (guarded, ("A", "B"), ((64, 48, 96), (33, 29, 17), (20, 51, 130), (9, 9, 1))),
    "macros": (macros, ("A",), ((64, 48, 96), (33, 29, 17), (20, 51, 130), (9, 9, 1))),
    "far apart": (far_apart, ("a",), ((64, 96), (33, 17), (20, 130), (9, 1))),
    "squared": (squared, ("a",), ((64,), (33,), (70,), (1,))),
    "steps": (steps, ("x",), ((300, 1), (77, 0), (1000, 5), (64, 60))),
    "two loops": (two_loops, ("in",), ((70, 64), (33, 17), (129, 100), (5, 1))),
    "nested": (nested, ("b",), ((200, 70), (65, 33), (64, 5), (100, 130))),
    "halo": (halo, ("in",), ((500, 20), (130, 20), (1000, 20))),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("iterations", [4, 16])
def test_a_chunked_form_computes_the_same_bits_whatever_the_size(name, iterations, machine):
    make, arrays, sizes = KERNELS[name]
    written = chunked(make(*sizes[0]), machine, arrays, iterations)
    assert "__syncthreads()" in written.source
    assert "_tile[" in written.source
    for size in sizes:
        case = make(*size)
        assert outputs(replace(case, source=written.source)) == outputs(case), size


@pytest.mark.parametrize("name", KERNELS)
def test_two_buffers_compute_the_same_bits_whatever_the_size(name, machine):
    make, arrays, sizes = KERNELS[name]
    written = chunked(make(*sizes[0]), machine, arrays, 8, buffers=2)
    assert written.source.startswith("#include <cuda_pipeline.h>\n")
    assert "__pipeline_memcpy_async(" in written.source
    for size in sizes:
        case = make(*size)
        moved, checker = named_case(replace(case, source=written.source)), Checker()
        run = execute(compile_case(moved), moved.launch, moved.inputs, check=checker)
        assert not checker.findings, size
        found = {name: data.tobytes() for name, data in run.outputs if name in run.written}
        assert found == outputs(case), size


def test_two_buffers_are_filled_by_copies_that_nobody_waits_for(machine):
    """Each chunk has one barrier, before which the copies of the chunk are waited for; those of the
    next chunk are issued behind it."""
    source = chunked(guarded(64, 48, 96), machine, ("A", "B"), 16, buffers=2).source
    assert "float A_tile[2][128];" in source
    loop = source[source.index("for (int i_chunk") :]
    order = [loop.index(what) for what in (
        "__pipeline_wait_prior(0);", "__syncthreads();", "fetch(i_chunk + 16, stage ^ 1);",
        "A_tile[stage][(r - A_row) * 16", "stage ^= 1;", "}\n            __syncthreads();",
    )]  # fmt: skip
    assert order == sorted(order)


def test_a_header_is_included_once(machine):
    source = "#include <cuda_pipeline.h>\n" + GUARDED
    written = chunked(replace(guarded(64, 48, 96), source=source), machine, ("B",), 16, buffers=2)
    assert written.source.count("#include <cuda_pipeline.h>") == 1


def without_two_buffers():
    template = GUARDED.replace("__global__", "template <typename T> __global__")
    template = template.replace("const float", "const T").replace("float *C", "T *C")
    case = guarded(64, 48, 96)
    small = GUARDED.replace("const float *A", "const char *A")
    small = small.replace("const float *row", "const char *row")
    # Two buffers for 256 iterations take all static shared memory; the kernel has 16 bytes itself.
    own = GUARDED.replace("int c =", "__shared__ float own[4]; own[threadIdx.x % 4] = 1; int c =")
    large = replace(guarded(64, 48, 1024), source=own)
    chars = make_case(
        "k", small, [np.ones((64, 96), np.int8), *(a.data for a in case.inputs.arrays[1:]),
                     *map(np.int32, (64, 48, 96))], block=(16, 8), problem=(48, 64),
    )  # fmt: skip
    return {
        "of a template's type": (replace(case, source=template, kernel="k<float>"), ("A", "B"), 16),
        "of one byte": (chars, ("A",), 16),
        "without chunks": (case, ("A",), None),
        "too large": (large, ("A", "B"), 256),
    }


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("of a template's type", "whose type is written out"),
        ("of one byte", "numbers of 4 or 8 bytes"),
        ("without chunks", "only tiles by chunks of a loop"),
        ("too large", "static shared memory has 49152"),
    ],
)
def test_tiles_that_cannot_have_two_buffers(what, reason, machine):
    case, arrays, iterations = without_two_buffers()[what]
    with pytest.raises(UnsupportedError, match=reason):
        chunked(case, machine, arrays, iterations, buffers=2)


def test_two_buffers_need_a_gpu_that_copies_asynchronously():
    with pytest.raises(UnsupportedError, match="T4 has no asynchronous copies"):
        chunked(guarded(64, 48, 96), load_machine("T4"), ("A", "B"), 16, buffers=2)


def test_tiles_hold_one_chunk_each():
    (plan,) = [p for a, p in plans(guarded(64, 48, 96)).items() if a == ("A", "B")]
    (loop,) = plan.loops
    a, b = (one.tile(16) for one in loop.tiles)
    assert (a.rows, a.width) == (8, 16)
    assert (b.rows, b.width) == (16, 16)
    assert not a.bound_to
    assert a.inside
    assert (a.row_extent.uppers, a.column_extent.uppers) == (("m",), ("l",))


def test_rows_whose_lanes_go_along_a_column_are_padded():
    (plan,) = plans(two_loops(70, 64)).values()
    tile = plan.loops[0].tiles[0].tile(16)
    assert (tile.rows, tile.width, tile.padding) == (32, 16, 4), "rows begin four banks apart"


def test_accesses_far_apart_have_a_tile_each():
    ((loop,),) = [plan.loops for plan in plans(far_apart(64, 96)).values() if plan.arrays == ("a",)]
    assert [(one.part, one.accesses) for one in loop.tiles] == [(0, (0,)), (1, (1,))]
    assert [(one.tile(16).rows, one.tile(16).width) for one in loop.tiles] == [(8, 16), (16, 16)]
    ((loop,),) = [plan.loops for plan in plans(squared(64)).values()]
    # The first and the third access read the same place.
    assert [(one.part, one.accesses) for one in loop.tiles] == [(0, (0, 2)), (1, (1,))]


def test_a_launch_of_another_block_fails(machine):
    case = guarded(64, 48, 96)
    written = chunked(case, machine, ("A", "B"), 16)
    smaller = replace(written, launch=replace(case.launch, block=(8, 8, 1), grid=(6, 8, 1)))
    with pytest.raises(ExecutionError, match="trap"):
        outputs(smaller)


def test_sizes_rest_on_the_block_alone_where_a_chunk_has_fixed_bounds(machine):
    """The radius bounds the loop, not the tile: a chunk has so many iterations whatever it is."""
    written = chunked(halo(500, 20), machine, ("in", "w"), 4)
    assert "radius !=" not in written.source
    assert "if (blockDim.x != 64 || blockDim.y != 1 || blockDim.z != 1) __trap();" in written.source


REFUSED = {
    "break": GUARDED.replace("sum +=", "if (sum > 9) break; sum +="),
    "return": GUARDED.replace("sum +=", "if (sum > 9) return; sum +="),
    "while": GUARDED.replace("for (int i = 0; i < l; i++)", "int i = 0; while (i < l)").replace(
        "B[i * n + c];", "B[i * n + c]; i++;"
    ),
    "else": GUARDED.replace("    }\n}\n", "    } else { C[0] = 1; }\n}\n"),
    "a barrier of its own": GUARDED.replace("C[r * n + c] = sum;", "__syncwarp();"),
    "goto": GUARDED.replace("float sum", "goto on; on: float sum"),
    "an argument that changes": GUARDED.replace("float sum", "l = l - 1; float sum"),
    "an array that is written": GUARDED.replace("const float *A", "float *A").replace(
        "C[r * n + c] = sum;", "A[r * l] = sum;"
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_loops_that_cannot_be_cut_are_left_alone(what):
    case = replace(guarded(64, 48, 96), source=REFUSED[what])
    assert not [arrays for arrays in plans(case) if "A" in arrays]


def test_statements_beside_the_loop_run_for_their_threads_alone(machine):
    """A thread beyond the edge must not read where the source did not: the executor would refuse
    the access."""
    source = GUARDED.replace("float sum = C[r * n + c];", "float sum = C[r * n + c]; C[r] += 1;")
    case = replace(guarded(33, 29, 40), source=source)
    written = chunked(case, machine, ("B",), 8)
    assert "inside ? (C[r * n + c]) : float()" in written.source
    assert "if (inside) C[r] += 1;" in written.source


TWO_BOUNDS = """
__global__ void k(const float *a, float *out, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int k = 0; k < 16; k++) {
        if (k < m) s += a[i * m + k];
    }
    out[i] = s;
}
"""


def test_a_fill_obeys_each_bound_whichever_is_the_tightest_in_another_launch(machine):
    def case(n, m):
        a = np.random.default_rng(n).standard_normal((n, m), dtype=np.float32)
        arguments = [a, np.zeros(n, np.float32), np.int32(n), np.int32(m)]
        return make_case("k", TWO_BOUNDS, arguments, block=32, problem=n)

    one, other = case(100, 32), case(96, 13)
    written = rewrite(one, Placement.of({"a": "shared"}, 8), machine, analyse_source(one)).case
    moved, checker = named_case(replace(other, source=written.source)), Checker()
    run = execute(compile_case(moved), moved.launch, moved.inputs, check=checker)
    assert not checker.findings
    named = named_case(other)
    plain = execute(compile_case(other), named.launch, named.inputs)
    assert np.array_equal(run.output("out"), plain.output("out"))


DECLARED = """__global__ void k(const int *a, const unsigned int *w, float *out, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    VALUE
    int s = 0;
    for (int k = 0; k < m; k++) s += a[k * n + i];
    out[i] = s + USE;
}
"""


@pytest.mark.parametrize(
    ("value", "use"),
    [
        ("const auto z = w[i];", "z"),
        ("unsigned int z = w[i];", "z"),
        ("auto z = [&](int at) { return w[at]; };", "z(i)"),
    ],
)
def test_declarations_in_front_of_a_loop_are_guarded(machine, value, use):
    n, m = 100, 64
    source = DECLARED.replace("VALUE", value).replace("USE", use)
    arrays = [
        RNG.integers(0, 9, (m, n)).astype(np.int32),
        RNG.integers(0, 9, n).astype(np.uint32),
        np.zeros(n, np.float32),
    ]
    case = make_case("k", source, [*arrays, np.int32(n), np.int32(m)], block=64, problem=n)
    assert outputs(chunked(case, machine, ("a",), 16)) == outputs(case)


def test_a_tile_that_one_block_writes_refuses_several_blocks(machine):
    """With one block nothing shows that the tiles of several would share elements."""
    source = """__global__ void k(int *x, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) { atomicOr(&x[i % 32], i & 63); atomicAdd(&x[i % 32], 1); }
    }"""

    def case_of(n):
        return make_case("k", source, [np.zeros(32, np.int32), np.int32(n)], block=96, problem=n)

    one, three = case_of(96), case_of(250)
    written = rewrite(one, Placement.of({"x": "shared"}), machine, analyse_source(one)).case
    assert outputs(written) == outputs(one)
    with pytest.raises(ExecutionError, match="trap"):
        outputs(replace(three, source=written.source))


def test_a_guarded_declaration_takes_a_load_function(machine):
    """Two edits of one range: the guard around ``w[i]`` and the load function that it gets."""
    n, m = 100, 64
    source = DECLARED.replace("VALUE", "const auto z = w[i];").replace("USE", "z")
    arrays = [
        RNG.integers(0, 9, (m, n)).astype(np.int32),
        RNG.integers(0, 9, n).astype(np.uint32),
        np.zeros(n, np.float32),
    ]
    case = make_case("k", source, [*arrays, np.int32(n), np.int32(m)], block=64, problem=n)
    placement = Placement.of({"a": "shared", "w": "l2only"}, 16)
    written = rewrite(case, placement, machine, analyse_source(case)).case
    assert "__ldcg(&w[i])" in written.source
    assert outputs(written) == outputs(case)


STATEMENTS = {
    "a switch as the body": "for (int i = 0; i < l; i++) switch (i & 1) { case 0:"
    " s += A[r * l + i]; break; default: s -= A[r * l + i]; }\n s += 1;",
    "do without braces as the body": "for (int i = 0; i < l; i++) do s += A[r * l + i] * q++;"
    " while (q & 1);\n s += 2;",
    "do without braces beside": "do q += 2; while (q < 9);\n"
    " for (int i = 0; i < l; i++) s += A[r * l + i] * q;",
    "a pragma beside": "\n#pragma unroll 2\n for (int j = 0; j < 4; j++) { q += j; }\n"
    " s = 3;\n for (int i = 0; i < l; i++) s += A[r * l + i] * q;",
}


@pytest.mark.parametrize("what", STATEMENTS)
def test_statements_that_hold_others_end_where_they_do(machine, what):
    head, _, _ = GUARDED.partition("    if (r < m")
    body = f"if (r >= m || c >= n) return; float s = 0; int q = 0; {STATEMENTS[what]}"
    source = f"{head}{body}\n C[r * n + c] = s; }}\n"
    case = replace(guarded(33, 29, 17), source=source)
    written = chunked(case, machine, ("A",), 8)
    assert outputs(written) == outputs(case)
