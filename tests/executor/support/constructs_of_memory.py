"""Memory: vectors, constants, shared and local memory, textures, atomics, cache hints."""

import numpy as np
from construct_table import N, construct, floats, ints, small, zeros

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
    "atomics_of_halves",
    """#include <cuda_fp16.h>
    extern "C" __global__ void k(__half2* sums, float* out, const int* a) {
        __shared__ __half2 tile[32];
        int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
        if (t < 32) tile[t] = __float2half2_rn(t);
        __syncthreads();
        __half2* to = a[i] & 1 ? &sums[a[i] % 8] : &tile[a[i] % 8];
        atomicAdd(to, __floats2half2_rn(a[i] % 5, 1.0f));
        __half2 before = atomicAdd(t & 1 ? &tile[t / 2 % 16 + 16] : &sums[8 + i], *(__half2*)&a[i]);
        __syncthreads();
        out[i] = __low2float(before) + __high2float(tile[t % 16]);
    }""",
    sums=zeros(2 * (8 + N), np.float16), out=zeros(), a=small(below=60),
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
