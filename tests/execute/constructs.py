"""CUDA C++ kernels, each around one thing that the language or the hardware offers.

Each is ``(source, launch, arguments, constants)``. Those in ``SCHEDULED`` compute one result
whatever the schedule, but how often they access memory until then depends on it.
"""

import numpy as np

RNG = np.random.default_rng(20)
N = 128
ONE = ((2, 1, 1), (64, 1, 1))


def floats(n=N, dtype=np.float32):
    return (RNG.standard_normal(n) * 10.0 ** RNG.integers(-4, 5, n)).astype(dtype)


def ints(n=N, dtype=np.int32):
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, n, dtype=dtype, endpoint=True)


def small(n=N, dtype=np.int32, below=100):
    return RNG.integers(0, below, n).astype(dtype)


def zeros(n=N, dtype=np.float32):
    return np.zeros(n, dtype)


CONSTRUCTS = {}
SCHEDULED = {"lock_per_warp", "compare_and_swap_16"}


def construct(name, source, launch=ONE, constants=(), **arguments):
    CONSTRUCTS[name] = (source, launch, arguments, tuple(constants))


construct(
    "half",
    """#include <cuda_fp16.h>
    extern "C" __global__ void k(float* out, const float* a, const float* b, const int* c) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        __half x = __float2half(a[i]), y = __float2half_rd(b[i]);
        __half z = __hfma(x, y, __hadd(x, y));
        if (__hlt(x, y)) z = __hsub(z, __hmul(x, __float2half(0.5f)));
        z = __hadd(z, __int2half_rn(c[i] % 3000));
        __half2 p = __halves2half2(z, x), q = __float2half2_rn(1.5f);
        p = __hfma2(p, q, __hneg2(q));
        p = __hmin2(p, __hmax2(q, __hadd2(p, p)));
        out[i] = __low2float(p) + __high2float(p) * (float)__half2int_rz(y)
               + __half2float(__habs(z));
    }""",
    out=zeros(), a=small(N).astype(np.float32) / 7, b=floats() / 100, c=small(below=5000),
)  # fmt: skip
construct(
    "bfloat16",
    """#include <cuda_bf16.h>
    extern "C" __global__ void k(float* out, const float* a, const float* b) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        __nv_bfloat16 x = __float2bfloat16(a[i]), y = __float2bfloat16_rn(b[i]);
        __nv_bfloat16 z = __hfma(x, y, x);
        z = __hadd(z, __hmul(x, y));
        if (__hgt(x, y)) z = __hsub(z, y);
        __nv_bfloat162 p = __floats2bfloat162_rn(a[i], b[i]);
        p = __hfma2(p, p, __halves2bfloat162(z, z));
        out[i] = __bfloat162float(z) + __low2float(p) - __high2float(p);
    }""",
    out=zeros(), a=floats() / 100, b=floats() / 100,
)  # fmt: skip
construct(
    "vectors",
    """struct Twelve { float x; int y; short z, w; };
    extern "C" __global__ void k(float4* out, const float4* a, const int2* b, const double2* c,
                                 const uchar4* d, const short4* e, const Twelve* t, Twelve* u) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        float4 v = a[i];
        int2 w = b[63 - i % 64];
        double2 x = c[i];
        uchar4 y = d[i];
        short4 z = e[i];
        out[i] = make_float4(v.x + w.x, v.y * (float)x.y, v.z + y.w - z.x, v.w + y.x * z.w);
        Twelve s = t[i];
        s.y += s.z * s.w;
        u[i] = s;
    }""",
    out=zeros((N, 4)), a=floats(N * 4), b=small(N * 2), c=floats(N * 2, np.float64),
    d=small(N * 4, np.uint8), e=small(N * 4, np.int16), t=small(N * 3), u=zeros(N * 3, np.int32),
)  # fmt: skip
construct(
    "constants_and_tables",
    """__constant__ float weights[8];
    __constant__ int2 pairs[4] = {{1, -2}, {3, 4}, {5, 6}, {7, 8}};
    __device__ float scale[3] = {0.5f, 1.5f, -2.0f};
    __device__ float* where = scale + 1;
    __device__ int count = 3;
    extern "C" __global__ void k(float* out, const int* a) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        int j = a[i] & 7;
        out[i] = weights[j] * pairs[j & 3].y + where[j % count - 1] + weights[3];
    }""",
    constants=[("weights", floats(8))],
    out=zeros(), a=ints(),
)  # fmt: skip
construct(
    "dynamic_shared",
    """extern __shared__ double raw[];
    extern "C" __global__ void k(float* out, const float* a, const double* b) {
        __shared__ int fixed[3];
        int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
        double* d = raw;
        float* f = (float*)(raw + blockDim.x);
        char* c = (char*)(f + blockDim.x);
        if (t < 3) fixed[t] = t * 7;
        d[t] = b[i];
        f[blockDim.x - 1 - t] = a[i];
        c[t] = (char)(t * 3);
        __syncthreads();
        out[i] = (float)d[(t * 5) % blockDim.x] + f[t ^ 1] + c[63 - t] + fixed[t % 3];
    }""",
    launch=((2, 1, 1), (64, 1, 1), 64 * 13), out=zeros(), a=floats(), b=floats(dtype=np.float64),
)  # fmt: skip
construct(
    "pointers_into_any_space",
    """__device__ __noinline__ float take(const float* p, int j) { return p[j] * 2.0f; }
    __device__ __noinline__ void put(float* p, int j, float v) { p[j] += v; }
    extern "C" __global__ void k(float* out, const float* a, const int* which) {
        __shared__ float s[64];
        int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
        float own[6];
        for (int j = 0; j < 6; ++j) own[j] = a[(i + j) % 128];
        s[t] = a[i];
        __syncthreads();
        const float* p = which[i] % 3 == 0 ? s : which[i] % 3 == 1 ? own : a;
        float v = take(p, which[i] % 6);
        put(which[i] & 1 ? own : out + i, which[i] & 1 ? which[i] % 6 : 0, v);
        out[i] += own[which[i] % 5] + own[5];
    }""",
    out=zeros(), a=floats(), which=small(),
)  # fmt: skip
construct(
    "large_parameters",
    """struct Big { float w[20]; int n; char c; double d; };
    extern "C" __global__ void k(float* out, const __grid_constant__ Big big, char shift) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        out[i] = big.w[i % big.n] + (float)big.d * (big.c + shift);
    }""",
    out=zeros(),
    big=np.array(
        (np.arange(20) * 1.5, 17, -3, 0.125),
        np.dtype([("w", "f4", 20), ("n", "i4"), ("c", "i1"), ("d", "f8")], align=True),
    )[()],
    shift=np.int8(-7),
)
construct(
    "textures",
    """extern "C" __global__ void k(float* out, cudaTextureObject_t f, cudaTextureObject_t v,
                                 cudaTextureObject_t d, const int* a) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        int2 w = tex1Dfetch<int2>(d, a[i]);
        float4 q = tex1Dfetch<float4>(v, a[i] / 2);
        out[i] = tex1Dfetch<float>(f, a[i] + 30) + q.x * q.w
               + (float)__hiloint2double(w.y, w.x);
    }""",
    out=zeros(), f=("texture", floats(100)), v=("texture", floats(400).reshape(100, 4)),
    d=("texture", floats(100, np.float64)), a=small(),
)  # fmt: skip
construct(
    "exact_mathematics",
    """extern "C" __global__ void k(float* out, double* wide, const float* a, const double* b) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        float x = a[i];
        out[i] = logf(fabsf(x)) + sinf(x) * cosf(x) + ldexpf(x, i % 20 - 10);
        int e;
        wide[i] = sin(b[i]) * cos(b[i]) + frexp(b[i], &e) + e;
    }""",
    out=zeros(), wide=zeros(dtype=np.float64), a=floats(), b=floats(dtype=np.float64),
)  # fmt: skip
construct(
    "divisions",
    """extern "C" __global__ void k(long long* out, const int* a, const int* b, const long long* c,
                                 const long long* d, const short* e, const signed char* f) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        int y = b[i] ? b[i] : -1;
        long long z = d[i] ? d[i] : -1;
        out[i] = a[i] / y + 3 * (a[i] % y) + c[i] / z - c[i] % z
               + (unsigned)a[i] / (unsigned)y + (unsigned long long)c[i] % (unsigned long long)z
               + e[i] / (f[i] ? f[i] : 1) + e[i] % (f[i] ? f[i] : 1);
    }""",
    out=zeros(dtype=np.int64),
    a=np.concatenate([np.full(4, -(2**31), np.int32), ints(N - 4)]),
    b=np.concatenate([np.array([-1, 1, 0, 2], np.int32), small(N - 4) - 50]),
    c=np.concatenate([np.full(4, -(2**63), np.int64), ints(N - 4, np.int64)]),
    d=np.concatenate([np.array([-1, 1, 0, 2], np.int64), ints(N - 4, np.int64) >> 30]),
    e=ints(dtype=np.int16), f=ints(dtype=np.int8),
)  # fmt: skip
construct(
    "carries",
    """extern "C" __global__ void k(unsigned* out, const unsigned* a, const unsigned* b) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        unsigned x = a[2 * i], y = a[2 * i + 1], u = b[2 * i], v = b[2 * i + 1], p, q, r, s, w;
        asm("add.cc.u32 %0, %3, %5; addc.cc.u32 %1, %4, %6; addc.u32 %2, 0, 0;"
            : "=r"(p), "=r"(q), "=r"(w) : "r"(x), "r"(y), "r"(u), "r"(v));
        asm("sub.cc.u32 %0, %2, %4; subc.u32 %1, %3, %5;"
            : "=r"(r), "=r"(s) : "r"(x), "r"(y), "r"(u), "r"(v));
        asm("mad.lo.cc.u32 %0, %2, %3, %0; madc.hi.u32 %1, %2, %3, %1;"
            : "+r"(p), "+r"(q) : "r"(x), "r"(v));
        out[4 * i] = p; out[4 * i + 1] = q; out[4 * i + 2] = r ^ w; out[4 * i + 3] = s;
    }""",
    out=zeros(4 * N, np.uint32), a=ints(2 * N, np.uint32), b=ints(2 * N, np.uint32),
)  # fmt: skip
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
    "byte_and_video",
    """extern "C" __global__ void k(unsigned* out, const unsigned* a, const unsigned* b) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        unsigned x = a[i], y = b[i];
        out[i] = __vadd4(x, y) ^ __vmaxs2(x, y) ^ __vsubus4(x, y) ^ __vcmpgtu2(x, y)
               ^ __dp2a_lo((int)x, (int)y, 3) ^ __dp4a(x, y, 1u) ^ __brev(x);
    }""",
    out=zeros(dtype=np.uint32), a=ints(dtype=np.uint32), b=ints(dtype=np.uint32),
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
    "atomics",
    """extern "C" __global__ void k(float* f, double* d, unsigned long long* l, int* s, int* order,
                                 const int* a) {
        __shared__ unsigned long long sl[4];
        __shared__ float sf[2];
        int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
        if (t < 4) sl[t] = t;
        if (t < 2) sf[t] = 0;
        __syncthreads();
        atomicAdd(&f[a[i] % 8], (float)(a[i] % 16));
        atomicAdd(&d[a[i] % 4], 0.25 * a[i]);
        atomicMax(&l[a[i] % 4], (unsigned long long)a[i] << 33);
        atomicXor(&l[4 + a[i] % 4], 1ull << (a[i] % 60));
        atomicMin(&s[a[i] % 4], a[i] - 60);
        atomicSub(&s[4 + a[i] % 4], a[i]);
        atomicAdd_block(&sl[a[i] % 3], 1ull << a[i] % 40);
        atomicAdd(&sf[a[i] & 1], (float)a[i]);
        atomicDec((unsigned*)&s[8], 1000u);
        order[atomicAdd(&s[9], 1)] = 1;
        if (a[i] > 50) atomicInc((unsigned*)&s[10], 6);
        __syncthreads();
        if (t < 4) atomicAdd(&l[8 + t], sl[t]);
        if (t < 2) atomicAdd(&f[8 + t], sf[t]);
    }""",
    f=zeros(10), d=zeros(4, np.float64), l=zeros(12, np.uint64), s=zeros(12, np.int32),
    order=zeros(N, np.int32), a=small(),
)  # fmt: skip
construct(
    "compare_and_swap_16",
    """extern "C" __global__ void k(unsigned short* out, const unsigned short* a) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        unsigned short seen = out[a[i] % 5], old;
        do {
            old = seen;
            seen = atomicCAS(&out[a[i] % 5], old, (unsigned short)(old + a[i]));
        } while (seen != old);
    }""",
    out=zeros(6, np.uint16), a=small(N, np.uint16),
)  # fmt: skip
construct(
    "lock_per_warp",
    """extern "C" __global__ void k(int* locks, int* out, const int* a) {
        int i = blockIdx.x * blockDim.x + threadIdx.x, j = a[i] % 3;
        bool done = false;
        while (!done) {
            if (atomicCAS(&locks[j], 0, 1) == 0) {
                __threadfence();
                locks[4 + j] += a[i];
                __threadfence();
                atomicExch(&locks[j], 0);
                done = true;
            }
        }
        out[i] = j;
    }""",
    locks=zeros(8, np.int32), out=zeros(N, np.int32), a=small(),
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
    "cache_hints",
    """extern "C" __global__ void k(float* out, const float* __restrict__ a, const float4* b) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        float v = __ldg(a + i) + __ldcg(a + i) + __ldcs(a + 127 - i) + __ldcv(a + i / 2);
        float4 w = __ldg(b + i);
        asm("ld.global.nc.L1::no_allocate.L2::128B.f32 %0, [%1];" : "=f"(v) : "l"(a + i));
        asm volatile("prefetch.global.L2 [%0];" :: "l"(a));
        __stcs(out + i, v + w.x);
        __stwt(out + 128 + i, w.y - v);
        __threadfence_block();
    }""",
    out=zeros(2 * N), a=floats(), b=floats(4 * N),
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
    "conversions",
    """extern "C" __global__ void k(long long* out, const float* a, const double* b) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        out[8 * i] = __float2int_rn(a[i]) + (long long)__float2uint_ru(a[i]) * 3;
        out[8 * i + 1] = __float2ll_rd(a[i]);
        out[8 * i + 2] = __double2ull_rz(b[i]);
        out[8 * i + 3] = __double2int_ru(b[i]);
        out[8 * i + 4] = (short)a[i] + (signed char)b[i] + (unsigned char)a[i];
        out[8 * i + 5] = (long long)__ll2float_rz(out[8 * i + 1]) + __float2ull_rn(-a[i]);
        out[8 * i + 6] = (long long)__double2float_rd(b[i]) ^ (long long)__uint2float_ru(~i);
        out[8 * i + 7] = __double2hiint(b[i]) + __double2loint((double)i / 3);
    }""",
    out=zeros(8 * N, np.int64),
    a=np.concatenate([np.array([0.5, 1.5, -0.5, 2.5, 3e9, -3e9, 1e30, np.inf, -np.inf, np.nan,
                                -0.0, 4294967040.0, 2147483648.0, 9.3e18],
                               np.float32), floats(114)]),
    b=np.concatenate([np.array([0.5, 1.5, -0.5, 2.5, 3e9, -3e9, 1e300, np.inf, -np.inf, np.nan,
                                -0.0, 4294967295.5, 1.8446744073709550e19, 9.3e18]),
                      floats(114, np.float64)]),
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
construct(
    "packed_integers",
    """extern "C" __global__ void k(unsigned* out, const unsigned* a, const unsigned* b) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        unsigned x = a[i], y = b[i];
        out[i] = __vaddss2(x, y) ^ __vaddus2(y, x) ^ __viaddmax_s16x2_relu(x, y, 77)
               ^ (unsigned)__viaddmin_s32_relu((int)x >> 1, (int)y >> 1, 5);
    }""",
    out=zeros(dtype=np.uint32), a=ints(dtype=np.uint32), b=ints(dtype=np.uint32),
)  # fmt: skip
