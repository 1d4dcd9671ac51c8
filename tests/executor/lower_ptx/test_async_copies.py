"""mbarriers, cuda::barrier and cuda::pipeline within one block, bulk copies, clusters of one."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_run import run

from placewise.errors import UnsupportedError

RNG = np.random.default_rng(31)

PHASES = """
__device__ unsigned shared_address(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ bool done(unsigned bar, unsigned long long state) {
    unsigned yes;
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2;"
                 "selp.u32 %0, 1, 0, p;}" : "=r"(yes) : "r"(bar), "l"(state) : "memory");
    return yes;
}
__device__ bool done_parity(unsigned bar, unsigned parity) {
    unsigned yes;
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
                 "selp.u32 %0, 1, 0, p;}" : "=r"(yes) : "r"(bar), "r"(parity) : "memory");
    return yes;
}
extern "C" __global__ void k(int* log) {
    __shared__ alignas(8) unsigned long long word;
    unsigned bar = shared_address(&word);
    if (threadIdx.x) return;
    int n = 0;
    unsigned long long first, second, third;
    unsigned pending;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 3;" :: "r"(bar) : "memory");
    log[n++] = done_parity(bar, 1);
    log[n++] = done_parity(bar, 0);
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(first) : "r"(bar) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(first));
    log[n++] = pending;
    log[n++] = done(bar, first);
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];"
                 : "=l"(first) : "r"(bar) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(first));
    log[n++] = pending;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], 48;"
                 : "=l"(second) : "r"(bar) : "memory");
    log[n++] = done(bar, second);
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 32;"
                 :: "r"(bar) : "memory");
    log[n++] = done(bar, second);
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 16;"
                 :: "r"(bar) : "memory");
    log[n++] = done(bar, second);
    log[n++] = done_parity(bar, 0);
    log[n++] = done_parity(bar, 1);
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], 2;"
                 : "=l"(third) : "r"(bar) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(third));
    log[n++] = pending;
    log[n++] = done(bar, third);
    log[n++] = done_parity(bar, 1);
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 8;" :: "r"(bar) : "memory");
    asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 1;"
                 : "=l"(third) : "r"(bar) : "memory");
    asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" :: "r"(bar) : "memory");
    log[n++] = done(bar, third);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(bar) : "memory");
    log[n++] = done(bar, third);
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 8;"
                 :: "r"(bar) : "memory");
    log[n++] = done(bar, third);
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(bar) : "memory");
    log[n++] = -1;
}"""


def test_phases_of_an_mbarrier():
    result = run(PHASES, "k", 1, 32, arch="sm_90", log=np.zeros(20, np.int32))
    # Three arrivals and 48 bytes end the first phase; one thread has dropped out, so that two
    # arrivals end the next, and two and 8 bytes the third.
    expected = [
        *(1, 0),  # before the first phase counts as over, the first does not
        *(3, 0), 2,
        *(0, 0, 1), *(1, 0),
        *(2, 1, 1),
        *(0, 0, 1), -1,
    ]  # fmt: skip
    assert result.output("log").tolist()[: len(expected)] == expected


BULK = """
extern "C" __global__ void k(float* out, const float* in, int words) {
    extern __shared__ __align__(128) float tile[];
    __shared__ alignas(8) unsigned long long word;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&word);
    unsigned to = (unsigned)__cvta_generic_to_shared(tile);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                     :: "r"(bar), "r"(blockDim.x) : "memory");
    __syncthreads();
    const float* from = in + blockIdx.x * words;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                     :: "r"(bar), "r"(words * 4) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                     " [%0], [%1], %2, [%3];"
                     :: "r"(to), "l"(__cvta_generic_to_global(from)), "r"(words * 4), "r"(bar)
                     : "memory");
    }
    unsigned long long state;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(bar) : "memory");
    unsigned over = 0;
    while (!over)
        asm volatile("{.reg .pred p; mbarrier.try_wait.shared::cta.b64 p, [%1], %2;"
                     "selp.u32 %0, 1, 0, p;}" : "=r"(over) : "r"(bar), "l"(state) : "memory");
    for (int i = threadIdx.x; i < words; i += blockDim.x) tile[i] = tile[i] * 2.0f + i;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                     :: "l"(__cvta_generic_to_global(out + blockIdx.x * words)), "r"(to),
                        "r"(words * 4) : "memory");
        asm volatile("cp.async.bulk.commit_group;");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}"""


def test_bulk_copies_into_and_out_of_shared_memory():
    words = 100
    data = RNG.standard_normal((3, words)).astype(np.float32)
    result = run(
        BULK, "k", 3, 64, arch="sm_90", shared=4 * words,
        out=np.zeros_like(data), in_=data, words=np.int32(words),
    )  # fmt: skip
    np.testing.assert_array_equal(
        result.output("out"), data * np.float32(2) + np.arange(words, dtype=np.float32)
    )


@pytest.mark.parametrize(
    "text",
    [
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 16;",
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        " [%1], [%0, {0}], [%1];",
        "multimem.ld_reduce.global.add.u32 _, [%0];",
    ],
)
def test_copies_that_are_refused_by_name(text):
    source = f"""
    extern "C" __global__ void k(int* out) {{
        __shared__ __align__(16) int tile[4];
        asm volatile("{text.replace("_,", "%%r9,") if "multimem" in text else text}"
            :: "l"(out), "r"((unsigned)__cvta_generic_to_shared(tile)));
    }}"""
    if "multimem" in text:
        source = source.replace('asm volatile("', 'asm volatile("{.reg .b32 %%r9; ').replace(
            '[%0];"', '[%0];}"'
        )
    with pytest.raises(UnsupportedError, match=text.split(" ")[0].replace(".", r"\.")) as error:
        run(source, "k", 1, 32, arch="sm_90", out=np.zeros(8, np.int32))
    assert "test.cu:4" in str(error.value)


CLUSTER = """
#include <cooperative_groups.h>
extern "C" __global__ void k(int* out) {
    __shared__ int s[64];
    auto c = cooperative_groups::this_cluster();
    int i = threadIdx.x;
    s[i] = i * i;
    c.sync();
    int* first = c.map_shared_rank(s, 0);
    out[blockIdx.x * 64 + i] = first[i ^ 1] + 1000 * c.block_rank() + 10000 * c.num_blocks();
}"""


def test_a_cluster_is_one_block():
    result = run(CLUSTER, "k", 2, 64, arch="sm_90", out=np.zeros(128, np.int32))
    i = np.arange(64) ^ 1
    np.testing.assert_array_equal(result.output("out"), np.tile(i * i + 10000, 2))


def test_clusters_of_several_blocks_are_refused():
    source = 'extern "C" __global__ void __cluster_dims__(2, 1, 1) k(int* out) { out[0] = 1; }'
    with pytest.raises(UnsupportedError, match="clusters"):
        run(source, "k", 2, 32, arch="sm_90", out=np.zeros(1, np.int32))


LIBRARY = {
    "barrier": """
#include <cuda/barrier>
#pragma nv_diag_suppress static_var_with_dynamic_init
extern "C" __global__ void k(int* out, const int* in) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[96];
    int t = threadIdx.x;
    if (t == 0) init(&bar, blockDim.x);
    __syncthreads();
    for (int r = 0; r < 3; ++r) {
        s[t] = in[96 * r + t];
        auto token = bar.arrive();
        bar.wait(std::move(token));
        out[96 * r + t] = s[95 - t];
        bar.arrive_and_wait();
    }
}""",
    "pipeline": """
#include <cuda/pipeline>
#include <cooperative_groups.h>
#pragma nv_diag_suppress static_var_with_dynamic_init
extern "C" __global__ void k(int* out, const int* in) {
    __shared__ alignas(16) int s[2][96];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int t = threadIdx.x;
    for (int r = 0, f = 0; r < 3; ++r) {
        for (; f < 3 && f < r + 2; ++f) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, s[f & 1], in + 96 * f, sizeof(int) * 96, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        out[96 * r + t] = s[r & 1][95 - t];
        pipe.consumer_release();
    }
}""",
    "copy": """
#include <cuda/barrier>
#include <cooperative_groups.h>
#pragma nv_diag_suppress static_var_with_dynamic_init
extern "C" __global__ void k(int* out, const int* in) {
    __shared__ alignas(16) int s[288];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cooperative_groups::this_thread_block();
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(block, s, in, cuda::aligned_size_t<16>(sizeof(s)), bar);
    bar.arrive_and_wait();
    for (int r = 0; r < 3; ++r) out[96 * r + threadIdx.x] = s[96 * r + 95 - threadIdx.x];
}""",
}


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("copy", "sm_90"),
        *(pytest.param(*c, marks=pytest.mark.slow) for c in (
            ("barrier", "sm_75"), ("barrier", "sm_80"), ("barrier", "sm_90"), ("barrier", "sm_120"),
            ("pipeline", "sm_80"), ("pipeline", "sm_90"), ("copy", "sm_80"), ("copy", "sm_120"),
        )),
    ],
)  # fmt: skip
def test_library_barriers_and_pipelines(name, arch):
    data = RNG.integers(0, 1000, (3, 96)).astype(np.int32)
    result = run(LIBRARY[name], "k", 1, 96, arch=arch, out=np.zeros_like(data), in_=data)
    np.testing.assert_array_equal(result.output("out"), data[:, ::-1])
