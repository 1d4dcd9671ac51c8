"""Predicted counters as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from placewise.advisor.predictions.predicted_counters import CounterReport
from placewise.memory.simulate.caches.last_level.other_l2_sizes import OtherSize
from placewise.memory.simulate.caches.tlb import added_up
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.memory.simulate.metrics.ncu_metrics import (
    Metric,
    in_order,
    metrics_by_array,
    metrics_by_line,
    sites_by_array,
    sites_by_line,
    with_zeros,
)
from placewise.memory.simulate.metrics.traffic import SiteTraffic, constant_caches
from placewise.report.source_lines import SourceLines, short
from placewise.report.tables import plain_table

Sites = Sequence[SiteTraffic]
_CERTAIN = 1e-12


def render_counters(
    report: CounterReport, *, by: str | None = None, present: CounterReport | None = None
) -> RenderableType:
    """The whole report, for a rich console. ``by`` (``array`` or ``line``) also shows counters of
    each part of the launch. Where ``report`` has moved arrays, ``present`` is the report of the
    case as it is."""
    counters = _launch(report) if present is None else _beside(present, report)
    parts: list[RenderableType] = [_heading(report), Text(), counters]
    told = _told(report.run, by)
    for title, table in (
        ("Caches of constant memory, lines", _constant(told)),
        ("DRAM banks", _banks(report)),
        ("Address translation, of the blocks traced", _tlbs(told)),
        (_sizes_title(report), _sizes(report.sizes)),
    ):
        if table is not None:
            parts += [Text(), Text(title, style="bold"), table]
    if by == "array":
        parts += [Text(), _arrays(metrics_by_array(report.run))]
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
    moves = ", ".join(f"{array} → {space}" for array, space in report.moves)
    differs = (Text(f"recorded with {what}", style="yellow") for what in report.differs)
    return Group(
        Text.from_markup(
            f"[bold]{escape(run.kernel.name)}[/bold] of {escape(short(report.case.filename))} on "
            f"[bold]{escape(run.machine.name)}[/bold] ({escape(run.machine.title)})"
            + (f", moved: {escape(moves)}" if moves else "")
        ),
        Text(
            f"grid {grid}, block {block}; {code}; {run.occupancy.blocks} blocks on an SM; memory "
            f"traffic of {share}",
            style="dim",
        ),
        *differs,
    )


def _launch(report: CounterReport) -> Table:
    measured = report.measured.values if report.measured is not None else {}
    table = plain_table()
    table.add_column("counter", overflow="fold")
    table.add_column("predicted", justify="right", no_wrap=True)
    if report.measured is not None:
        table.add_column("measured", justify="right", no_wrap=True)
        table.add_column("error", justify="right", no_wrap=True)
    unit = ""
    for metric in report.metrics:
        if unit and not metric.name.startswith(unit):
            table.add_row()
        unit = metric.name.partition("__")[0]
        row = [metric.name, _amount(metric)]
        if report.measured is not None:
            truth = measured.get(metric.name)
            row += ["" if truth is None else _number(truth), _error(metric, truth)]
        table.add_row(*row)
    return table


def _beside(present: CounterReport, moved: CounterReport) -> Table:
    """A table of the counters of the case as it is and with arrays moved."""
    table = plain_table()
    table.add_column("counter", overflow="fold")
    for heading in ("as it is", "moved", "change"):
        table.add_column(heading, justify="right", no_wrap=True)
    # A counter that only one of the two has is zero in the other.
    names = in_order(dict.fromkeys(m.name for m in (*present.metrics, *moved.metrics)))
    before = {m.name: m for m in with_zeros(present.metrics, names)}
    after = {m.name: m for m in with_zeros(moved.metrics, names)}
    unit = ""
    for name in names:
        if unit and not name.startswith(unit):
            table.add_row()
        unit = name.partition("__")[0]
        was, now = before.get(name), after.get(name)
        table.add_row(
            name, "–" if was is None else _amount(was), "–" if now is None else _amount(now),
            _change(was, now),
        )  # fmt: skip
    return table


def _change(was: Metric | None, now: Metric | None) -> str:
    if was is None or now is None:
        return ""
    if now.value == was.value:
        return "same"
    if not was.value:
        return ""
    percent = 100 * (now.value / was.value - 1)
    return f"{percent:+,.0f} %" if abs(percent) >= 1000 else f"{percent:+.3g} %"


def _arrays(parts: Iterable[tuple[str, tuple[Metric, ...]]]) -> Table:
    """A table of each counter with the share of each array in it."""
    by_counter: dict[str, list[tuple[str, Metric]]] = {}
    for name, metrics in parts:
        for metric in metrics:
            by_counter.setdefault(metric.name, []).append((name, metric))
    table = plain_table(header=False)
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True, style="dim")
    for counter in in_order(by_counter):
        members = by_counter[counter]
        total = sum(m.value for _, m in members)
        table.add_row(Text(counter, style="bold"))
        for name, metric in members:
            table.add_row(f"  {name}", _amount(metric), f"{100 * metric.value / total:.0f} %")
    return table


def _banks(report: CounterReport) -> Table | None:
    """A table of the row buffers of DRAM; None where the machine file does not map addresses to
    banks."""
    banks = report.run.traffic.banks
    if banks is None or not banks.requests.sum():
        return None
    asked = float(banks.requests.sum())
    table = plain_table(header=False)
    table.add_column()
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True, style="dim")
    table.add_row("requests", _number(asked))
    for what, counts in (
        ("row open", banks.hits),
        ("no row open", banks.misses),
        ("another row open", banks.conflicts),
    ):
        share = f"{100 * float(counts.sum()) / asked:.1f} %"
        table.add_row(what, _number(float(counts.sum())), share)
    most = float(banks.requests.max())
    table.add_row(
        f"busiest of {len(banks.requests)} banks", _number(most), f"{100 * most / asked:.1f} %"
    )
    return table


def _told(run: SimulatedLaunch, by: str | None) -> list[tuple[str, Sites]]:
    """(name, memory instructions) of the whole launch (name empty), then of each part that was
    asked for."""
    told: list[tuple[str, Sites]] = [("", run.traffic.sites)]
    if by == "array":
        told += sites_by_array(run)
    if by == "line":
        lines = sorted(sites_by_line(run).items())
        told += [(f"{short(place.file)}:{place.line}", sites) for place, sites in lines]
    return told


def _tlbs(parts: Iterable[tuple[str, Sites]]) -> Table | None:
    """A table of requests and hits of each level of address translation, by part of the launch;
    None where the machine file describes no TLB."""
    return _levels(
        (name, t.name, t.requests, t.hits)
        for name, sites in parts
        for t in added_up(site.tlbs for site in sites)
    )


def _constant(parts: Iterable[tuple[str, Sites]]) -> Table | None:
    """A table of requests and hits of each constant cache; None where none was simulated."""
    return _levels(
        (name, c.name, c.asked.value, c.asked.value - c.missed.value)
        for name, sites in parts
        for c in constant_caches(sites)
    )


def _sizes_title(report: CounterReport) -> str:
    lines = report.run.traffic.arrived
    first = f"the first {len(lines):,}" if lines is not None else "the"
    return f"Other sizes of L2: misses among {first} lines asked for"


def _sizes(sizes: Iterable[OtherSize]) -> Table | None:
    """A table of misses that L2 caches of other sizes would have, estimated from reuse distances
    and simulated; None where it was not asked for."""
    table = plain_table()
    for heading in ("size", "reuse distances", "simulated"):
        table.add_column(heading, justify="right")
    for one in sizes:
        shares = (f"{100 * share:.2f} %" for share in (one.estimated, one.simulated))
        table.add_row(f"{one.size_bytes / 1024:,.0f} KB", *shares)
    return table if table.rows else None


def _levels(levels: Iterable[tuple[str, str, float, float]]) -> Table | None:
    """A table of requests and hits from (level, part of the launch, requests, hits). The empty part
    name is the whole launch. None where there are no levels; levels without requests from a part
    are left out."""
    by_level: dict[str, list[tuple[str, float, float]]] = {}
    for part, level, asked, hits in levels:
        if asked or not part:
            by_level.setdefault(level, []).append((part, asked, hits))
    table = plain_table()
    for heading in ("level", "asked", "found"):
        table.add_column(heading, justify="left" if heading == "level" else "right")
    for level, rows in by_level.items():
        for part, asked, hits in rows:
            found = f"{100 * hits / asked:.1f} %" if asked else "–"
            table.add_row(f"  {part}" if part else level, _number(asked), found)
    return table if by_level else None


def _part(metrics: Iterable[Metric]) -> Table:
    table = plain_table(header=False)
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    for metric in metrics:
        table.add_row(f"  {metric.name}", _amount(metric))
    return table


def _amount(metric: Metric) -> str:
    """A value as text, with its standard error where it is an estimate."""
    if metric.bound:
        return f"≤ {_number(metric.value)}"
    if metric.error > _CERTAIN * max(1.0, abs(metric.value)):
        return f"{_number(metric.value)} ± {_number(metric.error)}"
    return _number(metric.value)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.4g}"


def _error(metric: Metric, measured: float | None) -> str:
    if measured is None:
        return ""
    if metric.bound:
        return "holds" if measured <= metric.value else "exceeded"
    if measured == 0.0:
        return "" if metric.value == 0.0 else "not measured"
    return f"{100 * (metric.value / measured - 1):+.2f} %"
