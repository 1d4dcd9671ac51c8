#pragma once
#include <cuda/std/climits>
// CUDA's header takes a long to be as short as on Windows where __LP64__ is not defined.
static_assert(sizeof(long) == sizeof(long long), "of a 64-bit system whose long has 64 bits");
#undef LONG_MAX
#undef LONG_MIN
#undef ULONG_MAX
#define LONG_MAX 0x7fffffffffffffffL
#define LONG_MIN (-LONG_MAX - 1)
#define ULONG_MAX 0xffffffffffffffffUL
