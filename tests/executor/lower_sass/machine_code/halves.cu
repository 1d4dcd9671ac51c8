// Every kernel writes result number r of thread i to out[r * threads + i].

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define THREADS (gridDim.x * blockDim.x)
#define HERE (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void half_pairs(const __half2* a, const __half2* b, __half2* out) {
    int i = HERE, n = THREADS;
    __half2 x = a[i], y = b[i], zero = __float2half2_rn(0.0f);
    __half2 results[] = {
        __hadd2(x, y), __hmul2(x, y), __hfma2(x, y, x), __hsub2(x, y), __hadd2_sat(x, y),
        __hmul2_sat(x, y), __hfma2_sat(x, y, x), __hneg2(x), __habs2(x), __heq2(x, y),
        __hlt2(x, y), __hgtu2(x, y), __lowhigh2highlow(x), __highs2half2(x, y),
        __hfma2(x, __float2half2_rn(1.5f), y), __hadd2(x, __floats2half2_rn(2.0f, -3.0f)),
        __hmul2(y, __low2half2(x)), __h2div(x, y), h2exp2(x), h2sqrt(y),
        __hbeq2(x, y) ? x : zero, __hbltu2(x, y) ? y : zero, __hbgt2(x, y) ? x : zero};
#pragma unroll
    for (int r = 0; r < sizeof results / sizeof *results; r++) out[r * n + i] = results[r];
}

extern "C" __global__ void half_numbers(const __half* a, const float* b, long long* out) {
    int i = HERE, n = THREADS;
    __half x = a[i], y = a[n - 1 - i];
    float f = b[i];
#define H(v) (long long)__half_as_ushort(v)
#define F(v) (long long)__float_as_int(v)
    long long results[] = {
        H(__hadd(x, y)), H(__hmul(x, y)), H(__hfma(x, y, x)), H(__hdiv(x, y)), H(hsqrt(y)),
        H(hexp(x)), H(hlog(y)), H(hrcp(y)), F(__half2float(x)), F(__half2float(y) * 2),
        H(__float2half(f)), H(__float2half_rz(f)), H(__float2half_ru(f)), H(__float2half_rd(f)),
        H(__double2half((double)f * 1.0001)), __double_as_longlong((double)x), __half2int_rn(x),
        __half2int_rz(x), H(__int2half_rn(i * 97 - 4000)), __half2ll_rz(x),
        H(__ll2half_rn((long long)i * 1234567 - 30000)), __half2ushort_rz(x),
        H(__ushort2half_rn(i * 997)), H(hfloor(x)), H(hrint(x)), H(htrunc(x)), H(hceil(y)),
        __hlt(x, y) + 2 * __hgeu(x, y), H(__habs(x)), H(__hneg(y)), __hisnan(x),
        (int)(signed char)x, F(fmaf(__half2float(x), __half2float(y), f))};
#pragma unroll
    for (int r = 0; r < sizeof results / sizeof *results; r++) out[r * n + i] = results[r];
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void half_extremes(const __half2* a, const __half2* b, __half2* out) {
    int i = HERE, n = THREADS;
    __half2 x = a[i], y = b[i];
    __half2 results[] = {__hmin2(x, y), __hmax2(x, y), __hmin2_nan(x, y), __hfma2_relu(x, y, x)};
#pragma unroll
    for (int r = 0; r < sizeof results / sizeof *results; r++) out[r * n + i] = results[r];
}

extern "C" __global__ void bfloats(
    const __nv_bfloat162* a, const __nv_bfloat162* b, __nv_bfloat162* out) {
    int i = HERE, n = THREADS;
    __nv_bfloat162 x = a[i], y = b[i];
    __nv_bfloat16 s = __low2bfloat16(x), t = __high2bfloat16(y);
#define TWO(v) __bfloat162bfloat162(v)
    __nv_bfloat162 results[] = {
        __hadd2(x, y), __hmul2(x, y), __hfma2(x, y, x), __hmin2(x, y), __hmax2(x, y), __heq2(x, y),
        __hneg2(x), __habs2(x), __hsub2(x, y), __hfma2_relu(x, y, x), __hfma2_sat(x, y, x),
        TWO(__hadd(s, t)), TWO(__hmul(s, t)), TWO(__hfma(s, t, s)), TWO(__hdiv(s, t)),
        TWO(hsqrt(t)), TWO(hexp2(s)), TWO(__float2bfloat16(__bfloat162float(s) * 1.01f)),
        TWO(__float2bfloat16_rz(__bfloat162float(s) * 1.01f)), TWO(s < t ? s : t),
        TWO(__int2bfloat16_rn(i * 977)), TWO(__int2bfloat16_rn(__bfloat162int_rz(s))),
        __floats2bfloat162_rn(__bfloat162float(s), 0.3f)};
#pragma unroll
    for (int r = 0; r < sizeof results / sizeof *results; r++) out[r * n + i] = results[r];
}
#endif
