"""Whole kernels against NumPy and SciPy, on PTX of old and new architectures."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from cuda_run import run

from placewise.errors import ExecutionError
from placewise.kernel.launch import TextureArgument

ARCHS = ["sm_75", "sm_80", "sm_90", "sm_120"]

BASIC = r"""
extern "C" __global__ void vecadd(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
extern "C" __global__ void matmul(const float* __restrict__ A, const float* __restrict__ B,
                                  float* C, int n) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n || c >= n) return;
  float s = 0;
  for (int k = 0; k < n; k++) s += A[r * n + k] * B[k * n + c];
  C[r * n + c] = s;
}
extern "C" __global__ void tiled(const float* A, const float* B, float* C, int n) {
  __shared__ float a[16][16], b[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx;
  float s = 0;
  for (int t = 0; t < (n + 15) / 16; t++) {
    a[ty][tx] = (r < n && t * 16 + tx < n) ? A[r * n + t * 16 + tx] : 0.f;
    b[ty][tx] = (c < n && t * 16 + ty < n) ? B[(t * 16 + ty) * n + c] : 0.f;
    __syncthreads();
    for (int k = 0; k < 16; k++) s += a[ty][k] * b[k][tx];
    __syncthreads();
  }
  if (r < n && c < n) C[r * n + c] = s;
}
extern "C" __global__ void spmv(const int* rp, const int* ci, const float* v, const float* x,
                                float* y, int n) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= n) return;
  float s = 0;
  for (int j = rp[row] + lane; j < rp[row + 1]; j += 32) s += v[j] * x[ci[j]];
  for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
  if (lane == 0) y[row] = s;
}
extern "C" __global__ void spmv_scalar(const int* rp, const int* ci, const float* v,
                                       const float* x, float* y, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float s = 0;
  for (int j = rp[row]; j < rp[row + 1]; j++) s += v[j] * x[ci[j]];
  y[row] = s;
}
"""


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("n", [1, 31, 257, 1000])
def test_vector_addition(arch: str, n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.standard_normal((2, n)).astype(np.float32)
    c = np.full(n + 3, 7, np.float32)
    result = run(BASIC, "vecadd", -(-n // 128), 128, arch=arch, a=a, b=b, c=c, n=np.int32(n))
    assert np.array_equal(result.output("c")[:n], a + b)
    assert np.array_equal(result.output("c")[n:], c[n:])
    assert (c == 7).all(), "the caller's array is left alone"
    assert result.read == {"a", "b"}
    assert result.written == {"c"}


def matmul_reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The kernel's own order of operations: one fused multiply-add after another.

    A product of singles is exact in double precision, and its sum with a single there, rounded to
    single, differs from a fused operation only where double rounding bites; the operands here are
    short enough that everything is exact.
    """
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(
    ("kernel", "block"),
    [("matmul", (16, 16)), ("matmul", (32, 4)), ("matmul", (5, 7)), ("tiled", (16, 16))],
)
def test_matrix_products(arch: str, kernel: str, block: tuple[int, int]) -> None:
    n = 50
    rng = np.random.default_rng(3)
    a, b = rng.integers(-40, 40, (2, n, n)).astype(np.float32)
    grid = tuple(-(-n // x) for x in block)
    result = run(BASIC, kernel, grid, block, arch=arch, A=a, B=b, C=np.zeros_like(a), n=np.int32(n))
    assert np.array_equal(result.output("C"), matmul_reference(a, b))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("kernel", ["spmv", "spmv_scalar"])
def test_sparse_product(arch: str, kernel: str) -> None:
    rng = np.random.default_rng(4)
    rows = 500
    lengths = np.minimum(rng.zipf(1.6, rows) - 1, 300)
    pointers = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    columns = rng.integers(0, rows, pointers[-1]).astype(np.int32)
    values = rng.integers(-9, 9, pointers[-1]).astype(np.float32)
    x = rng.integers(-9, 9, rows).astype(np.float32)
    threads = rows * 32 if kernel == "spmv" else rows
    result = run(
        BASIC, kernel, -(-threads // 128), 128, arch=arch,
        rp=pointers, ci=columns, v=values, x=x, y=np.zeros(rows, np.float32), n=np.int32(rows),
    )  # fmt: skip
    matrix = scipy.sparse.csr_matrix((values, columns, pointers), (rows, rows))
    assert np.array_equal(result.output("y"), matrix @ x)


CONTROL = r"""
extern "C" __global__ void collatz(const int* in, int* steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long x = in[i]; int s = 0;
  while (x != 1) { if (x & 1) x = 3 * x + 1; else x >>= 1; s++; if (s > 500) break; }
  steps[i] = s;
}
extern "C" __global__ void nested(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int x = in[i % n], r = 0;
  for (int a = 0; a < (x & 7); a++) {
    if (a == 3 && (x & 64)) continue;
    for (int b = a; b < ((x >> 3) & 7); b++) {
      if ((x + b) % 5 == 4) { r += 100; goto next; }
      r += a * b + (x & 1);
      if (r > 300) { out[i] = -r; return; }
    }
    r ^= x;
    next: r += 3;
  }
  out[i] = r;
}
extern "C" __global__ void choose(const int* in, int* out, int n) {
  int i = threadIdx.x, r = 0;
  switch (in[i] % 9) {
    case 0: r = 3; break;
    case 1: r = i * 5; break;
    case 2: r = 7; for (int k = 0; k < i; k++) r += k * in[k]; break;
    case 3: r = i ^ 4; break;
    case 4: r = 11;
    case 5: r += 12; break;
    case 6: r = in[63 - i]; break;
    case 7: r = i * i; break;
    default: r = -1;
  }
  out[i] = r;
}
__device__ __noinline__ float curve(float x, const int* p) {
  if (x > 0.5f) return x * p[3];
  return x + p[1];
}
extern "C" __global__ void calls(const float* in, float* out, int n) {
  int i = threadIdx.x, own[8];
  for (int k = 0; k < 8; k++) own[k] = i * k;
  out[i] = curve(in[i], own) + own[(i + n) & 7];
}
struct Pair { float2 a; int n; double d; };
extern "C" __global__ void by_value(Pair p, double* out) {
  out[threadIdx.x] = p.a.x + p.a.y * threadIdx.x + p.n + p.d;
}
"""


def collatz(x: int) -> int:
    s = 0
    while x != 1:
        x = 3 * x + 1 if x & 1 else x >> 1
        s += 1
        if s > 500:
            break
    return s


def nested(x: int) -> int:
    r = 0
    for a in range(x & 7):
        if a == 3 and x & 64:
            continue
        for b in range(a, x >> 3 & 7):
            if (x + b) % 5 == 4:
                r += 100
                break
            r += a * b + (x & 1)
            if r > 300:
                return -r
        else:
            r ^= x
        r += 3
    return r


@pytest.mark.parametrize("arch", ARCHS)
def test_divergent_loops(arch: str) -> None:
    x = np.random.default_rng(5).integers(1, 3000, 300).astype(np.int32)
    result = run(
        CONTROL, "collatz", 3, 128, arch=arch, x=x, steps=np.zeros(300, np.int32), n=np.int32(300)
    )
    assert result.output("steps").tolist() == [collatz(v) for v in x.tolist()]
    result = run(
        CONTROL, "nested", 3, 100, arch=arch, x=x, out=np.zeros(300, np.int32), n=np.int32(300)
    )
    assert result.output("out").tolist() == [nested(v) for v in x.tolist()]


@pytest.mark.parametrize("arch", ARCHS)
def test_switch(arch: str) -> None:
    x = np.random.default_rng(6).integers(0, 100, 64)
    result = run(
        CONTROL,
        "choose",
        1,
        64,
        arch=arch,
        x=x.astype(np.int32),
        out=np.zeros(64, np.int32),
        n=np.int32(0),
    )

    def expected(i: int) -> int:
        cases = [
            3,
            i * 5,
            7 + sum(k * int(x[k]) for k in range(i)),
            i ^ 4,
            23,
            12,
            int(x[63 - i]),
            i * i,
            -1,
        ]
        return cases[int(x[i]) % 9]

    assert result.output("out").tolist() == [expected(i) for i in range(64)]


@pytest.mark.parametrize("arch", ARCHS)
def test_calls_and_local_arrays(arch: str) -> None:
    x = np.random.default_rng(7).random(64).astype(np.float32)
    result = run(
        CONTROL, "calls", 1, 64, arch=arch, x=x, out=np.zeros(64, np.float32), n=np.int32(5)
    )
    i = np.arange(64, dtype=np.float32)
    expected = np.where(x > 0.5, x * (i * 3), x + i) + i * ((np.arange(64) + 5) & 7).astype(
        np.float32
    )
    assert np.array_equal(result.output("out"), expected)


@pytest.mark.parametrize("arch", ARCHS)
def test_struct_by_value(arch: str) -> None:
    layout = np.dtype([("a", np.float32, 2), ("n", np.int32), ("gap", np.int32), ("d", np.float64)])
    p = np.zeros((), layout)
    p["a"], p["n"], p["d"] = (1.5, 2.0), 7, 0.25
    result = run(CONTROL, "by_value", 1, 40, arch=arch, p=p[()], out=np.zeros(40))
    assert np.array_equal(result.output("out"), 1.5 + 2.0 * np.arange(40) + 7.25)


TOGETHER = r"""
extern "C" __global__ void histogram(const unsigned char* d, int n, unsigned* h) {
  __shared__ unsigned s[256];
  s[threadIdx.x] = 0; __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&s[d[i]], 1u);
  __syncthreads();
  atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}
extern "C" __global__ void scan(const int* in, int* out) {
  extern __shared__ int s[];
  int i = threadIdx.x;
  s[i] = in[blockIdx.x * blockDim.x + i]; __syncthreads();
  for (int o = 1; o < blockDim.x; o *= 2) {
    int v = i >= o ? s[i - o] : 0; __syncthreads();
    s[i] += v; __syncthreads();
  }
  out[blockIdx.x * blockDim.x + i] = s[i];
}
extern "C" __global__ void counts(const int* in, int* out) {
  int v = in[threadIdx.x];
  out[threadIdx.x] = __syncthreads_count(v > 3) + 1000 * __syncthreads_and(v > 0)
                   + 10000 * __syncthreads_or(v > 9);
}
extern "C" __global__ void early(int* out) {
  __shared__ int s[96];
  if (threadIdx.x >= 70) return;
  s[threadIdx.x] = threadIdx.x; __syncthreads();
  out[threadIdx.x] = s[69 - threadIdx.x];
}
extern "C" __global__ void queue(const int* in, int* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] % 3 == 0) out[atomicAdd(count, 1)] = in[i];
}
extern "C" __global__ void atomics(const int* in, int* o, unsigned* u, float* f, double* d,
                                   unsigned long long* l) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];
  atomicAdd(&o[0], v); atomicMin(&o[1], v); atomicMax(&o[2], v); atomicXor(&o[3], v);
  atomicOr(&u[0], v & 255); atomicAnd(&u[1], ~(v & 15)); atomicInc(&u[2], 16); atomicDec(&u[3], 9);
  atomicAdd(&f[0], 1.0f); atomicAdd(&d[0], 0.5); atomicAdd(&l[0], (unsigned long long)i << 20);
  if (i == 5) atomicExch(&o[4], v); if (i == 6) atomicCAS(&o[5], 77, v);
}
"""


@pytest.mark.parametrize("arch", ARCHS)
def test_shared_histogram(arch: str) -> None:
    data = np.random.default_rng(8).integers(0, 256, 20000).astype(np.uint8)
    result = run(
        TOGETHER,
        "histogram",
        7,
        256,
        arch=arch,
        d=data,
        n=np.int32(data.size),
        h=np.zeros(256, np.uint32),
    )
    assert np.array_equal(result.output("h"), np.bincount(data, minlength=256))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("size", [33, 256, 1000])
def test_scan_in_dynamic_shared_memory(arch: str, size: int) -> None:
    x = np.random.default_rng(9).integers(-50, 50, (3, size)).astype(np.int32)
    result = run(TOGETHER, "scan", 3, size, arch=arch, shared=4 * size, x=x, out=np.zeros_like(x))
    assert np.array_equal(result.output("out"), x.cumsum(1))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("low", [-3, 1])
def test_counting_barriers(arch: str, low: int) -> None:
    x = np.random.default_rng(10).integers(low, 12, 100).astype(np.int32)
    result = run(TOGETHER, "counts", 1, 100, arch=arch, x=x, out=np.zeros(100, np.int32))
    expected = (x > 3).sum() + 1000 * (x > 0).all() + 10000 * (x > 9).any()
    assert (result.output("out") == expected).all()


def test_threads_that_ended_do_not_hold_up_a_barrier() -> None:
    result = run(TOGETHER, "early", 1, 96, out=np.zeros(96, np.int32))
    assert np.array_equal(result.output("out")[:70], 69 - np.arange(70))


@pytest.mark.parametrize("threads", [1, 2])
def test_atomic_operations(threads: int) -> None:
    n = 512
    x = np.random.default_rng(11).integers(-1000, 1000, n).astype(np.int32)
    o = np.array([0, 1 << 30, -(1 << 30), 0, 0, 77], np.int32)
    u = np.array([0, 0xFFFFFFFF, 0, 0], np.uint32)
    result = run(
        TOGETHER, "atomics", 4, 128, options={"threads": threads}, x=x, o=o, u=u,
        f=np.zeros(1, np.float32), d=np.zeros(1), l=np.zeros(1, np.uint64),
    )  # fmt: skip
    bits = x.view(np.uint32)
    assert result.output("o").tolist() == [
        x.sum(), x.min(), x.max(), np.bitwise_xor.reduce(x), x[5], x[6],
    ]  # fmt: skip
    assert result.output("u").tolist() == [
        np.bitwise_or.reduce(bits & 255),
        np.bitwise_and.reduce(~(bits & 15)),
        n % 17,
        -n % 10,
    ]
    assert result.output("f")[0] == n
    assert result.output("d")[0] == n / 2
    assert result.output("l")[0] == sum(range(n)) << 20


def test_returned_positions_are_a_queue() -> None:
    x = np.random.default_rng(12).integers(0, 1000, 700).astype(np.int32)
    result = run(
        TOGETHER,
        "queue",
        6,
        128,
        x=x,
        out=np.zeros_like(x),
        count=np.zeros(1, np.int32),
        n=np.int32(700),
    )
    wanted = x[x % 3 == 0]
    assert result.output("count")[0] == wanted.size
    assert np.array_equal(result.output("out")[: wanted.size], wanted), "blocks ran in order"


WARP = r"""
extern "C" __global__ void shuffles(const int* in, int* out) {
  int i = threadIdx.x, v = in[i];
  out[i] = __shfl_sync(~0u, v, i * 7);
  out[32 + i] = __shfl_up_sync(~0u, v, 3);
  out[64 + i] = __shfl_down_sync(~0u, v, 5, 16);
  out[96 + i] = __shfl_xor_sync(~0u, v, 9);
  out[128 + i] = __shfl_sync(~0u, v, i + 1, 8);
}
extern "C" __global__ void votes(const int* in, unsigned* out) {
  int i = threadIdx.x, v = in[i];
  out[i] = __ballot_sync(~0u, v > 5);
  out[32 + i] = __any_sync(~0u, v == 99) + 2 * __all_sync(~0u, v >= 0) + 4 * __popc(__activemask());
  out[64 + i] = __match_any_sync(~0u, v);
  int same; out[96 + i] = __match_all_sync(~0u, v >= 0, &same) + same;
  out[128 + i] = v > 5 ? __activemask() : 0;
  out[160 + i] = __reduce_add_sync(~0u, v);
  out[192 + i] = __reduce_max_sync(~0u, v);
  unsigned lt; asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt)); out[224 + i] = lt;
}
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_120"])
def test_warp_functions(arch: str) -> None:
    v = np.random.default_rng(13).integers(0, 12, 32)
    i = np.arange(32)
    result = run(
        WARP, "shuffles", 1, 32, arch=arch, x=v.astype(np.int32), out=np.zeros(160, np.int32)
    )
    down = np.where(i % 16 + 5 < 16, i + 5, i)
    expected = [
        v[i * 7 % 32],
        v[np.where(i < 3, i, i - 3)],
        v[down % 32],
        v[i ^ 9],
        v[i // 8 * 8 + (i + 1) % 8],
    ]
    assert np.array_equal(result.output("out"), np.concatenate(expected))
    result = run(
        WARP, "votes", 1, 32, arch=arch, x=v.astype(np.int32), out=np.zeros(256, np.uint32)
    )
    got = result.output("out").reshape(8, 32)
    ballot = int(sum(1 << k for k in range(32) if v[k] > 5))
    assert (got[0] == ballot).all()
    assert (got[1] == 2 * int((v >= 0).all()) + 4 * 32).all()
    assert got[2].tolist() == [sum(1 << k for k in range(32) if v[k] == v[j]) for j in range(32)]
    assert (got[3] == 0).all(), "all lanes (2**32 - 1) and one more"
    assert np.array_equal(got[4], np.where(v > 5, ballot, 0))
    assert (got[5] == v.sum()).all()
    assert (got[6] == v.max()).all()
    assert got[7].tolist() == [(1 << k) - 1 for k in range(32)]


SPACES = r"""
__constant__ float K[9];
__constant__ int filled[4] = {5, 6, 7, 8};
__device__ float table[3] = {0.5f, 1.5f, 2.5f};
extern "C" __global__ void spaces(cudaTextureObject_t t, float* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = tex1Dfetch<float>(t, i - 1) + K[i % 9] + filled[i & 3] + table[i % 3];
}
extern "C" __global__ void wide(cudaTextureObject_t t, float* o) {
  float4 q = tex1Dfetch<float4>(t, threadIdx.x);
  o[threadIdx.x] = q.x + 10 * q.y + 100 * q.z + 1000 * q.w;
}
extern "C" __global__ void generic(int* o, int which) {
  __shared__ int s[32]; int own[4];
  s[threadIdx.x] = threadIdx.x;
  for (int k = 0; k < 4; k++) own[k] = 100 * threadIdx.x + k;
  int* p = which == 0 ? s : which == 1 ? own : o + 32;
  if ((threadIdx.x ^ which) & 8) p = o + 32;
  o[threadIdx.x] = p[threadIdx.x & 3];
}
extern "C" __global__ void vectors(const float4* in, float2* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float4 v = in[i]; out[i] = make_float2(v.x * v.y, v.z - v.w); }
}
extern "C" __global__ void bytes(const unsigned char* in, const short* w,
                                 unsigned char* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[n - 1 - i] = in[i * 3] + w[i];
}
"""


@pytest.mark.parametrize("arch", ARCHS)
def test_textures_constants_and_module_variables(arch: str) -> None:
    data = np.arange(100, dtype=np.float32)
    k = np.arange(9, dtype=np.float32) * 10
    result = run(
        SPACES, "spaces", 4, 64, arch=arch, constants=(("K", k),),
        t=TextureArgument("t", data), o=np.zeros(200, np.float32), n=np.int32(200),
    )  # fmt: skip
    i = np.arange(200)
    read = np.where((i >= 1) & (i < 101), data[np.clip(i - 1, 0, 99)], 0)
    expected = read + k[i % 9] + (5 + (i & 3)) + np.array([0.5, 1.5, 2.5])[i % 3]
    assert np.array_equal(result.output("o"), expected.astype(np.float32))
    assert result.read == {"t", "K", "filled", "table"}
    texels = np.arange(160, dtype=np.float32).reshape(40, 4).view("f4,f4,f4,f4").reshape(40)
    result = run(
        SPACES, "wide", 1, 40, arch=arch, t=TextureArgument("t", texels), o=np.zeros(40, np.float32)
    )
    x = np.arange(160).reshape(40, 4)
    assert np.array_equal(result.output("o"), x @ [1, 10, 100, 1000])


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("which", [0, 1, 2])
def test_pointers_into_any_space(arch: str, which: int) -> None:
    o = np.arange(64, dtype=np.int32) * 7
    result = run(SPACES, "generic", 1, 32, arch=arch, o=o, which=np.int32(which))
    i = np.arange(32)
    own = [i & 3, 100 * i + (i & 3), o[32 + (i & 3)]][which]
    expected = np.where((i ^ which) & 8, o[32 + (i & 3)], own)
    assert np.array_equal(result.output("o")[:32], expected)


@pytest.mark.parametrize("arch", ARCHS)
def test_vector_and_byte_accesses(arch: str) -> None:
    rng = np.random.default_rng(14)
    x = rng.integers(-50, 50, (77, 4)).astype(np.float32)
    result = run(
        SPACES, "vectors", 3, 32, arch=arch, x=x, out=np.zeros((77, 2), np.float32), n=np.int32(77)
    )
    assert np.array_equal(result.output("out"), np.stack([x[:, 0] * x[:, 1], x[:, 2] - x[:, 3]], 1))
    b = rng.integers(0, 256, 300).astype(np.uint8)
    w = rng.integers(-9, 9, 100).astype(np.int16)
    result = run(
        SPACES, "bytes", 4, 32, arch=arch, b=b, w=w, out=np.zeros(100, np.uint8), n=np.int32(100)
    )
    assert np.array_equal(result.output("out")[::-1], (b[::3] + w).astype(np.uint8))


def test_the_same_bits_on_any_number_of_threads() -> None:
    rng = np.random.default_rng(15)
    a, b = rng.standard_normal((2, 40, 40)).astype(np.float32)
    inputs = {"A": a, "B": b, "C": np.zeros_like(a), "n": np.int32(40)}
    results = [
        run(BASIC, "tiled", (3, 3), (16, 16), options={"threads": t}, **inputs) for t in (1, 2)
    ]
    assert results[0].output("C").tobytes() == results[1].output("C").tobytes()
    assert results[0].thread_instructions == results[1].thread_instructions
    assert np.array_equal(results[0].site_executions, results[1].site_executions)


NAMED = r"""
extern "C" __global__ void pipeline(const int* in, int* out, int n) {
  __shared__ int box[2][32];
  int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {                     // one warp produces into two boxes in turn
    for (int k = 0; k < n; k++) {
      if (k > 1) asm volatile("bar.sync %0, 64;" :: "r"(3 + k % 2));   // wait until it is empty
      box[k % 2][lane] = in[k * 32 + lane];
      asm volatile("bar.arrive %0, 64;" :: "r"(1 + k % 2));
    }
  } else {                                    // the other one consumes
    int sum = 0;
    for (int k = 0; k < n; k++) {
      asm volatile("bar.sync %0, 64;" :: "r"(1 + k % 2));
      sum += box[k % 2][lane] * (k + 1);
      if (k + 2 < n) asm volatile("bar.arrive %0, 64;" :: "r"(3 + k % 2));
    }
    out[lane] = sum;
  }
}
extern "C" __global__ void halves(int* out) {
  __shared__ int s[128];
  s[threadIdx.x] = threadIdx.x;
  int half = threadIdx.x / 64;
  asm volatile("barrier.sync %0, 64;" :: "r"(half + 1));
  out[threadIdx.x] = s[half * 64 + 63 - threadIdx.x % 64];
}
extern "C" __global__ void stuck(int* out) {
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;");
  else asm volatile("bar.sync 2, 64;");
  out[threadIdx.x] = 1;
}
"""


COUNTING = """
#define RED(OP, RESULT, NUMBER, THREADS, VALUE) \\
  asm volatile("{.reg .pred p, q; setp.ne.s32 p, %3, 0; barrier.red." #OP ".pred q, %1, %2, p;" \\
               "selp.s32 %0, 1, 0, q;}" \\
               : "=r"(RESULT) : "r"(NUMBER), "r"(THREADS), "r"((int)(VALUE)) : "memory")
#define COUNT(RESULT, NUMBER, THREADS, VALUE) \\
  asm volatile("{.reg .pred p; setp.ne.s32 p, %3, 0; barrier.red.popc.u32 %0, %1, %2, p;}" \\
               : "=r"(RESULT) : "r"(NUMBER), "r"(THREADS), "r"((int)(VALUE)) : "memory")
extern "C" __global__ void teams(const int* x, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, team = threadIdx.x / 64;
  for (int r = 0; r < 3; r++) {
    int some, every, count, whole = 0;
    COUNT(count, team + 1, 64, x[i] > r);          // two barriers at once, one for each team
    RED(or, some, team + 1, 64, x[i] > 8 + r);
    if (team == 0) RED(and, every, 7, 64, x[i] > 0);
    else COUNT(every, 9, 64, x[i] & 1);
    whole = __syncthreads_count(x[i] == r);
    out[i * 3 + r] = count + 100 * some + 1000 * every + 100000 * whole;
  }
}
extern "C" __global__ void handed(const int* x, int* out) {
  // Each warp in turn meets the last one at barrier 3, which arrives only; then it counts alone.
  __shared__ int ready[4];
  int warp = threadIdx.x / 32, count;
  if (warp == 3) {
    for (int w = 0; w < 3; w++) {
      ready[w] = w + 5;
      asm volatile("barrier.arrive %0, 64;" :: "r"(3 + w) : "memory");
    }
    out[threadIdx.x] = 0;
  } else {
    COUNT(count, 3 + warp, 64, x[threadIdx.x] > 4);
    out[threadIdx.x] = count * 100 + ready[warp];
  }
}
extern "C" __global__ void again(const int* x, int* out) {
  // Warps 0 and 1 use the barrier, then warps 2 and 3, before warp 0 has read what it was told.
  int first, second = 0;
  COUNT(first, 1, 64, x[threadIdx.x] > 4);
  if (threadIdx.x >= 64) COUNT(second, 1, 64, x[threadIdx.x] > 6);
  out[threadIdx.x] = first * 100 + second;
}"""


def test_reductions_at_named_barriers() -> None:
    x = np.random.default_rng(17).integers(0, 12, 256).astype(np.int32)
    x[:64] += 1
    result = run(COUNTING, "teams", 2, 128, x=x, out=np.zeros(768, np.int32))
    teams = x.reshape(4, 64)
    expected = np.empty((4, 64, 3), np.int32)
    for r in range(3):
        every = np.where(np.arange(4) % 2, (teams & 1).sum(1), (teams > 0).all(1))
        whole = (x.reshape(2, 128) == r).sum(1).repeat(2)
        value = (teams > r).sum(1) + 100 * (teams > 8 + r).any(1) + 1000 * every + 100000 * whole
        expected[:, :, r] = value[:, None]
    assert np.array_equal(result.output("out"), expected.reshape(-1))


def test_reductions_with_warps_that_only_arrive() -> None:
    x = np.random.default_rng(18).integers(0, 12, 128).astype(np.int32)
    out = run(COUNTING, "handed", 1, 128, x=x, out=np.full(128, -1, np.int32)).output("out")
    counts = (x.reshape(4, 32) > 4).sum(1) * 100 + 5 + np.arange(4)
    assert np.array_equal(out.reshape(4, 32)[:3], counts[:3, None].repeat(32, 1))
    assert not out[96:].any()


def test_a_reduction_is_kept_while_others_use_its_barrier() -> None:
    x = np.random.default_rng(19).integers(0, 12, 128).astype(np.int32)
    out = run(COUNTING, "again", 1, 128, x=x, out=np.zeros(128, np.int32)).output("out")
    halves = x.reshape(2, 64)
    first = (halves > 4).sum(1) * 100
    second = np.array([0, (halves[1] > 6).sum()])
    assert np.array_equal(out, (first + second).repeat(64))


def test_named_barriers() -> None:
    rng = np.random.default_rng(16)
    x = rng.integers(0, 100, (9, 32)).astype(np.int32)
    result = run(NAMED, "pipeline", 1, 64, x=x, out=np.zeros(32, np.int32), n=np.int32(9))
    assert np.array_equal(result.output("out"), np.arange(1, 10) @ x)
    result = run(NAMED, "halves", 3, 128, out=np.zeros(128, np.int32))
    i = np.arange(128)
    assert np.array_equal(result.output("out"), i // 64 * 64 + 63 - i % 64)
    with pytest.raises(ExecutionError, match="never complete"):
        run(NAMED, "stuck", 1, 64, out=np.zeros(64, np.int32))
