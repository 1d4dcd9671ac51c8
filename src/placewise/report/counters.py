"""Predicted counters as a person reads them, and as data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from placewise.advise.counters import CounterReport
from placewise.memory.simulate.metrics import Metric, metrics_by_array, metrics_by_line
from placewise.report.source_lines import SourceLines, short

COUNTERS_SCHEMA_VERSION = 1
_CERTAIN = 1e-12


def render_counters(report: CounterReport, *, by: str | None = None) -> RenderableType:
    """The whole report, for a rich console; ``by``: ``array`` or ``line``, parts of the launch."""
    parts: list[RenderableType] = [_heading(report), Text(), _launch(report)]
    if by == "array":
        for name, metrics in metrics_by_array(report.run):
            parts += [Text(), Text(name, style="bold"), _part(metrics)]
    if by == "line":
        source = SourceLines(report.case)
        for place, metrics in metrics_by_line(report.run):
            where = (f"{short(place.file)}:{place.line}  ", "bold")
            text = (source.text(place.file, place.line), "cyan")
            parts += [Text(), Text.assemble(where, text, no_wrap=True, overflow="ellipsis")]
            parts += [_part(metrics)]
    if report.notes:
        parts += [Text(), *(Text(f"note: {note}", style="dim") for note in report.notes)]
    return Group(*parts)


def _heading(report: CounterReport) -> RenderableType:
    run = report.run
    grid = "×".join(str(d) for d in run.launch.grid)
    block = "×".join(str(d) for d in run.launch.block)
    code = f"machine code for {run.kernel.arch}" if run.from_machine_code else "PTX"
    traced = run.traffic.traced
    share = "all blocks" if traced == 1.0 else f"{100 * traced:.2g} % of the blocks, scaled"
    return Group(
        Text.from_markup(
            f"[bold]{escape(run.kernel.name)}[/bold] of {escape(short(report.case.filename))} on "
            f"[bold]{escape(run.machine.name)}[/bold] ({escape(run.machine.title)})"
        ),
        Text(
            f"grid {grid}, block {block}; {code}; {run.occupancy.blocks} blocks on an SM; memory "
            f"traffic of {share}",
            style="dim",
        ),
    )


def _launch(report: CounterReport) -> Table:
    measured = report.measured.values if report.measured is not None else {}
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("counter", overflow="fold")
    table.add_column("predicted", justify="right", no_wrap=True)
    if report.measured is not None:
        table.add_column("measured", justify="right", no_wrap=True)
        table.add_column("error", justify="right", no_wrap=True)
    for metric in report.metrics:
        row = [metric.name, _amount(metric)]
        if report.measured is not None:
            truth = measured.get(metric.name)
            row += ["" if truth is None else _number(truth), _error(metric.value, truth)]
        table.add_row(*row)
    return table


def _part(metrics: Iterable[Metric]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    for metric in metrics:
        table.add_row(f"  {metric.name}", _amount(metric))
    return table


def _amount(metric: Metric) -> str:
    """The value, with its standard error where it is an estimate."""
    if metric.error > _CERTAIN * max(1.0, abs(metric.value)):
        return f"{_number(metric.value)} ± {_number(metric.error)}"
    return _number(metric.value)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.4g}"


def _error(predicted: float, measured: float | None) -> str:
    if measured is None:
        return ""
    if measured == 0.0:
        return "" if predicted == 0.0 else "not measured"
    return f"{100 * (predicted / measured - 1):+.2f} %"


def counters_document(report: CounterReport) -> dict[str, Any]:
    """Everything the text report can say; only JSON types."""
    case, run = report.case, report.run
    return {
        "schema": "placewise-counters",
        "schema_version": COUNTERS_SCHEMA_VERSION,
        "case": {
            "name": case.name,
            "source": case.filename,
            "kernel": run.kernel.name,
            "grid": list(run.launch.grid),
            "block": list(run.launch.block),
            "shared_bytes": run.launch.shared_bytes,
        },
        "machine": {"name": run.machine.name, "title": run.machine.title},
        "arch": run.kernel.arch,
        "executed": "machine code" if run.from_machine_code else "PTX",
        "occupancy": {"blocks_per_sm": run.occupancy.blocks, "warps_per_sm": run.occupancy.warps},
        "traced_share_of_blocks": run.traffic.traced,
        "counters": _values(report.metrics),
        "background_microseconds": report.microseconds,
        "measured": None if report.measured is None else dict(report.measured.values),
        "arrays": {name: _values(metrics) for name, metrics in metrics_by_array(run)},
        "lines": [
            {"file": place.file, "line": place.line, "counters": _values(metrics)}
            for place, metrics in metrics_by_line(run)
        ],
        "notes": list(report.notes),
    }


def _values(metrics: Iterable[Metric]) -> dict[str, dict[str, float]]:
    return {m.name: {"value": m.value, "standard_error": m.error} for m in metrics}
