"""Which shared tiles are copies that a kernel could do without, and why others are not."""

import numpy as np
import pytest

from placewise import make_case
from placewise.errors import UnsupportedError
from placewise.kernel.view import analyse_source
from placewise.kernel.view.staged import staged_tile

HEAD = """static __device__ float twice(float x) { return 2 * x; }
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
}  # fmt: skip


@pytest.mark.parametrize("what", COPIES)
def test_a_plain_copy_is_found(what):
    tile = found(
        COPIES[what], "__syncthreads();", "if (i < n) o[i] = tile[(threadIdx.x + 1) % 64];"
    )
    assert tile.array == "a"
    assert len(tile.reads) == 1
    assert tile.barrier is not None
    assert (tile.first == "0") == (what == "from the start")


FILL = "tile[threadIdx.x] = a[i];"
SYNC = "__syncthreads();"
READ = "o[i] = tile[63 - threadIdx.x];"
REFUSED = {
    "read before a barrier": ((FILL, READ), "no barrier"),
    "read on both sides": ((FILL, "float s = tile[0];", SYNC, READ), "before the barrier"),
    "threads leave": (("if (i >= n) return;", FILL, SYNC, READ), "may leave"),
    "a guard": (("if (i < n) tile[threadIdx.x] = a[i];", SYNC, READ), "under a condition"),
    "a changed value": (("tile[threadIdx.x] = 2 * a[i];", SYNC, READ), "more than elements"),
    "a stride": (("tile[threadIdx.x] = a[2 * threadIdx.x];", SYNC, READ), "no plain copy"),
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
    "a loop around it": (
        ("for (int r = 0; r < 2; r++) {", FILL, SYNC, READ, SYNC, "}"), "in a loop"
    ),
    "nothing fills it": ((SYNC, READ), "nothing fills it"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_more_than_a_copy_is_refused_with_its_line(what):
    lines, reason = REFUSED[what]
    with pytest.raises(UnsupportedError, match=rf"{reason}.*\(line \d+\)"):
        found(*lines)


def test_barriers_that_others_need_stay():
    stored = found("o[i] = 1;", FILL, SYNC, "o[i] += tile[0] + o[(i + 1) % n];")
    again = found(FILL, SYNC, READ, SYNC)
    assert stored.barrier is None
    assert again.barrier is None


def test_an_unknown_name_is_refused_with_those_there_are():
    one = case(FILL, SYNC, READ)
    with pytest.raises(UnsupportedError, match="no shared array 'tiles'") as told:
        staged_tile(one, analyse_source(one), "tiles")
    assert "tile" in str(told.value.hint)
