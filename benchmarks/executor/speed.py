"""Speed of one core, untraced and traced into a consumer that reads all of the trace.

The consumer is a function compiled by Numba that folds every word of every record, of every run and
of every lane's offset into one number. The worker itself calls it, on the same core, so what it
costs is part of the overhead.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import carray, cfunc, njit, types
from numpy.typing import NDArray

from benchmarks.executor.kernels import Job
from placewise.executor import Execution, Site, Taker, execute

RUNS = 25

_LONG, _INT = types.CPointer(types.int64), types.CPointer(types.int32)


@cfunc(types.int64(_LONG, _LONG, types.int64, _LONG, types.int64, _INT, types.int64), cache=True)
def _fold(state: Any, records: Any, n: int, runs: Any, n_runs: int, offsets: Any, m: int) -> int:
    """Fold a chunk into ``state[0]`` and count its records in ``state[1]``."""
    total, few = np.int64(0), np.int32(0)
    for word in carray(records, (4 * n,)):
        total ^= word
    for word in carray(runs, (2 * n_runs,)):
        total ^= word
    for offset in carray(offsets, (m,)):
        few ^= offset
    kept = carray(state, (2,))
    kept[0] ^= total ^ few
    kept[1] += n
    return 0


@dataclass
class Folding:
    """The consumer."""

    parallel: bool = False
    state: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, np.int64))

    def begin_taking(
        self, sites: tuple[Site, ...], arrays: tuple[str, ...], windows: NDArray[np.int32]
    ) -> None:
        """Start of a run."""

    def taker(self, worker: int) -> Taker:
        """The compiled function; there is one worker."""
        assert worker == 0
        return Taker(_fold.address, self.state.ctypes.data, self)

    def refused(self, worker: int) -> None:
        """Never happens."""
        raise AssertionError(worker)

    @property
    def records(self) -> int:
        """Warp accesses folded."""
        return int(self.state[1])


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
