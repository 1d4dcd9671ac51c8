"""Recomputed tables of papers as text and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from placewise.report.formats import finite_number
from placewise.reproduce.result import Cell, Reproduction
from placewise.reproduce.result import Table as Data

REPRODUCTION_SCHEMA_VERSION = 1


def render_reproductions(found: Sequence[Reproduction]) -> RenderableType:
    """All reproductions, with a rule between two."""
    parts: list[RenderableType] = []
    for number, one in enumerate(found):
        parts += [Text(), Rule()] if number else []
        parts.append(render_reproduction(one))
    return Group(*parts)


def render_reproduction(found: Reproduction) -> RenderableType:
    """One reproduction: its tables, its verdict, and what was not recomputed."""
    parts: list[RenderableType] = [
        Text.assemble((found.paper, "bold"), f"  ({found.name})"),
        Text(),
    ]
    for data in found.tables:
        parts += [_table(data), *_notes(data.notes), Text()]
    parts.append(Text.assemble(("Result  ", "bold"), found.verdict))
    if found.missing:
        parts += [Text(), Text("Not recomputed, or assumed", style="bold")]
        parts += _notes(found.missing)
    return Group(*parts)


def _notes(notes: Iterable[str]) -> list[RenderableType]:
    return [Padding(Text(f"· {note}", style="dim"), (0, 0, 0, 2)) for note in notes]


def _table(data: Data) -> Table:
    table = Table(
        title=data.title, title_justify="left", title_style="bold", box=None, pad_edge=False,
        header_style="dim",
    )  # fmt: skip
    for at, name in enumerate(data.columns):
        numeric = any(_is_number(row[at]) for row in data.rows)
        table.add_column(
            Text(name), justify="right" if numeric else "left", overflow="fold", vertical="bottom"
        )
    for row in data.rows:
        table.add_row(*(Text(_words(cell)) for cell in row))
    return table


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _words(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int) or (isinstance(cell, float) and cell == int(cell) and cell >= 1000):
        return f"{cell:,.0f}" if abs(cell) >= 1000 else str(cell)
    if isinstance(cell, float):
        return f"{cell:.6g}"
    return cell


def reproduction_document(found: Sequence[Reproduction]) -> dict[str, Any]:
    """JSON document ``placewise-reproduction``."""
    return {
        "schema": "placewise-reproduction",
        "schema_version": REPRODUCTION_SCHEMA_VERSION,
        "reproductions": [
            {
                "name": one.name,
                "paper": one.paper,
                "verdict": one.verdict,
                "figures": {k: finite_number(v) for k, v in one.figures.items()},
                "missing": list(one.missing),
                "tables": [
                    {
                        "title": table.title,
                        "columns": list(table.columns),
                        "rows": [list(row) for row in table.rows],
                        "notes": list(table.notes),
                    }
                    for table in one.tables
                ],
            }
            for one in found
        ],
    }
