"""Matrices stored in another order: same bits on the case's input and on others."""

import runpy
from dataclasses import replace

import numpy as np
import pytest

from placewise.errors import PlacewiseError
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, read_case
from placewise.kernel.matrix_arrays import StoredMatrix
from placewise.kernel.view import find_matrices
from placewise.rewriter.layouts import (
    cpp_matrix_conversion,
    numpy_matrix_conversion,
    original_matrices,
    rewrite_matrices,
)
from placewise.space.array_order import row_major, transposed

HEAD = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;\n"
BODIES = {
    "sum": HEAD + "float s = 0; for (int k = 0; k < m; k++) s += a[i * m + k]; o[i * m] = s;",
    "alias": HEAD
    + "const float *row = a + i * m;\nfor (int k = 0; k < m; k++) o[m * i + k] = row[k];",
    "update": HEAD + "for (int k = 1; k < m; k++) o[i * m + k] += a[i * m + k - 1] * 2;",
    "atomic": HEAD + "for (int k = 0; k < m; k++) atomicAdd(&o[(i / 2) * m + k], a[i * m + k]);",
    "intrinsic": HEAD
    + "for (int k = 0; k < m; k++) o[i * m + (m - 1 - k)] = __ldg(&a[i * m + k]);",
    "unsigned": "unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;\n"
    "for (unsigned k = 0; k < m; k++) o[i * m + k] = a[i * m + k];",
    "reversed": HEAD + "for (int k = 0; k < m; k++) o[(n - 1 - i) * m + k] = a[i * m + k] + 1;",
}


def case(body, n=90, m=24, seed=1):
    rng = np.random.default_rng(seed)
    a, o = (rng.uniform(-1, 1, (n, m)).astype(np.float32) for _ in range(2))
    source = f"__global__ void k(const float *a, float *o, int n, int m) {{\n{body}\n}}"
    return make_case("k", source, [a, o, np.int32(n), np.int32(m)], block=32, problem=n)


def written(body, order, **sizes):
    read = read_case(case(body, **sizes))
    found = {m.name: m for m in find_matrices(read.case)}
    stored = tuple(StoredMatrix(m, order((m.rows, m.columns))) for m in found.values())
    return read.case, rewrite_matrices(read.case, read.view, stored)


def run(one, **options):
    return execute(compile_case(one), one.launch, one.inputs, **options)


def wide_rows(extents):
    return row_major(extents, extents[1] + 8)


@pytest.mark.parametrize("order", [transposed, lambda e: transposed(e, e[0] + 6), wide_rows])
@pytest.mark.parametrize("name", BODIES)
def test_the_bits_are_the_same(name, order):
    original, reordered = written(BODIES[name], order)
    assert {s.matrix.name for s in reordered.stored} == {"a", "o"}
    checker = Checker()
    outputs = dict(run(reordered.case, check=checker).outputs)
    assert checker.clean
    back = original_matrices(reordered, outputs)
    expected = run(original).output("o").reshape(-1)
    assert np.array_equal(back["o"].view(np.float32), expected)


@pytest.mark.parametrize("name", BODIES)
def test_the_same_source_serves_other_sizes(name):
    _, first = written(BODIES[name], transposed)
    original, other = written(BODIES[name], transposed, n=57, m=33, seed=2)
    assert "__trap" not in first.case.source
    again = replace(other.case, source=first.case.source)
    back = original_matrices(other, dict(run(again).outputs))
    assert np.array_equal(back["o"].view(np.float32), run(original).output("o").reshape(-1))


def test_what_rests_on_the_launch_stops_another():
    body = "int i = threadIdx.x / 8, k = threadIdx.x % 8; o[i * m + k] = a[i * m + k];"
    original, first = written(body, transposed, n=4, m=8)
    assert "__trap();" in first.case.source
    back = original_matrices(first, dict(run(first.case).outputs))
    assert np.array_equal(back["o"].view(np.float32), run(original).output("o").reshape(-1))
    # With m = 4 half of the columns lie in the next row.
    arguments = [
        replace(a, value=np.int32(4)) if a.name == "m" else a for a in first.case.inputs.arguments
    ]
    narrow = replace(first.case, inputs=replace(first.case.inputs, arguments=tuple(arguments)))
    with pytest.raises(PlacewiseError):
        run(narrow)


def test_local_pointers_into_the_matrix_are_gone():
    _, reordered = written(BODIES["alias"], transposed)
    assert "row" not in reordered.case.source.split("{", 1)[1]
    assert "o_stride" in [a.name for a in reordered.case.inputs.arguments]


def test_numpy_conversions_go_there_and_back(tmp_path):
    original, reordered = written(BODIES["sum"], lambda e: transposed(e, e[0] + 6))
    file = tmp_path / "convert.py"
    file.write_text(numpy_matrix_conversion(reordered))
    made = runpy.run_path(str(file))
    a = original.inputs.arguments[0].data
    stored = reordered.case.inputs.arguments[0].data
    for line, order in (("columns", stored), ("rows", None)):
        lines = made[f"store_{line}"](a, *a.shape, 96)
        assert np.array_equal(made[f"restore_{line}"](lines, *a.shape, 96), a)
        if order is not None:
            assert np.array_equal(lines.reshape(-1), order)


def test_cpp_conversions_go_there_and_back():
    """The host's functions run as device functions: they are plain C++."""
    _, reordered = written(BODIES["sum"], transposed)
    source = cpp_matrix_conversion(reordered).replace("#include <cstddef>", "")
    source = source.replace("template <typename T>", "template <typename T> __device__")
    source += """__global__ void k(const float *a, float *there, float *back) {
        store_columns(a, there, 6, 4, 8); restore_columns(there, back, 6, 4, 8);
        store_rows(a, there + 32, 6, 4, 5); restore_rows(there + 32, back + 24, 6, 4, 5);
    }"""
    a = np.arange(24, dtype=np.float32)
    arrays = [a, np.zeros(62, np.float32), np.zeros(48, np.float32)]
    one = read_case(make_case("k", source, arrays, block=1, grid=1)).case
    found = run(one)
    assert np.array_equal(found.output("back"), np.concatenate([a, a]))
    assert np.array_equal(found.output("there")[:32].reshape(4, 8)[:, :6], a.reshape(6, 4).T)
