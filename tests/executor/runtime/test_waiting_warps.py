"""Warps and blocks that wait for each other outside of barriers; special registers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cuda_run import Collector, compiled, run

from placewise.errors import ExecutionError
from placewise.executor.device_memory.address_space import FIRST_WINDOW
from placewise.executor.translate import lowered

WAITING = r"""
extern "C" __global__ void look_back(const int* x, volatile int* flag, volatile int* total,
                                     int* out) {
  __shared__ int s[128], base;
  int b = blockIdx.x, t = threadIdx.x;
  s[t] = x[b * 128 + t];
  __syncthreads();
  for (int d = 1; d < 128; d *= 2) {
    int v = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  if (t == 0) {  // Waits for the block after it, which does not run before it by itself.
    int before = 0;
    if (b + 1 < gridDim.x) { while (flag[b + 1] == 0); before = total[b + 1]; }
    total[b] = before + s[127];
    __threadfence();
    flag[b] = 1;
    base = before;
  }
  __syncthreads();
  out[b * 128 + t] = base + s[t];
}
extern "C" __global__ void relay(int* order) {
  __shared__ volatile int turn;
  if (threadIdx.x == 0) turn = blockDim.x / 32 - 1;
  __syncthreads();
  int w = threadIdx.x / 32;
  while (turn != w);
  if (threadIdx.x % 32 == 0) {
    order[blockDim.x / 32 - 1 - w] = w;
    __threadfence_block();
    turn = w - 1;
  }
}
extern "C" __global__ void locked(int* lock, volatile int* count) {
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS(lock, 0, 1) != 0);
    __threadfence();
    count[0] = count[0] + 1;
    if (count[0] % 3 == 0) count[1] += 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}
extern "C" __global__ void meeting(unsigned* arrived, int* x, int rounds) {
  unsigned n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < rounds; k++) {
    x[(k + 1) * n + i] = x[k * n + (i + 33) % n] + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(arrived, 1);
      while (atomicAdd(arrived, 0) < (k + 1) * gridDim.x) __nanosleep(100);
    }
    __syncthreads();
  }
}
extern "C" __global__ void polled(int* flag, int* out) {
  if (blockIdx.x == 0) { while (*flag == 0) __threadfence(); out[0] = *flag; }
  else { *flag = 7; }
}
extern "C" __global__ void ordered(unsigned* ticket, int* out) {
  __shared__ unsigned mine;
  if (threadIdx.x == 0) mine = atomicAdd(ticket, 1);
  __syncthreads();
  for (unsigned i = mine; i < 40; i += gridDim.x) out[i] = i;
}
extern "C" __global__ void summed(unsigned long long* total, const double* x) {
  unsigned long long old = *total, seen;
  do {
    seen = old;
    double next = __longlong_as_double((long long)seen) + x[threadIdx.x];
    old = atomicCAS(total, seen, (unsigned long long)__double_as_longlong(next));
  } while (seen != old);
}
extern "C" __global__ void insert(int* lock, volatile int* head, volatile int* next,
                                  const int* key, int n, int buckets) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int b = key[i] % buckets;
  while (atomicCAS(&lock[b], 0, 1) != 0);
  __threadfence();
  int before = -1, after = head[b];
  while (after >= 0 && key[after] < key[i]) { before = after; after = next[after]; }
  next[i] = after;
  if (before < 0) head[b] = i; else next[before] = i;
  __threadfence();
  atomicExch(&lock[b], 0);
}
extern "C" __global__ void chain(volatile int* done, int* out) {
  int t = threadIdx.x;
  if (t > 0) while (done[t - 1] == 0);
  if (out[t] > 3) out[t] += out[t - 1]; else out[t] += 2;
  done[t] = 1;
}
extern "C" __global__ void first_lane(volatile int* flag, int* out) {
  __shared__ int s;
  int t = threadIdx.x;
  if (t == 0) { while (flag[0] == 0); s = flag[0]; }
  if (t == 64) flag[0] = 9;
  __syncthreads();
  out[t] = s + __shfl_sync(~0u, t, 3);
}
extern "C" __global__ void stuck(volatile int* flag) { while (*flag == 0); }
extern "C" __global__ void counted(volatile int* flag, int* out) {
  int rounds = 0;
  if (blockIdx.x == 0) while (*flag == 0) rounds++;
  else { __syncthreads(); *flag = 1; }
  out[blockIdx.x * blockDim.x + threadIdx.x] = rounds + __syncthreads_count(threadIdx.x % 3 == 0);
}
"""
i32 = np.int32


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_a_block_waits_for_the_one_after_it(arch: str) -> None:
    x = np.random.default_rng(1).integers(-9, 9, (60, 128), dtype=i32)
    result = run(
        WAITING, "look_back", 60, 128, arch=arch, x=x, flag=np.zeros(60, i32),
        total=np.zeros(60, i32), out=np.zeros((60, 128), i32),
    )  # fmt: skip
    after = np.concatenate([np.cumsum(x.sum(1)[::-1])[::-1][1:], [0]])
    assert np.array_equal(result.output("out"), np.cumsum(x, 1) + after[:, None])


def test_warps_of_a_block_pass_a_baton() -> None:
    result = run(WAITING, "relay", 1, 512, order=np.zeros(16, i32))
    assert result.output("order").tolist() == list(range(15, -1, -1))


def test_a_lock_is_held_by_one_warp_at_a_time() -> None:
    result = run(WAITING, "locked", 40, 256, lock=np.zeros(1, i32), count=np.zeros(2, i32))
    assert result.output("count").tolist() == [320, 106]


def test_lanes_of_a_warp_wait_for_a_lock_that_another_holds() -> None:
    """Sorted lists with a lock each: the critical section has a loop and branches of its own."""
    n, buckets = 300, 5
    key = np.random.default_rng(3).permutation(9 * n)[:n].astype(i32)
    result = run(
        WAITING, "insert", 3, 128, lock=np.zeros(buckets, i32), head=np.full(buckets, -1, i32),
        next=np.full(n, -7, i32), key=key, n=i32(n), buckets=i32(buckets),
    )  # fmt: skip
    head, following = result.output("head"), result.output("next")
    for bucket in range(buckets):
        found, at = [], int(head[bucket])
        while at >= 0:
            found.append(int(key[at]))
            at = int(following[at])
        assert found == sorted(k for k in key.tolist() if k % buckets == bucket)


def test_each_lane_waits_for_the_one_before() -> None:
    out = run(WAITING, "chain", 1, 64, done=np.zeros(64, i32), out=np.arange(64, dtype=i32))
    expected = [2, 3, 4, 5]
    for t in range(4, 64):
        expected.append(t + expected[-1])
    assert out.output("out").tolist() == expected


def test_lanes_that_do_not_wait_stop_where_the_warp_meets() -> None:
    out = run(WAITING, "first_lane", 1, 96, flag=np.zeros(1, i32), out=np.zeros(96, i32))
    assert np.array_equal(out.output("out"), 9 + 32 * (np.arange(96) // 32) + 3)


def test_a_grid_meets_at_its_own_barrier() -> None:
    n = 50 * 64
    result = run(
        WAITING, "meeting", 50, 64, arrived=np.zeros(1, np.uint32),
        x=np.tile(np.arange(n, dtype=i32), 6), rounds=i32(5),
    )  # fmt: skip
    last = result.output("x").reshape(6, n)[5]
    assert np.array_equal(last, (np.arange(n) + 5 * 33) % n + 5)


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_cooperative_groups_synchronise_a_grid(arch: str) -> None:
    source = r"""
    #include <cooperative_groups.h>
    extern "C" __global__ void k(int* x, int rounds) {
      auto grid = cooperative_groups::this_grid();
      unsigned n = grid.size(), i = grid.thread_rank();
      for (int k = 0; k < rounds; k++) {
        x[(k + 1) * n + i] = x[k * n + (i + 33) % n] + 1;
        grid.sync();
      }
    }"""
    n = 30 * 96
    x = np.tile(np.arange(n, dtype=i32), 5)
    result = run(source, "k", (5, 3, 2), (32, 3, 1), arch=arch, x=x, rounds=i32(4))
    last = result.output("x").reshape(5, n)[4]
    assert np.array_equal(last, (np.arange(n) + 4 * 33) % n + 4)


def test_polling_without_volatile() -> None:
    result = run(WAITING, "polled", 2, 1, flag=np.zeros(1, i32), out=np.zeros(1, i32))
    assert result.output("out")[0] == 7


def test_the_order_does_not_depend_on_chance() -> None:
    traces = []
    for _ in range(2):
        collector = Collector()
        run(
            WAITING, "look_back", 12, 128, options={"consumer": collector},
            x=np.ones(12 * 128, i32), flag=np.zeros(12, i32), total=np.zeros(12, i32),
            out=np.zeros(12 * 128, i32),
        )  # fmt: skip
        traces.append(collector.accesses)
    assert traces[0] == traces[1]
    blocks = [block for _, block, *_ in traces[0]]
    assert blocks != sorted(blocks), "the first block waits for the others"


def test_blocks_that_wait_keep_barriers_registers_and_reductions() -> None:
    result = run(WAITING, "counted", 9, 96, flag=np.zeros(1, i32), out=np.zeros(9 * 96, i32))
    out = result.output("out").reshape(9, 96)
    assert (out[1:] == 32).all()
    assert (out[0] > 32).all()


@pytest.mark.parametrize(
    ("kernel", "waits"),
    [
        ("look_back", True), ("relay", True), ("locked", True), ("meeting", True),
        ("polled", True), ("stuck", True), ("ordered", False), ("summed", False),
    ],
)  # fmt: skip
def test_only_loops_that_wait_are_taken_for_such(kernel: str, waits: bool) -> None:
    program = lowered(compiled(WAITING, kernel), FIRST_WINDOW)
    assert bool(program.waiting) == waits


def test_subroutines_of_machine_code_do_not_wait() -> None:
    """Square roots and divisions call subroutines, whose returns go to a trap if they know no such
    address. The loop writes nothing and has loads from one address, and the register of a return
    address is used again for values made from them."""
    source = """
    __device__ float speed(float a, float b, float c) { return sqrtf(a * a / b + c / b); }
    extern "C" __global__ void flux(const float* x, const float* far, const int* which, float* out,
                                    int n) {
      int i = threadIdx.x;
      float here = speed(x[i], x[i + n], x[i + 2 * n]), sum = 0;
      #pragma unroll 1
      for (int face = 0; face < 4; face++) {
        int w = which[i + face * n];
        if (w >= 0) sum += here * speed(x[w], x[w + n], x[w + 2 * n]);
        else if (w == -2) sum += here / speed(far[0], far[1], far[2]);
      }
      out[i] = sum;
    }"""
    kernel = replace(compiled(source, "flux", arch="sm_80"), machine_code=True)
    assert not lowered(kernel, FIRST_WINDOW).waiting


def test_trying_again_is_no_waiting() -> None:
    x = np.arange(256.0)
    result = run(WAITING, "summed", 1, 256, total=np.zeros(1, np.uint64), x=x)
    assert result.output("total").view(np.float64)[0] == x.sum()
    result = run(WAITING, "ordered", 7, 32, ticket=np.zeros(1, np.uint32), out=np.zeros(40, i32))
    assert result.output("out").tolist() == list(range(40))


def test_a_wait_without_end_is_an_error() -> None:
    with pytest.raises(ExecutionError, match="wait for each other, and none gets on") as caught:
        run(WAITING, "stuck", 3, 64, flag=np.zeros(1, i32), options={"instruction_limit": 1 << 16})
    line = 1 + WAITING[: WAITING.index("void stuck")].count("\n")
    assert str(caught.value).startswith(f"test.cu:{line}: ") or f":{line}: " in str(caught.value)


REGISTERS = r"""
extern "C" __global__ void registers(unsigned* o) {
  extern __shared__ int dynamic[];
  __shared__ int fixed[5];
  unsigned v[14];
  if (threadIdx.x == 99) fixed[dynamic[0]] = 1;
#define READ(n, name) asm volatile("mov.u32 %0, %" name ";" : "=r"(v[n]))
  READ(0, "%smid"); READ(1, "%nsmid"); READ(2, "%warpid"); READ(3, "%nwarpid");
  READ(4, "%gridid"); READ(5, "%dynamic_smem_size"); READ(6, "%total_smem_size");
  READ(7, "%envreg3"); READ(8, "%laneid"); READ(9, "%lanemask_lt"); READ(10, "%clock");
  READ(11, "%clock"); READ(12, "%nctaid.w"); READ(13, "%pm0");
  for (int k = 0; k < 14; k++) o[threadIdx.x * 14 + k] = v[k] + fixed[0];
}
extern "C" __global__ void clocks(long long* o) {
  unsigned long long a = clock64(), t, u;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  unsigned long long b = clock64();
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(u));
  while (clock64() - a < 1000);
  o[0] = a < b; o[1] = t < u; o[2] = clock64() - a;
}
"""


def test_special_registers() -> None:
    result = run(REGISTERS, "registers", 2, 64, shared=48, o=np.zeros((64, 14), np.uint32))
    o = result.output("o").astype(np.int64)
    thread = np.arange(64)
    assert (o[:, 0] < o[:, 1]).all()
    assert np.array_equal(o[:, 2], thread // 32)
    assert (o[:, 3] == 2).all()
    assert (o[:, 5] == 48).all()
    assert (o[:, 6] >= 68).all()
    assert np.array_equal(o[:, 8], thread % 32)
    assert np.array_equal(o[:, 9], (1 << thread % 32) - 1)
    assert (o[:, 11] > o[:, 10]).all()
    assert (o[:, [4, 7, 12, 13]] == 0).all()
    clocks = run(REGISTERS, "clocks", 1, 1, o=np.zeros(3, np.int64)).output("o")
    assert clocks[:2].tolist() == [1, 1]
    assert clocks[2] >= 1000
