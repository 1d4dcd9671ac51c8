"""What the model chooses among all configurations of the convolution, no measurement used.

``python -m benchmarks.choice --data DIR [--budget N] [--resume]``; DIR is that of
``benchmarks.models``. A search (``placewise.validate.search``) predicts a random sample and then
what a surrogate and the best so far point to; the model's first and its first twenty are compared
with the optimum of **all** measured configurations, and, where rows were measured at a clock that
is not known (``benchmarks.models.clocks``), beside that with the optimum of the others. Every
prediction is kept in ``results/choice_rows.csv``, batch by batch; with ``--resume`` those count as
made, so that a run that was interrupted goes on. They belong to the model that made them: after a
change of the model start anew. With ``--only`` the other tables' predictions and figures stay.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.models.__main__ import HERE, MODEL, TABLES, Table
from benchmarks.models.clocks import Clock, clocks_of, read_rows
from benchmarks.results import RESULTS, Figure, report
from placewise.kernel.cases.case_file import read_case_family
from placewise.validate import TimeTable, read_times
from placewise.validate.features import launch_features
from placewise.validate.figures import rank_correlation, regret
from placewise.validate.predict import Answer, Predictor, Task
from placewise.validate.search import Search, search

NAMES = ("convolution A100", "convolution A4000")
ROWS = RESULTS / "choice_rows.csv"
_HEADER = ("table", "configuration", "measured_ns", "predicted_ns")
FIRST, FIRST_TWENTY = 0.25, 0.05
"""Asked: measured time of the first, and of the best of the first twenty, over the optimum."""


def configuration_of(times: TimeTable, row: int) -> str:
    """Values of a row's parameters, in the table's order."""
    return " ".join(str(value) for _, value in times.rows[row].configuration)


def read_kept(name: str, times: TimeTable) -> dict[int, float]:
    """Predictions of an earlier run, by row."""
    if not ROWS.exists():
        return {}
    row_of = {configuration_of(times, row): row for row in range(len(times.rows))}
    with ROWS.open(newline="") as file:
        kept = [row for row in csv.DictReader(file) if row["table"] == name]
    return {row_of[row["configuration"]]: float(row["predicted_ns"]) for row in kept}


def keep(name: str, times: TimeTable, rows: Sequence[int], predicted: Sequence[float]) -> None:
    """Write down predictions of some rows."""
    with ROWS.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for row, value in zip(rows, predicted, strict=True):
            measured = times.rows[row].nanoseconds
            line = (name, configuration_of(times, row), f"{measured:.0f}", f"{value:.0f}")
            writer.writerow(line)


def forget(names: Sequence[str]) -> None:
    """Leave out the predictions of some tables."""
    kept: list[list[str]] = []
    if ROWS.exists():
        with ROWS.open(newline="") as file:
            kept = [row for row in csv.reader(file) if row[0] not in (*names, _HEADER[0])]
    with ROWS.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([_HEADER, *kept])


def finished(name: str) -> list[Figure]:
    """Figures of a table from an earlier run."""
    path = RESULTS / "choice.json"
    kept = [Figure(**figure) for figure in json.loads(path.read_text())] if path.exists() else []
    return [figure for figure in kept if figure.figure.startswith((f"{name}:", f"{name}, "))]


def searched(
    table: Table, times: TimeTable, budget: int, seed: int, workers: int | None, resume: bool
) -> Search:
    """Search one table for the model's first choices."""
    task = Task(HERE / table.case, table.machine, (MODEL,), None, table.clock_mhz, traced=False)
    known = read_kept(table.name, times) if resume else {}
    with Predictor(task, workers=workers) as predictor:

        def predict(rows: Sequence[int]) -> list[float]:
            given = predictor.predict([times.rows[row] for row in rows])
            answers = [dict(one.by_model)[MODEL] for one in given]
            totals = [a.total if isinstance(a, Answer) else math.inf for a in answers]
            keep(table.name, times, rows, totals)
            return totals

        space = [row.configuration for row in times.rows]
        known_of_all = launch_features(read_case_family(HERE / table.case), space)
        return search(space, predict, budget=budget, seed=seed, known=known, features=known_of_all)


def figures_of(table: Table, times: TimeTable, found: Search, path: Path) -> list[Figure]:
    """What is asked of one table beside what came out."""
    rows = [row for row in found.order if math.isfinite(found.predicted[row])]
    everything = np.array([row.nanoseconds for row in times.rows])
    within = float((everything <= 1.1 * everything.min()).mean())
    figures = [
        Figure(f"{table.name}: configurations", len(times.rows), "", "", True),
        Figure(f"{table.name}: predicted of them", len(found.predicted) / len(times.rows), "share",
               "", True),
        Figure(f"{table.name}: search came to its end", str(found.finished), "", "True",
               found.finished),
        Figure(f"{table.name}: refused", len(found.predicted) - len(rows), "configurations", "0",
               len(rows) == len(found.predicted)),
        Figure(f"{table.name}: within 10 % of the optimum", within, "share of all", "", True),
        *regrets(table.name, times, found, range(len(times.rows)), asked=True),
    ]  # fmt: skip
    if table.clocks_told:
        clocks = clocks_of(read_rows(path))
        told = {tuple(sorted(c)) for c, clock in clocks.items() if clock is Clock.BASE}
        kept = [
            row for row, one in enumerate(times.rows) if tuple(sorted(one.configuration)) in told
        ]
        figures += regrets(f"{table.name}, {len(kept)} rows of known clock", times, found, kept)
    return figures


def regrets(
    name: str, times: TimeTable, found: Search, among: Sequence[int], *, asked: bool = False
) -> list[Figure]:
    """What the model puts first ``among`` some rows, against the fastest of these."""
    kept = set(among)
    rows = [row for row in found.order if row in kept and math.isfinite(found.predicted[row])]
    predicted = np.array([found.predicted[row] for row in rows])
    measured = np.array([times.rows[row].nanoseconds for row in rows])
    optimum = min(times.rows[row].nanoseconds for row in kept)
    figures = [Figure(f"{name}: the model's first", configuration_of(times, rows[0]), "", "", True)]
    for what, count, most in (
        ("first choice", 1, FIRST),
        ("best of first twenty", 20, FIRST_TWENTY),
    ):
        value = regret(predicted, measured, count, optimum)
        wanted = f"<= {most}" if asked else ""
        holds = not asked or value <= most
        figures.append(
            Figure(f"{name}: {what} over optimum, less 1", value, "share", wanted, holds)
        )
    rank = rank_correlation(predicted, measured)
    return [*figures, Figure(f"{name}: Spearman over those predicted", rank, "", "", True)]


def main(
    data: Annotated[Path, typer.Option(help="Folder of the measured tables.")],
    budget: Annotated[int, typer.Option(help="Configurations predicted of each table.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the random sample.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Processes.")] = None,
    only: Annotated[str, typer.Option(help="Only tables whose name contains this.")] = "",
    resume: Annotated[bool, typer.Option(help="Take up the predictions of earlier runs.")] = False,
) -> None:
    """Search, print a table, write results/choice.json and choice_rows.csv."""
    searched_for = [t.name for t in TABLES if t.name in NAMES and only in t.name]
    if not resume or not ROWS.exists():
        forget(searched_for)
    # Read before the first report writes over them.
    kept = {name: finished(name) for name in NAMES if name not in searched_for}
    figures: list[Figure] = []
    good = False
    for table in TABLES:
        if table.name not in NAMES:
            continue
        if table.name in searched_for:
            parameters = read_case_family(HERE / table.case).parameters
            times = read_times(data / table.file, parameters)
            found = searched(table, times, budget, seed, workers, resume)
            figures += figures_of(table, times, found, data / table.file)
        else:
            figures += kept[table.name]
        good = report("choice", figures)
    if not good:
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
