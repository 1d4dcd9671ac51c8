"""Arrays of a draft are as long as the program around the kernel allocates them."""

import pytest

from placewise.kernel.cases.case_file import read_case_file
from placewise.kernel.cases.drafts.drafted_case import draft_text, drafted_kernels

PROGRAM = """
struct Cell { int from, to; float weight; };
template <typename T>
__global__ void k(const T *in, const Cell *cells, float4 *out, double *sums, int *free,
    const unsigned char *mask, int n, int width) {}
void run(float *in, Cell *cells, float4 *out, double *sums, int *free, int rows, int width) {
    const int n = rows * width;
    unsigned char *mask = nullptr;
    cudaMalloc(reinterpret_cast<void **>(&mask), n / 8);
    k<float><<<n / 128, 128>>>(in, cells, (float4 *)out, sums, free, mask, n, width);
}
int main(int c, char **v) {
    const int rows = 96, width = 64;
    const size_t bytes = rows * width * sizeof(float);
    float *d_in; Cell *d_cells; float4 *d_out; double *d_sums;
    cudaMalloc((void **)&d_in, bytes);
    check(cudaMalloc(&d_cells, (width + 1) * sizeof(Cell)));
    cudaMallocManaged((void**)&d_out, width * sizeof(float4));
    cudaMalloc<double>(&d_sums, 3 * 8);
    cudaMalloc(&d_free, unknown(rows));
    run(d_in, d_cells, d_out, d_sums, d_free, rows, width);
}
"""


def test_arrays_are_as_long_as_the_program_allocates_them(tmp_path):
    (kernel,) = drafted_kernels(PROGRAM)
    assert kernel.lengths == {
        "in": "n",
        "cells": "width + 1",
        "out": "width",
        "sums": "3",
        "mask": "n / 8",
    }
    assert kernel.largest_bytes == 96 * 64 * 4
    (tmp_path / "my.cu").write_text(PROGRAM)
    file = tmp_path / "my.toml"
    file.write_text(draft_text(kernel, "my.cu"))
    sizes = {a.name: a.data.shape[0] for a in read_case_file(file).inputs.arrays}
    assert sizes == {
        "in": 96 * 64, "cells": 65, "out": 64, "sums": 3, "free": kernel.elements, "mask": 96 * 8,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("bytes_", "elements"),
    [
        ("n * 4 * sizeof(double)", "4 * n"),
        ("2 * n", "(2 * n) / 8"),
        ("n * (n + 1) * 8", "n * (n + 1)"),
        ("8", "1"),
        ("sizeof(taps)", "7"),
        ("2 * sizeof(known)", "6"),
        ("sizeof(unknown)", None),
        ("n - n", None),
        ("0", None),
    ],
)
def test_bytes_become_elements(bytes_, elements):
    source = f"""
__global__ void k(double *x, int n) {{}}
#define TAPS 7
float *p, taps[TAPS], known[] = {{1, 2, 3}}, unknown[size()];
void run(int n) {{ cudaMalloc(&d, {bytes_}); k<<<n / 32, 32>>>(d, n); }}
int main() {{ run(640); }}
"""
    assert drafted_kernels(source)[0].lengths.get("x") == elements
