"""Predicted beside measured times of all forms of some shapes of the measured kernels.

``python -m benchmarks.verdicts.rows --data DIR`` writes ``results/verdicts_rows.json``: for each
form its measured and predicted time and what each part of the machine alone would need. It takes
some five hundred predictions, ten minutes of four cores.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.models.__main__ import CIRCLE, HERE, MODEL, TABLES, Table
from benchmarks.models.clocks import Clock, clocks_of, read_rows
from benchmarks.results import RESULTS
from placewise.kernel.cases.case_file import read_case_family
from placewise.recorded.time_tables import MeasuredTime
from placewise.validate import read_times
from placewise.validate.predict import Answer, Configuration, Predictor, Task

ROWS = RESULTS / "verdicts_rows.json"


@dataclass(frozen=True)
class Drawn:
    """Which forms of a table are predicted: all forms of some shapes."""

    table: str
    forms: tuple[str, ...]
    """Parameters in which the forms of a shape differ."""
    shapes: int
    seed: int
    fitted: bool
    """The intervals are fitted on it; else they are judged by it."""
    least_forms: int = 2
    most_forms: int = 6


DRAWN = (
    Drawn("convolution A100 at its base clock", ("use_shmem", "read_only", "use_padding"),
          30, 23, fitted=True),
    Drawn("convolution A4000", ("use_shmem", "read_only", "use_padding"), 30, 29, fitted=True),
    Drawn("convolution RTX 2080 Ti", ("read_only",), 40, 31, fitted=False),
    Drawn("pnpoly RTX 2080 Ti", ("between_method", "use_method"), 16, 37, fitted=False),
    Drawn(CIRCLE, ("between_method", "use_method"), 16, 41, fitted=False),
)  # fmt: skip


def drawn_rows(drawn: Drawn, rows: tuple[MeasuredTime, ...]) -> list[MeasuredTime]:
    """Rows of ``drawn.shapes`` shapes, at most ``most_forms`` forms of each."""
    shapes: dict[Configuration, list[MeasuredTime]] = defaultdict(list)
    for row in rows:
        shapes[tuple(i for i in row.configuration if i[0] not in drawn.forms)].append(row)
    several = [forms for forms in shapes.values() if len(forms) >= drawn.least_forms]
    random = np.random.default_rng(drawn.seed)
    found: list[MeasuredTime] = []
    for at in random.permutation(len(several))[: drawn.shapes].tolist():
        forms = several[at]
        kept = sorted(random.permutation(len(forms))[: drawn.most_forms].tolist())
        found += [forms[n] for n in kept]
    return found


def predicted_rows(drawn: Drawn, table: Table, data: Path) -> list[dict[str, Any]]:
    """The drawn rows of one table with their predictions; refused ones are left out."""
    family = read_case_family(HERE / table.case)
    rows = drawn_rows(drawn, tuple(read_times(data / table.file, family.parameters).rows))
    task = Task(HERE / table.case, table.machine, (MODEL,), None, table.clock_mhz, traced=False)
    with Predictor(task) as predictor:
        answers = [dict(one.by_model)[MODEL] for one in predictor.predict(rows)]
    told = clocks_of(read_rows(data / table.file)) if table.clocks_told else {}
    clocks: dict[frozenset[object], Clock] = {frozenset(c): told[c] for c in told}
    found = []
    for row, answer in zip(rows, answers, strict=True):
        clock = clocks.get(frozenset(row.configuration))
        if not isinstance(answer, Answer) or clock not in (None, Clock.BASE):
            continue
        named = dict(row.configuration)
        found.append(
            {
                "table": table.name,
                "fitted": drawn.fitted,
                "shape": [v for k, v in named.items() if k not in drawn.forms],
                "form": [named[k] for k in drawn.forms],
                "measured_ns": row.nanoseconds,
                "predicted_ns": answer.total,
                "parts": {name: round(share, 6) for name, share in answer.parts},
            }
        )
    return found


def main(
    data: Annotated[Path, typer.Option(help="Folder of the measured tables.")],
    missing: Annotated[bool, typer.Option(help="Only tables that have no rows yet.")] = False,
) -> None:
    """Predict all forms of the drawn shapes, write results/verdicts_rows.json."""
    tables = {table.name: table for table in TABLES}
    found: list[dict[str, Any]] = json.loads(ROWS.read_text()) if missing else []
    done = {row["table"] for row in found}
    for drawn in DRAWN:
        if drawn.table in done:
            continue
        found += predicted_rows(drawn, tables[drawn.table], data)
        typer.echo(f"{drawn.table}: {len(found)} rows so far")
        lines = ",\n".join(json.dumps(row) for row in found)
        ROWS.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    typer.run(main)
