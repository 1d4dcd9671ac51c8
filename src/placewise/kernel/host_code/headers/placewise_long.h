// The integers of 64 bits as nvcc has them on Linux, of the host's C library: long, where CUDA's own
// headers say long long, another type of the same size.
#pragma once
#include <stdint.h>
typedef long placewise_int64;
typedef unsigned long placewise_uint64;
namespace std {
using ::placewise_int64;
using ::placewise_uint64;
}
#define int64_t placewise_int64
#define uint64_t placewise_uint64
#define int_least64_t placewise_int64
#define uint_least64_t placewise_uint64
#define int_fast64_t placewise_int64
#define uint_fast64_t placewise_uint64
#define intptr_t placewise_int64
#define uintptr_t placewise_uint64
#define intmax_t placewise_int64
#define uintmax_t placewise_uint64
