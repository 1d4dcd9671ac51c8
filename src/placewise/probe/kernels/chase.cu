// The fine-grained pointer chase of Mei et al. 2014: one lane, whose every load starts when the one
// before has its data, and keeps each load's time with the place that it read.
//
// A place is the number of a word of 4 bytes. Chained, each word holds the place to go to next; that
// needs places that differ. Listed, all words are 0 and the places come from a list, which is read
// past L1 and ahead of the timed loads: so places may repeat, at the cost of the list's way through L2.

constexpr unsigned BATCH = 256;
constexpr unsigned SLOWEST = 65535;

__constant__ unsigned table[16384];

__device__ __forceinline__ unsigned now() {
  unsigned cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
  return cycles;
}

__device__ __forceinline__ const unsigned* word(unsigned long long source, unsigned place) {
  return reinterpret_cast<const unsigned*>(source) + place;
}

struct ThroughL1 {
  unsigned long long source;
  __device__ __forceinline__ unsigned at(unsigned place) const {
    unsigned value;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(word(source, place)));
    return value;
  }
};

struct PastL1 {
  unsigned long long source;
  __device__ __forceinline__ unsigned at(unsigned place) const {
    unsigned value;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(word(source, place)));
    return value;
  }
};

struct ReadOnly {
  unsigned long long source;
  __device__ __forceinline__ unsigned at(unsigned place) const {
    unsigned value;
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(value) : "l"(word(source, place)));
    return value;
  }
};

struct Texture {
  unsigned long long source;
  __device__ __forceinline__ unsigned at(unsigned place) const {
    return tex1Dfetch<unsigned>(static_cast<cudaTextureObject_t>(source), static_cast<int>(place));
  }
};

struct Constant {
  unsigned long long source;
  __device__ __forceinline__ unsigned at(unsigned place) const {
    return *const_cast<const volatile unsigned*>(table + place);
  }
};

extern __shared__ unsigned own[];

struct Shared {
  unsigned long long source;
  __device__ __forceinline__ unsigned at(unsigned place) const {
    return *const_cast<const volatile unsigned*>(own + place);
  }
};

// What the clock itself and the keeping of the place take.
struct Nothing {
  unsigned long long source;
  __device__ __forceinline__ unsigned at(unsigned place) const {
    asm volatile("" : "+r"(place));
    return place;
  }
};

// Places and clocks of a batch, which leave for memory between two batches. One clock is read for each
// load, and stored as it is: a difference made at once would be made in uniform registers, to which
// the clock comes late.
struct Kept {
  unsigned place[BATCH];
  unsigned clock[BATCH + 1];
};

template <class Path>
__device__ __forceinline__ unsigned timed(const Path& path, unsigned place, Kept& kept, unsigned k) {
  const unsigned value = path.at(place);
  // Stored after it is used: the store waits for the load, and the clock for the store.
  *const_cast<volatile unsigned*>(kept.place + k) = value;
  *const_cast<volatile unsigned*>(kept.clock + k + 1) = now();
  return value;
}

__device__ __forceinline__ void leave(const Kept& kept, unsigned done, unsigned batch,
                                      unsigned short* cycles, unsigned* visited, unsigned most) {
  for (unsigned k = 0; k < batch; ++k) {
    const unsigned took = min(kept.clock[k + 1] - kept.clock[k], SLOWEST);
    __stcs(cycles + done + k, static_cast<unsigned short>(took));
    if (done + k < most) __stcs(visited + done + k, kept.place[k]);
  }
}

template <class Path>
__device__ __forceinline__ void chained(const Path& path, unsigned place, unsigned untimed,
                                        unsigned loads, unsigned short* cycles, unsigned* visited,
                                        unsigned most) {
  __shared__ Kept kept;
  for (unsigned k = 0; k < untimed; ++k) place = path.at(place);
  for (unsigned done = 0; done < loads; done += BATCH) {
    const unsigned batch = min(BATCH, loads - done);
    *const_cast<volatile unsigned*>(kept.clock) = now();
    for (unsigned k = 0; k < batch; ++k) place = timed(path, place, kept, k);
    leave(kept, done, batch, cycles, visited, most);
  }
}

// The list: `before` places once, then `lap` places round and round.
template <class Path>
__device__ __forceinline__ void listed(const Path& path, const unsigned* list, unsigned before,
                                       unsigned lap, unsigned untimed, unsigned loads,
                                       unsigned short* cycles, unsigned* visited, unsigned most) {
  __shared__ Kept kept;
  __shared__ unsigned coming[BATCH];
  unsigned next = 0, zero = 0;
  for (unsigned done = 0; done < untimed + loads;) {
    const bool timing = done >= untimed;
    const unsigned batch = min(BATCH, (timing ? untimed + loads : untimed) - done);
    for (unsigned k = 0; k < batch; ++k) {
      coming[k] = __ldcg(list + next);
      next = next + 1 == before + lap ? before : next + 1;
    }
    if (timing) {
      *const_cast<volatile unsigned*>(kept.clock) = now();
      for (unsigned k = 0; k < batch; ++k) {
        const unsigned place = coming[k] + zero;
        zero = timed(path, place, kept, k);
        kept.place[k] = place;
      }
      leave(kept, done - untimed, batch, cycles, visited, most);
    } else {
      for (unsigned k = 0; k < batch; ++k) zero = path.at(coming[k] + zero);
    }
    done += batch;
  }
}

// One lane of a warp.
#define CHASES(name, Path, PREPARE)                                                              \
  extern "C" __global__ void chained_##name(unsigned long long source, unsigned words,           \
                                            unsigned first, unsigned untimed, unsigned loads,    \
                                            unsigned short* cycles, unsigned* visited,           \
                                            unsigned most) {                                     \
    if (threadIdx.x != 0) return;                                                                \
    PREPARE;                                                                                     \
    chained(Path{source}, first, untimed, loads, cycles, visited, most);                         \
  }                                                                                              \
  extern "C" __global__ void listed_##name(unsigned long long source, unsigned words,            \
                                           const unsigned* list, unsigned before, unsigned lap,  \
                                           unsigned untimed, unsigned loads,                     \
                                           unsigned short* cycles, unsigned* visited,            \
                                           unsigned most) {                                      \
    if (threadIdx.x != 0) return;                                                                \
    PREPARE;                                                                                     \
    listed(Path{source}, list, before, lap, untimed, loads, cycles, visited, most);              \
  }

CHASES(global, ThroughL1, )
CHASES(l2, PastL1, )
CHASES(readonly, ReadOnly, )
CHASES(texture, Texture, )
CHASES(constant, Constant, )
CHASES(shared, Shared, for (unsigned k = 0; k < words; ++k) own[k] = *word(source, k))
CHASES(nothing, Nothing, )

// Puts `values` (0 where there are none) at `places`.
extern "C" __global__ void weave(unsigned* words, const unsigned* places, const unsigned* values,
                                 unsigned count) {
  for (unsigned k = blockIdx.x * blockDim.x + threadIdx.x; k < count; k += gridDim.x * blockDim.x)
    words[places[k]] = values == nullptr ? 0u : values[k];
}
