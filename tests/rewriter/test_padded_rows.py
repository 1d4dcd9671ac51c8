"""Shared arrays of the source itself with longer rows."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.advisor.lint import bank_conflicts
from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.kernel.view.staging.own_rows import own_rows
from placewise.machine import load_machine
from placewise.memory.simulate.launch import simulate_launch
from placewise.rewriter.own.padded_rows import pad_rows

N = 128
SOURCE = """
#define TILE 32
template <typename T>
__global__ void k(const T *in, T *out, int n) {
    // DECLARED
    __shared__ T tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    tile[threadIdx.y][threadIdx.x] += 1;
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x; y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
"""
DECLARED = "__shared__ T tile[TILE][TILE];"
READ = "tile[threadIdx.x][threadIdx.y + j];"


def transpose(source=SOURCE, dtype=np.float32, kernel="k<float>", n=N):
    data = np.random.default_rng(n).integers(0, 1000, (n, n)).astype(dtype)
    arguments = [data, np.zeros_like(data), np.int32(n)]
    return make_case(kernel, source, arguments, block=(32, 8), grid=(n // 32, n // 32))


def padded(case):
    view = analyse_source(case)
    return pad_rows(case, view, own_rows(case, view, "tile")).case


def conflicts(case):
    named = named_case(case)
    run = simulate_launch(compile_case(case), named.launch, named.inputs, load_machine("A100"))
    return bank_conflicts(run)


def test_the_transpose_has_no_conflicts_then_and_the_same_result():
    before = transpose()
    after = padded(before)
    assert "__shared__ T tile[TILE][TILE + 1];" in after.source
    assert conflicts(before)
    assert not conflicts(after)
    other = transpose(n=64)
    named, checker = named_case(replace(other, source=after.source)), Checker()
    found = execute(compile_case(named), named.launch, named.inputs, check=checker)
    assert checker.clean
    expected = named.inputs.arrays[0].data.copy()
    for row, column in np.ndindex(2, 2):
        expected[row * 32 : row * 32 + 8, column * 32 : column * 32 + 32] += 1
    np.testing.assert_array_equal(found.output("out"), expected.T)


@pytest.mark.parametrize(
    ("dtype", "kernel", "length"),
    [
        (np.float64, "k<double>", "TILE + 1"),
        (np.int16, "k<short>", "TILE + 2"),
        (np.uint8, "k<unsigned char>", "TILE + 4"),
    ],
)
def test_rows_are_longer_by_a_bank_at_least(dtype, kernel, length):
    assert f"tile[TILE][{length}]" in padded(transpose(dtype=dtype, kernel=kernel)).source


def test_a_length_that_is_a_formula_stays_one():
    source = SOURCE.replace(DECLARED, "__shared__ T other[2], tile[TILE][TILE << 0];")
    source = source.replace("__syncthreads();", "other[0] = 1; __syncthreads();", 1)
    assert "other[2], tile[TILE][(TILE << 0) + 1];" in padded(transpose(source)).source


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (READ, "tile[0][threadIdx.x * TILE + threadIdx.y + j];", "beyond its row"),
        (READ, "tile[threadIdx.x][int(in[x]) & 63];", "beyond its row"),
        (READ, "tile[threadIdx.x][int(in[x])];", "has no bound"),
        (READ, "(&tile[0][0])[threadIdx.x * TILE + threadIdx.y + j];", "passed on"),
        (READ, "((T *)tile)[threadIdx.x * TILE + threadIdx.y + j];", "used as a pointer"),
        (READ, "sizeof(tile) + tile[0][0];", "used as a pointer"),
        (DECLARED, "__shared__ T tile[TILE * TILE]; T *row = tile;", "two or more dimensions"),
        (DECLARED, "typedef T Tile[TILE][TILE]; __shared__ Tile tile;", "not declared as"),
    ],
)
def test_other_uses_are_refused(old, new, reason):
    source = SOURCE.replace(old, new)
    if "row" in new:
        source = source.replace("tile[threadIdx", "(&row)[threadIdx")
    case = transpose(source)
    with pytest.raises(UnsupportedError, match=f"cannot be padded.*{reason}"):
        own_rows(case, analyse_source(case), "tile")


def test_atomics_on_elements_are_uses_of_a_row_and_a_column():
    source = SOURCE.replace(
        "tile[threadIdx.y][threadIdx.x] += 1;", "atomicAdd(&tile[threadIdx.y][threadIdx.x], 1);"
    )
    case = transpose(source, np.int32, "k<int>")
    rows = own_rows(case, analyse_source(case), "tile")
    assert (rows.columns, rows.element_dtype) == (32, "int32")
    changed = source.replace("atomicAdd(&tile", "device(&tile").replace(", 1);", ");")
    case = transpose("__device__ void device(int *at) { at[1] = 0; }" + changed, np.int32, "k<int>")
    with pytest.raises(UnsupportedError, match="passed on"):
        own_rows(case, analyse_source(case), "tile")


def test_an_own_atomic_function_may_go_beyond_its_row():
    own = "__device__ void atomicBoth(float *p) { p[0] += 1; p[1] += 2; }\n"
    update = "tile[threadIdx.y][threadIdx.x] += 1;"
    assert update in SOURCE
    source = own + SOURCE.replace(update, "atomicBoth(&tile[threadIdx.y][threadIdx.x]);")
    with pytest.raises(UnsupportedError, match="passed on"):
        padded(transpose(source))
