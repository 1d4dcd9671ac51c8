// What NVRTC declares by itself, for a parser that does not: enough to give every expression of a
// kernel its structure and type. Vector and texture types are CUDA's own, from its headers. Types
// are looser than CUDA's (templates for overload sets): NVRTC has already judged the source.
#pragma once
#pragma clang system_header

typedef decltype(sizeof(0)) size_t;
typedef decltype((char *)0 - (char *)0) ptrdiff_t;
typedef decltype(nullptr) nullptr_t;
typedef long clock_t;
typedef long double max_align_t;
#define NULL 0
#define FLT_MAX __FLT_MAX__
#define FLT_MIN __FLT_MIN__
#define FLT_EPSILON __FLT_EPSILON__
#define DBL_MAX __DBL_MAX__
#define INT_MAX __INT_MAX__

#include "vector_types.h"
#include "vector_functions.h"
#include "texture_types.h"

extern const __device__ uint3 threadIdx;
extern const __device__ uint3 blockIdx;
extern const __device__ dim3 blockDim;
extern const __device__ dim3 gridDim;
extern const __device__ int warpSize;

#define PLACEWISE_FUNCTION __device__

// Synchronisation
PLACEWISE_FUNCTION int __syncthreads_count(int);
PLACEWISE_FUNCTION int __syncthreads_and(int);
PLACEWISE_FUNCTION int __syncthreads_or(int);
PLACEWISE_FUNCTION void __syncwarp(unsigned mask = 0xffffffffu);
PLACEWISE_FUNCTION void __barrier_sync(unsigned);
PLACEWISE_FUNCTION void __barrier_sync_count(unsigned, unsigned);
PLACEWISE_FUNCTION void __threadfence();
PLACEWISE_FUNCTION void __threadfence_block();
PLACEWISE_FUNCTION void __threadfence_system();
PLACEWISE_FUNCTION void __trap();
PLACEWISE_FUNCTION void __brkpt();
PLACEWISE_FUNCTION void __nanosleep(unsigned);
PLACEWISE_FUNCTION void __assert_fail(const char *, const char *, unsigned, const char *, size_t = 1);
PLACEWISE_FUNCTION void __assertfail(const char *, const char *, unsigned, const char *, size_t);
PLACEWISE_FUNCTION int printf(const char *, ...);
PLACEWISE_FUNCTION long long clock64();
PLACEWISE_FUNCTION clock_t clock();
PLACEWISE_FUNCTION void *malloc(size_t);
PLACEWISE_FUNCTION void free(void *);
PLACEWISE_FUNCTION void *memcpy(void *, const void *, size_t);
PLACEWISE_FUNCTION void *memset(void *, int, size_t);
#define assert(condition) ((condition) ? (void)0 : __trap())

// Warp votes and shuffles
PLACEWISE_FUNCTION unsigned __activemask();
PLACEWISE_FUNCTION int __all_sync(unsigned, int);
PLACEWISE_FUNCTION int __any_sync(unsigned, int);
PLACEWISE_FUNCTION unsigned __ballot_sync(unsigned, int);
template <class T> PLACEWISE_FUNCTION unsigned __match_any_sync(unsigned, T);
template <class T> PLACEWISE_FUNCTION unsigned __match_all_sync(unsigned, T, int *);
template <class T> PLACEWISE_FUNCTION T __shfl_sync(unsigned, T, int, int = 32);
template <class T> PLACEWISE_FUNCTION T __shfl_up_sync(unsigned, T, unsigned, int = 32);
template <class T> PLACEWISE_FUNCTION T __shfl_down_sync(unsigned, T, unsigned, int = 32);
template <class T> PLACEWISE_FUNCTION T __shfl_xor_sync(unsigned, T, int, int = 32);
template <class T> PLACEWISE_FUNCTION T __reduce_add_sync(unsigned, T);
template <class T> PLACEWISE_FUNCTION T __reduce_min_sync(unsigned, T);
template <class T> PLACEWISE_FUNCTION T __reduce_max_sync(unsigned, T);
template <class T> PLACEWISE_FUNCTION T __reduce_and_sync(unsigned, T);
template <class T> PLACEWISE_FUNCTION T __reduce_or_sync(unsigned, T);
template <class T> PLACEWISE_FUNCTION T __reduce_xor_sync(unsigned, T);

// Loads, stores and texture reads
#define PLACEWISE_LOAD(name) template <class T> PLACEWISE_FUNCTION T name(const T *);
PLACEWISE_LOAD(__ldg) PLACEWISE_LOAD(__ldca) PLACEWISE_LOAD(__ldcg) PLACEWISE_LOAD(__ldcs)
PLACEWISE_LOAD(__ldlu) PLACEWISE_LOAD(__ldcv)
#undef PLACEWISE_LOAD
#define PLACEWISE_STORE(name) template <class T> PLACEWISE_FUNCTION void name(T *, T);
PLACEWISE_STORE(__stwb) PLACEWISE_STORE(__stcg) PLACEWISE_STORE(__stcs) PLACEWISE_STORE(__stwt)
#undef PLACEWISE_STORE
template <class T> PLACEWISE_FUNCTION T tex1Dfetch(cudaTextureObject_t, int);
template <class T> PLACEWISE_FUNCTION T tex1D(cudaTextureObject_t, float);
template <class T> PLACEWISE_FUNCTION T tex2D(cudaTextureObject_t, float, float);
template <class T> PLACEWISE_FUNCTION T tex3D(cudaTextureObject_t, float, float, float);
PLACEWISE_FUNCTION unsigned __isGlobal(const void *);
PLACEWISE_FUNCTION unsigned __isShared(const void *);
PLACEWISE_FUNCTION size_t __cvta_generic_to_shared(const void *);
PLACEWISE_FUNCTION size_t __cvta_generic_to_global(const void *);

// Atomic updates
#define PLACEWISE_ATOMIC(name)                                                \
    template <class T, class U> PLACEWISE_FUNCTION T name(T *, U);            \
    template <class T, class U> PLACEWISE_FUNCTION T name##_block(T *, U);    \
    template <class T, class U> PLACEWISE_FUNCTION T name##_system(T *, U);
PLACEWISE_ATOMIC(atomicAdd) PLACEWISE_ATOMIC(atomicSub) PLACEWISE_ATOMIC(atomicExch)
PLACEWISE_ATOMIC(atomicMin) PLACEWISE_ATOMIC(atomicMax) PLACEWISE_ATOMIC(atomicInc)
PLACEWISE_ATOMIC(atomicDec) PLACEWISE_ATOMIC(atomicAnd) PLACEWISE_ATOMIC(atomicOr)
PLACEWISE_ATOMIC(atomicXor)
#undef PLACEWISE_ATOMIC
template <class T, class U, class V> PLACEWISE_FUNCTION T atomicCAS(T *, U, V);
template <class T, class U, class V> PLACEWISE_FUNCTION T atomicCAS_block(T *, U, V);
template <class T, class U, class V> PLACEWISE_FUNCTION T atomicCAS_system(T *, U, V);

namespace std {
template <class T> PLACEWISE_FUNCTION constexpr T &&forward(__remove_reference_t(T) &) noexcept;
template <class T> PLACEWISE_FUNCTION constexpr T &&forward(__remove_reference_t(T) &&) noexcept;
template <class T> PLACEWISE_FUNCTION constexpr __remove_reference_t(T) &&move(T &&) noexcept;
}

// Arithmetic
template <class A, class B> PLACEWISE_FUNCTION auto min(A a, B b) -> decltype(a + b);
template <class A, class B> PLACEWISE_FUNCTION auto max(A a, B b) -> decltype(a + b);
template <class A> PLACEWISE_FUNCTION A abs(A);
#define PLACEWISE_1(name)                              \
    template <class T> PLACEWISE_FUNCTION T name(T);   \
    PLACEWISE_FUNCTION float name##f(float);
#define PLACEWISE_2(name)                                                                 \
    template <class A, class B> PLACEWISE_FUNCTION auto name(A a, B b) -> decltype(a + b); \
    PLACEWISE_FUNCTION float name##f(float, float);
PLACEWISE_1(sqrt) PLACEWISE_1(rsqrt) PLACEWISE_1(cbrt) PLACEWISE_1(rcbrt) PLACEWISE_1(exp)
PLACEWISE_1(exp2) PLACEWISE_1(exp10) PLACEWISE_1(expm1) PLACEWISE_1(log) PLACEWISE_1(log2)
PLACEWISE_1(log10) PLACEWISE_1(log1p) PLACEWISE_1(logb) PLACEWISE_1(sin) PLACEWISE_1(cos)
PLACEWISE_1(tan) PLACEWISE_1(sinpi) PLACEWISE_1(cospi) PLACEWISE_1(asin) PLACEWISE_1(acos)
PLACEWISE_1(atan) PLACEWISE_1(sinh) PLACEWISE_1(cosh) PLACEWISE_1(tanh) PLACEWISE_1(asinh)
PLACEWISE_1(acosh) PLACEWISE_1(atanh) PLACEWISE_1(erf) PLACEWISE_1(erfc) PLACEWISE_1(erfinv)
PLACEWISE_1(erfcinv) PLACEWISE_1(erfcx) PLACEWISE_1(normcdf) PLACEWISE_1(normcdfinv)
PLACEWISE_1(tgamma) PLACEWISE_1(lgamma) PLACEWISE_1(fabs) PLACEWISE_1(floor) PLACEWISE_1(ceil)
PLACEWISE_1(trunc) PLACEWISE_1(round) PLACEWISE_1(rint) PLACEWISE_1(nearbyint) PLACEWISE_1(j0)
PLACEWISE_1(j1) PLACEWISE_1(y0) PLACEWISE_1(y1)
PLACEWISE_2(pow) PLACEWISE_2(fmod) PLACEWISE_2(fmin) PLACEWISE_2(fmax) PLACEWISE_2(fdim)
PLACEWISE_2(atan2) PLACEWISE_2(hypot) PLACEWISE_2(rhypot) PLACEWISE_2(copysign)
PLACEWISE_2(remainder) PLACEWISE_2(nextafter) PLACEWISE_2(fdivide)
#undef PLACEWISE_1
#undef PLACEWISE_2
template <class T> PLACEWISE_FUNCTION T fma(T, T, T);
PLACEWISE_FUNCTION float fmaf(float, float, float);
#define PLACEWISE_WHOLE(type, name)                           \
    template <class T> PLACEWISE_FUNCTION type name(T);       \
    PLACEWISE_FUNCTION type name##f(float);
PLACEWISE_WHOLE(int, ilogb) PLACEWISE_WHOLE(long, lrint) PLACEWISE_WHOLE(long, lround)
PLACEWISE_WHOLE(long long, llrint) PLACEWISE_WHOLE(long long, llround)
#undef PLACEWISE_WHOLE
PLACEWISE_FUNCTION double nan(const char *);
PLACEWISE_FUNCTION float nanf(const char *);
template <class T> PLACEWISE_FUNCTION T remquo(T, T, int *);
PLACEWISE_FUNCTION float remquof(float, float, int *);
template <class T> PLACEWISE_FUNCTION T scalbn(T, int);
PLACEWISE_FUNCTION float scalbnf(float, int);
template <class T> PLACEWISE_FUNCTION T scalbln(T, long);
PLACEWISE_FUNCTION float scalblnf(float, long);
template <class T> PLACEWISE_FUNCTION T ldexp(T, int);
PLACEWISE_FUNCTION float ldexpf(float, int);
template <class T> PLACEWISE_FUNCTION T frexp(T, int *);
PLACEWISE_FUNCTION float frexpf(float, int *);
template <class T> PLACEWISE_FUNCTION T modf(T, T *);
PLACEWISE_FUNCTION float modff(float, float *);
template <class T> PLACEWISE_FUNCTION void sincos(T, T *, T *);
PLACEWISE_FUNCTION void sincosf(float, float *, float *);
PLACEWISE_FUNCTION void sincospif(float, float *, float *);
PLACEWISE_FUNCTION void __sincosf(float, float *, float *);
template <class T> PLACEWISE_FUNCTION bool isnan(T);
template <class T> PLACEWISE_FUNCTION bool isinf(T);
template <class T> PLACEWISE_FUNCTION bool isfinite(T);
template <class T> PLACEWISE_FUNCTION bool signbit(T);
PLACEWISE_FUNCTION float __sinf(float);
PLACEWISE_FUNCTION float __cosf(float);
PLACEWISE_FUNCTION float __tanf(float);
PLACEWISE_FUNCTION float __expf(float);
PLACEWISE_FUNCTION float __exp10f(float);
PLACEWISE_FUNCTION float __logf(float);
PLACEWISE_FUNCTION float __log2f(float);
PLACEWISE_FUNCTION float __log10f(float);
PLACEWISE_FUNCTION float __powf(float, float);
PLACEWISE_FUNCTION float __saturatef(float);
PLACEWISE_FUNCTION float __fdividef(float, float);
PLACEWISE_FUNCTION float __frsqrt_rn(float);
#define PLACEWISE_ROUNDED(suffix)                                \
    PLACEWISE_FUNCTION float __fadd_##suffix(float, float);      \
    PLACEWISE_FUNCTION float __fsub_##suffix(float, float);      \
    PLACEWISE_FUNCTION float __fmul_##suffix(float, float);      \
    PLACEWISE_FUNCTION float __fdiv_##suffix(float, float);      \
    PLACEWISE_FUNCTION float __frcp_##suffix(float);             \
    PLACEWISE_FUNCTION float __fsqrt_##suffix(float);            \
    PLACEWISE_FUNCTION float __fmaf_##suffix(float, float, float); \
    PLACEWISE_FUNCTION double __dadd_##suffix(double, double);   \
    PLACEWISE_FUNCTION double __dsub_##suffix(double, double);   \
    PLACEWISE_FUNCTION double __dmul_##suffix(double, double);   \
    PLACEWISE_FUNCTION double __ddiv_##suffix(double, double);   \
    PLACEWISE_FUNCTION double __drcp_##suffix(double);           \
    PLACEWISE_FUNCTION double __dsqrt_##suffix(double);          \
    PLACEWISE_FUNCTION double __fma_##suffix(double, double, double); \
    PLACEWISE_FUNCTION int __float2int_##suffix(float);          \
    PLACEWISE_FUNCTION unsigned __float2uint_##suffix(float);    \
    PLACEWISE_FUNCTION long long __float2ll_##suffix(float);     \
    PLACEWISE_FUNCTION int __double2int_##suffix(double);        \
    PLACEWISE_FUNCTION unsigned __double2uint_##suffix(double);  \
    PLACEWISE_FUNCTION long long __double2ll_##suffix(double);   \
    PLACEWISE_FUNCTION float __double2float_##suffix(double);    \
    PLACEWISE_FUNCTION float __int2float_##suffix(int);          \
    PLACEWISE_FUNCTION float __uint2float_##suffix(unsigned);    \
    PLACEWISE_FUNCTION double __ll2double_##suffix(long long);
PLACEWISE_ROUNDED(rn) PLACEWISE_ROUNDED(rz) PLACEWISE_ROUNDED(ru) PLACEWISE_ROUNDED(rd)
#undef PLACEWISE_ROUNDED
PLACEWISE_FUNCTION double __int2double_rn(int);
PLACEWISE_FUNCTION double __uint2double_rn(unsigned);
PLACEWISE_FUNCTION int __float_as_int(float);
PLACEWISE_FUNCTION unsigned __float_as_uint(float);
PLACEWISE_FUNCTION float __int_as_float(int);
PLACEWISE_FUNCTION float __uint_as_float(unsigned);
PLACEWISE_FUNCTION long long __double_as_longlong(double);
PLACEWISE_FUNCTION double __longlong_as_double(long long);
PLACEWISE_FUNCTION int __double2hiint(double);
PLACEWISE_FUNCTION int __double2loint(double);
PLACEWISE_FUNCTION double __hiloint2double(int, int);
PLACEWISE_FUNCTION int __mul24(int, int);
PLACEWISE_FUNCTION unsigned __umul24(unsigned, unsigned);
PLACEWISE_FUNCTION int __mulhi(int, int);
PLACEWISE_FUNCTION unsigned __umulhi(unsigned, unsigned);
PLACEWISE_FUNCTION long long __mul64hi(long long, long long);
PLACEWISE_FUNCTION unsigned long long __umul64hi(unsigned long long, unsigned long long);
PLACEWISE_FUNCTION unsigned __sad(int, int, unsigned);
PLACEWISE_FUNCTION unsigned __usad(unsigned, unsigned, unsigned);
PLACEWISE_FUNCTION int __popc(unsigned);
PLACEWISE_FUNCTION int __popcll(unsigned long long);
PLACEWISE_FUNCTION int __clz(int);
PLACEWISE_FUNCTION int __clzll(long long);
PLACEWISE_FUNCTION int __ffs(int);
PLACEWISE_FUNCTION int __ffsll(long long);
PLACEWISE_FUNCTION unsigned __brev(unsigned);
PLACEWISE_FUNCTION unsigned long long __brevll(unsigned long long);
PLACEWISE_FUNCTION unsigned __byte_perm(unsigned, unsigned, unsigned);
PLACEWISE_FUNCTION unsigned __funnelshift_l(unsigned, unsigned, unsigned);
PLACEWISE_FUNCTION unsigned __funnelshift_r(unsigned, unsigned, unsigned);
PLACEWISE_FUNCTION int __dp4a(int, int, int);
#undef PLACEWISE_FUNCTION
