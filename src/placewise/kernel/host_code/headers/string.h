#pragma once
// memcpy and memset are the compiler's own; the other functions are not for kernels.
#include <stddef.h>
