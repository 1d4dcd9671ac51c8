"""How a benchmark reports: a table on the screen and a list of figures in a JSON file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Figure:
    """One measured figure beside what was asked of it."""

    figure: str
    value: float | int | str
    unit: str
    asked: str
    holds: bool


def report(name: str, figures: Sequence[Figure]) -> bool:
    """Print ``figures``, write ``results/NAME.json``; whether all of them hold."""
    table = Table(title=f"benchmark {name}")
    for column in ("figure", "value", "unit", "asked", "holds"):
        table.add_column(column, overflow="fold")
    for f in figures:
        value = f"{f.value:.4g}" if isinstance(f.value, float) else str(f.value)
        table.add_row(f.figure, value, f.unit, f.asked, "yes" if f.holds else "NO")
    Console(width=120).print(table)
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps([asdict(f) for f in figures], indent=2)
    (RESULTS / f"{name}.json").write_text(text + "\n")
    return all(f.holds for f in figures)
