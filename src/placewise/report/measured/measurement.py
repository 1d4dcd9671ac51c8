"""Measured times of placements as text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
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


def render_measurement(
    rows: Sequence[MeasuredRow], differences: Sequence[tuple[str, int, int, int | None]] = ()
) -> RenderableType:
    """A table with one row per placement and state of L2.

    ``differences`` are the outputs of the original that the executor computes otherwise: array,
    elements that differ, all elements, and units in the last place (None: not comparable).
    """
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
    notes = [_difference(*found) for found in differences]
    return Group(table, *notes)


def _difference(array: str, different: int, elements: int, ulp: int | None) -> str:
    far = "" if ulp is None else f", by at most {ulp:,} in the last place"
    return (
        f"The original on this GPU and the executor differ in {different:,} of the {elements:,} "
        f"elements of '{array}'{far}."
    )
