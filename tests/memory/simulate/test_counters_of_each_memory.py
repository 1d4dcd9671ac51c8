"""Whole kernels whose counters follow on paper: requests, sectors and wavefronts of each kind of
memory, from real machine code."""

import numpy as np
import pytest

from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.machine import load_machine
from placewise.memory.simulate.launch import simulate_launch
from placewise.memory.simulate.metrics.ncu_metrics import launch_metrics

SOURCE = r"""
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
template <int PITCH> __device__ void turned(float *out, const float *in, int side) {
    __shared__ float tile[32][PITCH];
    int x = blockIdx.x * 32, y = blockIdx.y * 32;
    for (int j = threadIdx.y; j < 32; j += 8)
        tile[j][threadIdx.x] = in[(y + j) * side + x + threadIdx.x];
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8)
        out[(x + j) * side + y + threadIdx.x] = tile[threadIdx.x][j];
}
extern "C" __global__ void plain(float *out, const float *in, int side) {
    turned<32>(out, in, side);
}
extern "C" __global__ void padded(float *out, const float *in, int side) {
    turned<33>(out, in, side);
}
extern "C" __global__ void sum(float *out, const float4 *in) {
    float4 v = in[AT];
    float s = v.x + v.y + v.z + v.w;
    for (int other = 16; other; other >>= 1) s += __shfl_down_sync(~0u, s, other);
    if (threadIdx.x % 32 == 0) atomicAdd(out, s);
}
extern "C" __global__ void bodies(float *out, const float4 *in) {
    __shared__ float4 tile[64];
    tile[threadIdx.x] = in[AT];
    __syncthreads();
    float4 s = {};
#pragma unroll 1
    for (int k = 0; k < 64; k++) {
        float4 t = tile[k];
        s.x += t.x; s.y *= t.y + s.x; s.z += t.z * s.y; s.w += t.w * s.z;
    }
    out[AT] = s.w;
}
extern "C" __global__ void rows_of_pairs(float2 *out, int odd) {
    __shared__ float2 tile[64];
    tile[threadIdx.x] = make_float2(threadIdx.x, 1);
    tile[threadIdx.x + 32] = make_float2(1, threadIdx.x);
    __syncthreads();
    float2 whole = tile[threadIdx.x + odd], halved = tile[threadIdx.x / 2 + odd];
    out[AT] = make_float2(whole.x + halved.x, whole.y * halved.y);
}
extern "C" __global__ void count(int *out, const int *in) {
    __shared__ int bins[64];
    bins[threadIdx.x] = 0;
    __syncthreads();
    out[AT] = atomicAdd(&bins[in[AT]], threadIdx.x);
}
extern "C" __global__ void picked(float *out, const int *which) {
    float kept[32];
    for (int k = 0; k < 32; k++) kept[k] = k * (float)threadIdx.x;
    float s = 0;
    for (int k = 0; k < 4; k++) s += kept[which[k]];
    out[AT] = s;
}
"""
GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
LOCAL = "l1tex__t_{}_pipe_lsu_mem_local_op_{}.sum"
L2 = "lts__t_sectors_op_{}.sum"


def counters(kernel, arguments, block, grid):
    case = make_case(kernel, SOURCE, arguments, block=block, grid=grid, arch="sm_75")
    machine = load_machine("RTX2080Ti")
    run = simulate_launch(compile_case(case), case.launch, case.inputs, machine)
    assert run.from_machine_code
    return {m.name: m.value for m in launch_metrics(run)}


@pytest.mark.parametrize(("kernel", "wavefronts"), [("plain", 32), ("padded", 1)])
def test_transposition(kernel, wavefronts):
    side = 64
    image = np.zeros((side, side), np.float32)
    arguments = {"out": image.copy(), "in": image, "side": np.int32(side)}
    found = counters(kernel, arguments, (32, 8), (2, 2))
    rows = side * side // 32
    for kind in ("ld", "st"):
        assert found[GLOBAL.format("requests", kind)] == rows
        assert found[GLOBAL.format("sectors", kind)] == 4 * rows
    assert found[SHARED.format("st")] == rows
    assert found[SHARED.format("ld")] == wavefronts * rows
    assert found[L2.format("write")] == 4 * rows
    assert found["dram__sectors_read.sum"] == 4 * rows


def test_vector_loads_and_reductions():
    warps = 16
    found = counters(
        "sum", {"out": np.zeros(1, np.float32), "in": np.zeros((warps * 32, 4), np.float32)}, 128, 4
    )
    assert found[GLOBAL.format("requests", "ld")] == warps
    assert found[GLOBAL.format("sectors", "ld")] == 16 * warps
    assert (
        found[GLOBAL.format("requests", "red")] == found[GLOBAL.format("sectors", "red")] == warps
    )
    assert found[L2.format("red")] == warps
    assert L2.format("write") not in found


def test_one_wide_word_for_all_lanes():
    found = counters(
        "bodies", {"out": np.zeros(128, np.float32), "in": np.zeros((128, 4), np.float32)}, 64, 2
    )
    assert found[SHARED.format("st")] == 4 * 4
    assert found[SHARED.format("ld")] == 2 * 64 * 4


def test_pairs_of_words():
    arguments = {"out": np.zeros((32, 2), np.float32), "odd": np.int32(1)}
    found = counters("rows_of_pairs", arguments, 32, 1)
    # Two stores of 256 bytes, a load of 256 bytes, and one in which lanes share in pairs.
    assert found[SHARED.format("st")] == 2 * 2
    assert found[SHARED.format("ld")] == 2 + 1


def test_atomics_of_one_word_wait_for_each_other():
    which = np.zeros((3, 64), np.int32)
    which[1] = np.arange(64)
    which[2] = np.arange(64) // 4 * 4
    found = counters("count", {"out": np.zeros(192, np.int32), "in": which.ravel()}, 64, 3)
    assert found[SHARED.format("atom")] == 2 * (32 + 1 + 4)


def test_local_arrays():
    found = counters(
        "picked",
        {"out": np.zeros(64, np.float32), "which": np.array([3, 1, 30, 7], np.int32)},
        64,
        1,
    )
    # 32 words of each lane are stored, 4 are loaded; a warp's lanes have a word side by side.
    assert found[LOCAL.format("sectors", "st")] == 2 * 32 * 4
    assert found[LOCAL.format("requests", "ld")] == 2 * 4
    assert found[LOCAL.format("sectors", "ld")] == 2 * 4 * 4
    assert found[L2.format("write")] == 2 * 32 * 4 + 2 * 4
