"""Which arrays a source indexes as matrices."""

import numpy as np
import pytest

from placewise.kernel.cases.make_case import make_case
from placewise.kernel.launch import Launch
from placewise.kernel.view import find_matrices

N, M = 96, 20


def matrices(body, parameters="const float *a, float *o, int n, int m", grid=(2, 1, 1)):
    source = f"__global__ void k({parameters}) {{\n{body}\n}}"
    arrays = [np.zeros((N, M), np.float32), np.zeros((N, M), np.float32)]
    case = make_case("k", source, [*arrays, np.int32(N), np.int32(M)], block=64, grid=grid)
    return {(f.name, f.rows, f.columns): f for f in find_matrices(case)}


ROW = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;\n"


@pytest.mark.parametrize(
    "body",
    [
        "for (int k = 0; k < m; k++) o[i * m + k] = a[k + m * i];",
        "const float *row = a + i * m; for (int k = 0; k < m; k++) o[i * m + k] = row[k];",
        "for (int k = 0; k < m; k++) { int at = i * m + k; o[at] = a[at]; }",
        "for (int k = 0; k < m - 1; k++) o[i * m + k + 1] = *(a + i * m + k);",
    ],
)
def test_rows_and_columns_are_told_apart(body):
    found = matrices(ROW + body)
    assert set(found) == {("a", N, M), ("o", N, M)}
    assert all(f.bound_to == () for f in found.values())
    assert {f.columns_text for f in found.values()} == {"m"}


def test_numbers_are_pitches_too():
    found = matrices(ROW + "for (int k = 0; k < 4; k++) o[i * 20 + k] = a[20 * i + 5 * k];")
    assert ("a", N, 20) in found
    assert ("o", N, 20) in found


def test_three_dimensions_are_a_matrix_in_two_ways():
    body = """int x = threadIdx.x % 4, y = threadIdx.x / 4 % 4, z = threadIdx.x / 16;
        if (x < nx && y < ny) o[(z * ny + y) * nx + x] = a[z * ny * nx + y * nx + x];"""
    source = f"__global__ void k(const float *a, float *o, int ny, int nx) {{ {body} }}"
    arrays = [np.zeros((4, 5, 6), np.float32), np.zeros((4, 5, 6), np.float32)]
    case = make_case("k", source, [*arrays, np.int32(5), np.int32(6)], block=64, grid=1)
    found = {(f.rows, f.columns) for f in find_matrices(case) if f.name == "o"}
    assert found == {(20, 6)}
    found = {(f.rows, f.columns) for f in find_matrices(case) if f.name == "a"}
    assert found == {(20, 6), (4, 30)}


def test_columns_that_only_the_launch_bounds_rest_on_it():
    body = "int i = threadIdx.x / 16, k = threadIdx.x % 16; o[i * m + k] = a[i * m + k];"
    assert matrices(body)["a", N, M].bound_to == ("m",)


@pytest.mark.parametrize(
    "body",
    [
        # The column leaves its row.
        ROW + "for (int k = 0; k <= m; k++) if (i * m + k < n * m) o[i * m + k] = a[i * m + k];",
        ROW + "for (int k = 0; k < m; k++) o[i * m + k] = i ? a[i * m + k - 1] : 0;",
        # Nothing is known of the column.
        ROW + "for (int k = 0; k < m; k++) o[i * m + k] = a[i * m + (int)a[k]];",
        # The pointer moves, or is handed on.
        ROW + "const float *p = a + i * m; for (int k = 0; k < m; k++) o[i * m + k] = *p++;",
        ROW + "for (int k = 0; k < m; k++) o[i * m + k] = __ldg(a + i * m + k) + (a != o);",
        # No matrix at all.
        ROW + "o[i * m] = a[i];",
        # A branch for other architectures uses the array, too.
        "#if __CUDA_ARCH__ < 300\na[0];\n#endif\n" + ROW + "o[i * m] = a[i * m];",
    ],
)
def test_other_arrays_are_no_matrices(body):
    assert not [name for name, _, _ in matrices(body) if name == "a"]


def test_a_prototype_forbids_it():
    head = "__global__ void k(const float *a, float *o)"
    source = f"{head};\n{head} {{ o[0] = a[threadIdx.x * 20]; }}"
    arrays = [np.zeros((N, 20), np.float32), np.zeros(1, np.float32)]
    case = make_case("k", source, arrays, block=64, grid=(1, 1, 1))
    assert case.launch == Launch((1, 1, 1), (64, 1, 1))
    assert not find_matrices(case)
