// Pairs of loads for the DRAM's address mapping (Huang and Li 2017, Algorithm 1): the times of both,
// of which the first finds its bank's rows closed. Their `ld.global.cs` is evict-first and not uncached: here the places are ones that
// no cache holds, since the host overwrites L2 first, and loads pass L1 by.

__device__ __forceinline__ unsigned now() {
  unsigned cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
  return cycles;
}

__device__ __forceinline__ unsigned load(const char* at) {
  unsigned value;
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(at));
  return value;
}

// All bytes are 0. `page` is a power of two: the first word of each load's page is read before, so
// that neither load waits for a translation. `idle` cycles pass before each pair, in which banks
// close the rows that earlier pairs left open. `cycles`: clocks before, between and after the loads.
extern "C" __global__ void pairs(const char* bytes, const unsigned long long* first,
                                 const unsigned long long* second, unsigned count,
                                 unsigned long long page, unsigned idle, unsigned* cycles,
                                 unsigned* out) {
  if (threadIdx.x != 0) return;
  __shared__ volatile unsigned used;
  unsigned zero = 0;
  for (unsigned k = 0; k < count; ++k) {
    const unsigned long long one = __ldcg(first + k), two = __ldcg(second + k);
    zero = load(bytes + (one & ~(page - 1)) + zero);
    zero = load(bytes + (two & ~(page - 1)) + zero);
    const unsigned waiting = now() + zero;
    while (now() - waiting < idle) {
    }
    used = zero;
    const unsigned before = now();
    zero = load(bytes + one + zero);
    used = zero;
    const unsigned between = now();
    zero = load(bytes + two + zero);
    used = zero;
    cycles[3 * k + 2] = now();
    cycles[3 * k + 1] = between;
    cycles[3 * k] = before;
  }
  *out = zero;
}
