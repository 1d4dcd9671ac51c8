"""Counters of small kernels of known shape against what their source says, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from placewise import make_case
from placewise.advisor.predictions.predicted_counters import predict_counters

N = 256
TILES = (N // 32) ** 2
BOTH = ("A100", "RTX3060")
LD, ST, RED = (f"pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st", "red"))
REQUESTS, SECTORS = "l1tex__t_requests_", "l1tex__t_sectors_"
SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_"
READ, WRITTEN, DRAM = (
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "dram__sectors_read.sum",
)

TRANSPOSED = """
__global__ void transposed(const float *a, float *b) {
    __shared__ float tile[32][32 + PAD];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32;
    for (int r = threadIdx.y; r < 32; r += 8) tile[r][threadIdx.x] = a[(y + r) * 256 + x];
    __syncthreads();
    for (int r = threadIdx.y; r < 32; r += 8)
        b[(blockIdx.x * 32 + r) * 256 + y + threadIdx.x] = tile[threadIdx.x][r];
}
"""
LANES_SEEN = """
__global__ void spread(const float4 *a, float *b) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float4 v = a[y * 64 + x];
    b[(4 * x) * 256 + y] = v.x;
    b[(4 * x + 1) * 256 + y] = v.y;
    b[(4 * x + 2) * 256 + y] = v.z;
    b[(4 * x + 3) * 256 + y] = v.w;
}
"""
SUMMED = """
__global__ void summed(const double *a, double *total) {
    extern __shared__ double part[];
    int t = threadIdx.x;
    part[t] = a[blockIdx.x * 256 + t];
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) atomicAdd(total, part[0]);
}
"""


def counters(source, name, machine, arrays, **launch):
    case = make_case(name, source, arrays, **launch)
    report = predict_counters(case, machine)
    assert report.run.from_machine_code
    return {m.name: m.value for m in report.metrics}


def square():
    return np.arange(N * N, dtype=np.float32).reshape(N, N)


@pytest.mark.parametrize("machine", BOTH)
@pytest.mark.parametrize(("pad", "ways"), [(0, 32), (1, 1)], ids=["rows-of-32", "rows-of-33"])
def test_a_staged_transposition(machine, pad, ways):
    found = counters(
        TRANSPOSED, "transposed", machine, {"a": square(), "b": np.zeros((N, N), np.float32)},
        grid=(8, 8), block=(32, 8), defines={"PAD": pad},
    )  # fmt: skip
    rows = 32 * TILES
    assert found[REQUESTS + LD] == found[REQUESTS + ST] == rows
    assert found[SECTORS + LD] == found[SECTORS + ST] == 4 * rows
    assert found[SHARED + "st.sum"] == rows
    assert found[SHARED + "ld.sum"] == ways * rows
    assert found[READ] == found[WRITTEN] == found[DRAM] == N * N // 8


@pytest.mark.parametrize("machine", BOTH)
def test_wide_loads_and_a_sector_for_each_lanes_store(machine):
    found = counters(
        LANES_SEEN, "spread", machine, {"a": square(), "b": np.zeros((N, N), np.float32)},
        grid=(2, 32), block=(32, 8),
    )  # fmt: skip
    warps = 2 * 32 * 8
    assert found[REQUESTS + LD] == warps
    assert found[SECTORS + LD] == 16 * warps
    assert found[REQUESTS + ST] == 4 * warps
    assert found[SECTORS + ST] == found[WRITTEN] == 32 * 4 * warps
    assert found[DRAM] == N * N // 8


@pytest.mark.parametrize("machine", BOTH)
def test_a_tree_of_doubles_in_dynamic_shared_memory(machine):
    blocks = 20
    found = counters(
        SUMMED, "summed", machine, {"a": np.ones(256 * blocks), "total": np.zeros(1)},
        grid=blocks, block=256, shared_bytes=2048,
    )  # fmt: skip
    assert found[REQUESTS + LD] == 8 * blocks
    assert found[SECTORS + LD] == found[DRAM] - 1 == 64 * blocks
    assert found[REQUESTS + RED] == found[SECTORS + RED] == blocks
    # 128 lanes of doubles are 4 warps of two wavefronts each, 16 lanes are one of one.
    passes = 8 + 4 + 2 + 1 + 1 + 1 + 1 + 1
    assert found[SHARED + "st.sum"] == (16 + passes) * blocks
    # A thread's own sum need not be loaded again.
    assert passes * blocks <= found[SHARED + "ld.sum"] <= (2 * passes + 1) * blocks
