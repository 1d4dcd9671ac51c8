"""Loops whose last lanes run in narrow vectors or one by one, against NumPy and against the same
loop written out in Python. The code is optimised from the start, for code made quickly has no such
version."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from cuda_run import Collector, run

from placewise.errors import ExecutionError
from placewise.executor import translate
from placewise.executor.codegen.backend.processor import Processor
from placewise.executor.codegen.loops import loop_8_lanes, loop_lane_serial
from placewise.executor.codegen.module import compile_program
from placewise.executor.codegen.state import Options
from placewise.executor.device_memory import device_memory

SOURCE = r"""
#include <cuda_fp16.h>
struct Pair { int a, b; };
extern "C" __global__ void sums(const int *start, const int *end, const int *at, const int *x,
                                int *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = 0;
    #pragma unroll 1
    for (int k = start[i]; k < end[i]; ++k) sum += x[at[k]] + k;
    y[i] = sum;
}
extern "C" __global__ void widths(const int *count, const double *d, const Pair *p, const __half *h,
                                  const signed char *c, const int4 *q, double *y) {
    __shared__ int s[64];
    int i = threadIdx.x;
    s[i] = i * i;
    __syncthreads();
    double sum = 0;
    #pragma unroll 1
    for (int k = 0; k < count[i]; ++k) {
        int4 v = q[(i + k) % 64];
        int2 w = ((const int2 *)p)[(i * 3 + k) % 64];
        sum += d[(i * 5 + k) % 64] + w.x * w.y + __half2float(h[(i + 7 * k) % 64])
             + c[(i + 11 * k) % 64] + v.x - v.y + v.z / (v.w | 1) + s[(i * k) % 64];
    }
    y[i] = sum;
}
extern "C" __global__ void either(const int *a, const int *b, const int *count, int *y) {
    int i = threadIdx.x, sum = 0;
    #pragma unroll 1
    for (int k = 0; k < count[i]; ++k) sum += ((i * k) & 1 ? a : b)[k + i];
    y[i] = sum;
}
extern "C" __global__ void triples(const int *start, const int *count, const int *x, int *y) {
    int i = threadIdx.x, sum = 0;
    const int *p = x + start[i];
    #pragma unroll 1
    for (int k = count[i]; k > 0; --k, p += 3) sum += p[2] - 5 * p[0] + 3 * p[-1];
    y[i] = sum;
}
extern "C" __global__ void ends(const int *x, int *found) {
    int i = threadIdx.x, k = i;
    #pragma unroll 1
    while (x[k] > 0) k = x[k];
    if (k == 1) found[i] = 1;
}
"""
LONG = 1 << 20


@pytest.fixture(
    autouse=True, params=["this processor", "AVX2", "quick gathers", "quick gathers, AVX2"]
)
def optimised(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[list[int]]:
    """Optimised code at once, of several processors; the blocks that got versions for few lanes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(translate, "compile_program", partial(compile_program, quick_first=False))
    features = llvm.get_host_cpu_features().flatten().split(",")
    name = llvm.get_host_cpu_name()
    if "AVX2" in request.param:
        features = [f"-{x[1:]}" if "avx512" in x else x for x in features]
    if "quick gathers" in request.param:
        name = "haswell" if "+avx512f" not in features else "skylake-avx512"
    processor = Processor(name, tuple(features))
    monkeypatch.setattr(translate, "Options", partial(Options, processor=processor))
    blocks: list[int] = []
    for module in (loop_8_lanes, loop_lane_serial):

        def emit(s, block, wanted, plain=module.emit):  # type: ignore[no-untyped-def]
            blocks.append(block.number)
            plain(s, block, wanted)

        monkeypatch.setattr(module, "emit", emit)
    translate.translate.cache_clear()
    yield blocks
    translate.translate.cache_clear()


def rows(n: int) -> dict[str, np.ndarray]:
    """Rows of 0 to 60 elements, most of them short."""
    rng = np.random.default_rng(7)
    lengths = np.minimum(rng.zipf(1.4, n), 60) - 1
    end = np.cumsum(lengths)
    values = rng.integers(-LONG, LONG, n)
    at = rng.integers(0, n, end[-1])
    given = {"start": end - lengths, "end": end, "at": at, "x": values}
    return {name: a.astype(np.int32) for name, a in given.items()}


def test_sums_of_rows_of_many_lengths(optimised: list[int]) -> None:
    n = 1000
    given = rows(n)
    done = run(SOURCE, "sums", 8, 128, **given, y=np.zeros(n, np.int32), n=np.int32(n))
    expected = [
        (given["x"][given["at"][s:e]].astype(np.int64) + np.arange(s, e)).sum()
        for s, e in zip(given["start"], given["end"], strict=True)
    ]
    np.testing.assert_array_equal(done.output("y"), np.array(expected).astype(np.int32))
    assert len(set(optimised)) == 1
    # Each warp goes round as often as its longest row, each thread as often as its own.
    lengths = np.zeros(1024, int)
    lengths[:n] = given["end"] - given["start"]
    warps = lengths.reshape(-1, 32).max(axis=1).sum()
    assert tuple(done.block_executions[optimised[0]]) == (warps, lengths.sum())


@pytest.mark.parametrize("large", [False, True], ids=["offsets of 32 bits", "of 64 bits"])
def test_accesses_of_such_a_loop(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if large:
        monkeypatch.setattr(device_memory, "LARGE", 1)
    n = 96
    given = rows(n)
    trace = Collector()
    run(
        SOURCE, "sums", 1, n, options={"consumer": trace}, **given,
        y=np.zeros(n, np.int32), n=np.int32(n),
    )  # fmt: skip
    expected = []
    for warp in range(3):
        lanes = np.arange(32 * warp, 32 * warp + 32)
        k = given["start"][lanes].copy()
        while (k < given["end"][lanes]).any():
            active = k < given["end"][lanes]
            for name, index in (("at", k), ("x", given["at"][np.minimum(k, len(given["at"]) - 1)])):
                offsets = [4 * int(i) if on else None for i, on in zip(index, active, strict=True)]
                expected.append((warp, name, tuple(offsets)))
            k += active
    found = [
        (warp, trace.arrays[array], offsets)
        for _, _, warp, _, array, offsets in trace.accesses
        if array >= 0 and trace.arrays[array] in ("at", "x")
    ]
    assert found == expected


def test_neighbours_in_such_a_loop() -> None:
    rng = np.random.default_rng(3)
    count = np.minimum(rng.zipf(1.3, 64), 70).astype(np.int32)
    start = rng.integers(1, 40, 64).astype(np.int32)
    x = rng.integers(-99, 99, 300).astype(np.int32)
    trace = Collector()
    done = run(
        SOURCE, "triples", 1, 64, start=start, count=count, x=x, y=np.zeros(64, np.int32),
        options={"consumer": trace},
    )  # fmt: skip
    expected = []
    for i in range(64):
        p = start[i] + 3 * np.arange(count[i])
        expected.append(int((x[p + 2] - 5 * x[p] + 3 * x[p - 1]).sum()))
    np.testing.assert_array_equal(done.output("y"), expected)
    rows = []
    for warp in range(2):
        lanes = np.arange(32 * warp, 32 * warp + 32)
        for k in range(count[lanes].max()):
            for step in (2, 0, -1):
                p = 4 * (start[lanes] + 3 * k + step)
                rows.append(
                    tuple(int(a) if k < c else None for a, c in zip(p, count[lanes], strict=True))
                )
    found = [row for _, _, row in trace.of("x", "load")]
    assert sorted(found, key=str) == sorted(rows, key=str)


def test_elements_of_every_width(optimised: list[int]) -> None:
    rng = np.random.default_rng(9)
    count = np.minimum(rng.zipf(1.3, 64) - 1, 90).astype(np.int32)
    d = rng.integers(-99, 99, 64).astype(np.float64)
    p = rng.integers(-99, 99, (64, 2)).astype(np.int32)
    h = rng.integers(-99, 99, 64).astype(np.float16)
    c = rng.integers(-99, 99, 64).astype(np.int8)
    q = rng.integers(-99, 99, (64, 4)).astype(np.int32)
    done = run(
        SOURCE, "widths", 1, 64, count=count, d=d, p=p.reshape(-1), h=h, c=c, q=q.reshape(-1),
        y=np.zeros(64),
    )  # fmt: skip
    expected = np.zeros(64)
    for i in range(64):
        for k in range(count[i]):
            x, y, z, w = (int(v) for v in q[(i + k) % 64])
            quotient = int(np.trunc(z / (w | 1)))
            a, b = (int(v) for v in p[(i * 3 + k) % 64])
            expected[i] += d[(i * 5 + k) % 64] + a * b + float(h[(i + 7 * k) % 64])
            expected[i] += int(c[(i + 11 * k) % 64]) + x - y + quotient + ((i * k) % 64) ** 2
    np.testing.assert_array_equal(done.output("y"), expected)
    assert optimised


def test_lanes_that_end_with_the_loop() -> None:
    # Chains down to 0 or -1, so that lanes leave after 0 to 63 turns.
    x = np.arange(-1, 63, dtype=np.int32)
    x[0], x[33] = 0, -1
    done = run(SOURCE, "ends", 1, 64, x=x, found=np.zeros(64, np.int32))
    expected = (np.arange(64) > 0) & (np.arange(64) < 33)
    np.testing.assert_array_equal(done.output("found"), expected)


def test_lanes_in_different_arrays() -> None:
    rng = np.random.default_rng(11)
    count = np.minimum(rng.zipf(1.3, 64) - 1, 90).astype(np.int32)
    a, b = (rng.integers(-99, 99, 160).astype(np.int32) for _ in range(2))
    trace = Collector()
    done = run(
        SOURCE, "either", 1, 64, a=a, b=b, count=count, y=np.zeros(64, np.int32),
        options={"consumer": trace},
    )  # fmt: skip
    turns = [(i, k) for i in range(64) for k in range(count[i])]
    expected = np.zeros(64, int)
    for i, k in turns:
        expected[i] += (a if i * k & 1 else b)[k + i]
    np.testing.assert_array_equal(done.output("y"), expected)
    for name, odd in (("a", 1), ("b", 0)):
        read = [o for _, _, row in trace.of(name, "load") for o in row if o is not None]
        assert sorted(read) == sorted(4 * (k + i) for i, k in turns if i * k & 1 == odd)


def test_an_access_out_of_bounds_names_its_lane() -> None:
    given = rows(64)
    given["end"][:] = given["start"]
    given["start"][37], given["end"][37] = 0, 9
    given["at"][5] = 5000
    with pytest.raises(ExecutionError) as caught:
        run(SOURCE, "sums", 1, 64, **given, y=np.zeros(64, np.int32), n=np.int32(64))
    message = str(caught.value)
    assert "'x'" in message
    assert "(37, 0, 0)" in message
