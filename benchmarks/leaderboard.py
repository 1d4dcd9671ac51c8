"""Every model beside measured times, the bad ones too.

``python -m benchmarks.leaderboard --data DIR [--rows N] [--resume]``; DIR and the tables are those
of ``benchmarks.models``. Few configurations, since models of transactions need a traced run of
each; ``--resume`` keeps the figures of tables that an earlier run has finished. Every form is
compiled and looked at by itself (a rerun). Beside that stands what the path model makes of forms
that it knows from the plain form's trace alone (a retarget), the way ``advise`` ranks: on the pairs
of the last run of ``benchmarks.path_ratio``, rerun and retarget of the same pairs.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.models.__main__ import HERE, TABLES, Table
from benchmarks.path_ratio.pairs import Pair, read_pairs
from benchmarks.results import RESULTS, Figure, report
from placewise.model.registry import MODELS
from placewise.validate import ModelResult, validate

RESULT = RESULTS / "leaderboard.json"
PAIRS = RESULTS / "path_ratio_pairs.csv"
HOW = ("rerun", "retarget")


def figures_of(table: Table, model: ModelResult) -> list[Figure]:
    """What came out of one model on one table; figures that it has not are left out."""
    name = f"{table.name} ({table.column}), {model.model}"
    refused = sum(count for _, count in model.refused)
    found = model.accuracy
    if found is None:
        return [Figure(f"{name}: refused", refused, "configurations", "", True)]
    rows: list[tuple[str, float, str]] = [
        ("answers", found.configurations, "configurations"),
        ("refused", refused, "configurations"),
        ("mean |error|", found.mean_error, "share"),
        ("median |error|", found.median_error, "share"),
        ("mean |error|, one factor", found.scaled_mean_error, "share"),
        ("that factor", found.factor, "measured/predicted" if model.absolute else ""),
        ("Spearman", found.spearman, ""),
        ("first choice over optimum, less 1", found.regret, "share"),
        ("measured in the interval", found.coverage, "share"),
    ]
    for placement in model.placements:
        what = f"ratio of two placements, {placement.parameter} ({placement.pairs} pairs)"
        rows.append((what, placement.error, "share"))
        rows.append((f"{what}, 'no change'", placement.no_change, "share"))
    return [
        Figure(f"{name}: {what}", value, unit, "", True)
        for what, value, unit in rows
        if not math.isnan(value)
    ]


def retarget_figures(pairs: Sequence[Pair]) -> list[Figure]:
    """The path model's error of ratios, rerun beside retarget, on the pairs that have both."""
    known: dict[tuple[object, ...], dict[str, Pair]] = defaultdict(dict)
    for pair in pairs:
        shape = (pair.block_x, pair.block_y, pair.tile_x, pair.tile_y)
        known[pair.gpu, pair.switch, shape][pair.how] = pair
    errors: dict[tuple[object, ...], list[tuple[float, float, float]]] = defaultdict(list)
    for of, both in known.items():
        if len(both) == len(HOW):
            ratios = [both[how].predicted for how in HOW]
            measured = both[HOW[0]].measured
            rerun, retarget, same = (abs(ratio / measured - 1.0) for ratio in (*ratios, 1.0))
            errors[of[:2]].append((rerun, retarget, same))
    figures = []
    for (gpu, switch), found in errors.items():
        means = [sum(column) / len(found) for column in zip(*found, strict=True)]
        for how, mean in zip((*HOW, "'no change'"), means, strict=True):
            what = f"convolution {gpu}, path, {switch} ({len(found)} pairs), {how}"
            figures.append(Figure(f"{what}: ratio to the plain form", mean, "share", "", True))
    return figures


def finished(name: str) -> list[Figure]:
    """Figures of a table from an earlier run."""
    if not RESULT.exists():
        return []
    kept = [Figure(**figure) for figure in json.loads(RESULT.read_text())]
    return [figure for figure in kept if figure.figure.startswith(f"{name} (")]


def main(
    data: Annotated[Path, typer.Option(help="Folder of the measured tables.")],
    rows: Annotated[int, typer.Option(help="Configurations of each table.")] = 8,
    seed: Annotated[int, typer.Option(help="Of the choice of rows.")] = 2,
    only: Annotated[str, typer.Option(help="Only tables whose name contains this.")] = "",
    resume: Annotated[bool, typer.Option(help="Keep the tables of the last run.")] = False,
    traced: Annotated[
        bool, typer.Option(help="Models of transactions too: half a minute for each row.")
    ] = True,
    workers: Annotated[int | None, typer.Option(help="Processes.")] = None,
) -> None:
    """Predict with every model, print a table, write results/leaderboard.json."""
    figures: list[Figure] = []
    models = [name for name, known in MODELS.items() if traced or not known.needs_counters]
    for table in TABLES:
        kept = finished(table.name) if resume else []
        if kept or only not in table.name:
            figures += kept
            continue
        (result,) = validate(
            [data / table.file],
            HERE / table.case,
            [table.machine],
            models=models,
            configurations=rows,
            seed=seed,
            clock_mhz=table.clock_mhz,
            workers=workers,
        )
        for model in result.models:
            figures += figures_of(table, model)
        report("leaderboard", figures)
    report("leaderboard", figures + retarget_figures(read_pairs(PAIRS)))


if __name__ == "__main__":
    typer.run(main)
