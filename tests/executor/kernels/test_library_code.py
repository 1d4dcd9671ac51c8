"""Kernels built on CUDA's own libraries: mathematics, CUB, cooperative groups, half precision."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import scipy.special
from cuda_run import arguments, compiled, run

from placewise.executor import Execution, execute
from placewise.kernel.launch import Inputs, Launch

ARCHS = ["sm_80", "sm_120"]

LIBRARIES = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;
extern "C" __global__ void reduce(const int* a, int* o) {
  typedef cub::BlockReduce<int, 128> B;
  __shared__ typename B::TempStorage t;
  int s = B(t).Sum(a[blockIdx.x * 128 + threadIdx.x]);
  if (threadIdx.x == 0) o[blockIdx.x] = s;
}
extern "C" __global__ void scan(const int* a, int* o) {
  typedef cub::BlockScan<int, 128> B;
  __shared__ typename B::TempStorage t;
  int v, i = blockIdx.x * 128 + threadIdx.x;
  B(t).ExclusiveSum(a[i], v);
  o[i] = v;
}
extern "C" __global__ void sort(const int* a, int* o) {
  typedef cub::BlockRadixSort<int, 128, 4> B;
  __shared__ typename B::TempStorage t;
  int v[4];
  for (int i = 0; i < 4; i++) v[i] = a[threadIdx.x * 4 + i];
  B(t).Sort(v);
  for (int i = 0; i < 4; i++) o[threadIdx.x * 4 + i] = v[i];
}
extern "C" __global__ void groups(const int* a, int* o) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  int i = block.thread_rank();
  o[i] = cg::reduce(warp, a[i], cg::plus<int>());
  block.sync();
  auto tile = cg::tiled_partition<8>(warp);
  o[128 + i] = cg::reduce(tile, a[i], cg::greater<int>());
  o[256 + i] = cg::exclusive_scan(warp, a[i]);
  o[384 + i] = 0;
  if (a[i] & 1) {
    auto some = cg::coalesced_threads();
    o[384 + i] = some.thread_rank() * 1000 + some.size() * 10 + (some.shfl(a[i], 0) == a[i]);
  }
}
extern "C" __global__ void copies(const float4* a, float4* o, int cut) {
  __shared__ float4 s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &a[threadIdx.x], 16, threadIdx.x < 32 ? 0 : cut);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  o[threadIdx.x] = s[63 - threadIdx.x];
}
"""


@cache
def library(arch: str, entry: str):
    return replace(compiled(LIBRARIES, "reduce", arch), name=entry, entry=entry)


def run_library(arch: str, entry: str, grid: int, block: int, **values: object) -> Execution:
    launch = Launch((grid, 1, 1), (block, 1, 1))
    return execute(library(arch, entry), launch, Inputs(arguments(**values)))


@pytest.mark.parametrize("arch", ARCHS)
def test_cub(arch: str) -> None:
    x = np.random.default_rng(1).integers(-1000, 1000, (4, 128)).astype(np.int32)
    result = run_library(arch, "reduce", 4, 128, a=x, o=np.zeros(4, np.int32))
    assert np.array_equal(result.output("o"), x.sum(1))
    result = run_library(arch, "scan", 4, 128, a=x, o=np.zeros_like(x))
    assert np.array_equal(result.output("o"), x.cumsum(1) - x)
    result = run_library(arch, "sort", 1, 128, a=x.ravel(), o=np.zeros(512, np.int32))
    assert np.array_equal(result.output("o"), np.sort(x.ravel()))


@pytest.mark.parametrize("arch", ARCHS)
def test_cooperative_groups(arch: str) -> None:
    x = np.random.default_rng(2).integers(0, 1000, 128).astype(np.int32)
    result = run_library(arch, "groups", 1, 128, a=x, o=np.zeros(512, np.int32))
    sums, largest, before, odd = result.output("o").reshape(4, 128)
    warps = x.reshape(4, 32)
    assert np.array_equal(sums, np.repeat(warps.sum(1), 32))
    assert np.array_equal(largest, np.repeat(x.reshape(16, 8).max(1), 8))
    assert np.array_equal(before, (warps.cumsum(1) - warps).ravel())
    is_odd = warps & 1
    rank = is_odd.cumsum(1) - is_odd
    size = is_odd.sum(1, keepdims=True)
    first = np.array([w[w & 1 == 1][0] for w in warps])[:, None]
    expected = np.where(is_odd, rank * 1000 + size * 10 + (warps == first), 0)
    assert np.array_equal(odd, expected.ravel())


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("cut", [0, 4, 6, 16])
def test_asynchronous_copies(arch: str, cut: int) -> None:
    """The last ``cut`` bytes of some copies are zeros, and are not read."""
    x = np.random.default_rng(3).random((64, 4)).astype(np.float32)
    given = x if cut == 0 else x.ravel()[: 256 - cut // 4]
    result = run_library(arch, "copies", 1, 64, a=given, o=np.zeros_like(x), cut=np.int32(cut))
    raw = x.view(np.uint8).reshape(64, 16).copy()
    raw[32:, 16 - cut :] = 0
    assert np.array_equal(result.output("o")[::-1].view(np.uint8).reshape(64, 16), raw)


MATHEMATICS = {
    "sinf(x)": np.sin, "cosf(x)": np.cos, "tanf(x)": np.tan, "expf(x)": np.exp,
    "logf(x)": np.log, "powf(x, 1.5f)": lambda x: x**1.5, "tanhf(x)": np.tanh,
    "erff(x)": scipy.special.erf, "cbrtf(x)": np.cbrt, "atan2f(x, 2.f)": lambda x: np.arctan2(x, 2),
    "rsqrtf(x)": lambda x: 1 / np.sqrt(x),
    "hypotf(x, 2.f)": lambda x: np.hypot(x, 2),
    "exp2f(x)": np.exp2, "log10f(x)": np.log10,
    "acosf(x * .03f)": lambda x: np.arccos(x * float(np.float32(.03))),
    "sinhf(x)": np.sinh, "lgammaf(x)": scipy.special.gammaln, "j0f(x)": scipy.special.j0,
    "log1pf(x)": np.log1p, "fmodf(x, 3.f)": lambda x: np.fmod(x, 3),
    "roundf(x)": lambda x: np.floor(x + .5),
    "normcdff(-x)": lambda x: scipy.special.ndtr(-x), "x / 3.f": lambda x: x / 3,
}  # fmt: skip


@pytest.mark.parametrize("arch", ARCHS)
def test_single_precision_mathematics(arch: str) -> None:
    lines = "\n".join(f"o[n * {k} + i] = {text};" for k, text in enumerate(MATHEMATICS))
    source = f"""extern "C" __global__ void m(const float* a, float* o, int n) {{
      int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
      float x = a[i]; {lines} }}"""
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.random(100) * 30, rng.random(100), [0.1, 1.0, 2.0, 9.5]]).astype(
        np.float32
    )
    o = np.zeros((len(MATHEMATICS), x.size), np.float32)
    result = run(source, "m", 4, 64, arch=arch, a=x, o=o, n=np.int32(x.size))
    for (text, reference), got in zip(MATHEMATICS.items(), result.output("o"), strict=True):
        want = reference(x.astype(np.float64))
        # The worst of these functions is stated with 9 units in the last place near zeros of j0
        # an absolute bound (CUDA C++ Programming Guide, mathematical functions).
        assert np.allclose(
            got, want, rtol=2e-6, atol=1e-6 if "j0" in text or "lgamma" in text else 1e-7
        ), text


@pytest.mark.parametrize("arch", ARCHS)
def test_double_precision_mathematics(arch: str) -> None:
    functions = {
        "sin(x)": np.sin, "exp(x)": np.exp, "log(x)": np.log, "pow(x, 1.5)": lambda x: x**1.5,
        "tanh(x)": np.tanh, "erf(x)": scipy.special.erf, "cbrt(x)": np.cbrt,
        "x / 3.0": lambda x: x / 3, "sqrt(x)": np.sqrt, "rsqrt(x)": lambda x: 1 / np.sqrt(x),
        "lgamma(x)": scipy.special.gammaln,
    }  # fmt: skip
    lines = "\n".join(f"o[n * {k} + i] = {text};" for k, text in enumerate(functions))
    source = f"""extern "C" __global__ void m(const double* a, double* o, int n) {{
      int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
      double x = a[i]; {lines} }}"""
    x = np.random.default_rng(5).random(150) * 30
    result = run(
        source, "m", 3, 64, arch=arch, a=x, o=np.zeros((len(functions), 150)), n=np.int32(150)
    )
    for (text, reference), got in zip(functions.items(), result.output("o"), strict=True):
        assert np.allclose(got, reference(x), rtol=1e-14, atol=1e-14), text


HALVES = r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void half_math(const __half* a, __half* o, int n) {
  int i = threadIdx.x;
  o[i] = __hfma(a[i], a[i], a[i + 1]);
  o[n + i] = hsqrt(a[i]);
  o[2 * n + i] = __hmax(a[i], a[i + 1]);
  o[3 * n + i] = __hgt(a[i], a[i + 1]) ? __hneg(a[i]) : hexp(a[i]);
  o[4 * n + i] = a[i] / a[i + 1];
}
extern "C" __global__ void bfloat_math(const __nv_bfloat16* a, float* o, int n) {
  int i = threadIdx.x;
  o[i] = __bfloat162float(__hfma(a[i], a[i], a[i + 1]));
  o[n + i] = __bfloat162float(a[i] * a[i + 1]);
}
extern "C" __global__ void half_atomics(__half2* h, __nv_bfloat16* b, __half* s) {
  atomicAdd(h, __floats2half2_rn(1.f, 0.5f));
  atomicAdd(b, __float2bfloat16(1.f));
  atomicAdd(s, __float2half(0.25f));
}
"""


@pytest.mark.parametrize("arch", ["sm_90", "sm_120"])
def test_half_precision_headers(arch: str) -> None:
    n = 60
    x = (np.random.default_rng(6).random(n + 1) * 4 + 0.1).astype(np.float16)
    result = run(
        HALVES, "half_math", 1, n, arch=arch, a=x, o=np.zeros((5, n), np.float16), n=np.int32(n)
    )
    a, b = x[:-1].astype(np.float64), x[1:].astype(np.float64)
    fused, root, larger, either, quotient = result.output("o")
    assert np.array_equal(fused, (a * a + b).astype(np.float16))
    assert np.array_equal(root, np.sqrt(a).astype(np.float16))
    assert np.array_equal(larger, np.maximum(x[:-1], x[1:]))
    assert np.allclose(either, np.where(a > b, -a, np.exp(a)), rtol=1e-3)
    assert np.allclose(quotient, a / b, rtol=1e-3)
    top = (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    value = (top.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    result = run(
        HALVES, "bfloat_math", 1, n, arch=arch, a=top, o=np.zeros((2, n), np.float32), n=np.int32(n)
    )
    expected = [value[:-1] ** 2 + value[1:], value[:-1] * value[1:]]
    assert np.allclose(result.output("o"), expected, rtol=2**-8)
    inputs = {
        "h": np.zeros(2, np.float16),
        "b": np.zeros(1, np.uint16),
        "s": np.zeros(1, np.float16),
    }
    result = run(HALVES, "half_atomics", 2, 48, arch=arch, **inputs)
    assert result.output("h").tolist() == [96, 48]
    assert result.output("b").view(np.uint16)[0] == np.float32(96).view(np.uint32) >> 16
    assert result.output("s")[0] == 24


IDIOMS = r"""
extern "C" __global__ void locked(int* lock, int* o) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      o[0] = o[0] * 3 % 1009 + 1; __threadfence(); atomicExch(lock, 0); done = true;
    }
  }
}
extern "C" __global__ void locked_then_together(int* lock, int* o) {
  __shared__ int s[64];
  while (atomicCAS(lock, 0, 1) != 0) ;
  o[0] = o[0] * 3 % 1009 + 1;
  __threadfence();
  atomicExch(lock, 0);
  __syncthreads();
  s[threadIdx.x] = o[0];
  __syncthreads();
  o[1 + threadIdx.x] = s[63 - threadIdx.x];
}
__device__ unsigned finished;
extern "C" __global__ void last_block(const float* a, volatile float* part, float* o) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = a[blockIdx.x]; __threadfence();
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float s = 0;
    for (int i = 0; i < gridDim.x; i++) s += part[i];
    o[0] = s;
  }
}
struct S { int a[5]; float b; };
extern "C" __global__ void structs(S s, const S* p, S* o, int k) {
  S q = p[threadIdx.x];
  q.b += s.a[k] + s.b; q.a[k] = threadIdx.x;
  o[threadIdx.x] = q;
}
extern "C" __global__ void hints(const float* a, float* o, volatile int* v) {
  int i = threadIdx.x;
  o[i] = __ldg(a + i) + __ldcg(a + i) + __ldcs(a + i)
       + __ldca(a + i) + __ldlu(a + i) + __ldcv(a + i)
       + v[i];
  __stcg(o + 64 + i, 1.f); __stwt(o + 128 + i, 2.f);
}
extern "C" __global__ void wide(const long long* a, long long* o, int n) {
  int i = threadIdx.x; long long x = a[i], y = a[i + 1];
  o[i] = x / (y | 1) + x % 7 + __mul64hi(x, y)
       + __clzll(x) + __ffsll(x) + (x >> n) + (x << (n + 40));
}
extern "C" __global__ void printing(int* o) { printf("%d\n", o[threadIdx.x]); o[threadIdx.x] = 5; }
extern "C" __global__ void dynamic_index(const float* a, float* o, int n) {
  float v[16];
  for (int i = 0; i < 16; i++) v[i] = a[16 * threadIdx.x + i];
  for (int i = 1; i < 16; i++) {
    float x = v[i]; int j = i - 1;
    while (j >= 0 && v[j] > x) { v[j + 1] = v[j]; j--; }
    v[j + 1] = x;
  }
  for (int i = 0; i < 16; i++) o[16 * threadIdx.x + i] = v[i];
}
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_120"])
def test_idioms(arch: str) -> None:
    result = run(
        IDIOMS, "locked", 3, 64, arch=arch, lock=np.zeros(1, np.int32), o=np.ones(1, np.int32)
    )
    x = 1
    for _ in range(192):
        x = x * 3 % 1009 + 1
    assert result.output("o")[0] == x
    a = np.arange(50, dtype=np.float32)
    result = run(
        IDIOMS,
        "last_block",
        50,
        32,
        arch=arch,
        a=a,
        part=np.zeros(50, np.float32),
        o=np.zeros(1, np.float32),
    )
    assert result.output("o")[0] == a.sum()
    layout = np.dtype([("a", np.int32, 5), ("b", np.float32)])
    p = np.zeros(40, layout)
    p["a"] = np.arange(200).reshape(40, 5)
    p["b"] = np.arange(40)
    s = np.zeros((), layout)
    s["a"], s["b"] = [1, 2, 3, 4, 5], 0.5
    result = run(
        IDIOMS, "structs", 1, 40, arch=arch, s=s[()], p=p, o=np.zeros_like(p), k=np.int32(3)
    )
    expected = p.copy()
    expected["b"] += 4.5
    expected["a"][:, 3] = np.arange(40)
    assert np.array_equal(result.output("o"), expected)
    v = np.arange(64, dtype=np.int32)
    result = run(
        IDIOMS,
        "hints",
        1,
        64,
        arch=arch,
        a=np.ones(64, np.float32),
        o=np.zeros(192, np.float32),
        v=v,
    )
    assert np.array_equal(
        result.output("o"), np.concatenate([6.0 + v, np.ones(64), np.full(64, 2)])
    )
    result = run(IDIOMS, "printing", 1, 32, arch=arch, o=np.zeros(32, np.int32))
    assert (result.output("o") == 5).all()
    rng = np.random.default_rng(7)
    rows = rng.random((64, 16)).astype(np.float32)
    result = run(
        IDIOMS, "dynamic_index", 1, 64, arch=arch, a=rows, o=np.zeros_like(rows), n=np.int32(0)
    )
    assert np.array_equal(result.output("o"), np.sort(rows, 1))


@pytest.mark.parametrize("arch", ["sm_75", "sm_120"])
def test_64_bit_integers_in_cuda(arch: str) -> None:
    rng = np.random.default_rng(8)
    x = rng.integers(-(1 << 62), 1 << 62, 65)
    x[:8] = [0, 1, -1, 7, -(1 << 63), (1 << 63) - 1, 3, -5]
    result = run(IDIOMS, "wide", 1, 64, arch=arch, a=x, o=np.zeros(64, np.int64), n=np.int32(13))

    def expected(a: int, b: int) -> int:
        d = b | 1
        quotient = abs(a) // abs(d) * (1 if (a < 0) == (d < 0) else -1)
        rest = abs(a) % 7 * (1 if a >= 0 else -1)
        bits = a % (1 << 64)
        leading = 64 - bits.bit_length()
        first = (bits & -bits).bit_length()
        total = quotient + rest + (a * b >> 64) + leading + first + (a >> 13) + (a << 53)
        total %= 1 << 64
        return total - (1 << 64) if total >> 63 else total

    assert result.output("o").tolist() == [expected(int(a), int(b)) for a, b in pairwise(x)]
