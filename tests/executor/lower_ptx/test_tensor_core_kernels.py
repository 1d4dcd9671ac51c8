"""Whole kernels on tensor cores: a multiply as libraries write it, and its trace."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_run import Collector, run

RNG = np.random.default_rng(61)

MULTIPLY = """
#include <cuda_fp16.h>
// C (m, n) = A (m, k) B (k, n), all by rows; a block of four warps makes 32 by 32 of C.
extern "C" __global__ void k(float* C, const __half* A, const __half* B, int n, int k) {
    __shared__ __align__(16) __half a[2][32][16 + 8], b[2][16][32 + 8];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int row = blockIdx.y * 32, column = blockIdx.x * 32;
    int wr = warp / 2 * 16, wc = warp % 2 * 16;
    float c[2][4] = {};
    auto fetch = [&](int stage, int at) {
        if (t < 64) {
            const __half* from = A + (row + t / 2) * k + at + t % 2 * 8;
            unsigned to = __cvta_generic_to_shared(&a[stage][t / 2][t % 2 * 8]);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from));
        } else {
            int u = t - 64;
            const __half* from = B + (at + u / 4) * n + column + u % 4 * 8;
            unsigned to = __cvta_generic_to_shared(&b[stage][u / 4][u % 4 * 8]);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from));
        }
        asm volatile("cp.async.commit_group;");
    };
    fetch(0, 0);
    for (int at = 0, stage = 0; at < k; at += 16, stage ^= 1) {
        if (at + 16 < k) {
            fetch(stage ^ 1, at + 16);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        __syncthreads();
        unsigned x[4], y[4];
        unsigned pa = __cvta_generic_to_shared(&a[stage][wr + lane % 16][lane / 16 * 8]);
        unsigned pb = __cvta_generic_to_shared(&b[stage][lane % 16][wc + lane / 16 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(pa));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3]) : "r"(pb));
        for (int h = 0; h < 2; ++h)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
                         " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(c[h][0]), "+f"(c[h][1]), "+f"(c[h][2]), "+f"(c[h][3])
                         : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]),
                           "r"(y[2 * h]), "r"(y[2 * h + 1]));
        __syncthreads();
    }
    for (int h = 0; h < 2; ++h)
        for (int e = 0; e < 4; ++e)
            C[(row + wr + lane / 4 + e / 2 * 8) * n + column + wc + 8 * h + lane % 4 * 2 + e % 2]
                = c[h][e];
}"""


def multiply(m, n, k, **options):
    a, b = (RNG.standard_normal(s).astype(np.float16) for s in ((m, k), (k, n)))
    result = run(
        MULTIPLY, "k", (n // 32, m // 32), 128, C=np.zeros((m, n), np.float32), A=a, B=b,
        n=np.int32(n), k=np.int32(k), **options,
    )  # fmt: skip
    exact = a.astype(np.float64) @ b.astype(np.float64)
    return result.output("C"), exact


def test_a_multiply_with_ldmatrix_and_mma():
    found, exact = multiply(96, 64, 80)
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-4)


def test_matrix_loads_are_traced_as_rows():
    trace = Collector()
    multiply(32, 32, 16, options={"consumer": trace})
    loads = [n for n, site in enumerate(trace.sites) if site.opcode.startswith("ldmatrix")]
    found = [access for access in trace.accesses if access[0] in loads]
    assert {trace.sites[n].lane_bytes for n in loads} == {16}
    assert len(found) == 4 * 2
    for warp in range(4):
        (x,) = [a[-1] for a in found if a[2] == warp and "trans" not in trace.sites[a[0]].opcode]
        # Rows of 24 halves; the second half of the lanes reads 16 bytes further on.
        first = 48 * (warp // 2 * 16)
        expected = [first + 48 * (lane % 16) + 16 * (lane // 16) for lane in range(32)]
        assert [o - x[0] for o in x] == [e - expected[0] for e in expected]


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
def test_a_larger_multiply_on_every_architecture(arch):
    found, exact = multiply(256, 192, 160, arch=arch)
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-4)
