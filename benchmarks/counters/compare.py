"""Predicted counters of recorded configurations, several at a time."""

from __future__ import annotations

import itertools
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait

from benchmarks.counters.judge import COUNTERS, OF_CODE
from benchmarks.counters.kernels import compiled
from benchmarks.counters.measured import Row, case_of, sample_of
from benchmarks.counters.rows import Compared
from placewise.machine import load_machine
from placewise.memory.simulate.launch import simulate_launch
from placewise.memory.simulate.metrics.ncu_metrics import NCU_SECTOR, launch_metrics

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
        compiled(case), case.launch, case.inputs, load_machine("RTX2080Ti"), records=RECORDS
    )
    found = {
        m.name: m.value
        for m in launch_metrics(run, sample.of_data, microseconds=row.values["duration_us"])
    }
    ratio = sample.of_threads / sample.of_data
    predicted = {
        name: value * ratio if _PER_THREAD in name and name.endswith(".sum") else value
        for name, value in found.items()
    }
    code, sector = run.traffic.instructions.later, run.traffic.sector_bytes
    predicted[OF_CODE] = code * sample.of_data * sector / NCU_SECTOR
    return Compared(
        row.kernel,
        row.number,
        (row.whole("registers"), int(predicted.get(REGISTERS, 0))),
        {c: (row.values.get(c, 0.0), predicted.get(c, 0.0)) for c in (*COUNTERS, OF_CODE)},
    )


def compare_all(rows: list[Row], jobs: int, seconds: float) -> Iterator[Compared]:
    """Rows as they are done, in ``jobs`` processes; none is begun after so many ``seconds``."""
    end = time.monotonic() + seconds
    spawn = multiprocessing.get_context("spawn")
    left = iter(rows)
    with ProcessPoolExecutor(jobs, mp_context=spawn) as pool:
        running = {pool.submit(compare, row) for row in itertools.islice(left, jobs)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            if time.monotonic() < end:
                running |= {pool.submit(compare, row) for row in itertools.islice(left, len(done))}
            for future in done:
                yield future.result()
