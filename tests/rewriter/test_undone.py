"""Constant and shared arrays of a source go back to global memory, with the same bits."""

import numpy as np
import pytest

from placewise import make_case
from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.rewriter.undone import undo

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


def run(one):
    named, checker = named_case(one), Checker()
    ran = execute(compile_case(one), named.launch, named.inputs, check=checker)
    assert checker.clean
    return ran.output("o")


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
