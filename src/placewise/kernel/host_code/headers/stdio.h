#pragma once
// printf is the compiler's own; files are not for kernels.
#include <stddef.h>
#define EOF (-1)
