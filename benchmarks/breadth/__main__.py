"""Published times of kernels that nobody tuned to, judged as a user would.

``python -m benchmarks.breadth [--half first|kept] [--only TEXT] [--judge]``: predicts the
measurements of ``measurements.csv`` (:mod:`benchmarks.breadth.measured` has the sources), writes
``results/breadth_rows.json`` and ``results/breadth.json``. Rows that were left out keep what an
earlier run said of them; ``--judge`` judges all rows without predicting any. The rows of the first
judgement, before anything was mended, are kept in ``results/breadth_first.json``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.breadth.judge import all_figures
from benchmarks.breadth.measured import Predicted, predict, read_measurements
from benchmarks.results import RESULTS, report

ROWS = RESULTS / "breadth_rows.json"
FIRST = RESULTS / "breadth_first.json"


def read_rows(path: Path) -> list[Predicted]:
    """Rows of a file of results; none where there is no file."""
    if not path.exists():
        return []
    return [
        Predicted(
            **{**row, "model_error": tuple(row["model_error"]), "by_clock": tuple(row["by_clock"])}
        )
        for row in json.loads(path.read_text())
    ]


def write_rows(path: Path, rows: list[Predicted]) -> None:
    """One row a line."""
    path.write_text("[\n" + ",\n".join(json.dumps(asdict(row)) for row in rows) + "\n]\n")


def main(
    half: Annotated[str, typer.Option(help="first or kept; empty for both.")] = "",
    only: Annotated[str, typer.Option(help="Only kernels and machines with this text.")] = "",
    judge: Annotated[bool, typer.Option("--judge", help="Predict nothing.")] = False,
    workers: Annotated[int | None, typer.Option(help="Processes.")] = None,
) -> None:
    """Predict, print a table, write results/breadth.json and breadth_rows.json."""
    measurements = read_measurements()
    chosen = [
        one
        for one in measurements
        if half in ("", one.half) and only in f"{one.kernel} {one.machine}" and not judge
    ]
    rows = {(row.kernel, row.machine): row for row in read_rows(ROWS)}
    for one in predict(chosen, workers):
        if isinstance(one, Predicted):
            rows[one.kernel, one.machine] = one
    order = [(one.kernel, one.machine) for one in measurements]
    kept = [rows[key] for key in order if key in rows]
    write_rows(ROWS, kept)
    figures = all_figures(kept, read_rows(FIRST), len(measurements))
    if not report("breadth", figures):
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
