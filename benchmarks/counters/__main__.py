"""Predicted hardware counters beside those that Nsight Compute recorded on an RTX 2080 Ti.

``make bench-counters ARGS="--data DIR [--every 8]"``, where DIR holds the files
``convolution_rtx2080ti.csv.gz`` and ``pnpoly_rtx2080ti.csv.gz``. Every configuration's machine code
is made by the compiler of the measurements' day (the extra ``cuda12``) and executed; the
convolution in full, its memory system in sampled waves; of the points every ``SHARE``-th, counts
scaled, since all blocks do the same. What was chosen by looking at some of these rows is listed in
``docs/counters.md``; take others to judge it (``--start``).
"""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from benchmarks.counters.measured import KERNELS, POINTS, Row, case_of, read_rows
from benchmarks.results import RESULTS, Figure, report
from placewise.kernel.prepare_case import compile_case
from placewise.machine import load_machine
from placewise.memory.simulate.launch import simulate_launch
from placewise.memory.simulate.metrics import launch_metrics

SHARE = 100
RECORDS = 6_000_000
"""Warp accesses traced of one configuration, about."""


@dataclass(frozen=True)
class Asked:
    """What a counter's relative errors must keep below: share of rows, and what is reported."""

    counter: str
    percentiles: tuple[tuple[int, float], ...]
    """(percentile of the absolute relative errors, most that it may be)."""


ASKED = (
    Asked("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", ((50, 0.01), (95, 0.05))),
    Asked("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", ((50, 0.03), (95, 0.08))),
    Asked("lts__t_sectors_op_read.sum", ((50, 0.05), (90, 0.15))),
    Asked("lts__t_sectors_op_write.sum", ((50, 0.05), (90, 0.15))),
    Asked("dram__sectors_read.sum", ((50, 0.10),)),
    Asked("dram__sectors_write.sum", ((50, 0.10),)),
    Asked("smsp__inst_executed.sum", ((50, 0.01), (95, 0.05))),
    *(
        Asked(f"smsp__sass_thread_inst_executed_op_{c}_pred_on.sum", ((50, 0.01), (95, 0.05)))
        for c in ("fp32", "integer", "control", "memory", "conversion")
    ),
)
EXACT = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
REGISTERS = "launch__registers_per_thread"


def predict(row: Row) -> dict[str, float]:
    """Counters of one row's launch, by metric name."""
    share = SHARE if row.kernel == "pnpoly" else 1
    case = case_of(row, share=share)
    run = simulate_launch(
        compile_case(case), case.launch, case.inputs, load_machine("RTX2080Ti"), records=RECORDS
    )
    # A sample of the points fills its last block differently from the whole; what is counted per
    # block is scaled by the points.
    scale = POINTS / (POINTS // share) if row.kernel == "pnpoly" else 1.0
    return {m.name: m.value for m in launch_metrics(run, scale)}


def errors_of(
    rows: list[Row], predicted: list[dict[str, float]], counter: str
) -> NDArray[np.float64]:
    """Relative errors of a counter over the rows that have it; of one that no row has, whether it
    was predicted all the same."""
    pairs = [(p.get(counter, 0.0), r.values[counter]) for r, p in zip(rows, predicted, strict=True)]
    found = [p / m - 1 for p, m in pairs if m]
    return np.array(found if found else [float(p != 0.0) for p, _ in pairs])


def judge(rows: list[Row], predicted: list[dict[str, float]]) -> list[Figure]:
    """Figures asked beside those measured."""
    figures = []
    exact = np.abs(errors_of(rows, predicted, EXACT)) < 1e-9
    figures.append(_figure(f"{EXACT}: rows that are exact", exact.mean(), 0.99, at_least=True))
    same = [p.get(REGISTERS) == r.values["registers"] for r, p in zip(rows, predicted, strict=True)]
    figures.append(Figure("registers as reported: rows", float(np.mean(same)), "share", "", True))
    for asked in ASKED:
        found = np.abs(errors_of(rows, predicted, asked.counter))
        for percentile, most in asked.percentiles:
            name = "median" if percentile == 50 else f"{percentile}th percentile"
            value = float(np.percentile(found, percentile)) if found.size else float("nan")
            figures.append(_figure(f"{asked.counter}: {name} of |error|", value, most))
    return figures


def _figure(name: str, value: float, bound: float, *, at_least: bool = False) -> Figure:
    holds = value >= bound if at_least else value <= bound
    sign = "≥" if at_least else "≤"
    return Figure(name, float(value), "share", f"{sign} {bound:g}", bool(holds))


def write_table(path: Path, rows: list[Row], predicted: list[dict[str, float]]) -> None:
    """A CSV of measured and predicted counters, a row each."""
    counters = [EXACT, *(a.counter for a in ASKED)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["kernel", "row", "registers", "predicted_registers"]
                        + [f"{c}{s}" for c in counters for s in ("", " predicted")])  # fmt: skip
        for r, p in zip(rows, predicted, strict=True):
            both = [(r.values.get(c, float("nan")), p.get(c, 0.0)) for c in counters]
            writer.writerow([r.kernel, r.number, r.whole("registers"), p.get(REGISTERS, 0.0)]
                            + [f"{v:.10g}" for pair in both for v in pair])  # fmt: skip


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.counters", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the recorded counters")
    parser.add_argument("--every", type=int, default=8, help="take every so many rows")
    parser.add_argument("--start", type=int, default=0, help="first row to take")
    parser.add_argument("--kernel", choices=KERNELS, action="append", help="only this one")
    options = parser.parse_args()
    rows = [
        row
        for kernel in options.kernel or KERNELS
        for row in read_rows(options.data, kernel)[options.start :: options.every]
    ]
    predicted = [predict(row) for row in track(rows, "configurations", disable=None)]
    write_table(RESULTS / "counters_rows.csv", rows, predicted)
    return 0 if report("counters", judge(rows, predicted)) else 1


if __name__ == "__main__":
    sys.exit(main())
