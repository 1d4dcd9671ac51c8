"""Predicted hardware counters beside those that Nsight Compute recorded on an RTX 2080 Ti.

``make bench-counters ARGS="--data DIR [--every 8] [--resume]"``, where DIR holds the files
``convolution_rtx2080ti.csv.gz`` and ``pnpoly_rtx2080ti.csv.gz``. Every configuration's machine code
is made by the compiler of the measurements' day (the extra ``cuda12``) and executed; the
convolution in full, its memory system in sampled waves; of the points every ``SHARE``-th, counts
scaled, since all blocks do the same. What the machine reads from L2 at all times is counted for the
measured duration. What was chosen by looking at some of these rows is listed in
``docs/counters.md``; take others to judge it (``--start``).
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from rich.console import Console
from rich.progress import track

from benchmarks.counters.judge import COUNTERS, error_table, judge
from benchmarks.counters.measured import KERNELS, Row, case_of, read_rows, sample_of
from benchmarks.counters.rows import Compared, read_table, write_table
from benchmarks.results import RESULTS, report
from placewise.kernel.prepare_case import compile_case
from placewise.machine import load_machine
from placewise.memory.simulate.launch import simulate_launch
from placewise.memory.simulate.metrics import launch_metrics

SHARE = 100
RECORDS = 3_000_000
"""Warp accesses traced of one configuration, about."""
TABLE = RESULTS / "counters_rows.csv"
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


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.counters", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the recorded counters")
    parser.add_argument("--every", type=int, default=8, help="take every so many rows")
    parser.add_argument("--start", type=int, default=0, help="first row to take")
    parser.add_argument("--kernel", choices=KERNELS, action="append", help="only this one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument(
        "--resume", action="store_true", help="keep the rows that the table has already"
    )
    options = parser.parse_args()
    rows = [
        row
        for kernel in options.kernel or KERNELS
        for row in read_rows(options.data, kernel)[options.start :: options.every]
    ]
    compared = read_table(TABLE) if options.resume else []
    known = {(r.kernel, r.number) for r in compared}
    left = [row for row in rows if (row.kernel, row.number) not in known]
    done = compare_all(left, options.jobs)
    for row in track(done, "configurations", total=len(left), disable=not left):
        compared.append(row)
        write_table(TABLE, compared, COUNTERS)
    Console(width=140).print(error_table(compared))
    return 0 if report("counters", judge(compared)) else 1


if __name__ == "__main__":
    sys.exit(main())
