"""Measured times of placements as text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

MeasuredRow = tuple[
    Sequence[tuple[str, str]],
    Sequence[tuple[str, float, tuple[float, float]]],
    bool,
    str | None,
]
"""One placement: its (array, space) pairs; for each series of times (state of L2, median,
quartiles), in ms; whether the outputs are right; and why there are no times, or None."""


def render_measurement(rows: Sequence[MeasuredRow]) -> RenderableType:
    """A table with one row per placement and state of L2."""
    table = Table(box=None)
    for column in ("placement", "median", "spread", "outputs"):
        table.add_column(column)
    for placement, timings, identical, error in rows:
        spaces = escape(", ".join(f"{array} {space}" for array, space in placement))
        if error is not None:
            table.add_row(spaces, "", "", escape(error.splitlines()[0]))
            continue
        for l2, median, (low, high) in timings:
            table.add_row(
                spaces,
                f"{median:.4f} ms (L2 {l2})",
                f"{low:.4f}–{high:.4f}",
                "bit-identical" if identical else "DIFFERENT",
            )
    return table
