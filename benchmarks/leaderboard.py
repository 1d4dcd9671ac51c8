"""Every model beside measured times, the bad ones too.

``python -m benchmarks.leaderboard --data DIR [--rows N]``; DIR and the tables are those of
``benchmarks.models``. Few configurations, since models of transactions need a traced run of each.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.models.__main__ import HERE, TABLES
from benchmarks.results import Figure, report
from placewise.validate import ModelResult, validate
from placewise.validate.figures import ANY


def figures_of(table: str, model: ModelResult) -> list[Figure]:
    """What came out of one model on one table; figures that it has not are left out."""
    name = f"{table}, {model.model}"
    found = model.accuracy
    if found is None:
        return [Figure(f"{name}: answers", 0, "configurations", "", True)]
    rows = [
        ("answers", found.configurations, "configurations"),
        ("mean |error|", found.mean_error, "share"),
        ("mean |error|, one factor", found.scaled_mean_error, "share"),
        ("Spearman", found.spearman, ""),
        ("first choice over optimum, less 1", found.regret, "share"),
    ]
    for placement in model.placements:
        if placement.parameter == ANY:
            rows.append(("ratio of two placements", placement.error, "share"))
            rows.append(("ratio of two placements, 'no change'", placement.no_change, "share"))
    return [Figure(f"{name}: {what}", v, unit, "", True) for what, v, unit in rows if not _nan(v)]


def _nan(value: float) -> bool:
    return isinstance(value, float) and math.isnan(value)


def main(
    data: Annotated[Path, typer.Option(help="Folder of the measured tables.")],
    rows: Annotated[int, typer.Option(help="Configurations of each table.")] = 12,
    seed: Annotated[int, typer.Option(help="Of the choice of rows.")] = 2,
    only: Annotated[str, typer.Option(help="Only tables whose name contains this.")] = "",
) -> None:
    """Predict with every model, print a table, write results/leaderboard.json."""
    figures: list[Figure] = []
    for table in TABLES:
        if only in table.name:
            (result,) = validate(
                [data / table.file],
                HERE / table.case,
                [table.machine],
                configurations=rows,
                seed=seed,
            )
            for model in result.models:
                figures += figures_of(table.name, model)
            report("leaderboard", figures)


if __name__ == "__main__":
    typer.run(main)
