"""Loops whose chunks write to tiles that are copied back: the same bits in every element, on the
inputs that they were written for and on others."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.errors import UnsupportedError
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

RNG = np.random.default_rng(5)
NORM = """
__global__ void k(float *out, const float *in, int rows, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const float *row = in + r * n;
    float sum = 0;
    for (int c = 0; c < n; c++) sum += row[c];
    for (int c = 0; c < n; c++) { out[r * n + c] = row[c] / sum; }
}
"""
BOUNDED = NORM.replace("{ out[", "{ if (c >= 3 && c < n - 2) out[")
SKIPPED = NORM.replace("{ out[", "{ if (c < 2) continue; out[")
TIMES = """
__global__ void k(float *out, const float *in, int rows, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows)
        for (int t = 0; t < 3; t++)
            for (int c = 0; c < n; c++) {
                out[(t * rows + r) * n + c] = in[r * n + c] * t;
            }
}
"""
PAIRS = NORM.replace("float *out", "float2 *out").replace(
    "row[c] / sum", "make_float2(row[c], sum)"
)
BYTES = NORM.replace("float *out", "unsigned char *out").replace(
    "row[c] / sum", "(unsigned char)(row[c] * 50)"
)
TEMPLATE = NORM.replace("__global__", "template <typename T> __global__").replace("float", "T")
TWICE = NORM.replace("{ out[", "{ out[r * n + c] = 1; out[")
FROM_ONE = NORM.replace("for (int c = 0; c < n; c++) {", "for (int c = 1; c <= n - 1; ++c) {")
KERNELS = {
    "norm": (NORM, "f4"), "bounded": (BOUNDED, "f4"), "skipped": (SKIPPED, "f4"),
    "times": (TIMES, "f4"), "pairs": (PAIRS, "2f4"), "bytes": (BYTES, "u1"),
    "template": (TEMPLATE, "f4"), "from one": (FROM_ONE, "f4"),
    "twice": (TWICE, "f4"),
}  # fmt: skip


def made(source: str, rows: int, n: int, dtype: str = "f4"):
    """A case whose output has more elements than the kernel writes, none of them zero."""
    out = (RNG.integers(1, 99, np.empty(3 * rows * n + 40, dtype).shape)).astype(dtype[-2:])
    data = RNG.uniform(0.5, 2, (rows, n)).astype("f4")
    name = "k<float>" if "template" in source else "k"
    if dtype == "2f4":
        out = out.view("f4,f4").reshape(-1)
    return make_case(name, source, [out, data, np.int32(rows), np.int32(n)], block=32, problem=rows)


def in_tiles(case, arrays, iterations, buffers=1):
    placement = Placement.of(dict.fromkeys(arrays, "shared"), iterations, buffers)
    return rewrite(case, placement, load_machine("A100"), analyse_source(case)).case


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("iterations", [4, 32])
def test_every_element_has_the_same_bits_whatever_the_size(name, iterations, clean_output):
    source, dtype = KERNELS[name]
    written = in_tiles(made(source, 70, 64, dtype), ["out"], iterations)
    assert "out_tile[" in written.source
    for rows, n in ((70, 64), (33, 17), (129, 100), (5, 1), (96, 4)):
        case = made(source, rows, n, dtype)
        assert clean_output(replace(case, source=written.source), "out") == clean_output(
            case, "out"
        ), (rows, n)


@pytest.mark.parametrize("buffers", [1, 2])
def test_tiles_that_are_read_and_tiles_that_are_written_go_together(buffers, clean_output):
    written = in_tiles(made(NORM, 70, 64), ["in", "out"], 8, buffers)
    assert "in_tile" in written.source
    assert "out_tile" in written.source
    assert ("__pipeline_memcpy_async(&in_tile" in written.source) == (buffers == 2)
    for rows, n in ((70, 64), (33, 17), (129, 100), (5, 1)):
        case = made(NORM, rows, n)
        assert clean_output(replace(case, source=written.source), "out") == clean_output(
            case, "out"
        ), (rows, n)


def test_nothing_is_fetched_for_tiles_that_are_only_written():
    with pytest.raises(UnsupportedError, match="only written"):
        in_tiles(made(NORM, 70, 64), ["out"], 8, buffers=2)


REFUSED = {
    "one row less": NORM.replace("{ out[", "{ if (c == 3 && r != 5) out["),
    "some elements": NORM.replace("{ out[", "{ if (row[c] > 1) out["),
    "some iterations": NORM.replace("{ out[", "{ if (c > 4) { if (row[c] > 1) continue; } out["),
    "every other element": NORM.replace("c < n; c++) {", "c < n; c += 2) {"),
    "every other column": NORM.replace("out[r * n + c]", "out[r * n + 2 * c]"),
    "a store of another loop": NORM.replace(
        "{ out[r * n + c] =", "for (int i = 0; i < r; i++) { out[r * n + c] = i *"
    ),
    "a bound of the block": NORM.replace("{ out[", "{ if (c < 3 * blockIdx.x) out["),
    "coalesced stores": NORM.replace("out[r * n + c]", "out[c * rows + r]"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_array_whose_tile_is_not_written_whole_is_left_alone(what):
    plans = analyse_source(made(REFUSED[what], 70, 64)).chunk_plans
    assert not [plan.arrays for plan in plans if "out" in plan.arrays]
