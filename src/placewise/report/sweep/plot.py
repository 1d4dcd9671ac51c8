"""Draws a sweep as a figure: a panel for each case, a line for each machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from placewise.report.drawing import write_drawing
from placewise.report.sweep.text import fastest
from placewise.sweep import Row, SweepResult

PANELS = 12
"""Most cases that are drawn."""
_COLUMNS = 3
_PANEL_INCHES = 4.2
_MANY = 8.0
"""An axis is logarithmic if the largest value is at least this many times the least."""


def draw_sweep(result: SweepResult, path: Path) -> None:
    """Draw predicted times against the value that varies most: for each case the swept size with
    the most values, or the parameter where no size is swept. Each point is the fastest of all rows
    with that value; the band is the interval of its predicted time. Raises PlacewiseError where
    ``path`` cannot be written."""
    cases: dict[str, list[Row]] = {}
    for row in result.rows:
        cases.setdefault(row.task.case, []).append(row)
    shown = list(cases.items())[:PANELS]
    columns = min(_COLUMNS, len(shown))
    lines = -(-len(shown) // columns)
    figure = Figure(
        figsize=(_PANEL_INCHES * columns, 0.8 * _PANEL_INCHES * lines), layout="constrained"
    )
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    for axes, (case, rows) in zip(panels, shown, strict=False):
        _panel(axes, case, rows)
    write_drawing(figure, path)


def _panel(axes: Axes, case: str, rows: Sequence[Row]) -> None:
    """One case: predicted time over the value that varies, a line for each machine."""
    name = _varied(rows)
    positions = {
        value: at for at, value in enumerate(dict.fromkeys(_value(row, name) for row in rows))
    }
    is_number = all(isinstance(v, int | float) and not isinstance(v, bool) for v in positions)
    machines = dict.fromkeys(row.task.machine_name for row in rows)
    for machine in machines:
        own = [row for row in rows if row.task.machine_name == machine]
        line = [
            (float(value if is_number else positions[value]), *times)
            for value, times in _fastest_times(own, name)
        ]
        if not line:
            continue
        places, times, low, high = zip(*sorted(line), strict=True)
        (drawn,) = axes.plot(places, times, marker="o", markersize=3, linewidth=1.2, label=machine)
        axes.fill_between(places, low, high, color=drawn.get_color(), alpha=0.15, linewidth=0)
    if not is_number:
        axes.set_xticks(list(positions.values()), [str(v) for v in positions])
    elif min(positions) > 0 and max(positions) >= _MANY * min(positions):
        axes.set_xscale("log")
    if axes.lines:
        axes.set_yscale("log")
        axes.legend(fontsize=8, frameon=False)
    axes.set(xlabel=name or "", ylabel="predicted, ms", title=Path(case).stem)


def _fastest_times(rows: Sequence[Row], name: str) -> list[tuple[Any, tuple[float, float, float]]]:
    """For each value of ``name`` the (predicted, lowest, highest) milliseconds of the fastest
    row."""
    points: dict[Any, list[Row]] = {}
    for row in rows:
        points.setdefault(_value(row, name), []).append(row)
    found = []
    for value, there in points.items():
        best = fastest(there)
        if best is not None and best.outcome.range_ms is not None:
            times = (best.outcome.milliseconds or math.nan, *best.outcome.range_ms)
            found.append((value, times))
    return found


def _varied(rows: Sequence[Row]) -> str:
    """The size, or else the parameter, with the most values; empty where there is only one."""
    for kind in ("sizes", "parameters"):
        values: dict[str, set[object]] = {}
        for row in rows:
            for name, value in getattr(row.task, kind):
                values.setdefault(name, set()).add(value)
        most = max(values, key=lambda n: len(values[n]), default="")
        if most and len(values[most]) > 1:
            return most
    return ""


def _value(row: Row, name: str) -> Any:
    """What a row has for a size or parameter; empty text where it has none."""
    return dict([*row.task.sizes, *row.task.parameters]).get(name, "")
