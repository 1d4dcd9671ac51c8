"""Per-block tiles against the indices that the threads of each block really compute."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.kernel.cases.make_case import make_case
from placewise.kernel.source import source_obstacle
from placewise.kernel.view import analyse_source
from placewise.space import Way


def analyse(body, elements=1 << 20, block=(8, 4), grid=(3, 2), scalars=None, dtype=np.float32):
    """View of a kernel that reads A, with int scalars by name."""
    scalars = scalars or {}
    names = "".join(f", int {name}" for name in scalars)
    source = f"__global__ void k(const float *A, float *B{names}) {{\n{body}\n}}\n"
    data = np.broadcast_to(np.zeros(1, dtype), elements)
    arrays = [np.ascontiguousarray(data), np.zeros(1 << 12, np.float32)]
    values = [np.int32(v) for v in scalars.values()]
    return analyse_source(make_case("k", source, [*arrays, *values], block=block, grid=grid))


def tile_of(*args, array="A", **kwargs):
    return analyse(*args, **kwargs).array(array).tile


def threads(block, grid):
    """(block index, thread index) of every thread, both (x, y)."""
    for by, bx in itertools.product(range(grid[1]), range(grid[0])):
        for ty, tx in itertools.product(range(block[1]), range(block[0])):
            yield (bx, by), (tx, ty)


def spans(index, block=(8, 4), grid=(3, 2)):
    """Smallest and largest index of every block, by brute force."""
    found = {}
    for b, t in threads(block, grid):
        for value in index(b, t):
            low, high = found.get(b, (value, value))
            found[b] = min(low, value), max(high, value)
    return found


X = "int x = blockIdx.x * blockDim.x + threadIdx.x;"
Y = "int y = blockIdx.y * blockDim.y + threadIdx.y;"


@settings(max_examples=20, deadline=None)
@given(
    a=st.integers(-9, 9), b=st.integers(-9, 9), c=st.integers(-99, 99),
    first=st.integers(-5, 5), count=st.integers(1, 7), step=st.integers(1, 3),
    outer=st.integers(-50, 50),
)  # fmt: skip
def test_affine_indices_get_their_exact_span(a, b, c, first, count, step, outer):
    last = first + count
    tile = tile_of(
        f"for (int k = {first}; k < {last}; k += {step})\n"
        f"  B[0] = A[({a}) * (int)threadIdx.x + ({b}) * k + ({outer}) * (int)blockIdx.x + ({c})];",
        elements=1 << 20,
    )
    found = spans(
        lambda block, thread: [
            a * thread[0] + b * k + outer * block[0] + c for k in range(first, last, step)
        ]
    )
    widest = max(high - low + 1 for low, high in found.values())
    # A coefficient can be a pitch of which a row is skipped: two dimensions may be smaller.
    assert tile.elements <= widest
    if tile.rows == 1:
        assert tile.elements == widest


@pytest.mark.parametrize(
    ("body", "rows", "width"),
    [
        (f"{X} B[0] = A[x];", 1, 8),
        (f"{X} B[0] = A[x - 1] + A[x + 1];", 1, 10),
        (f"{X} {Y} B[0] = A[y * w + x];", 4, 8),
        (f"{X} {Y} B[0] = A[x + w * y];", 4, 8),
        (f"{X} {Y} int at = y * w + x; B[0] = A[at] + A[at - w] + A[at + 2 * w];", 7, 8),
        (f"{X} {Y} B[0] = A[(y + 1) * w + (x + 2)];", 4, 8),
        (f"{Y} for (int k = 0; k < 5; k++) B[0] = A[y * w + k];", 4, 5),
        ("for (int k = 10; k > 0; k -= 3) B[0] = A[k];", 1, 10),
        ("for (int k = 16; k > 0; k /= 2) B[0] = A[k];", 1, 16),
        ("for (int k = 16; k; k >>= 1) B[0] = A[k + threadIdx.x];", None, None),
        (f"{X} B[0] = A[x / 4];", 1, 2),
        ("B[0] = A[threadIdx.x % 4];", 1, 4),
        ("B[0] = A[threadIdx.x & 3];", 1, 4),
        (f"{X} B[0] = A[x << 1];", 1, 15),
        (f"{X} B[0] = A[min(x, 3)];", 1, 4),
        (f"{X} B[0] = A[max(min(x + 1, 99), 0)];", 1, 8),
        (f"{X} int i = x - 2; if (i < 0) i = 0; if (i > 9) i = 9; B[0] = A[i];", 1, 8),
        (f"{X} int i = x < 2 ? 0 : x - 2; B[0] = A[i];", 1, 8),
        (f"{X} int i = x; i += 3; i++; i *= 2; B[0] = A[i];", 1, 15),
        (f"{X} int i = x; if (w > 5) i = i + 100; B[0] = A[i];", 1, 108),
        (f"{X} int i = x; while (i < 50) {{ B[0] = A[i]; i += 24; }}", 1, 50),
        (f"{X} for (int i = x; i < 50; i += gridDim.x * blockDim.x) B[0] = A[i];", 1, 50),
        ("for (int i = 0; i != 4; ++i) B[0] = A[i];", 1, 4),
        ("for (int i = 0, j = 3; i < 4; ++i) B[0] = A[i];", 1, 4),
        ("int i; for (i = 0; i < 4; i = i + 1) B[0] = A[i];", 1, 4),
        ("for (int i = 0; i < 4; i++) { int s = i * i; B[0] = A[i] + s; }", 1, 4),
        ("const float *p = A + 5 * blockIdx.x; B[0] = p[threadIdx.x];", 1, 8),
        ("const float *p = A + 7; p += 3; p--; B[0] = *p + p[1];", 1, 2),
        ("A += blockIdx.x * 8; B[0] = A[threadIdx.x];", 1, 8),
        ("int i = 5; for (int k = 0; k < 4; k++) { B[0] = A[i]; i += 3; }", 1, 10),
        ("int i = 5; for (int k = 0; k < 4; k++) { i += 3; B[0] = A[i]; }", 1, 13),
        ("int i = 0; for (int k = 8; k > 0; k -= 2) { B[0] = A[i]; i++; }", 1, 4),
        ("int i = 9; for (int k = 0; k < 4; k++) if (w > k) i--; B[0] = A[i];", 1, 5),
        ("const float *p = A; for (int k = 0; k < w; k++, p += 2) B[0] = p[0];", None, None),
        ("const float *p = A; for (int k = 0; k < w; k++) { B[0] = p[0]; p += 2; }", 1, 127),
    ],
)
def test_tiles_by_hand(body, rows, width):
    tile = tile_of(body, scalars={"w": 64}, elements=1 << 20)
    if rows is None:
        assert tile is None
    else:
        assert (tile.rows, tile.width) == (rows, width)


def test_a_helper_function_is_looked_into():
    source = """
__device__ int at(int row, int column, int pitch) { return row * pitch + column; }
__global__ void k(const float *A, float *B, int n) {
    B[threadIdx.x] = A[at(blockIdx.x, threadIdx.x, n)];
}
"""
    args = [np.zeros(1 << 18, np.float32), np.zeros(32, np.float32), np.int32(100)]
    tile = analyse_source(make_case("k", source, args, block=32, grid=4)).array("A").tile
    assert (tile.rows, tile.width) == (1, 32)
    assert tile.column0_text == "int(blockIdx.x) * n"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("B[0] = A[(int)B[threadIdx.x]];", "it is computed in floating point (line 2)"),
        ("B[0] = A[(int)(threadIdx.x * 0.5f)];", "it is computed in floating point (line 2)"),
        ("int *c = (int *)B; B[0] = A[c[1]];", "it depends on data loaded from c (line 2)"),
        ("__shared__ int s; s = 1; B[0] = A[s];", "it depends on the shared variable 's' (line 2)"),
        ("int i = 0; for (int k = 0; k < w; k++) { B[0] = A[i]; i += k; }", "changes (line 2)"),
        ("B[0] = A[threadIdx.x * threadIdx.x];", "it is not linear"),
        ("B[0] = A[threadIdx.x ^ 5];", "it is computed with '^' (line 2)"),
        ("const float *p = A; while (*p > 0) p += 3; B[0] = *p;", "changes (line 2)"),
        ("B[0] = A[(threadIdx.x - 1) / 2];", "an unsigned value may fall below zero (line 2)"),
    ],
)
def test_no_tile_says_why(body, reason):
    view = analyse(body, scalars={"w": 64})
    assert view.array("A").tile is None
    assert reason in source_obstacle(view, "A", Way.KERNEL_BUFFER)


def test_a_small_array_is_taken_as_a_whole():
    view = analyse("int *c = (int *)B; B[0] = A[c[1]];", elements=500)
    tile = view.array("A").tile
    assert (tile.whole, tile.elements, tile.rows) == (True, 500, 1)
    assert not tile.disjoint


def test_a_tile_beyond_any_gpu_is_refused():
    view = analyse("for (int k = 0; k < w; k++) B[0] = A[k];", scalars={"w": 100_000})
    assert "more than the shared memory of any GPU" in view.array("A").tile_obstacle


@pytest.mark.parametrize(
    ("body", "disjoint"),
    [
        (f"{X} {Y} B[y * 24 + x] = 1;", True),
        (f"{X} {Y} if (x < 20 && y < 8) B[y * 20 + x] = 1;", True),
        (f"{X} {Y} B[y * 20 + x] = 1;", False),
        (f"{X} B[x] = 1;", False),
        (f"{X} {Y} if (x > 0) B[y * 24 + x - 1] = 1;", True),
        (f"{X} {Y} B[y * 24 + x] = B[y * 24 + x + 1];", False),
        ("B[blockIdx.y * 3 + blockIdx.x] = 1;", True),
        ("atomicAdd(&B[threadIdx.x], 1.0f);", False),
    ],
)
def test_only_disjoint_tiles_are_copied_back(body, disjoint):
    """The grid has 3 x 2 blocks of 8 x 4 threads: blocks of one row share ``B[x]``."""
    view = analyse(body)
    tile = view.array("B").tile
    assert (tile is not None and tile.disjoint) == disjoint
    if not disjoint:
        assert "tiles of blocks overlap" in source_obstacle(view, "B", Way.KERNEL_BUFFER)


def test_a_single_block_may_write_a_whole_array():
    view = analyse("int *c = (int *)A; B[c[0]] = 1;", grid=(1, 1))
    assert view.array("B").tile.whole


def test_a_written_tile_needs_every_thread_at_its_end():
    body = f"{X} if (x > 9) return; B[x] = 1; __syncthreads();"
    view = analyse(body, block=(8, 1), grid=(2, 1))
    assert view.returns_early == 2
    assert view.has_barrier
    assert "return early (line 2)" in source_obstacle(view, "B", Way.KERNEL_BUFFER)
    alone = analyse(body.replace("__syncthreads();", ""), block=(8, 1), grid=(2, 1))
    assert source_obstacle(alone, "B", Way.KERNEL_BUFFER) is None


def test_guards_bound_what_is_touched():
    tile = tile_of(f"{X} if (x < w && x >= 2) B[0] = A[x * 10];", scalars={"w": 5}, grid=(1, 1))
    # Rows of ten, of which only the first column is read; it starts where the unguarded index does.
    assert (tile.rows, tile.width) == (5, 1)
    tile = tile_of(f"{X} if (!(x < w)) return; B[0] = A[x];", scalars={"w": 5}, grid=(1, 1))
    assert tile.width == 5


def test_a_tile_that_no_bound_of_all_accesses_limits_rests_on_their_sizes():
    """x[k] and x[k / 2] below w have no bound in common: with a smaller w the array may end before
    the tile does."""
    loop = "for (int k = 0; k < 16; k++) if (k < w) B[0] = %s;"
    halves = tile_of(loop % "A[k] + A[k / 2]", scalars={"w": 32})
    assert (halves.width, halves.bound_to) == (16, ("w",))
    # One access that reaches to the common bound, or to the end of the tile, is enough.
    limited = tile_of(loop % "A[k]", scalars={"w": 32})
    assert (limited.bound_to, limited.column_extent.uppers) == ((), ("w",))
    whole = tile_of(loop % "A[k / 2]" + " B[1] = A[15];", scalars={"w": 32})
    assert (whole.width, whole.bound_to) == (16, ())


def test_unsigned_indices_below_zero_stay_out_of_reach():
    tile = tile_of("unsigned x = threadIdx.x; if (x > 0) B[0] = A[x - 1];", grid=(1, 1))
    assert (tile.column0_text, tile.width) == ("-1", 8)


def test_a_case_label_is_entered_past_the_guard_before_it():
    body = "switch (w) { case 0: if (threadIdx.x >= 2) break; default: B[0] = A[threadIdx.x]; }"
    assert tile_of(body, scalars={"w": 1}).width == 8


def test_nothing_is_known_of_variables_around_a_goto():
    body = "int i = 0; again: B[0] = A[i]; i += 5; if (i < w) goto again;"
    view = analyse(body, scalars={"w": 64})
    assert "goto" in view.array("A").tile_obstacle


def test_members_of_a_structure_passed_by_value():
    source = """
struct Size { int width, height; float scale; };
__global__ void k(const float *A, float *B, Size size) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    for (int y = 0; y < size.height; y++)
        B[x] = A[y * size.width + x] * size.scale;
}
"""
    size = np.array((200, 3, 1.5), np.dtype([("width", "i4"), ("height", "i4"), ("scale", "f4")]))
    args = [np.zeros(1 << 17, np.float32), np.zeros(64, np.float32), size[()]]
    tile = analyse_source(make_case("k", source, args, block=32, grid=2)).array("A").tile
    assert (tile.rows, tile.width, tile.pitch_text) == (3, 32, "int(size.width)")
