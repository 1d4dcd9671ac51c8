"""The kernels whose execution is timed, with their inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Argument, ArrayArgument, Inputs, Launch, ScalarArgument

SOURCE = r"""
extern "C" __global__ void naive(const float *A, const float *B, float *C, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && col < n) {
        float sum = 0;
        for (int k = 0; k < n; ++k) sum += A[row * n + k] * B[k * n + col];
        C[row * n + col] = sum;
    }
}
extern "C" __global__ void tiled(const float *A, const float *B, float *C, int n) {
    __shared__ float a[16][16], b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
    float sum = 0;
    for (int t = 0; t < (n + 15) / 16; ++t) {
        a[ty][tx] = row < n && t * 16 + tx < n ? A[row * n + t * 16 + tx] : 0;
        b[ty][tx] = col < n && t * 16 + ty < n ? B[(t * 16 + ty) * n + col] : 0;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    if (row < n && col < n) C[row * n + col] = sum;
}
extern "C" __global__ void spmv(const int *start, const int *columns, const float *values,
                                const float *x, float *y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0;
        for (int i = start[row]; i < start[row + 1]; ++i) sum += values[i] * x[columns[i]];
        y[row] = sum;
    }
}
extern "C" __global__ void histogram(const unsigned *data, unsigned *bins, int n) {
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        atomicAdd(&bins[data[i] % 1021], 1u);
}
extern "C" __global__ void last_byte(unsigned char *data, unsigned long long size) {
    data[size - 1 - threadIdx.x] = 7;
}
extern "C" __global__ void wild(unsigned *data, unsigned long long where) {
    data[0] = *(volatile unsigned *)((char *)data + where);
    *(volatile unsigned *)where = 1;
}
"""


@dataclass(frozen=True)
class Job:
    """One launch."""

    kernel: Kernel
    launch: Launch
    inputs: Inputs


def _job(name: str, grid: tuple[int, int], block: tuple[int, int], *values: object) -> Job:
    arguments: list[Argument] = []
    for number, value in enumerate(values):
        if isinstance(value, np.ndarray):
            arguments.append(ArrayArgument(f"a{number}", value))
        else:
            assert isinstance(value, np.generic)
            arguments.append(ScalarArgument(f"a{number}", value))
    kernel = compile_kernel(SOURCE, "executor.cu", name, CompileOptions(arch="sm_80"))
    return Job(kernel, Launch((*grid, 1), (*block, 1)), Inputs(tuple(arguments)))


def matrix_product(name: str, n: int, block: tuple[int, int]) -> Job:
    """``naive`` or ``tiled`` multiply of square matrices."""
    rng = np.random.default_rng(0)
    a, b = rng.random((n, n), np.float32), rng.random((n, n), np.float32)
    grid = (-(-n // block[0]), -(-n // block[1]))
    return _job(name, grid, block, a, b, np.zeros_like(a), np.int32(n))


def sparse_product(rows: int) -> Job:
    """CSR times vector, a row per thread; the rows' lengths follow Zipf's law with exponent 1.5,
    cut off at 100, which leaves 15 % of the lanes active."""
    rng = np.random.default_rng(0)
    start = np.r_[0, np.cumsum(np.minimum(rng.zipf(1.5, rows), 100))].astype(np.int32)
    columns = rng.integers(0, rows, start[-1]).astype(np.int32)
    values, x = rng.random(start[-1], np.float32), rng.random(rows, np.float32)
    y = np.zeros(rows, np.float32)
    return _job(
        "spmv", (-(-rows // 128), 1), (128, 1), start, columns, values, x, y, np.int32(rows)
    )


def histogram(n: int) -> Job:
    """Global atomics whose old value nobody wants, so that blocks run on all cores."""
    data = np.random.default_rng(0).integers(0, 1 << 32, n, np.uint32)
    return _job("histogram", (64, 1), (256, 1), data, np.zeros(1021, np.uint32), np.int32(n))


def last_byte(size: int) -> Job:
    """Writes to the end of an array of ``size`` bytes."""
    return _job("last_byte", (1, 1), (32, 1), np.zeros(size, np.uint8), np.uint64(size))


def wild(where: int) -> Job:
    """Reads and writes ``where`` bytes away."""
    return _job("wild", (1, 1), (32, 1), np.zeros(8, np.uint32), np.uint64(where))


def unrolled(terms: int) -> str:
    """CUDA C++ of ``terms`` guarded loads and multiplications, about ten instructions each."""
    return f"""extern "C" __global__ void g(const float *x, const float *y, float *o, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;
  #pragma unroll
  for (int k = 0; k < {terms}; ++k) {{ if (i + k * 7 < n) s += x[i + k * 7] * y[(i ^ k) & 1023]; }}
  o[i] = s; }}"""


def unrolled_job(terms: int) -> Job:
    """A short launch of that kernel."""
    kernel = compile_kernel(unrolled(terms), "unrolled.cu", "g", CompileOptions(arch="sm_80"))
    x = np.ones(4096, np.float32)
    arrays = (("x", x), ("y", x), ("o", np.zeros(1024, np.float32)))
    inputs = Inputs(
        (*(ArrayArgument(k, v) for k, v in arrays), ScalarArgument("n", np.int32(1024)))
    )
    return Job(kernel, Launch((4, 1, 1), (256, 1, 1)), inputs)


def instructions(kernel: Kernel) -> int:
    """Instructions of a kernel's PTX."""
    lines = (line.strip() for line in kernel.ptx.split("{", 1)[1].splitlines())
    return sum(1 for line in lines if line.endswith(";") and not line.startswith("."))
