"""Cache levels read from other tools' measurements as text and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType

from placewise.probe.recorded.levels import Level
from placewise.report.tables import plain_table

LEVELS_SCHEMA_VERSION = 1


def render_levels(levels: Sequence[Level]) -> RenderableType:
    """A table with one row per level, nearest to the cores first."""
    table = plain_table()
    columns = ("level", "capacity", "latency", "bandwidth", "line", "fetched", "confidence")
    for column in columns:
        table.add_column(column)
    for number, level in enumerate(levels, 1):
        size = level.capacity_bytes
        memory = "memory" if len(levels) > 1 else ""
        table.add_row(
            str(number),
            memory if size is None else f"{size / 1024:.0f} KB",
            _with_unit(level.cycles, ".1f", "clk"),
            _with_unit(level.gb_per_s, ".0f", "GB/s"),
            _with_unit(level.line_bytes, "d", "B"),
            _with_unit(level.fetched_bytes, "d", "B"),
            "; ".join(("low", *level.doubts)) if level.doubts else "high",
        )
    return table


def levels_document(levels: Sequence[Level]) -> dict[str, Any]:
    """JSON document ``placewise-levels``: every level, nearest to the cores first."""
    return {
        "schema": "placewise-levels",
        "schema_version": LEVELS_SCHEMA_VERSION,
        "levels": [asdict(level) for level in levels],
    }


def _with_unit(value: float | None, form: str, unit: str) -> str:
    return "" if value is None else f"{value:{form}} {unit}"
