// Shared memory by stride and width: one warp whose lanes read words `stride` accesses apart.
//
// Latency: each access holds its own address in its first word, so that a load's address is what the
// load before it returned. Throughput: all warps of a block load, none waits for another. `cycles`:
// clocks before and after, of whichever lane writes last.

constexpr unsigned LANES = 32;
constexpr unsigned LOADS = 128;
constexpr unsigned BYTES = 33 * LANES * 16;

__device__ __forceinline__ unsigned now() {
  unsigned cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
  return cycles;
}

template <unsigned Width>
__device__ __forceinline__ unsigned load(unsigned at) {
  unsigned value, rest;
  if (Width == 4) asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(value) : "r"(at));
  if (Width == 8)
    asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];" : "=r"(value), "=r"(rest) : "r"(at));
  if (Width == 16)
    asm volatile("{.reg .u32 y, z; ld.volatile.shared.v4.u32 {%0, y, z, %1}, [%2];}"
                 : "=r"(value), "=r"(rest)
                 : "r"(at));
  return value;
}

template <unsigned Width>
__device__ __forceinline__ unsigned own_place(char* bytes, unsigned stride) {
  const unsigned offset = threadIdx.x % LANES * stride * Width;
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(bytes)) + offset;
  *reinterpret_cast<unsigned*>(bytes + offset) = at;
  __syncthreads();
  return at;
}

#define BANKS(Width)                                                                             \
  extern "C" __global__ void bank_latency_##Width(unsigned stride, unsigned* cycles,             \
                                                  unsigned* out) {                               \
    __shared__ __align__(16) char bytes[BYTES];                                                  \
    unsigned at = own_place<Width>(bytes, stride);                                               \
    at = load<Width>(at);                                                                        \
    cycles[0] = now();                                                                           \
    _Pragma("unroll") for (unsigned k = 0; k < LOADS; ++k) at = load<Width>(at);                 \
    out[threadIdx.x] = at - static_cast<unsigned>(__cvta_generic_to_shared(bytes));              \
    cycles[1] = now();                                                                           \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(1024) bank_rate_##Width(                          \
      unsigned stride, unsigned* cycles, unsigned* out) {                                        \
    __shared__ __align__(16) char bytes[BYTES];                                                  \
    const unsigned at = own_place<Width>(bytes, stride);                                         \
    unsigned sum = load<Width>(at);                                                              \
    __syncthreads();                                                                             \
    cycles[0] = now();                                                                           \
    _Pragma("unroll 16") for (unsigned k = 0; k < LOADS; ++k) sum += load<Width>(at);            \
    out[threadIdx.x] = sum;                                                                      \
    __syncthreads();                                                                             \
    cycles[1] = now();                                                                           \
  }

BANKS(4)
BANKS(8)
BANKS(16)
