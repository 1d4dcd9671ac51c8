"""Predicted times as text: a line for each machine, then what limits the time."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from placewise.advisor.explain.duration import duration
from placewise.advisor.predictions.predicted_time import TimePrediction, TimeReport
from placewise.model import Prediction
from placewise.report.tables import plain_table

PARTS_SHOWN = 6
LINES_SHOWN = 2


def render_times(report: TimeReport) -> RenderableType:
    """The whole report, for a rich console."""
    first = report.predictions[0]
    launch = first.case.launch
    heading = Text.from_markup(
        f"[bold]{escape(first.case.kernel)}[/bold] of {escape(first.case.filename)}, "
        f"grid {'×'.join(map(str, launch.grid))}, block {'×'.join(map(str, launch.block))}"
    )
    parts: list[RenderableType] = [heading, Text(), _times(report), Text()]
    if len(report.predictions) == 1:
        parts += [Text("What each part of the machine alone would take", style="bold")]
        parts += [_parts(first), Text()]
    for name, why in report.refused:
        parts.append(Text(f"{name}: {why}"))
    for p in report.predictions:
        parts.append(Text(f"{p.machine.name}: {range_in_words(p.prediction)}", style="dim"))
    for p in report.predictions:
        notes = "; ".join(p.prediction.notes)
        parts += [Text(f"{p.machine.name}: {notes}", style="dim")] if notes else []
    return Group(*parts)


def _times(report: TimeReport) -> Table:
    table = plain_table()
    table.add_column("machine")
    table.add_column("time", justify="right")
    table.add_column("range", justify="right")
    is_measured = any(p.measured_ms is not None for p in report.predictions)
    if is_measured:
        table.add_column("measured", justify="right")
        table.add_column("predicted\n/measured", justify="right")
    is_compared = any(p.baseline_ms is not None for p in report.predictions)
    if is_compared:
        table.add_column("baseline", justify="right")
        table.add_column("change", justify="right")
    table.add_column("limited by")
    table.add_column("nearly by", overflow="fold")
    table.add_column("warps\nper SM", justify="right")
    for p in sorted(report.predictions, key=lambda p: p.milliseconds):
        cells = [escape(p.machine.name), duration(p.milliseconds)]
        cells.append("–".join(duration(t) for t in p.range_ms))
        if is_measured:
            known = p.measured_ms
            cells.append("" if known is None else duration(known))
            cells.append("" if known is None else f"{p.milliseconds / known:.2f}")
        if is_compared:
            before = p.baseline_ms
            cells.append("" if before is None else duration(before))
            cells.append("" if before is None else f"{p.milliseconds / before - 1.0:+.1%}")
        cells += [p.limited_by, ", ".join(p.nearly)]
        cells.append(f"{p.occupancy.warps} of {p.occupancy.max_warps}")
        table.add_row(*cells)
    return table


def _parts(prediction: TimePrediction) -> Table:
    table = plain_table()
    table.add_column("part")
    table.add_column("of the time", justify="right")
    table.add_column("most of it at", overflow="fold")
    found = prediction.prediction
    for part in found.parts[:PARTS_SHOWN]:
        lines = [f"line {where.rpartition(':')[2]}" for where, _ in part.lines[:LINES_SHOWN]]
        table.add_row(part.path, f"{part.cycles / found.total:.0%}", escape(", ".join(lines)))
    return table


def range_in_words(prediction: Prediction) -> str:
    """In words, what a time's interval covers: the possible clocks, and the model's error at a
    known clock."""
    low, high = prediction.model_error or (1.0, 1.0)
    clock = prediction.clock_mhz or 0.0
    like = "like the measured launches: " if prediction.unlike == () else ""
    error = f"{like}at a known clock measured times are {low:.2f} to {high:.2f} of predicted ones"
    if not prediction.at_clocks:
        return f"time and range at {clock:.0f} MHz: {error}"
    fast, slow = prediction.at_clocks
    times = (
        f"{duration(one.nanoseconds * 1e-6)} at {one.clock_mhz:.0f} MHz" for one in (fast, slow)
    )
    return (
        f"time at {clock:.0f} MHz; the clock is not known: {', '.join(times)}; {error}; "
        "the 80 % range covers both"
    )
