"""The list of bundled cases as text and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from placewise.cases import GROUPS, BundledCase
from placewise.report.tables import plain_table

CASES_SCHEMA_VERSION = 1


def render_cases(cases: Sequence[BundledCase]) -> RenderableType:
    """A table of the cases for each kind of kernel."""
    tables: list[RenderableType] = []
    for group in dict.fromkeys(case.group for case in cases):
        table = _table(group, "description")
        table.columns[0].min_width = max(len(title) for title in GROUPS.values())
        for case in cases:
            if case.group == group:
                table.add_row(case.name, escape(case.description))
        tables += [table, ""]
    return Group(*tables[:-1])


def render_cases_by_paper(
    cases: Sequence[BundledCase], papers: Mapping[str, Mapping[str, str]]
) -> RenderableType:
    """For each paper a table of its kernels and the bundled cases of the same kernels. ``papers``
    has the cases' names by paper and by the kernel's name in the paper."""
    by_name = {case.name: case for case in cases}
    tables: list[RenderableType] = []
    for paper, kernels in papers.items():
        table = _table(paper, "case", "description")
        for kernel, name in kernels.items():
            table.add_row(escape(kernel), name, escape(by_name[name].description))
        tables += [table, ""]
    return Group(*tables[:-1])


def _table(*columns: str) -> Table:
    table = plain_table()
    *names, last = columns
    for column in names:
        table.add_column(column, no_wrap=True)
    table.add_column(last)
    return table


def cases_document(cases: Sequence[BundledCase]) -> dict[str, Any]:
    """JSON document ``placewise-cases``: name, kind, papers, kernel, description and launch of each
    case."""
    return {
        "schema": "placewise-cases",
        "schema_version": CASES_SCHEMA_VERSION,
        "cases": [
            {
                "name": case.name,
                "group": case.group,
                "papers": list(case.papers),
                "kernel": case.kernel,
                "description": case.description,
                "grid": list(case.grid),
                "block": list(case.block),
            }
            for case in cases
        ],
    }
