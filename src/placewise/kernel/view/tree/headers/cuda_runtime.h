// The types of CUDA's cuda_runtime.h. Its functions are those that the preamble declares.
#pragma once
#include "builtin_types.h"
#include "library_types.h"
#include <nv/target>
