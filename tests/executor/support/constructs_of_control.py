"""Threads: divergence, barriers, warps, cooperative groups, odd shapes of blocks."""

import numpy as np
from construct_table import N, construct, floats, ints, small, zeros

construct(
    "guards",
    """extern "C" __global__ void k(int* out, const int* a, const float* b) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        int v = i, w = 5;
        float x = b[i];
        unsigned long long at = (unsigned long long)(out + 128 + i);
        asm volatile("{ .reg .pred p, q;\\n setp.gt.s32 p|q, %2, 50;\\n @p add.s32 %0, %0, 100;\\n"
                     "@!p mul.lo.s32 %0, %0, %0;\\n @q ld.global.s32 %1, [%4];\\n"
                     "@p atom.global.add.u32 %1, [%5], 7;\\n @!q st.global.u32 [%5+512], %0;\\n"
                     "@p sqrt.rn.f32 %3, %3; }"
                     : "+r"(v), "+r"(w) : "r"(a[i]), "f"(x), "l"(a + i), "l"(at) : "memory");
        out[i] = v * 3 + w;
    }""",
    out=zeros(3 * N, np.int32), a=small(), b=floats(),
)  # fmt: skip
construct(
    "barriers_at_different_places",
    """extern "C" __global__ void k(int* out, const int* a) {
        __shared__ int s[96];
        int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
        if (t < 32) {
            s[t] = a[i];
            __syncthreads();
            out[i] = s[95 - t];
        } else if (t < 64) {
            s[t] = a[i] * 2;
            __syncthreads();
            out[i] = s[t - 32] - 1;
        } else {
            for (int j = 0; j < t % 5; ++j) s[t] += j;
            s[t] = a[i] * 3;
            __syncthreads();
            out[i] = s[t - 64];
        }
    }""",
    launch=((2, 1, 1), (96, 1, 1)), out=zeros(192, np.int32), a=ints(192),
)  # fmt: skip
construct(
    "named_reductions",
    """extern "C" __global__ void k(int* out, const int* a) {
        int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, count, every;
        asm volatile("{.reg .pred p; setp.gt.s32 p, %3, 0; barrier.red.popc.u32 %0, %1, %2, p;}"
                     : "=r"(count) : "r"(t / 64 + 1), "r"(64), "r"(a[i]) : "memory");
        asm volatile("{.reg .pred p, q; setp.gt.s32 p, %2, 0; barrier.red.and.pred q, 3, %1, p;"
                     "selp.s32 %0, 1, 0, q;}"
                     : "=r"(every) : "r"(128), "r"(blockIdx.x ? 1 : a[i]) : "memory");
        out[i] = 2 * count + every;
    }""",
    launch=((2, 1, 1), (128, 1, 1)), out=zeros(256, np.int32), a=ints(256),
)  # fmt: skip
construct(
    "named_barriers",
    """extern "C" __global__ void k(int* out, const int* a) {
        __shared__ int s[64], back[64];
        int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
        if (t < 64) {
            s[t] = a[i];
            asm volatile("bar.arrive 1, 128;" ::: "memory");
            asm volatile("bar.sync 2, 128;" ::: "memory");
            out[i] = back[63 - t];
        } else {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            back[t - 64] = s[127 - t] * 2;
            asm volatile("bar.arrive 2, 128;" ::: "memory");
            out[i] = s[t - 64];
        }
    }""",
    launch=((1, 1, 1), (128, 1, 1)), out=zeros(N, np.int32), a=ints(),
)  # fmt: skip
construct(
    "threads_that_leave",
    """extern "C" __global__ void k(int* out, const int* a) {
        __shared__ int s[64];
        int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
        s[t] = a[i];
        __syncthreads();
        if (a[i] & 1) { out[i] = -1; return; }
        int v = s[63 - t];
        __syncthreads();
        s[t] = v + 1;
        if (t > 40) return;
        __syncthreads();
        out[i] = s[t] * 2 + __syncthreads_count(v > 30);
    }""",
    out=zeros(N, np.int32), a=small(),
)  # fmt: skip
construct(
    "barrier_reductions",
    """extern "C" __global__ void k(int* out, const int* a) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        int v = __syncthreads_count(a[i] > 50);
        v += 1000 * __syncthreads_and(a[i] >= 0) + 2000 * __syncthreads_or(a[i] == 99);
        for (int j = 0; j < 1 + (int)blockIdx.x; ++j) v += __syncthreads_count(a[i] > j * 40);
        out[i] = v;
    }""",
    out=zeros(N, np.int32), a=small(),
)  # fmt: skip
construct(
    "warp_matches",
    """extern "C" __global__ void k(unsigned* out, const int* a) {
        int i = blockIdx.x * blockDim.x + threadIdx.x, same;
        unsigned v = __match_any_sync(~0u, a[i] % 4);
        unsigned w = __match_all_sync(~0u, a[i] > 1000, &same);
        long long wide = ((long long)a[i] << 40) % 3;
        v ^= __match_any_sync(~0u, wide) * 3;
        unsigned mask = __ballot_sync(~0u, a[i] % 3 == 0);
        if (a[i] % 3 == 0) {
            unsigned here = __activemask();
            v += here ^ mask;
            v += __shfl_sync(mask, v, __ffs(mask) - 1);
            v += __popc(here & ((1u << threadIdx.x % 32) - 1));
        }
        double d = __shfl_xor_sync(~0u, (double)a[i] * 1.5, 9);
        out[i] = v + w + same + (unsigned)d;
    }""",
    out=zeros(dtype=np.uint32), a=small(),
)  # fmt: skip
construct(
    "cooperative_groups",
    """#include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void k(int* out, const int* a) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        auto block = cg::this_thread_block();
        auto tile = cg::tiled_partition<8>(block);
        int v = a[i];
        for (int d = tile.size() / 2; d; d /= 2) v += tile.shfl_down(v, d);
        v = tile.shfl(v, 0) + tile.thread_rank() + tile.meta_group_rank();
        if (a[i] % 5 < 2) {
            auto some = cg::coalesced_threads();
            v += some.size() * 100 + some.thread_rank();
            v += some.shfl(v, 0);
        }
        block.sync();
        auto warp = cg::tiled_partition<32>(block);
        v += warp.ballot(a[i] > 50) % 97 + tile.any(a[i] > 90);
        out[i] = v;
    }""",
    out=zeros(N, np.int32), a=small(),
)  # fmt: skip
construct(
    "cooperative_reduce_and_scan",
    """#include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    #include <cooperative_groups/scan.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void k(int* out, const int* a) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        auto warp = cg::tiled_partition<32>(cg::this_thread_block());
        auto tile = cg::tiled_partition<16>(cg::this_thread_block());
        int total = cg::reduce(warp, a[i], cg::plus<int>());
        total += cg::reduce(tile, a[i], cg::greater<int>()) + cg::inclusive_scan(tile, a[i]);
        out[i] = total + cg::exclusive_scan(warp, a[i], cg::plus<int>());
    }""",
    out=zeros(N, np.int32), a=small(),
)  # fmt: skip
construct(
    "warp_lockstep",
    """extern "C" __global__ void k(int* out, const int* a) {
        __shared__ int s[64];
        int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, w = t & ~31;
        s[t] = a[i];
        for (int j = 0; j < a[i] % 7; ++j) s[t] += j;
        __syncwarp();
        int v = s[w + (t + 1) % 32];
        __syncwarp();
        for (int d = 1; d < 32; d *= 2) {
            s[t] = v;
            __syncwarp();
            if (t % 32 >= d) v += s[t - d];
            __syncwarp();
        }
        out[i] = v;
    }""",
    out=zeros(N, np.int32), a=small(),
)  # fmt: skip
construct(
    "jumps_across",
    """extern "C" __global__ void k(int* out, const int* a) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        int x = a[i], v = 0, n = 0;
        if (x & 1) goto inside;
        while (n < 12) {
            v += 3;
            if (x % 7 == n) goto away;
        inside:
            v ^= n * 5;
            if (v > 40 && (x & 4)) { v -= 13; n += 2; continue; }
            for (int j = 0; j < (x & 3); ++j) { if (j + n == 6) goto away; v += j; }
            ++n;
        }
        v += 1000;
    away:
        out[i] = v;
    }""",
    out=zeros(N, np.int32), a=small(),
)  # fmt: skip
construct(
    "interpreter_switch",
    """__device__ __noinline__ int step(int op, int v, int x) {
        switch (op) {
            case 0: return v + x;
            case 1: return v - x;
            case 2: return v * 3;
            case 3: if (x > 50) return v; break;
            case 4: return v >> 1;
            case 5: v ^= x;
            case 6: v += 7; break;
            case 7: for (int j = 0; j < (x & 7); ++j) v += j * j; return v;
            case 9: return x;
            case 11: return -v;
            default: return v | 1;
        }
        return v ^ 0x55;
    }
    extern "C" __global__ void k(int* out, const int* a) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        int v = i;
        for (int n = 0; n < 10; ++n) {
            int op = (a[(i + n) % 128] + n) % 13;
            if (op == 12) continue;
            v = step(op, v, a[i]);
            if (v > 5000) break;
        }
        out[i] = v;
    }""",
    out=zeros(N, np.int32), a=small(),
)  # fmt: skip
construct(
    "three_dimensions",
    """extern "C" __global__ void k(int* out, int nx, int ny) {
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
        int z = blockIdx.z * blockDim.z + threadIdx.z;
        if (x >= nx || y >= ny) return;
        out[(z * ny + y) * nx + x] = x + 100 * y + 10000 * z + gridDim.y + blockDim.z;
    }""",
    launch=((2, 3, 2), (5, 3, 3)), out=zeros(9 * 8 * 6, np.int32), nx=np.int32(9), ny=np.int32(8),
)  # fmt: skip
construct(
    "big_block",
    """extern "C" __global__ void k(int* out, const int* a, int n) {
        __shared__ int s[32];
        int t = threadIdx.x, v = t < n ? a[t] : 0;
        for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
        if (t % 32 == 0) s[t / 32] = v;
        __syncthreads();
        if (t < 32) {
            v = s[t];
            for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
            if (t == 0) out[0] = v;
        }
    }""",
    launch=((1, 1, 1), (1024, 1, 1)), out=zeros(1, np.int32), a=ints(1000), n=np.int32(1000),
)  # fmt: skip
