// Latency and rate of instructions that models use. Latency: one warp, each instruction needs the
// result of the one before. Rate: as many warps as the block has, four independent chains each.
// `cycles`: clocks before and after, of whichever lane writes last.

constexpr unsigned LINKS = 128;
constexpr unsigned ROUNDS = 32;
constexpr unsigned CHAINS = 4;

__device__ __forceinline__ unsigned now() {
  unsigned cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
  return cycles;
}

// One link of a chain, from x to x.
#define LINK(Name, Type, letter, ptx)                                                            \
  struct Name {                                                                                  \
    typedef Type Value;                                                                          \
    typedef Type State;                                                                          \
    static __device__ __forceinline__ void apply(Value& x, Value& a, Value b) {                  \
      asm volatile(ptx : "+" letter(x) : letter(a), letter(b));                                  \
    }                                                                                            \
  };

// Sums of one number would become a product, those of Fibonacci's do not; sums of two numbers may go
// to the multiplier, those of three do not.
struct Iadd {
  typedef unsigned Value;
  typedef unsigned State;
  static __device__ __forceinline__ void apply(Value& x, Value& a, Value b) {
    const Value before = x;
    asm volatile("{.reg .u32 t; add.u32 t, %0, %1; add.u32 %0, t, %2;}" : "+r"(x) : "r"(a), "r"(b));
    a = before;
  }
};

// What a tensor core adds to.
template <class Type, unsigned Count>
struct Sums {
  Type of[Count];
  __device__ __forceinline__ explicit Sums(unsigned start = 0) {
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) of[k] = static_cast<Type>(start + k);
  }
};

template <class Type>
__device__ __forceinline__ Type whole(Type x) {
  return x;
}

template <class Type, unsigned Count>
__device__ __forceinline__ unsigned whole(const Sums<Type, Count>& x) {
  Type sum = x.of[0];
#pragma unroll
  for (unsigned k = 1; k < Count; ++k) sum += x.of[k];
  return static_cast<unsigned>(sum);
}

// Matrices of a warp: a in two or four registers of each lane, b in one or two, sums in four.
#define MATRICES(Name, Type, letter, shape, a_registers, b_registers)                            \
  struct Name {                                                                                  \
    typedef unsigned Value;                                                                      \
    typedef Sums<Type, 4> State;                                                                 \
    static __device__ __forceinline__ void apply(State& x, Value& a, Value b) {                  \
      asm volatile("mma.sync.aligned." shape " {%0, %1, %2, %3}, " a_registers ", " b_registers  \
                   ", {%0, %1, %2, %3};"                                                         \
                   : "+" letter(x.of[0]), "+" letter(x.of[1]), "+" letter(x.of[2]),              \
                     "+" letter(x.of[3])                                                         \
                   : "r"(a), "r"(b));                                                            \
    }                                                                                            \
  };

struct Dmma {
  typedef double Value;
  typedef Sums<double, 2> State;
  static __device__ __forceinline__ void apply(State& x, Value& a, Value b) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(x.of[0]), "+d"(x.of[1])
                 : "d"(a), "d"(b));
  }
};

template <class Link>
__device__ __forceinline__ void latency(typename Link::Value a, typename Link::Value b,
                                        unsigned* cycles, typename Link::Value* out) {
  typename Link::State x = static_cast<typename Link::State>(threadIdx.x);
  Link::apply(x, a, b);
  cycles[0] = now();
#pragma unroll
  for (unsigned k = 0; k < LINKS; ++k) Link::apply(x, a, b);
  out[threadIdx.x] = whole(x);
  cycles[1] = now();
}

template <class Link>
__device__ __forceinline__ void rate(typename Link::Value a, typename Link::Value b,
                                     unsigned* cycles, typename Link::Value* out) {
  typename Link::State x[CHAINS];
  typename Link::Value y[CHAINS];
#pragma unroll
  for (unsigned c = 0; c < CHAINS; ++c) {
    x[c] = static_cast<typename Link::State>(threadIdx.x + c);
    y[c] = a;
  }
  __syncthreads();
  cycles[0] = now();
#pragma unroll 1
  for (unsigned round = 0; round < ROUNDS; ++round) {
#pragma unroll
    for (unsigned k = 0; k < LINKS / CHAINS; ++k) {
#pragma unroll
      for (unsigned c = 0; c < CHAINS; ++c) Link::apply(x[c], y[c], b);
    }
  }
  __syncthreads();
  cycles[1] = now();
  out[threadIdx.x] = whole(x[0]) + whole(x[1]) + whole(x[2]) + whole(x[3]);
}

#define INSTRUCTION(name, Name)                                                                  \
  extern "C" __global__ void latency_##name(Name::Value a, Name::Value b, unsigned* cycles,      \
                                            Name::Value* out) {                                  \
    latency<Name>(a, b, cycles, out);                                                            \
  }                                                                                              \
  extern "C" __global__ void rate_##name(Name::Value a, Name::Value b, unsigned* cycles,         \
                                         Name::Value* out) {                                     \
    rate<Name>(a, b, cycles, out);                                                               \
  }

LINK(Fadd, float, "f", "add.rn.f32 %0, %0, %1;")
LINK(Fmul, float, "f", "mul.rn.f32 %0, %0, %1;")
LINK(Ffma, float, "f", "fma.rn.f32 %0, %0, %1, %2;")
LINK(Dadd, double, "d", "add.rn.f64 %0, %0, %1;")
LINK(Dfma, double, "d", "fma.rn.f64 %0, %0, %1, %2;")
LINK(Hfma2, unsigned, "r", "fma.rn.f16x2 %0, %0, %1, %2;")
LINK(Imad, unsigned, "r", "mad.lo.u32 %0, %0, %1, %2;")
LINK(Lop, unsigned, "r", "lop3.b32 %0, %0, %1, %2, 0x2d;")
LINK(Shf, unsigned, "r", "shf.l.wrap.b32 %0, %0, %1, %2;")
LINK(Popc, unsigned, "r", "popc.b32 %0, %0;")
LINK(Ex2, float, "f", "ex2.approx.ftz.f32 %0, %0;")
LINK(Rsq, float, "f", "rsqrt.approx.ftz.f32 %0, %0;")
LINK(Shfl, unsigned, "r", "shfl.sync.bfly.b32 %0, %0, 1, 0x1f, 0xffffffff;")

INSTRUCTION(FADD, Fadd)
INSTRUCTION(FMUL, Fmul)
INSTRUCTION(FFMA, Ffma)
INSTRUCTION(DADD, Dadd)
INSTRUCTION(DFMA, Dfma)
INSTRUCTION(HFMA2, Hfma2)
INSTRUCTION(IADD3, Iadd)
INSTRUCTION(IMAD, Imad)
INSTRUCTION(LOP3, Lop)
INSTRUCTION(SHF, Shf)
INSTRUCTION(POPC, Popc)
INSTRUCTION(MUFU_EX2, Ex2)
INSTRUCTION(MUFU_RSQ, Rsq)
INSTRUCTION(SHFL, Shfl)

#if __CUDA_ARCH__ >= 750
MATRICES(Hmma8, float, "f", "m16n8k8.row.col.f32.f16.f16.f32", "{%4, %5}", "{%5}")
INSTRUCTION(HMMA_1688_F32, Hmma8)
#endif
#if __CUDA_ARCH__ >= 800
MATRICES(Hmma16, float, "f", "m16n8k16.row.col.f32.f16.f16.f32", "{%4, %5, %4, %5}", "{%5, %4}")
MATRICES(Tf32, float, "f", "m16n8k8.row.col.f32.tf32.tf32.f32", "{%4, %5, %4, %5}", "{%5, %4}")
MATRICES(Imma, unsigned, "r", "m16n8k32.row.col.s32.s8.s8.s32", "{%4, %5, %4, %5}", "{%5, %4}")
INSTRUCTION(HMMA_16816_F32, Hmma16)
INSTRUCTION(HMMA_1688_F32_TF32, Tf32)
INSTRUCTION(IMMA_16832_S8_S8, Imma)
INSTRUCTION(DMMA, Dmma)
#endif
