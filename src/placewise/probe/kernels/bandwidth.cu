// What a level moves: blocks that read pieces of an array in vectors of 16 bytes, over and over.
//
// Block b reads `count` vectors, a multiple of four times its threads, from b * step on, `passes` times.
// With a step of 0 all blocks share a piece that L1 holds; with a step of `count` they go through
// an array together.

constexpr unsigned AT_ONCE = 4;

#define STREAM(name, cache)                                                                      \
  extern "C" __global__ void stream_##name(const uint4* vectors, unsigned long long step,        \
                                           unsigned count, unsigned passes, unsigned* out) {     \
    const uint4* piece = vectors + blockIdx.x * step;                                            \
    const unsigned stride = blockDim.x;                                                          \
    unsigned sum = 0;                                                                            \
    for (unsigned pass = 0; pass < passes; ++pass) {                                             \
      for (unsigned k = threadIdx.x; k < count; k += AT_ONCE * stride) {                         \
        uint4 v[AT_ONCE];                                                                        \
        _Pragma("unroll") for (unsigned j = 0; j < AT_ONCE; ++j)                                 \
          asm volatile("ld.global." cache "v4.u32 {%0, %1, %2, %3}, [%4];"                       \
                       : "=r"(v[j].x), "=r"(v[j].y), "=r"(v[j].z), "=r"(v[j].w)                  \
                       : "l"(piece + k + j * stride));                                           \
        _Pragma("unroll") for (unsigned j = 0; j < AT_ONCE; ++j)                                 \
          sum += v[j].x + v[j].y + v[j].z + v[j].w;                                              \
      }                                                                                          \
    }                                                                                            \
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;                                            \
  }

STREAM(through_l1, "")
STREAM(past_l1, "cg.")

extern "C" __global__ void nothing() {}
