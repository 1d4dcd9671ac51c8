"""The list of bundled cases as text and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from placewise.kernel.cases.case import Case

CASES_SCHEMA_VERSION = 1


def render_cases(cases: Mapping[str, Case]) -> RenderableType:
    """A table with one row per case."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("case", "kernel", "description"):
        table.add_column(column)
    for name, case in cases.items():
        table.add_row(name, escape(case.kernel), escape(case.description))
    return table


def cases_document(cases: Mapping[str, Case]) -> dict[str, Any]:
    """JSON document ``placewise-cases``: name, kernel, description and launch of each case."""
    return {
        "schema": "placewise-cases",
        "schema_version": CASES_SCHEMA_VERSION,
        "cases": [
            {
                "name": name,
                "kernel": case.kernel,
                "description": case.description,
                "grid": list(case.launch.grid),
                "block": list(case.launch.block),
            }
            for name, case in cases.items()
        ],
    }
