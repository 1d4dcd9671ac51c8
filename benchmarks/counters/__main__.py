"""Predicted hardware counters beside those that Nsight Compute recorded on an RTX 2080 Ti.

``make bench-counters ARGS="--data DIR [--every 8] [--resume]"``, where DIR holds the files
``convolution_rtx2080ti.csv.gz`` and ``pnpoly_rtx2080ti.csv.gz``. Every configuration's machine code
is made by the compiler that made the recorded one (NVRTC 12.3, which ``make develop`` installs)
and executed; the convolution in full, its memory system in sampled waves; of the points a
hundredth, counts scaled, since all blocks do the same. What the machine reads from L2 at all times
is counted for the measured duration. What was chosen by looking at some of these rows is listed in
``docs/explanation/counters.md``. Every fourth row of the convolution is each of its shapes once
(``--every 4 --kernel convolution --name counters_shapes``).
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import track

from benchmarks.counters.compare import compare_all
from benchmarks.counters.judge import COUNTERS, OF_CODE, error_table, judge
from benchmarks.counters.measured import KERNELS, read_rows
from benchmarks.counters.rows import read_table, write_table
from benchmarks.results import RESULTS, report


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.counters", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the recorded counters")
    parser.add_argument("--every", type=int, default=8, help="take every so many rows")
    parser.add_argument("--start", type=int, default=0, help="first row to take")
    parser.add_argument("--kernel", choices=KERNELS, action="append", help="only this one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument(
        "--name", default="counters", help="of the results: NAME.json and NAME_rows.csv"
    )
    parser.add_argument(
        "--resume", action="store_true", help="keep the rows that the table has already"
    )
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="begin no row after so long (then --resume)"
    )
    options = parser.parse_args()
    table = RESULTS / f"{options.name}_rows.csv"
    rows = [
        row
        for kernel in options.kernel or KERNELS
        for row in read_rows(options.data, kernel)[options.start :: options.every]
    ]
    compared = read_table(table) if options.resume else []
    known = {(r.kernel, r.number) for r in compared}
    left = [row for row in rows if (row.kernel, row.number) not in known]
    # A run that is cut short has looked at rows of every kind.
    random.Random(0).shuffle(left)
    done = compare_all(left, options.jobs, options.seconds)
    for row in track(done, "configurations", total=len(left), disable=not left):
        compared.append(row)
        write_table(table, compared, (*COUNTERS, OF_CODE))
    Console(width=140).print(error_table(compared))
    return 0 if report(options.name, judge(compared)) else 1


if __name__ == "__main__":
    sys.exit(main())
