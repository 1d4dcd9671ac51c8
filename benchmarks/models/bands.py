"""The error band of the timeline model's times: `placewise.model.error` against a fit now.

``python -m benchmarks.models.bands [--data DIR --predict]``: fitted on all forms of twenty shapes
of the convolution on A100 and A4000 (``results/bands_rows.json``, which ``--predict`` makes anew,
some two hundred predictions), on the other tables' rows in ``results/models_rows.json``, which
``benchmarks.models`` writes, and on the published measurements as first judged
(``results/breadth_first.json``). Every table and GPU is scaled with one factor first, since nobody
recorded the clocks, and every kernel counts as much: what varies between kernels is not in the rows
of one. Rows of the A100 that were measured at another clock than most, or perhaps so, are left out:
they are told from the recorded times alone (``benchmarks.models.clocks``).

A band of their first half alone (0.877 to 1.108) held half of the other one, whose kernels it had
not seen. ``benchmarks.breadth`` judges such bands case by case, each by the other cases.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.models.__main__ import CIRCLE, HERE, MODEL, TABLES
from benchmarks.models.clocks import Clock, clocks_of, read_rows
from benchmarks.results import RESULTS, Figure, report
from placewise.kernel.cases.case_file import read_case_family
from placewise.model.error import TIME_ERROR, ErrorBand, fit_band
from placewise.recorded.time_tables import MeasuredTime
from placewise.validate import read_times
from placewise.validate.predict import Answer, Configuration, Predictor, Task

ROWS = RESULTS / "bands_rows.json"
FITTED = ("convolution A100 at its base clock", "convolution A4000")
SHAPES, SEED = 20, 11
PLACEMENT = ("use_shmem", "read_only", "use_padding")
Row = Mapping[str, Any]
"""Of a file of results."""


@dataclass(frozen=True)
class Times:
    """(n,) predicted and measured times, or ratios of them, of one kernel."""

    kernel: str
    predicted: list[float]
    measured: list[float]


def scaled(kernel: str, rows: Sequence[Row], unit: str = "_ns") -> Times:
    """Times of one table and GPU, the predicted ones with the factor that fits best."""
    predicted = np.array([row["predicted" + unit] for row in rows], dtype=np.float64)
    measured = np.array([row["measured" + unit] for row in rows], dtype=np.float64)
    factor = float(np.median(measured / predicted))
    return Times(kernel, (factor * predicted).tolist(), measured.tolist())


def fit(tables: Sequence[Times]) -> ErrorBand:
    """The band of all tables, every kernel counting as much."""
    counts: dict[str, int] = defaultdict(int)
    for table in tables:
        counts[table.kernel] += len(table.predicted)
    return fit_band(
        [value for table in tables for value in table.predicted],
        [value for table in tables for value in table.measured],
        share=TIME_ERROR.share,
        fitted_on="",
        weights=[1.0 / counts[table.kernel] for table in tables for _ in table.predicted],
    )


def published() -> list[Times]:
    """The published measurements as first judged, by GPU and kernel; the factor
    is that of the GPU."""
    by_machine: dict[str, list[Row]] = defaultdict(list)
    for row in json.loads((RESULTS / "breadth_first.json").read_text()):
        by_machine[row["machine"]].append(row)
    found = []
    for rows in by_machine.values():
        whole = scaled("", rows, unit="")
        for row, predicted, measured in zip(rows, whole.predicted, whole.measured, strict=True):
            found.append(Times(row["case"], [predicted], [measured]))
    return found


def figures_of(stored: ErrorBand, fitted: Sequence[Times]) -> list[Figure]:
    """The stored band beside one fitted now, and what it holds of what it was fitted on."""
    now = fit(fitted)
    figures = [
        Figure(f"time: {name}", value, "factor", f"{kept} ± 2 %, as stored",
               bool(np.isclose(value, kept, rtol=0.02)))
        for name, value, kept in (("low", now.low, stored.low), ("high", now.high, stored.high))
    ]  # fmt: skip
    figures.append(Figure("time: fitted on", now.configurations, "",
                          str(stored.configurations),
                          now.configurations == stored.configurations))  # fmt: skip
    by_kernel: dict[str, Times] = {}
    for table in fitted:
        before = by_kernel.get(table.kernel, Times(table.kernel, [], []))
        by_kernel[table.kernel] = Times(
            table.kernel, before.predicted + table.predicted, before.measured + table.measured
        )
    for name, table in by_kernel.items():
        within = stored.coverage(table.predicted, table.measured)
        figures.append(
            Figure(f"time: within, {name} ({len(table.predicted)})", within, "share", "", True)
        )
    return figures


def predict_rows(data: Path) -> list[Row]:
    """All forms of some shapes that all fitted tables have, predicted by the present model."""
    tables = [table for table in TABLES if table.name in FITTED]
    groups = []
    for table in tables:
        family = read_case_family(HERE / table.case)
        shapes: dict[Configuration, list[MeasuredTime]] = defaultdict(list)
        for row in read_times(data / table.file, family.parameters).rows:
            shapes[tuple(i for i in row.configuration if i[0] not in PLACEMENT)].append(row)
        groups.append(shapes)
    common = [shape for shape in groups[0] if all(shape in shapes for shapes in groups)]
    drawn = np.random.default_rng(SEED).permutation(len(common))[:SHAPES].tolist()
    found: list[Row] = []
    for table, shapes in zip(tables, groups, strict=True):
        rows = [row for at in drawn for row in shapes[common[at]]]
        task = Task(HERE / table.case, table.machine, (MODEL,), None, table.clock_mhz, traced=False)
        with Predictor(task) as predictor:
            answers = [dict(one.by_model)[MODEL] for one in predictor.predict(rows)]
        told = clocks_of(read_rows(data / table.file)) if table.clocks_told else {}
        clocks: dict[frozenset[object], Clock] = {frozenset(c): told[c] for c in told}
        for row, answer in zip(rows, answers, strict=True):
            if isinstance(answer, Answer):
                clock = clocks.get(frozenset(row.configuration))
                found.append(
                    {
                        "table": table.name,
                        "configuration": dict(row.configuration),
                        "measured_ns": row.nanoseconds,
                        "predicted_ns": answer.total,
                        "clock": clock and clock.value,
                    }
                )
    return found


def by_table(path: Path) -> dict[str, list[Row]]:
    """Rows of a file of results."""
    tables: dict[str, list[Row]] = defaultdict(list)
    for row in json.loads(path.read_text()):
        tables[row["table"]].append(row)
    return tables


def main(
    data: Annotated[Path | None, typer.Option(help="Folder of the measured tables.")] = None,
    predict: Annotated[bool, typer.Option(help="Make the fitted rows anew.")] = False,
) -> None:
    """Fit, compare, print a table, write results/models_bands.json."""
    if predict:
        if data is None:
            raise typer.BadParameter("--predict needs --data")
        lines = ",\n".join(json.dumps(row) for row in predict_rows(data))
        ROWS.write_text(f"[\n{lines}\n]\n")
    given, others = by_table(ROWS), by_table(RESULTS / "models_rows.json")
    known = {
        name: [row for row in given[name] if row.get("clock") in (None, Clock.BASE.value)]
        for name in FITTED
    }
    left_out = sum(len(given[name]) - len(known[name]) for name in FITTED)
    figures = [Figure("rows of a clock not known, left out of the fit", left_out, "", "", True)]
    tables = [scaled("convolution", known[name]) for name in FITTED]
    for name, rows in others.items():
        if not name.startswith("convolution A") and name != CIRCLE:
            tables.append(scaled(name.split()[0], rows))
    figures += figures_of(TIME_ERROR, [*tables, *published()])
    if not report("models_bands", figures):
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
