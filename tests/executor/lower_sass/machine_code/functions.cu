// Every kernel writes result number r of thread i to out[r * threads + i].

#define THREADS (gridDim.x * blockDim.x)
#define HERE (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void doubles(const double* a, const double* b, double* out) {
    int i = HERE, n = THREADS;
    double x = a[i], y = b[i];
    double results[] = {
        x / y, sqrt(fabs(x)), exp(x), log(fabs(y)), sin(x), pow(fabs(x), y * 0.1), fmin(x, y),
        fmax(x, y), floor(x), rint(y), fma(x, y, 1.5), trunc(x), x < y ? x * 3 : y - 2, cbrt(x),
        1.0 / y, erf(x), fmod(x, y), atan2(x, y), __dadd_rz(x, y), __dmul_ru(x, y),
        __fma_rd(x, y, x), ceil(x), tanh(x), copysign(x, y), nextafter(x, y), hypot(x, y),
        ldexp(x, 3), round(x), lgamma(fabs(x)), __dsqrt_rd(fabs(y)), __drcp_ru(x)};
#pragma unroll
    for (int r = 0; r < sizeof results / sizeof *results; r++) out[r * n + i] = results[r];
}

extern "C" __global__ void singles(const float* a, const float* b, float* out) {
    int i = HERE, n = THREADS;
    float x = a[i], y = b[i];
    float results[] = {
        x / y, sqrtf(fabsf(x)), expf(x), logf(fabsf(y)), sinf(x), powf(fabsf(x), y * 0.1f),
        fminf(x, y), cosf(y), floorf(x), rintf(y), truncf(x), cbrtf(x), 1.0f / y, erff(x),
        fmodf(x, y), atan2f(x, y), __fadd_rz(x, y), __fmul_ru(x, y), __fmaf_rd(x, y, x), tanhf(x),
        copysignf(x, y), nextafterf(x, y), hypotf(x, y), ldexpf(x, 3), roundf(x),
        lgammaf(fabsf(x)), __saturatef(x), __frcp_rz(y), __fsqrt_ru(fabsf(x)), tanf(x)};
#pragma unroll
    for (int r = 0; r < sizeof results / sizeof *results; r++) out[r * n + i] = results[r];
}

extern "C" __global__ void conversions(
    const double* a, const float* b, const long long* c, long long* out) {
    int i = HERE, n = THREADS;
    double x = a[i];
    float y = b[i];
    long long z = c[i];
#define D(v) __double_as_longlong(v)
#define F(v) (long long)__float_as_int(v)
    long long results[] = {
        (int)x, x < y, (long long)x, (long long)(unsigned long long)fabs(x), D((double)z),
        D((double)(unsigned long long)z), D((double)(int)z), F((float)x), D((double)y),
        F((float)z), F((float)(unsigned long long)z), (long long)y,
        (long long)(unsigned long long)fabsf(y), __double2hiint(x), __double2int_rn(x),
        isnan(x) + 2 * isinf(y), __double2int_ru(x), (unsigned short)y, (signed char)x,
        F((float)(short)z), F((float)(signed char)z), F(__double2float_rz(x)), (unsigned)y,
        __double2ll_rd(y), (long long)__float2ull_rn(y), (int)y, __float2int_rn(y),
        __float2uint_ru(fabsf(y)), signbit(y) + 2 * isfinite(y), ilogbf(y),
        F((float)(unsigned char)z), D((double)(short)z), F(__ll2float_ru(z)), F(__int2float_rz(z))};
#pragma unroll
    for (int r = 0; r < sizeof results / sizeof *results; r++) out[r * n + i] = results[r];
}
