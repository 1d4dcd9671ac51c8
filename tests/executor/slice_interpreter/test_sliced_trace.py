"""A sliced trace against the executor: the same executions, the same accesses, block by block."""

from dataclasses import replace

import numpy as np
import pytest
from constructs import CONSTRUCTS

from placewise.errors import UnsupportedError
from placewise.executor import execute, lane_offsets
from placewise.executor.slice_interpreter import PathTooLongError, slice_launch, trace_chunk
from placewise.executor.slice_interpreter.kept_accesses import RECORDED
from placewise.executor.slice_interpreter.trace_chunk import chunk_of
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import (
    ArrayArgument,
    Inputs,
    Launch,
    ScalarArgument,
    TextureArgument,
)


class Records:
    """Everything that a run delivers."""

    def begin(self, sites, arrays):
        self.found = []

    def chunk(self, chunk):
        self.found += lanes(chunk)


def lanes(chunk):
    """(site, block, warp, phase, array, lane, offset) of every lane's accesses, sorted."""
    offsets = lane_offsets(chunk)
    result = []
    for n in range(len(chunk)):
        active = chunk.mask[n] >> np.arange(32, dtype=np.uint32) & 1 != 0
        who = [int(getattr(chunk, c)[n]) for c in ("site", "block", "warp", "phase", "array")]
        result += [(*who, lane, int(offsets[n][lane])) for lane in np.flatnonzero(active).tolist()]
    return sorted(result)


def argument(name, value):
    if isinstance(value, np.ndarray):
        return ArrayArgument(name, value)
    return value if isinstance(value, TextureArgument) else ScalarArgument(name, value)


def compared(kernel, launch, inputs, blocks):
    seen = slice_launch(kernel, launch, inputs, blocks)
    records = Records()
    run = execute(kernel, launch, inputs, consumer=records, run_blocks=blocks, threads=1)
    np.testing.assert_array_equal(seen.executions[:, :, 1].sum(axis=0), run.block_executions[:, 1])
    # Where lanes that parted meet again may differ by a block.
    warps = seen.executions[:, :, 0].sum(axis=0)
    np.testing.assert_allclose(warps, run.block_executions[:, 0], rtol=0.1, atol=1)
    assert lanes(chunk_of(seen)) == sorted(records.found)
    return seen


SOURCE = """
extern "C" __global__ void f(const int *index, const float *x, float *y, int n) {
    __shared__ int order[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    order[threadIdx.x] = i < n ? index[i] : 0;
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < order[127 - threadIdx.x] % 7; ++k)
        sum += x[(order[threadIdx.x] * 5 + k * 3) % n];
    unsigned before = __ballot_sync(0xffffffffu, sum > 0.5f);
    if (i < n) y[(i + __popc(before)) % n] = sum;
}
"""


@pytest.mark.parametrize("machine_code", [False, True])
def test_data_that_decide_paths_and_addresses(machine_code):
    kernel = compile_kernel(SOURCE, "f.cu", "f", CompileOptions(arch="sm_86"))
    n = 1000
    random = np.random.default_rng(3)
    inputs = Inputs(
        (
            ArrayArgument("index", random.integers(0, n, n).astype(np.int32)),
            ArrayArgument("x", random.random(n).astype(np.float32)),
            ArrayArgument("y", np.zeros(n, np.float32)),
            ScalarArgument("n", np.int32(n)),
        )
    )
    kernel = replace(kernel, machine_code=machine_code)
    seen = compared(kernel, Launch((8, 1, 1), (128, 1, 1)), inputs, np.array([0, 3, 7]))
    assert seen.step_phase.max() == 1
    assert len(seen.path(0)) > 3


LOOPS = """
extern "C" __global__ void f(const int *length, const int *next, unsigned *out, int n) {
    __shared__ unsigned box[256];
    unsigned own[4] = {1, 2, 3, 4};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = i, b = 7 * i + 1;
    box[threadIdx.x] = a;
    __syncthreads();
    for (int k = 0; k < length[i]; ++k) {
        unsigned old = a;
        a = b;
        b = old + next[(old + k) % n];
        own[b & 3] += a + atomicAdd(&out[n + i], b);
        box[threadIdx.x] += own[a & 3] + __popc(__activemask());
        a += box[threadIdx.x] + __shfl_sync(__activemask(), b, threadIdx.x ^ 1);
    }
    int some = __syncthreads_or(a & 1);
    out[(a + b + box[255 - threadIdx.x] + some) % n] = a;
}
"""


@pytest.mark.parametrize("machine_code", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_few_warps_that_go_on_in_a_loop(seed, machine_code):
    random = np.random.default_rng(seed)
    n = 1024
    turns = np.repeat(random.choice([0, 1, 12], n // 32, p=[0.6, 0.3, 0.1]), 32)
    arrays = {
        "length": (turns + random.integers(0, 2, n)).astype(np.int32),
        "next": random.integers(0, n, n).astype(np.int32),
        "out": np.zeros(2 * n, np.uint32),
    }
    given = [ArrayArgument(*item) for item in arrays.items()]
    inputs = Inputs((*given, ScalarArgument("n", np.int32(n))))
    kernel = compile_kernel(LOOPS, "f.cu", "f", CompileOptions(arch="sm_86"))
    kernel = replace(kernel, machine_code=machine_code)
    seen = compared(kernel, Launch((4, 1, 1), (256, 1, 1)), inputs, np.arange(4))
    assert seen.step_warps.sum(axis=1).min() * 2 <= n // 32


@pytest.mark.parametrize(
    "name",
    [
        "guards",
        "interpreter_switch",
        "three_dimensions",
        "dynamic_shared",
        "warp_matches",
        "barrier_reductions",
        "jumps_across",
        "carries",
    ],
)
def test_constructs(name):
    source, launch, values, constants = CONSTRUCTS[name]
    kernel = compile_kernel(source, f"{name}.cu", "k", CompileOptions(arch="sm_80"))
    launch = Launch(*launch)
    inputs = Inputs(tuple(argument(k, v) for k, v in values.items()), constants)
    compared(replace(kernel, machine_code=True), launch, inputs, np.arange(launch.blocks))


def test_arithmetic_that_decides_nothing_is_left_out():
    source = """extern "C" __global__ void f(const float *x, float *y) {
        float v = x[threadIdx.x];
        for (int k = 0; k < 64; ++k) v = sinf(v) * 1.5f + __expf(v);
        y[threadIdx.x] = v; }"""
    kernel = compile_kernel(source, "f.cu", "f", CompileOptions(arch="sm_86"))
    inputs = Inputs(
        tuple(ArrayArgument(name, np.ones(32, np.float32)) for name in ("x", "y")),
    )
    launch = Launch((1, 1, 1), (32, 1, 1))
    seen = slice_launch(replace(kernel, machine_code=True), launch, inputs, np.arange(1))
    assert [seen.sites[a.site].kind for a in seen.accesses] == ["load", "store"]


def test_limits():
    endless = """extern "C" __global__ void f(volatile int *x) { while (*x) { } }"""
    kernel = compile_kernel(endless, "f.cu", "f", CompileOptions(arch="sm_86"))
    inputs = Inputs((ArrayArgument("x", np.ones(1, np.int32)),))
    launch = Launch((1, 1, 1), (32, 1, 1))
    with pytest.raises(UnsupportedError):
        slice_launch(kernel, launch, inputs, np.arange(1), work=1000)


GUARDED = """
extern "C" __global__ void f(const float *x, float *y, int n) {
    float v = x[threadIdx.x];
    for (int k = 0; k < n; ++k) v += rsqrtf(v * x[k]);
    y[threadIdx.x] = v;
}
"""


def test_a_long_path_is_followed_where_the_guards_of_arithmetic_are_left_out():
    kernel = compile_kernel(GUARDED, "f.cu", "f", CompileOptions(arch="sm_86"))
    kernel = replace(kernel, machine_code=True)
    numbers = np.linspace(1, 2, 3000, dtype=np.float32)
    arguments = (ArrayArgument("x", numbers), ArrayArgument("y", np.zeros(32, np.float32)))
    inputs = Inputs((*arguments, ScalarArgument("n", np.int32(3000))))
    launch = Launch((1, 1, 1), (32, 1, 1))
    with pytest.raises(PathTooLongError, match="too much to be followed in a few blocks"):
        slice_launch(kernel, launch, inputs, np.arange(1), work=30_000)
    seen = slice_launch(kernel, launch, inputs, np.arange(1), work=30_000, guards=False)
    assert seen.guards.shape == (1, 0)
    run = execute(kernel, launch, inputs, threads=1)
    np.testing.assert_array_equal(seen.executions[0], run.block_executions)
    np.testing.assert_array_equal(seen.site_executions[0], run.site_executions)


def test_what_a_slice_stores_it_reads_again_and_the_inputs_stay():
    source = """extern "C" __global__ void f(int *next, float *y) {
        next[threadIdx.x] = 31 - threadIdx.x;
        __syncthreads();
        y[next[threadIdx.x ^ 1]] = 1;
    }"""
    kernel = compile_kernel(source, "f.cu", "f", CompileOptions(arch="sm_86"))
    kernel = replace(kernel, machine_code=True)
    order, y = np.zeros(32, np.int32), np.zeros(32, np.float32)
    inputs = Inputs((ArrayArgument("next", order), ArrayArgument("y", y)))
    seen = slice_launch(kernel, Launch((1, 1, 1), (32, 1, 1)), inputs, np.arange(1))
    (stored,) = seen.accesses[-1].offset.tolist()
    assert stored == [4 * (31 - (lane ^ 1)) for lane in range(32)]
    assert not order.any()
    assert order.flags.writeable


def test_of_an_instruction_executed_often_the_first_addresses_are_kept():
    source = """extern "C" __global__ void f(const float *x, float *y, int n) {
        float v = 0;
        #pragma unroll 1
        for (int k = 0; k < n; ++k) v += x[k * 32 + threadIdx.x];
        y[threadIdx.x] = v; }"""
    kernel = compile_kernel(source, "f.cu", "f", CompileOptions(arch="sm_86"))
    often = RECORDED + 500
    arguments = (
        ArrayArgument("x", np.ones(32 * often, np.float32)),
        ArrayArgument("y", np.zeros(32, np.float32)),
        ScalarArgument("n", np.int32(often)),
    )
    launch = Launch((1, 1, 1), (32, 1, 1))
    seen = slice_launch(replace(kernel, machine_code=True), launch, Inputs(arguments), np.arange(1))
    loads = [a for a in seen.accesses if seen.sites[a.site].kind == "load"]
    assert [int(a.offset[0, 0]) for a in loads] == list(range(0, 128 * RECORDED, 128))
    assert seen.site_executions.max() == often


TEXTURES = """
extern "C" __global__ void f(cudaTextureObject_t where, cudaTextureObject_t x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int far = i % 3 ? tex1Dfetch<int>(where, i) : -1;
    if (blockIdx.x != 1) {
        float4 v = tex1Dfetch<float4>(x, far);
        y[(i + far) % n] = v.x + v.y + v.z * v.w;
    }
}
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_86", "sm_90", "sm_120"])
@pytest.mark.parametrize("machine_code", [False, True])
def test_textures_of_linear_memory_are_loads(machine_code, arch):
    kernel = compile_kernel(TEXTURES, "f.cu", "f", CompileOptions(arch=arch))
    rng = np.random.default_rng(3)
    # Some indices lie outside of the texture, and some of those that hold them do.
    inputs = Inputs(
        (
            TextureArgument("where", rng.integers(0, 200, 240, dtype=np.int32)),
            TextureArgument("x", rng.random((150, 4), np.float32)),
            ArrayArgument("y", np.zeros(256, np.float32)),
            ScalarArgument("n", np.int32(256)),
        )
    )
    launch = Launch((4, 1, 1), (64, 1, 1))
    kernel = replace(kernel, machine_code=machine_code)
    seen = compared(kernel, launch, inputs, np.array([1, 3]))
    assert {site.lane_bytes for site in seen.sites if site.space == "texture"} == {4, 16}


def test_textures_that_are_sampled_are_refused_rather_than_left_out():
    source = """extern "C" __global__ void f(cudaTextureObject_t x, float *y) {
        y[threadIdx.x] = tex2D<float>(x, threadIdx.x, 0.5f); }"""
    kernel = compile_kernel(source, "f.cu", "f", CompileOptions(arch="sm_86"))
    y = ArrayArgument("y", np.ones(32, np.float32))
    inputs = Inputs((TextureArgument("x", np.ones((4, 32), np.float32), "2d"), y))
    with pytest.raises(UnsupportedError, match="texture"):
        slice_launch(
            replace(kernel, machine_code=True), Launch((1, 1, 1), (32, 1, 1)), inputs, np.arange(1)
        )


def test_accesses_without_lane_0_start_at_their_first_active_lane():
    source = """extern "C" __global__ void f(int *x) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        x[i] = i ? x[i - 1] + 1 : 0;
    }"""
    kernel = compile_kernel(source, "f.cu", "f", CompileOptions(arch="sm_80"))
    inputs = Inputs((ArrayArgument("x", np.zeros(512, np.int32)),))
    kernel = replace(kernel, machine_code=True)
    chunk = chunk_of(slice_launch(kernel, Launch((4, 1, 1), (128, 1, 1)), inputs, np.arange(4)))
    partial = np.flatnonzero(chunk.row >= 0)
    assert len(partial)
    assert (chunk.mask[partial] == 0xFFFFFFFE).all()
    assert (chunk.base[partial] == 0).all()  # lane 1 reads the first element
    assert (chunk.stride[partial] == 0).all()


def test_lanes_are_the_same_in_parts_of_any_size(monkeypatch):
    source = """extern "C" __global__ void f(int *x, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i % 3) x[i * i % n] += x[i];
        x[i] = 1;
    }"""
    kernel = compile_kernel(source, "f.cu", "f", CompileOptions(arch="sm_80"))
    inputs = Inputs((ArrayArgument("x", np.zeros(512, np.int32)), argument("n", np.int32(512))))
    kernel = replace(kernel, machine_code=True)
    seen = slice_launch(kernel, Launch((4, 1, 1), (128, 1, 1)), inputs, np.arange(4))
    whole = chunk_of(seen)
    assert (whole.row >= 0).any()
    assert (whole.row < 0).any()
    for rows in (1, 20):
        monkeypatch.setattr(trace_chunk, "_ROWS", rows)
        assert lanes(chunk_of(seen)) == lanes(whole)


def test_accesses_of_all_blocks_are_kept_as_long_as_they_are_few():
    source = """extern "C" __global__ void f(const float *x, float *y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        float sum = 0;
        for (int k = threadIdx.x & 32 ? 0 : n / 2; k < n; ++k) sum += x[k * 96 + i];
        y[i] = sum; }"""
    kernel = compile_kernel(source, "f.cu", "f", CompileOptions(arch="sm_86"))
    kernel = replace(kernel, machine_code=True)
    n = RECORDED + 200
    arrays = (ArrayArgument("x", np.ones(96 * n + 192, np.float32)),)
    arrays += (ArrayArgument("y", np.zeros(192, np.float32)),)
    inputs = Inputs((*arrays, ScalarArgument("n", np.int32(n))))
    launch = Launch((3, 1, 1), (64, 1, 1))
    blocks, one = np.arange(3), np.array([False, True, False])

    def kept(**options):
        seen = slice_launch(kernel, launch, inputs, blocks, **options)
        accesses = [
            (a.site, a.step, a.warps.tolist(), a.mask.tolist(), a.window.tolist())
            for a in seen.accesses
        ]
        return seen, accesses

    every, all_accesses = kept()
    traced, some_accesses = kept(trace=one)
    total = int(every.site_executions.sum())
    enough, found = kept(trace=one, few=total)
    assert enough.all_kept
    assert found == all_accesses
    # The limit is passed at the very end, and early on.
    for few in (total - 1, total // 3, 1):
        fewer, found = kept(trace=one, few=few)
        assert not fewer.all_kept
        assert found == some_accesses
        np.testing.assert_array_equal(fewer.site_executions, traced.site_executions)


def test_only_guards_of_arithmetic_are_worth_a_second_attempt():
    searching = """extern "C" __global__ void f(const float *x, float *y, int n) {
        float v = 0; int k = 0;
        while (k < n && v < 1e9f) v += x[k++];
        y[threadIdx.x] = v; }"""
    arguments = (ArrayArgument("x", np.ones(3000, np.float32)),)
    arguments += (ArrayArgument("y", np.zeros(32, np.float32)),)
    inputs = Inputs((*arguments, ScalarArgument("n", np.int32(3000))))
    for source, helps in ((GUARDED, True), (searching, False)):
        kernel = compile_kernel(source, "f.cu", "f", CompileOptions(arch="sm_86"))
        with pytest.raises(PathTooLongError) as caught:
            slice_launch(
                replace(kernel, machine_code=True),
                Launch((1, 1, 1), (32, 1, 1)),
                inputs,
                np.arange(1),
                work=2_000,
            )
        assert caught.value.with_guards == helps
