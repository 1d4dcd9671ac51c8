"""Loops whose chunks read back what the kernel writes: the same bits in every element, on the
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

RNG = np.random.default_rng(6)
HEAD = """
__global__ void k(float *x, const float *in, int rows, int n, int pitch) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float s = 0;
"""
EACH = "for (int c = 0; c < n; c++)"
KERNELS = {
    "update": f"{EACH} x[r * pitch + c] += in[r * n + c];",
    "step": f"{EACH} x[r * pitch + c]++;",
    "normalise": f"{EACH} s += x[r * pitch + c]; {EACH} x[r * pitch + c] /= s;",
    "written, then read": f"{EACH} {{ x[r * pitch + c] = in[r * n + c]; s += x[r * pitch + c]; }}"
    f"{EACH} x[r * pitch + c] = x[r * pitch + c] / s;",
    "read, then written": f"{EACH} {{ s += x[r * pitch + c]; x[r * pitch + c] = s; }}",
    "read after the loop": f"{EACH} x[r * pitch + c] *= 2; s = x[r * pitch];"
    f"{EACH} x[r * pitch + c] += s;",
    "some elements again": f"{EACH} {{ x[r * pitch + c] *= 2; if (c > 4) x[r * pitch + c] += 1; }}",
    "another order": f"{EACH} x[r * pitch + c] *= 2;"
    "for (int c = 0; c < n; c++) s = s / 2 + x[r * pitch + n - 1 - c];"
    f"{EACH} x[r * pitch + c] += s;",
    "several times": f"for (int t = 0; t < 3; t++) {EACH} x[r * pitch + c] = x[r * pitch + c] / 2;",
    "a local pointer": f"float *o = x + r * pitch; {EACH} s = fmaxf(s, o[c]);"
    f"{EACH} o[c] = expf(o[c] - s);",
    "zero, then add": f"{EACH} {{ x[r * pitch + c] = 0;"
    " for (int k = 1; k < 4; k++) x[r * pitch + c] += in[r * n + c] / k; }",
    "the element before": "for (int c = 1; c < n; c++) x[r * pitch + c] += x[r * pitch + c - 1];",
    "a running sum": "x[r * pitch] = in[r * n]; for (int c = 1; c < n; c++)"
    " x[r * pitch + c] = x[r * pitch + c - 1] + in[r * n + c];",
    "the element after": "for (int c = 0; c < n - 1; c++) x[r * pitch + c] = x[r * pitch + c + 1];",
    "a later start": "for (int c = 1; c < n; c++) { if (c > 3)"
    " x[r * pitch + c] = x[r * pitch + c - 1] + 1; }",
    "an earlier end": "for (int c = 1; c < n; c++) { if (c < n - 3) x[r * pitch + c] = c;"
    " s += x[r * pitch + c - 1]; } x[r * pitch] = s;",
    "a store before": f"x[r * pitch] = 5; {EACH} x[r * pitch + c] += in[r * n + c];",
    "a store after": f"{EACH} x[r * pitch + c] += in[r * n + c]; x[r * pitch] = 5;",
    "some are written, all are read": f"{EACH} {{ if (c > 4) x[r * pitch + c] = in[r * n + c];"
    " s += x[r * pitch + c]; } x[r * pitch] = s;",
    "both branches": f"{EACH} if (x[r * pitch + c] < 50) x[r * pitch + c] = 0;"
    " else x[r * pitch + c] += 1;",
    "all branches": f"{EACH} {{ float v = x[r * pitch + c]; if (v > 60) {{ if (v > 80)"
    " x[r * pitch + c] = v; else x[r * pitch + c] = 1; continue; } x[r * pitch + c] = -v; }",
    "below the diagonal": f"{EACH} if (c <= r) x[r * pitch + c] /= 2; else x[r * pitch + c] = 0;",
    "a row taken apart": "int b = r / n, q = r % n; float *o = x + b * n * pitch + q * pitch;"
    f"{EACH} s += o[c]; {EACH} o[c] /= s;",
    "a row taken apart twice": "int i = r % 4, h = r / 4 % 3, b = r / 12;"
    f"{EACH} x[((b * 3 + h) * 4 + i) * pitch + c] *= 2;",
    "a bounded store and its opposite": f"{EACH} if (c > 0) x[r * pitch + c] = in[r * n + c];"
    " else x[r * pitch + c] = 7;",
    "longer rows are read": "for (int c = 0; c < pitch; c++) s += x[r * pitch + c];"
    f"{EACH} x[r * pitch + c] = s;",
}
SIZES = ((70, 64, 70), (33, 17, 17), (129, 50, 64), (5, 1, 3), (96, 8, 8))


def made(body: str, rows: int, n: int, pitch: int):
    """A case whose array has more elements than the kernel writes, none of them zero."""
    x = RNG.integers(1, 99, 2 * rows * pitch + 40).astype("f4")
    data = RNG.uniform(0.5, 2, rows * n).astype("f4")
    sizes = [np.int32(rows), np.int32(n), np.int32(pitch)]
    return make_case("k", f"{HEAD}{body}\n}}\n", [x, data, *sizes], block=32, problem=rows)


def in_tiles(body, iterations, buffers=1):
    """The source of a kernel with ``x`` in tiles of chunks of so many iterations."""
    case = made(body, *SIZES[0])
    placement = Placement.of({"x": "shared"}, iterations, buffers)
    return rewrite(case, placement, load_machine("A100"), analyse_source(case)).case.source


@pytest.mark.parametrize(
    ("name", "iterations"), [(name, 32 if at % 2 else 4) for at, name in enumerate(KERNELS)]
)
def test_every_element_has_the_same_bits_whatever_the_size(name, iterations, clean_output):
    source = in_tiles(KERNELS[name], iterations)
    assert "x_tile[" in source
    for size in SIZES:
        case = made(KERNELS[name], *size)
        assert clean_output(replace(case, source=source), "x") == clean_output(case, "x"), size


def test_what_a_chunk_writes_before_it_reads_is_not_filled():
    # What begins the store of 16 bytes that fills a tile.
    filled = "float4 *>(&x_tile"
    assert in_tiles(KERNELS["update"], 8).count(filled) == 1
    # The second loop of this kernel reads what the first one wrote.
    assert in_tiles(KERNELS["written, then read"], 8).count(filled) == 1


def test_no_chunk_is_fetched_before_the_last_one_is_copied_back():
    with pytest.raises(UnsupportedError, match="reads what it has written"):
        in_tiles(KERNELS["normalise"], 8, buffers=2)


REFUSED = {
    "a switch that goes on": f"{EACH} {{ switch (c) {{ case 3: continue; }}"
    " x[r * pitch + c] = in[r * n + c]; }",
    "more bounds than are looked at": f"{EACH} if ("
    + " && ".join(f"c >= rows - {n}" for n in range(70, 85))
    + ") x[r * pitch + c] = 1;",
    "an unsigned bound that may wrap": "unsigned w = rows;"
    " for (unsigned c = 0; c < n; c++) if (c < w - 4u) x[r * pitch + c] = 1;",
    "an unsigned end that may wrap": "unsigned w = rows;"
    " for (unsigned c = 0; c < min(w - 5u, (unsigned)n); c++) x[r * pitch + c] = 1;",
    "another block's row": f"{EACH} {{ x[r * pitch + c] = in[r * n + c];"
    " if (r > 0 && in[r * n + c] < 0) s += x[(r - 1) * pitch + c]; } x[r * pitch] = s;",
    "two bounded stores": f"{EACH} {{ if (c >= 1) x[r * pitch + c] = 1;"
    " if (c == 0) x[r * pitch + c] = 2; }",
    "a bounded store and one on data": f"{EACH} {{ if (c < n - 3) x[r * pitch + c] = 1;"
    " if (in[r * n + c] > 1) x[r * pitch + c] = 2; }",
    "a read by the condition": "for (int c = 0; c < n && x[r * pitch + c] > 9; c++)"
    " x[r * pitch + c] *= 2;",
    "a condition on data": f"{EACH} if (x[r * pitch + c] < 50) x[r * pitch + c] = 0;",
    "three branches of four": f"{EACH} {{ if (x[r * pitch + c] > 9) {{ if (c & 1)"
    " x[r * pitch + c] = 1; } else { if (c & 1) x[r * pitch + c] = 2; else"
    " x[r * pitch + c] = 3; } }",
    "an atomic": f"{EACH} atomicAdd(&x[r * pitch + c], 1.f);",
    "writes to two elements": "for (int c = 0; c < n - 1; c++)"
    " { x[r * pitch + c] = 1; x[r * pitch + c + 1] = c; }",
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_array_of_which_a_chunk_does_not_write_a_whole_part_is_left_alone(what):
    plans = analyse_source(made(REFUSED[what], *SIZES[0])).chunk_plans
    assert not [plan.arrays for plan in plans if "x" in plan.arrays]


def test_rows_that_the_block_does_not_write_are_in_no_tile():
    loop = "for (int c = 0; c < 64; c++) x[(r + 32) * 64 + c] = x[r * 64 + c] * 2;"
    source = HEAD.replace("blockIdx.x * blockDim.x", "blockIdx.x * 64").replace(
        "r >= rows", "r + 32 >= rows"
    )
    case = replace(made("", 128, 64, 64), source=f"{source}{loop}\n}}\n")
    assert not [plan for plan in analyse_source(case).chunk_plans if "x" in plan.arrays]
