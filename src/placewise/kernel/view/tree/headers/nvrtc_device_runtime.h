// NVRTC has a header of this name built in, which CUDA's cuda_runtime.h includes: the runtime's
// functions that device code may call. The view needs none of them.
#pragma once
