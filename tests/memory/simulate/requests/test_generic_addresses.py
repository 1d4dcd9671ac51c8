"""Generic addresses that lead to shared and local memory: counted as accesses to these."""

from __future__ import annotations

import numpy as np
import pytest

from placewise import make_case
from placewise.advisor.predictions.predicted_counters import predict_counters
from placewise.memory.simulate.metrics.ncu_metrics import metrics_by_array

THREADS, BLOCKS, TURNS = 64, 4, 8
SOURCE = """
extern "C" __global__ void chosen(float *out, const float *in, int which) {
    __shared__ float tile[64];
    int at = blockIdx.x * 64 + threadIdx.x;
    tile[threadIdx.x] = in[at];
    __syncthreads();
    const float *from = (which + blockIdx.x) & 1 ? tile : in;
    out[at] = from[2 * threadIdx.x & 63];
}
extern "C" __global__ void added(unsigned *out, const int *in, int which) {
    __shared__ unsigned tile[64];
    int at = blockIdx.x * 64 + threadIdx.x;
    tile[threadIdx.x] = 0;
    __syncthreads();
    unsigned *to = (which + blockIdx.x) & 1 ? tile : out;
    out[256 + at] = atomicAdd(&to[threadIdx.x / 4], 3u);
    __syncthreads();
    out[512 + at] = tile[threadIdx.x];
}
__device__ __noinline__ float sum(const float *row, int n, int step) {
    float s = 0.0f;
#pragma unroll 1
    for (int k = 0; k < n; k++) s += row[k * step];
    return s;
}
extern "C" __global__ void called(float *out, const float *in, int which) {
    __shared__ float tile[64];
    float own[8];
    int at = blockIdx.x * 64 + threadIdx.x;
    tile[threadIdx.x] = in[at];
#pragma unroll 1
    for (int k = 0; k < 8; k++) own[(k + which) & 7] = k;
    __syncthreads();
    out[at] = sum(own, 8, 1) + sum(tile, 8, 8) + sum(in + blockIdx.x * 64, 8, 4);
}
"""
GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
LOCAL = "l1tex__t_{}_pipe_lsu_mem_local_op_{}.sum"
SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
WARPS = THREADS * BLOCKS // 32


def run(kernel, out, machine):
    read = np.int32 if out.dtype == np.uint32 else np.float32
    values = {"out": out, "in": np.ones(THREADS * BLOCKS, read), "which": np.int32(0)}
    report = predict_counters(
        make_case(kernel, SOURCE, values, block=THREADS, grid=BLOCKS), machine
    )
    assert report.run.from_machine_code
    return report, {m.name: m.value for m in report.metrics}


@pytest.mark.parametrize("machine", ["RTX2080Ti", "A100"])
def test_a_pointer_to_either_memory(machine):
    report, found = run("chosen", np.zeros(THREADS * BLOCKS, np.float32), machine)
    # Blocks of odd number read their tile: words 0, 2, … 62, two in each bank of even number.
    assert found[SHARED.format("st")] == WARPS
    assert found[SHARED.format("ld")] == WARPS // 2 * 2
    assert found[GLOBAL.format("requests", "ld")] == WARPS + WARPS // 2
    assert found[GLOBAL.format("sectors", "ld")] == 4 * WARPS + 8 * WARPS // 2
    by_array = {name: {m.name: m.value for m in of} for name, of in metrics_by_array(report.run)}
    assert by_array["(shared memory)"][SHARED.format("ld")] == WARPS
    assert by_array["in"][GLOBAL.format("requests", "ld")] == WARPS + WARPS // 2


def test_atomics_of_either_memory():
    _, found = run("added", np.zeros(3 * THREADS * BLOCKS, np.uint32), "A100")
    assert found[SHARED.format("atom")] == 4 * WARPS // 2
    assert found[GLOBAL.format("requests", "atom")] == WARPS // 2
    assert found[GLOBAL.format("sectors", "atom")] == WARPS // 2


@pytest.mark.parametrize("machine", ["RTX2080Ti", "H100"])
def test_a_function_called_with_rows_of_three_memories(machine):
    _, found = run("called", np.zeros(THREADS * BLOCKS, np.float32), machine)
    assert found[LOCAL.format("requests", "st")] == TURNS * WARPS
    assert found[LOCAL.format("requests", "ld")] == TURNS * WARPS
    assert found[LOCAL.format("sectors", "ld")] == 4 * TURNS * WARPS
    assert found[SHARED.format("ld")] == TURNS * WARPS
    assert found[GLOBAL.format("requests", "ld")] == (1 + TURNS) * WARPS
    assert found[GLOBAL.format("sectors", "ld")] == (4 + TURNS) * WARPS
