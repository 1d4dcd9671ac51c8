#pragma once
// clock and clock_t are the compiler's own; the host's time is not for kernels.
#include <stddef.h>
