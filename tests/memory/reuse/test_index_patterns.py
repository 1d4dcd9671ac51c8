"""Profiles from index patterns: the same histograms as a traced run, or a refusal with its line."""

import numpy as np
import pytest

from placewise import make_case
from placewise.advisor.prepare import Profiling, prepare
from placewise.errors import UnsupportedError
from placewise.kernel.launch import ScalarArgument
from placewise.machine import load_machine
from placewise.memory.reuse.distance_shares import profile_counts

K20C = load_machine("K20c")
SOURCE = """
__global__ void multiply(const float *a, const float *b, float *c, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}
__global__ void transpose(const float *a, float *c, int n) {
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = a[y * n + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < n && y < n) c[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void stencil(const float *a, float *c, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
    int i = y * n + x;
    c[i] = 0.25f * (a[i - 1] + a[i + 1] + a[i - n] + a[i + n]);
}
__global__ void ring(const float *a, float *c, int n) {
    int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x * blockDim.y
          + threadIdx.y * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < 24; k++) sum += a[(i * 7 + k * k) % n];
    c[i % (n * n)] = sum;
}
"""


def _case(kernel, n, inputs, rng):
    arrays = [rng.random((n, n), dtype=np.float32) for _ in range(inputs)]
    output = np.zeros((n, n), np.float32)
    return make_case(kernel, SOURCE, [*arrays, output, np.int32(n)], block=(16, 16), problem=(n, n))


def _counts(case, profiling):
    return profile_counts(prepare(case, K20C, profiling=profiling).profile)


@pytest.mark.parametrize(
    ("kernel", "inputs"), [("multiply", 2), ("transpose", 1), ("stencil", 1), ("ring", 1)]
)
@pytest.mark.parametrize("n", [64, 100])  # whole blocks; blocks that reach over the edge
def test_histograms_are_those_of_a_traced_run(kernel, inputs, n):
    case = _case(kernel, n, inputs, np.random.default_rng(n))
    traced = _counts(case, Profiling.FULL)
    assert traced.sum() > n * n / 32
    np.testing.assert_array_equal(_counts(case, Profiling.AFFINE), traced)


def test_what_was_worked_out_is_said_and_the_run_still_gives_results():
    case = _case("multiply", 64, 2, np.random.default_rng(1))
    found = prepare(case, K20C, profiling=Profiling.AFFINE)
    (note,) = (n for n in found.notes if n.startswith("profile from index patterns"))
    # Two loads of 64 steps and a store, each by 64 × 64 / 32 warps.
    assert f"{64 * 64 // 32 * (2 * 64 + 1):,} warp accesses" in note
    assert note.endswith("100.00% of all")
    a, b = (array.data for array in case.inputs.arrays[:2])
    np.testing.assert_allclose(found.execution.output("c"), a @ b, rtol=1e-5)


INDIRECT = """__global__ void gather(const int *at, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int place = at[i];
    y[i] = x[place];
}
__global__ void turns(const int *count, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < count[i]; k++) y[k * 256 + i] = 1.0f;
}
__global__ void staged(const int *at, float *y) {
    __shared__ int own[64];
    own[threadIdx.x] = at[threadIdx.x];
    __syncthreads();
    y[own[63 - threadIdx.x]] = 1.0f;
}
__global__ void counted(int *next, float *y) {
    y[atomicAdd(next, 1)] = 1.0f;
}
"""


@pytest.mark.parametrize(
    ("kernel", "arguments", "use", "load"),
    [
        ("gather", 3, 4, 3),
        ("turns", 2, 8, 8),
        ("staged", 2, 14, 12),
        ("counted", 2, 17, 17),
    ],
)
def test_indices_that_depend_on_data_are_refused_with_their_lines(kernel, arguments, use, load):
    whole, real = np.zeros(256, np.int32), np.zeros(4096, np.float32)
    given = [whole, real, real.copy()][:arguments]
    case = make_case(kernel, INDIRECT, given, block=64, grid=1, name="indirect")
    with pytest.raises(UnsupportedError) as raised:
        prepare(case, K20C, profiling=Profiling.AFFINE)
    assert raised.value.where.endswith(f":{use}")
    assert f"line {load} loads" in raised.value.message


def test_scalar_arguments_are_known():
    case = _case("multiply", 64, 2, np.random.default_rng(1))
    (n,) = (a for a in case.inputs.arguments if isinstance(a, ScalarArgument))
    assert n.value == 64
    assert prepare(case, K20C, profiling=Profiling.AFFINE).profile.requests > 0
