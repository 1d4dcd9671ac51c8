#pragma once
// abs, malloc and free are the compiler's own; the other functions are not for kernels.
#include <stddef.h>
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647
// As on Linux, where it includes <sys/types.h>.
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
