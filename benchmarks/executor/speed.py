"""Speed of one core, untraced and traced into a consumer that reads all of the trace.

The consumer is a loop compiled by Numba that folds every column of every record, and every active
lane's offset of a row, into one number. It runs in the caller's thread, on a core of its own where
there is one, while the kernel runs on.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.executor.kernels import Job
from placewise.execute import Execution, Site, TraceChunk, execute

RUNS = 5


@njit(nogil=True, cache=True)
def _fold(
    site: NDArray[np.int32],
    block: NDArray[np.int32],
    warp: NDArray[np.int32],
    phase: NDArray[np.int32],
    mask: NDArray[np.uint32],
    array: NDArray[np.int32],
    base: NDArray[np.int64],
    upper: NDArray[np.int64],
    stride: NDArray[np.int32],
    row: NDArray[np.int32],
    offsets: NDArray[np.int32],
) -> int:
    total = np.int64(0)
    for i in range(site.size):
        total += site[i] ^ block[i] ^ warp[i] ^ phase[i] ^ np.int64(mask[i])
        total += array[i] ^ base[i] ^ upper[i] ^ stride[i]
        if row[i] >= 0:
            left, at = mask[i], row[i]
            while left != 0:
                left &= left - np.uint32(1)
                total ^= offsets[at]
                at += 1
    return total


class Folding:
    """The consumer."""

    def __init__(self) -> None:
        self.folded = 0
        self.records = 0

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """Start of a run."""

    def chunk(self, chunk: TraceChunk) -> None:
        """Fold one chunk."""
        self.folded ^= _fold(
            chunk.site,
            chunk.block,
            chunk.warp,
            chunk.phase,
            chunk.mask,
            chunk.array,
            chunk.base,
            chunk.upper,
            chunk.stride,
            chunk.row,
            chunk.offsets,
        )
        self.records += len(chunk)


@dataclass(frozen=True)
class Speed:
    """Medians over runs of one kernel on one core."""

    threads_per_second: float
    """Thread-instructions, untraced."""
    accesses_per_second: float
    """Warp accesses to memory, traced."""
    overhead: float
    """Time that tracing adds, over the untraced time."""


def once(job: Job, consumer: Folding | None = None, threads: int = 1) -> Execution:
    """One run."""
    return execute(job.kernel, job.launch, job.inputs, consumer=consumer, threads=threads)


def settle(job: Job, *, traced: bool) -> float:
    """Run until the code is optimised; returns the seconds that took (at most 60)."""
    start = time.perf_counter()
    while time.perf_counter() - start < 60:
        if once(job, Folding() if traced else None).optimised:
            break
    return time.perf_counter() - start


def speed(job: Job) -> Speed:
    """Measure, plain and traced runs in turn."""
    settle(job, traced=False)
    settle(job, traced=True)
    plain, traced, overhead = [], [], []
    for _ in range(RUNS):
        without = once(job)
        consumer = Folding()
        with_trace = once(job, consumer)
        plain.append(without.thread_instructions / without.seconds)
        traced.append(consumer.records / with_trace.seconds)
        overhead.append(with_trace.seconds / without.seconds - 1)
    return Speed(*(statistics.median(x) for x in (plain, traced, overhead)))


@njit(cache=True)
def _chain(steps: int, x: int) -> int:
    for _ in range(steps):
        x = (x ^ (x >> 7)) * 6364136223846793005
    return x


def reference_step() -> float:
    """Nanoseconds of ``x = (x ^ (x >> 7)) * a``, each step needing the one before: five cycles of
    any x86 processor since 2008 (a multiplication takes three, the others one each)."""
    _chain(10, 1)
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        _chain(20_000_000, 1)
        times.append((time.perf_counter() - start) / 20_000_000 * 1e9)
    return statistics.median(times)
