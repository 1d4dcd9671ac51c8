"""Warp accesses that the simulated memory system takes per second of one core.

``python -m benchmarks.counters.speed``: traces of bundled cases are recorded first, then fed to the
memory system of an A100 (108 L1s, one L2); CPU time of all threads together is what counts, so
that a loaded machine measures the same.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.results import Figure, report
from placewise.cases import load_case
from placewise.execute import TraceChunk, execute
from placewise.execute.trace import Site
from placewise.kernel.launch import ScalarArgument
from placewise.kernel.prepare_case import compile_case
from placewise.machine import load_machine
from placewise.memory.occupancy import occupancy
from placewise.memory.simulate.system import LaunchFacts, MemorySystem

MACHINE = "A100"
WAVES = 6
MOST = 8_000_000
"""Records kept of a case."""
ASKED = {"matmul": 45e6, "spmv": 18e6}


class Kept:
    """A consumer that keeps the trace."""

    def __init__(self) -> None:
        self.sites: tuple[Site, ...] = ()
        self.arrays: tuple[str, ...] = ()
        self.chunks: list[TraceChunk] = []

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """Start of a run."""
        self.sites, self.arrays = sites, arrays

    def chunk(self, chunk: TraceChunk) -> None:
        """Keep a copy of a chunk, laid out as the executor has it."""
        self.chunks.append(
            TraceChunk(**{f.name: getattr(chunk, f.name).copy() for f in fields(chunk)})
        )


def speed(name: str) -> float:
    """Warp accesses per CPU second."""
    case = load_case(name)
    machine = load_machine(MACHINE)
    kernel = compile_case(case)
    resident = occupancy(case.launch, machine, registers=kernel.registers, shared_bytes=0)
    wave = machine.processor.sms * resident.blocks
    run: NDArray[np.int64] = np.arange(min(case.launch.blocks, WAVES * wave))
    trace = Kept()
    execute(kernel, case.launch, case.inputs, consumer=trace, run_blocks=run)
    sizes = tuple(
        (a.name, a.data.nbytes) for a in case.inputs.arguments if not isinstance(a, ScalarArgument)
    )
    launch = replace(case.launch, grid=(len(run), 1, 1))
    best = 0.0
    for _ in range(3):
        system = MemorySystem(LaunchFacts(launch, resident, 0, 0, sizes), machine)
        system.begin(trace.sites, trace.arrays)
        start, records = time.process_time(), 0
        for chunk in trace.chunks:
            if records > MOST:
                break
            system.chunk(chunk)
            records += len(chunk)
        system.traffic()
        best = max(best, records / (time.process_time() - start))
    return best


def main() -> int:
    """Command line."""
    argparse.ArgumentParser(prog="benchmarks.counters.speed", description=__doc__).parse_args()
    figures = []
    for name, asked in ASKED.items():
        value = speed(name)
        figures.append(
            Figure(
                f"{name}: warp accesses", value, "1/s of one core", f"≥ {asked:g}", value >= asked
            )
        )
    return 0 if report("counters_speed", figures) else 1


if __name__ == "__main__":
    raise SystemExit(main())
