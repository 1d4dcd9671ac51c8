"""Barriers in shared memory in machine code: phases, counts and copies, by hand and in NumPy."""

from dataclasses import replace

import numpy as np
import pytest
from both_engines import compare

from placewise.executor import execute
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch, ScalarArgument

SOURCE = r"""
#include <cuda/barrier>
#define AT "memory"
extern "C" __global__ void exchange(int *x) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[256];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    int value = x[threadIdx.x];
    for (int turn = 1; turn < 4; ++turn) {
        s[threadIdx.x] = value;
        bar.arrive_and_wait();
        value += turn * s[(threadIdx.x + 37 * turn) % 256];
        auto token = bar.arrive();
        bar.wait(std::move(token));
    }
    x[threadIdx.x] = value;
}
extern "C" __global__ void copied(int *x, int n) {
    __shared__ unsigned long long b;
    __shared__ int s[128];
    unsigned bar = (unsigned)__cvta_generic_to_shared(&b);
    unsigned to = (unsigned)__cvta_generic_to_shared(s + threadIdx.x);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(bar), "r"(n) : AT);
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(x + threadIdx.x) : AT);
    asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" :: "r"(bar) : AT);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(bar) : AT);
    unsigned over = 0;
    while (!over)
        asm volatile("{.reg .pred q; mbarrier.test_wait.parity.shared.b64 q, [%1], 0;"
                     "selp.u32 %0, 1, 0, q;}" : "=r"(over) : "r"(bar) : AT);
    x[threadIdx.x] = 2 * s[(threadIdx.x + 1) % 128];
}
extern "C" __global__ void phases(int *x, int n) {
    __shared__ unsigned long long b;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&b);
    unsigned long long first, later, dropped;
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(bar), "r"(n) : AT);
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(first) : "r"(bar) : AT);
    asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], %2;"
                 : "=l"(later) : "r"(bar), "r"(n - 3) : AT);
    asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(dropped) : "r"(bar) : AT);
    int at = 0;
    unsigned value;
    for (int k = 0; k < 3; ++k) {
        unsigned long long state = k == 0 ? first : k == 1 ? later : dropped;
        asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(value) : "l"(state));
        x[at++] = value;
        asm volatile("{.reg .pred q; mbarrier.test_wait.shared.b64 q, [%1], %2;"
                     "selp.u32 %0, 1, 0, q;}" : "=r"(value) : "r"(bar), "l"(first) : AT);
        x[at++] = value;
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(later) : "r"(bar) : AT);
    }
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(value) : "l"(later));
    x[at] = value;
    asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(bar) : AT);
}
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void bytes(unsigned long long *x, int n) {
    __shared__ unsigned long long b;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&b);
    unsigned long long state;
    unsigned over;
    asm volatile("mbarrier.init.shared.b64 [%0], 2;" :: "r"(bar) : AT);
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 %0, [%1], %2;"
                 : "=l"(state) : "r"(bar), "r"(16 * n) : AT);
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                 :: "r"(bar), "r"(16 * n) : AT);
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 8;" :: "r"(bar) : AT);
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1], 1;" : "=l"(state) : "r"(bar) : AT);
    for (int k = 0; k < 2; ++k) {
        asm volatile("{.reg .pred q; mbarrier.try_wait.parity.shared.b64 q, [%1], 0;"
                     "selp.u32 %0, 1, 0, q;}" : "=r"(over) : "r"(bar) : AT);
        x[k] = over;
        asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 8;" :: "r"(bar) : AT);
    }
}
#endif
"""
SINCE_AMPERE = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
SINCE_HOPPER = SINCE_AMPERE[3:]


def some(archs):
    fast = ("sm_80", "sm_90")
    return [pytest.param(a, marks=() if a in fast else pytest.mark.slow) for a in archs]


def compiled(name, arch):
    return compile_kernel(SOURCE, "barriers.cu", name, CompileOptions(arch=arch))


@pytest.mark.parametrize("arch", some(SINCE_AMPERE))
def test_threads_exchange_values_between_phases(arch):
    x = np.arange(256, dtype=np.int32)
    inputs = Inputs((ArrayArgument("x", x),))
    found = compare(compiled("exchange", arch), Launch((1, 1, 1), (256, 1, 1)), inputs, trace=False)
    value = x.copy()
    for turn in range(1, 4):
        value = value + turn * np.roll(value, -37 * turn)
    assert np.array_equal(found.machine_code.output("x"), value)
    assert not found.different


@pytest.mark.parametrize("arch", some(SINCE_AMPERE))
def test_copies_arrive(arch):
    x = np.arange(128, dtype=np.int32)
    inputs = Inputs((ArrayArgument("x", x), ScalarArgument("n", np.int32(128))))
    kernel = replace(compiled("copied", arch), machine_code=True)
    run = execute(kernel, Launch((1, 1, 1), (128, 1, 1)), inputs)
    assert np.array_equal(run.output("x"), 2 * np.roll(x, -1))


@pytest.mark.parametrize("arch", some(SINCE_AMPERE))
@pytest.mark.parametrize("machine_code", [False, True])
def test_phases_and_counts(arch, machine_code):
    """Seven arrivals are expected, six of the second phase since one dropped out."""
    inputs = Inputs((ArrayArgument("x", np.zeros(7, np.int32)), ScalarArgument("n", np.int32(7))))
    kernel = replace(compiled("phases", arch), machine_code=machine_code)
    run = execute(kernel, Launch((1, 1, 1), (1, 1, 1)), inputs)
    # Pending before the very first arrival, the first of the loop, the drop and the last of the
    # loop, and whether the first phase is over: the first arrival of the loop ends it.
    assert run.output("x").tolist() == [7, 0, 1, 1, 2, 1, 5]


@pytest.mark.parametrize("arch", some(SINCE_HOPPER))
@pytest.mark.parametrize("machine_code", [False, True])
def test_a_phase_lasts_until_all_bytes_are_copied(arch, machine_code):
    inputs = Inputs((ArrayArgument("x", np.zeros(2, np.uint64)), ScalarArgument("n", np.int32(5))))
    kernel = replace(compiled("bytes", arch), machine_code=machine_code)
    run = execute(kernel, Launch((1, 1, 1), (1, 1, 1)), inputs)
    assert run.output("x").tolist() == [0, 1]
