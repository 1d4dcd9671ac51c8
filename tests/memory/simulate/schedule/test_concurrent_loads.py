"""How many blocks load at a time: kernels that load once, and others."""

import pytest

from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.memory.simulate.schedule.concurrent_loads import loading_blocks, loads_once

ONCE = """
extern "C" __global__ void k(const float *a, float *out) {
    __shared__ float tile[256];
    for (int i = threadIdx.x; i < 256; i += 32) tile[i] = a[blockIdx.x * 256 + i];
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < 200; i++) sum = sum * tile[i] + tile[(i + threadIdx.x) & 255];
    out[blockIdx.x * 32 + threadIdx.x] = sum;
}
"""
TILES = """
extern "C" __global__ void k(const float *a, float *out, int tiles) {
    __shared__ float tile[32];
    float sum = 0.0f;
    for (int t = 0; t < tiles; t++) {
        tile[threadIdx.x] = a[t * 32 + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < 32; i++) sum = sum * tile[i] + 1.0f;
        __syncthreads();
    }
    out[blockIdx.x * 32 + threadIdx.x] = sum;
}
"""
AFTER = ONCE.replace("tile[i] + tile", "a[i] + tile")
NONE = """
extern "C" __global__ void k(const float *a, float *out) { out[threadIdx.x] = a[threadIdx.x]; }
"""


def code(source):
    kernel = compile_kernel(source, "k.cu", "k", CompileOptions(arch="sm_75"))
    return machine_code(kernel).instructions


@pytest.mark.parametrize(
    ("source", "once"),
    [(ONCE, True), (TILES, False), (AFTER, False), (NONE, False)],
    ids=["staged", "tiles", "loads after", "no barrier"],
)
def test_whether_a_kernel_loads_once(source, once):
    assert loads_once(code(source)) is once


def test_three_of_four_blocks_load_at_a_time():
    staged = code(ONCE)
    assert [loading_blocks(staged, n, 9.0) for n in (1, 2, 4, 8, 16)] == [1, 2, 3, 6, 12]
    assert loading_blocks(staged, 16, 1.0) == 16
    assert loading_blocks(code(TILES), 16, 9.0) == 16
