"""Which shared tiles are copies that a kernel could do without, and why others are not."""

import numpy as np
import pytest

from placewise import make_case
from placewise.errors import UnsupportedError
from placewise.kernel.view import analyse_source
from placewise.kernel.view.staging.copies import staged_tile

HEAD = """static __device__ int told;
static __device__ float twice(float x) { return 2 * x; }
__global__ void k(float *a, float *o, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float tile[64];
"""


def case(*lines):
    source = HEAD + "".join(f"    {line}\n" for line in lines) + "}\n"
    arrays = [np.zeros(256, np.float32), np.zeros(256, np.float32)]
    return make_case("k", source, [*arrays, np.int32(256)], block=64, grid=4)


def found(*lines):
    one = case(*lines)
    return staged_tile(one, analyse_source(one), "tile")


COPIES = {
    "by the thread's own index": "tile[threadIdx.x] = a[i];",
    "by a sum": "tile[threadIdx.x] = a[blockIdx.x * 64 + threadIdx.x];",
    "by a loop": "for (int t = threadIdx.x; t < 64; t += 64) tile[t] = a[64 * blockIdx.x + t];",
    "the other way round": "tile[63 - threadIdx.x] = a[64 * blockIdx.x + 63 - threadIdx.x];",
    "from an argument on": "for (int t = threadIdx.x; t < 64; t++) { tile[t] = a[n - 64 + t]; }",
    "from the start": "tile[threadIdx.x] = a[threadIdx.x];",
    "with a stride": "tile[threadIdx.x] = a[64 + 2 * threadIdx.x];",
}  # fmt: skip


@pytest.mark.parametrize("what", COPIES)
def test_a_plain_copy_is_found(what):
    tile = found(
        COPIES[what], "__syncthreads();", "if (i < n) o[i] = tile[(threadIdx.x + 1) % 64];"
    )
    assert tile.array == "a"
    assert len(tile.reads) == 1
    assert len(tile.barriers) == 1
    assert (tile.element.first.text == "0") == (what == "from the start")


FILL = "tile[threadIdx.x] = a[i];"
SYNC = "__syncthreads();"
READ = "o[i] = tile[63 - threadIdx.x];"
REFUSED = {
    "read before a barrier": ((FILL, READ), "no barrier"),
    "read on both sides": ((FILL, "float s = tile[0];", SYNC, READ), "before the barrier"),
    "threads leave": (("if (i >= n) return;", FILL, SYNC, READ), "may leave"),
    "a guard on other threads": (
        ("if (threadIdx.y == 0) tile[threadIdx.x] = a[i];", SYNC, READ), "another kind"
    ),
    "a guard on data": (("if (o[i] < 1) tile[threadIdx.x] = a[i];", SYNC, READ), "another kind"),
    "what a guard left out before": (
        ("for (int r = 0; r < 2; r++) {", "if (i < n - r) tile[threadIdx.x] = a[i];", SYNC, READ,
         SYNC, "}"), "an earlier round"
    ),
    "either of two": (
        ("tile[threadIdx.x] = i < n ? a[i] : a[0];", SYNC, READ), "more than elements"
    ),
    "a number elsewhere": (
        ("if (i < n) tile[threadIdx.x] = a[i]; else tile[63] = 0;", SYNC, READ), "another kind"
    ),
    "a changed value": (("tile[threadIdx.x] = 2 * a[i];", SYNC, READ), "more than elements"),
    "a square": (
        ("tile[threadIdx.x] = a[threadIdx.x * threadIdx.x];", SYNC, READ), "no plain copy"
    ),
    "two fills": ((FILL, SYNC, READ, SYNC, FILL), "in several places"),
    "an update": ((FILL, SYNC, "tile[threadIdx.x] += 1;", SYNC, READ), "changed or passed on"),
    "a pointer": ((FILL, SYNC, "float *p = tile;", "o[i] = p[0];"), "used as a pointer"),
    "an address": ((FILL, SYNC, "float *p = &tile[1];", "o[i] = *p;"), "changed or passed on"),
    "the array is written": ((FILL, SYNC, READ, "a[i] = 0;"), "the kernel changes 'a'"),
    "a function": (("tile[threadIdx.x] = twice(a[i]);", SYNC, READ), "calls a function"),
    "data decide": (("tile[threadIdx.x] = a[(int)o[i] & 63];", SYNC, READ), "no plain copy"),
    "a local of that name": (
        (FILL, SYNC, "{ float a = 1; o[i] = a + tile[0]; }"), "'a' has another meaning"
    ),
    "an argument that changes": (
        ("tile[threadIdx.x] = a[n - 64 + threadIdx.x];", SYNC, "n = 3;", READ), "no plain copy"
    ),
    "a step beside it": (
        ("for (int t = threadIdx.x; t < 64; t += 64, i++) tile[t] = a[t];", SYNC, READ),
        "changes other variables",
    ),
    "a read behind its loop": (
        ("for (int r = 0; r < 2; r++) {", FILL, SYNC, READ, SYNC, "}", READ), "behind the loop"
    ),
    "a part of it in each round": (
        ("for (int r = 0; r < 2; r++) {", "tile[threadIdx.x / 2] = a[threadIdx.x / 2 + r];", SYNC,
         READ, SYNC, "}"), "an earlier round"
    ),
    "another part in each round": (
        ("for (int r = 0; r < 32; r++) {", "tile[threadIdx.x / 2 + r] = a[threadIdx.x / 2 + r];",
         SYNC, READ, SYNC, "}"), "not told which part"
    ),
    "rounds that some leave out": (
        ("for (int r = 0; r < 2; r++) {", "if (n < r) continue;", FILL, SYNC, READ, SYNC, "}"),
        "may leave"
    ),
    "its place is counted up": (
        ("int at = i;", "for (int r = 0; r < 2; r++) {", "tile[threadIdx.x] = a[at];", SYNC, READ,
         SYNC, "at += 64;", "}"), "no plain copy"
    ),
    "nothing fills it": ((SYNC, READ), "nothing fills it"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_more_than_a_copy_is_refused_with_its_line(what):
    lines, reason = REFUSED[what]
    with pytest.raises(UnsupportedError, match=rf"{reason}.*\(line \d+\)"):
        found(*lines)


WIDE = """__global__ void k(const float *a, float *o, int n)
{
    __shared__ float tile[8][9];
    int x = threadIdx.x, y = threadIdx.y, i = (blockIdx.y * 8 + y) * n + blockIdx.x * 8 + x;
"""
FILL_2 = "tile[y][x] = a[i];"
READ_2 = "o[i] = tile[x][y];"


def wide(*lines):
    source = WIDE + "".join(f"    {line}\n" for line in lines) + "}\n"
    arrays = [np.zeros(32 * 32, np.float32), np.zeros(32 * 32, np.float32)]
    one = make_case("k", source, [*arrays, np.int32(32)], block=(8, 8), grid=(4, 4))
    return staged_tile(one, analyse_source(one), "tile")


COPIES_2 = {
    "rows": ((FILL_2,), ("n", "1")),
    "columns": (("tile[x][y] = a[i];",), ("1", "n")),
    "a loop over rows": (("for (int r = y; r < 8; r += 4)", "tile[r][x] = a[r * n + x];"),
                         ("n", "1")),
    "one thread index": (("int t = y * 8 + x;", "tile[t / 8][t % 8] = a[t / 8 * 32 + t % 8];"),
                         ("32", "1")),
    "one row": (("tile[0][x] = a[i - y * n];",), ("0", "1")),
    "every other column": (("tile[y][x] = a[y * n + 2 * x + 1];",), ("n", "2")),
}  # fmt: skip


@pytest.mark.parametrize("what", COPIES_2)
def test_copies_of_two_dimensions_have_a_stride_for_each(what):
    lines, strides = COPIES_2[what]
    tile = wide(*lines, SYNC, READ_2)
    assert (tile.array, len(tile.barriers), tile.guards) == ("a", 1, ())
    assert tuple(s.text for s in tile.element.strides) == strides


REFUSED_2 = {
    "a row as a pointer": ((FILL_2, SYNC, "const float *p = tile[y];", "o[i] = p[x];"),
                           "used as a pointer"),
    "one stride for both": (("tile[y][x] = a[(x + y) * (x + y)];", SYNC, READ_2), "no plain copy"),
    "beyond a row": (
        ("tile[0][y * 8 + x] = a[n + y * 8 + x];", SYNC, READ_2), "lie beyond its row"
    ),
    "read beyond a row": ((FILL_2, SYNC, "o[i] = tile[0][y * 8 + x];"), "lie beyond its row"),
    "data choose the column": ((FILL_2, SYNC, "o[i] = tile[y][(int)o[i]];"), "has no bound"),
    "a border that nothing fills": (
        ("for (int r = 0; r < 2; r++) {", FILL_2, SYNC, "o[i] = tile[x][y + 1];", SYNC, "}"),
        "an earlier round",
    ),
    "two buffers": (
        ("for (int r = 0; r < 2; r++) {", "tile[r & 1][x] = a[n * r + x];", SYNC,
         "o[i] = tile[1 - (r & 1)][x];", SYNC, "}"), "not told which part"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED_2)
def test_what_is_more_than_a_copy_of_two_dimensions_is_refused(what):
    lines, reason = REFUSED_2[what]
    with pytest.raises(UnsupportedError, match=rf"{reason}.*\(line \d+\)"):
        wide(*lines)


GUARDED = {
    "a guard": ("if (i < n) tile[threadIdx.x] = a[i];", "0", 1),
    "a choice": ("tile[threadIdx.x] = i < n && i >= 2 ? a[i] : -1.5f;", "-1.5f", 2),
    "the other way round": ("tile[threadIdx.x] = i >= n || i < 2 ? 0 : a[i];", "0", 2),
    "two branches": (
        "if (i < n) { tile[threadIdx.x] = a[i]; } else tile[threadIdx.x] = 3;", "3", 1
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", GUARDED)
def test_guards_that_are_not_known_at_a_read_stay(what):
    fill, otherwise, guards = GUARDED[what]
    tile = found(fill, SYNC, "if (i < n && i > 1) o[i] = tile[threadIdx.x];", READ)
    assert (len(tile.guards), tile.otherwise) == (guards, otherwise)
    assert [r.unproven for r in tile.reads] == [(), tuple(range(guards))]


def test_barriers_that_others_need_stay():
    stored = found("o[i] = 1;", FILL, SYNC, "o[i] += tile[0] + o[(i + 1) % n];")
    again = found(FILL, SYNC, READ, SYNC)
    told = found(FILL, SYNC, "if (i == 0) told = 1;", SYNC, "o[i] = tile[0] + told;")
    assert stored.barriers == ()
    assert told.barriers == ()
    assert again.barriers == ()


def test_an_unknown_name_is_refused_with_those_there_are():
    one = case(FILL, SYNC, READ)
    with pytest.raises(UnsupportedError, match="no shared array 'tiles'") as told:
        staged_tile(one, analyse_source(one), "tiles")
    assert "tile" in str(told.value.hint)
