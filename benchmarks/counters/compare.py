"""Predicted counters of recorded configurations, several at a time."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed

from benchmarks.counters.judge import COUNTERS
from benchmarks.counters.measured import Row, case_of, sample_of
from benchmarks.counters.rows import Compared
from placewise.kernel.prepare_case import compile_case
from placewise.machine import load_machine
from placewise.memory.simulate.launch import simulate_launch
from placewise.memory.simulate.metrics import launch_metrics

SHARE = 100
RECORDS = 3_000_000
"""Warp accesses traced of one configuration, about."""
REGISTERS = "launch__registers_per_thread"
_PER_THREAD = "inst_executed"
"""Part of the names of counters that grow with the threads that have work, not with the data."""


def compare(row: Row) -> Compared:
    """Counters of one row's launch."""
    case, sample = case_of(row, share=SHARE), sample_of(row, SHARE)
    run = simulate_launch(
        compile_case(case), case.launch, case.inputs, load_machine("RTX2080Ti"), records=RECORDS
    )
    found = {
        m.name: m.value
        for m in launch_metrics(run, sample.of_data, microseconds=row.values["duration_us"])
    }
    ratio = sample.of_threads / sample.of_data
    predicted = {
        name: value * ratio if _PER_THREAD in name else value for name, value in found.items()
    }
    return Compared(
        row.kernel,
        row.number,
        (row.whole("registers"), int(predicted.get(REGISTERS, 0))),
        {c: (row.values.get(c, 0.0), predicted.get(c, 0.0)) for c in COUNTERS},
    )


def compare_all(rows: list[Row], jobs: int) -> Iterator[Compared]:
    """All rows as they are done, in ``jobs`` processes."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=spawn) as pool:
        for done in as_completed([pool.submit(compare, row) for row in rows]):
            yield done.result()
