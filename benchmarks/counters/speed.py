"""Warp accesses that the simulated memory takes per second of one core, and its other speeds.

``python -m benchmarks.counters.speed``: traces are recorded first, then handed to the memory system
of an A100 (108 L1s, one L2) chunk by chunk, each lying in the processor's cache as the executor
leaves it. CPU time of all threads together is what counts, so that a loaded machine measures nearly
the same; beside it stands a fixed loop, to compare machines by. Traces: the multiply and the
sparse product that come with the program (40,460 rows), and three of the
executor's benchmark: a 517 x 517 multiply with and without shared memory, and a sparse product
with a row per thread whose rows' lengths follow Zipf's law.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.executor import kernels
from benchmarks.results import Figure, report
from placewise.cases import load_case
from placewise.executor import TraceChunk, execute
from placewise.executor.trace import Site
from placewise.kernel.cases.prepare_case import compile_case
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import Inputs, Launch, ScalarArgument
from placewise.machine import load_machine
from placewise.memory.occupancy import occupancy
from placewise.memory.simulate.requests.trace_records import records_of
from placewise.memory.simulate.system import LaunchFacts, MemorySystem
from placewise.memory.simulate.trace_taker import callable_taker

MACHINE = "A100"
WAVES = 6
MOST = 6_000_000
"""Records kept of a trace."""
LEAST = 2_000_000
"""Shorter traces are handed over again as further blocks, with caches as they are by then."""
REPEATS = 7
LINES = 2_000_000
ASKED_MULTIPLY, ASKED_SPARSE = 35e6, 10e6
"""Warp accesses a second on one core with AVX2: what simple code reaches."""
ASKED_DISTANCES = 25e6
FIRST_USE = 2.0
"""Seconds that a process may need from the first import to the end of a small launch, with compiled
code on disk."""


@dataclass(frozen=True)
class Trace:
    """A name, what was asked of it (None: nothing), and what is launched."""

    name: str
    asked: float | None
    job: Callable[[], tuple[Kernel, Launch, Inputs]]


def _case(name: str) -> tuple[Kernel, Launch, Inputs]:
    case = load_case(name)
    return compile_case(case), case.launch, case.inputs


def _job(job: kernels.Job) -> tuple[Kernel, Launch, Inputs]:
    return job.kernel, job.launch, job.inputs


TRACES = (
    Trace("matmul", ASKED_MULTIPLY, lambda: _case("matmul")),
    Trace(
        "naive 517", ASKED_MULTIPLY, lambda: _job(kernels.matrix_product("naive", 517, (16, 16)))
    ),
    Trace("tiled 517", None, lambda: _job(kernels.matrix_product("tiled", 517, (16, 16)))),
    Trace("spmv", ASKED_SPARSE, lambda: _case("spmv")),
    Trace("spmv, row per thread", ASKED_SPARSE, lambda: _job(kernels.sparse_product(400_000))),
)


class Kept:
    """A consumer that keeps the trace in the form in which compiled code takes it."""

    def __init__(self) -> None:
        self.sites: tuple[Site, ...] = ()
        self.arrays: tuple[str, ...] = ()
        self.chunks: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
        self.records = 0

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """Start of a run."""
        self.sites, self.arrays = sites, arrays

    def chunk(self, chunk: TraceChunk) -> None:
        """Keep a copy of a chunk."""
        if self.records < MOST:
            self.chunks.append((*records_of(chunk), np.array(chunk.offsets)))
            self.records += len(chunk)


def speed(trace: Trace) -> float:
    """Warp accesses per CPU second."""
    machine = load_machine(MACHINE)
    kernel, launch, inputs = trace.job()
    resident = occupancy(launch, machine, registers=kernel.registers, shared_bytes=0)
    wave = machine.processor.sms * resident.blocks
    run: NDArray[np.int64] = np.arange(min(launch.blocks, WAVES * wave))
    kept = Kept()
    execute(kernel, launch, inputs, consumer=kept, run_blocks=run, threads=1)
    sizes = tuple(
        (a.name, a.data.nbytes) for a in inputs.arguments if not isinstance(a, ScalarArgument)
    )
    copies = -(-LEAST // kept.records)
    facts = LaunchFacts(replace(launch, grid=(len(run) * copies, 1, 1)), resident, 0, 0, sizes)
    # One buffer for all chunks, as the executor has it.
    room = [
        np.empty(max(len(c[k]) for c in kept.chunks), kept.chunks[0][k].dtype) for k in range(3)
    ]
    take = callable_taker(large=False)
    best = 0.0
    for _ in range(REPEATS):
        start = time.process_time()
        system = MemorySystem(facts, machine)
        system.begin(kept.sites, kept.arrays)
        state = system.taker(0).state
        spent = time.process_time() - start
        for copy, chunk in product(range(copies), kept.chunks):
            given: list[int] = []
            for space, content in zip(room, chunk, strict=True):
                space[: len(content)] = content
                given += [space.ctypes.data, len(content)]
            room[1]["block"] += copy * len(run)
            start = time.process_time()
            while take(state, *given):
                system.refused(0)
            spent += time.process_time() - start
        start = time.process_time()
        system.traffic()
        spent += time.process_time() - start
        best = max(best, copies * kept.records / spent)
    return best


@njit
def _loop(steps: int) -> Any:
    """Six operations that each wait for the one before (xorshift64, Marsaglia 2003)."""
    x = np.uint64(88172645463325252)
    for _ in range(steps):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
    return x


def reference_loop() -> float:
    """Steps per CPU second."""
    _loop(1)
    best = 0.0
    for _ in range(REPEATS):
        start = time.process_time()
        _loop(20_000_000)
        best = max(best, 20_000_000 / (time.process_time() - start))
    return best


def distances() -> float:
    """Line accesses per CPU second whose exact reuse distance is found; lines drawn by Zipf's law
    with exponent 1.3 from 200,000."""
    lines = np.random.default_rng(0).zipf(1.3, LINES) % 200_000
    # Here, as the measured first use would load their machine code.
    from placewise.memory.reuse.stack_distance import count_distances

    n, limit = len(lines), 200_000
    words, narrow = np.zeros(n, np.int32), np.zeros(n, np.uint8)
    best = 0.0
    for _ in range(REPEATS):
        histogram, seen = np.zeros((1, limit + 1), np.int64), np.zeros(limit, np.uint8)
        start = time.process_time()
        count_distances(
            np.array([0, n], np.int64), np.arange(n, dtype=np.int64), lines, words,
            np.ones(n, np.uint32), words - 1, np.zeros((0, 32), np.int32), words + 1,
            narrow, narrow, 1, histogram, np.zeros(1, np.int64), seen,
        )  # fmt: skip
        best = max(best, n / (time.process_time() - start))
    return best


def first_use() -> float:
    """CPU seconds of a new process that simulates a small launch, compiled code being on disk: the
    machine code and Python's own, which an environment may say not to write."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    code = "import benchmarks.counters.speed as s; s.small()"
    taken = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", f"{code}; import time; print(time.process_time())"],
            capture_output=True, text=True, check=True, env=environment,
        )  # fmt: skip
        taken.append(float(done.stdout.split()[-1]))
    return min(taken)


def small() -> None:
    """A launch of a few blocks."""
    kernel, launch, inputs = _job(kernels.matrix_product("naive", 64, (16, 16)))
    machine = load_machine(MACHINE)
    resident = occupancy(launch, machine, registers=kernel.registers, shared_bytes=0)
    sizes = tuple(
        (a.name, a.data.nbytes) for a in inputs.arguments if not isinstance(a, ScalarArgument)
    )
    system = MemorySystem(LaunchFacts(launch, resident, 0, 0, sizes), machine)
    execute(kernel, launch, inputs, consumer=system, threads=1)
    system.traffic()


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.counters.speed", description=__doc__)
    parser.add_argument(
        "--name", default="counters_speed", help="of the results, for those of another processor"
    )
    options = parser.parse_args()
    loop = reference_loop()
    figures = [Figure("reference loop: steps", loop, "1/s of one core", "–", True)]
    for trace in TRACES:
        value = speed(trace)
        asked = "–" if trace.asked is None else f"≥ {trace.asked:g}"
        holds = trace.asked is None or value >= trace.asked
        name = f"{trace.name}: warp accesses"
        figures.append(Figure(name, value, "1/s of one core", asked, holds))
        figures.append(Figure(f"{name} in a step of the loop", value / loop, "1", "–", True))
    value = distances()
    figures.append(
        Figure("exact reuse distances", value, "1/s of one core", f"≥ {ASKED_DISTANCES:g}",
               value >= ASKED_DISTANCES)
    )  # fmt: skip
    value = first_use()
    figures.append(
        Figure(
            "a small launch in a new process", value, "s", f"≤ {FIRST_USE:g}", value <= FIRST_USE
        )
    )
    return 0 if report(options.name, figures) else 1


if __name__ == "__main__":
    raise SystemExit(main())
