"""Overhead of choosing a placement, with and without active profiling and the hybrid search (Table
5 of Chen et al. 2017), and how the gain depends on the number of launches (Fig. 14)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from placewise.advisor.prepare import Prepared, learn, prepare
from placewise.choose.branch_bound import branch_and_bound
from placewise.choose.greedy import greedy
from placewise.choose.table import CostTable
from placewise.executor import execute
from placewise.kernel.cases.case import Case
from placewise.machine import Machine
from placewise.memory import Profile, Profiler
from placewise.memory.reuse.sampling.active import ActiveProfiler
from placewise.model import path_model

LAUNCHES = (1496, 500, 250, 50)
"""Numbers of launches in Fig. 14."""
SCALED = (
    "matmul", "transpose", "particlefilter", "spmv",
    "cfd", "md", "hourglass-force", "hourglass-control",
)  # fmt: skip
"""Cases of the eight kernels of Fig. 14."""


@dataclass(frozen=True)
class Overhead:
    """Seconds that choosing once costs."""

    profiling: float
    engine: float
    transform: float
    """Seconds of checks in the kernel. The paper's figure is taken as the sum over its program's
    1,496 launches."""

    @property
    def once(self) -> float:
        """Seconds before the first launch of the chosen version."""
        return self.profiling + self.engine


@dataclass(frozen=True)
class Overheads:
    """Overheads for one kernel: without active profiling and hybrid search, and with both."""

    without: Overhead
    with_both: Overhead


PRINTED = {
    "particlefilter": Overheads(Overhead(0.000043, 0.0024, 0), Overhead(0.000024, 0.00045, 0)),
    "spmv": Overheads(Overhead(0.000055, 0.00412, 0), Overhead(0.000037, 0.00028, 0)),
    "cfd": Overheads(Overhead(0.000146, 0.00867, 0.000014), Overhead(0.000047, 0.00075, 0.000014)),
    "md": Overheads(Overhead(0.000193, 0.05892, 0), Overhead(0.000054, 0.00093, 0)),
    "hourglass-force": Overheads(
        Overhead(0.00006, 542.418, 0.00033), Overhead(0.000037, 0.00036, 0.00033)
    ),
    "hourglass-control": Overheads(
        Overhead(0.000012, 0.00742, 0.000066), Overhead(0.000003, 0.000322, 0.000066)
    ),
}
"""Printed figures of Table 5, by the names of bundled cases."""

T = TypeVar("T")


def measured_overheads(case: Case, machine: Machine) -> Overheads:
    """Measure profiling and search for ``case`` on this computer, with and without the
    improvements.

    Compiling and the run that proves results are no part of either: the paper compiles its
    versions before the program runs. Versions written ahead have no checks, so that transform is 0.
    """
    prepared = prepare(case, machine)
    run = partial(execute, prepared.kernel, prepared.case.launch, prepared.case.inputs)
    make = (prepared.case.launch, machine, prepared.occupancy, prepared.view, prepared.case.inputs)

    def full() -> Profile:
        profiler = Profiler(*make)
        return profiler.profile(run(consumer=profiler, trace_blocks=profiler.trace_blocks))

    def active() -> Profile:
        profiler = ActiveProfiler(*make)
        learn(profiler, run)
        return profiler.profile(prepared.execution)

    # Run once before, so that compilation is not timed. Fresh profiles are used, since a profile
    # keeps results of searches.
    branches(full(), prepared)
    procedure(active(), prepared)
    whole, full_seconds = timed(full)
    part, active_seconds = timed(active)
    _, exact_seconds = timed(lambda: branches(whole, prepared))
    _, greedy_seconds = timed(lambda: procedure(part, prepared))
    return Overheads(
        Overhead(full_seconds, exact_seconds, 0.0), Overhead(active_seconds, greedy_seconds, 0.0)
    )


def branches(profile: Profile, prepared: Prepared) -> object:
    """Branch and bound over all arrays, including making the table of costs."""
    return branch_and_bound(_table(profile, prepared))


def procedure(profile: Profile, prepared: Prepared) -> object:
    """Greedy search (Procedure 1), including making the table of costs."""
    return greedy(_table(profile, prepared))


def speedup(present_ms: float, gain: float, overhead: Overhead, launches: int) -> float:
    """Total time of ``launches`` of the kernel as it is over that of the chosen version and of
    choosing it (section 5.1). ``gain`` is how many times as fast the chosen version is."""
    present = present_ms * 1e-3
    chosen = launches * (present / gain + overhead.transform / LAUNCHES[0]) + overhead.once
    return launches * present / chosen


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """The result of ``call``, and the seconds that it took."""
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def _table(profile: Profile, prepared: Prepared) -> CostTable:
    table = CostTable(profile, prepared.legality, prepared.machine, path_model())
    table.prepare()
    return table
