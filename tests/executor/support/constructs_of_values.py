"""Numbers: half precisions, exact mathematics, division, carries, bytes, conversions."""

import numpy as np
from construct_table import N, construct, floats, ints, small, zeros

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
    "packed_integers",
    """extern "C" __global__ void k(unsigned* out, const unsigned* a, const unsigned* b) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        unsigned x = a[i], y = b[i];
        out[i] = __vaddss2(x, y) ^ __vaddus2(y, x) ^ __viaddmax_s16x2_relu(x, y, 77)
               ^ (unsigned)__viaddmin_s32_relu((int)x >> 1, (int)y >> 1, 5);
    }""",
    out=zeros(dtype=np.uint32), a=ints(dtype=np.uint32), b=ints(dtype=np.uint32),
)  # fmt: skip
