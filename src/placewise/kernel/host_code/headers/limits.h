#pragma once
#if __cplusplus >= 201703L && !defined(__clang__)
#include <cuda/std/climits>
// CUDA's header takes a long to be as short as on Windows where __LP64__ is not defined.
#undef LONG_MAX
#undef LONG_MIN
#undef ULONG_MAX
#else
#define CHAR_BIT 8
#define SCHAR_MAX 0x7f
#define SCHAR_MIN (-SCHAR_MAX - 1)
#define UCHAR_MAX 0xff
#define CHAR_MAX SCHAR_MAX
#define CHAR_MIN SCHAR_MIN
#define SHRT_MAX 0x7fff
#define SHRT_MIN (-SHRT_MAX - 1)
#define USHRT_MAX 0xffff
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 0xffffffffU
#define LLONG_MAX 0x7fffffffffffffffLL
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX 0xffffffffffffffffULL
#endif
static_assert(sizeof(long) == 8, "of a 64-bit system whose long has 64 bits");
#define LONG_MAX 0x7fffffffffffffffL
#define LONG_MIN (-LONG_MAX - 1)
#define ULONG_MAX 0xffffffffffffffffUL
