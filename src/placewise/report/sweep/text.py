"""A sweep as text: for each case, size and machine the fastest configuration."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from placewise.advisor.explain.duration import duration
from placewise.report.tables import plain_table
from placewise.sweep import Row, SweepResult

LINES_SHOWN = 60
ERRORS_SHOWN = 10


def render_sweep(result: SweepResult) -> RenderableType:
    """The whole report, for a rich console."""
    groups = by_place(result.rows)
    parts: list[RenderableType] = [_table(list(groups.values())[:LINES_SHOWN]), Text()]
    if len(groups) > LINES_SHOWN:
        parts.append(Text(f"… and {len(groups) - LINES_SHOWN} more lines: see the written table"))
    parts += _errors(result.failed)
    part = "" if result.shard is None else f" of part {result.shard[0]} of {result.shard[1]}"
    stored = len(result.rows) - result.computed
    parts.append(
        Text(
            f"{len(result.rows)} predictions{part}: {result.computed} made now, {stored} stored "
            f"before, {len(result.failed)} failed"
        )
    )
    return Group(*parts)


def by_place(rows: Sequence[Row]) -> dict[tuple[object, ...], list[Row]]:
    """Rows grouped by case, sizes and machine; rows of a group differ only in parameters."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        key = (row.task.case, row.task.sizes, row.task.machine_name)
        groups.setdefault(key, []).append(row)
    return groups


def fastest(rows: Sequence[Row]) -> Row | None:
    """The row with the least predicted time; None where no row has one."""
    timed = [row for row in rows if row.outcome.milliseconds is not None]
    return min(timed, key=lambda row: row.outcome.milliseconds or 0.0, default=None)


def values_in_words(values: Sequence[tuple[str, object]]) -> str:
    """Names and values as text, such as ``n=512, m=64``."""
    return ", ".join(f"{name}={value}" for name, value in values)


def _table(groups: Sequence[Sequence[Row]]) -> Table:
    is_sized = any(rows[0].task.sizes for rows in groups)
    is_varied = any(rows[0].task.parameters for rows in groups)
    table = plain_table()
    table.add_column("case", overflow="fold")
    if is_sized:
        table.add_column("sizes", overflow="fold")
    table.add_column("machine")
    if is_varied:
        table.add_column("fastest configuration", overflow="fold")
    table.add_column("time", justify="right")
    table.add_column("range", justify="right")
    table.add_column("limited by", overflow="fold")
    if is_varied:
        table.add_column("of", justify="right")
        table.add_column("slowest\n/fastest", justify="right")
    for rows in groups:
        task, best = rows[0].task, fastest(rows)
        cells = [escape(task.case)]
        cells += [values_in_words(task.sizes)] if is_sized else []
        cells.append(escape(task.machine_name))
        if is_varied:
            cells.append("" if best is None else escape(values_in_words(best.task.parameters)))
        if best is None or best.outcome.milliseconds is None or best.outcome.range_ms is None:
            cells += ["failed", "", ""]
        else:
            found = best.outcome
            cells.append(duration(best.outcome.milliseconds))
            cells += ["–".join(duration(t) for t in best.outcome.range_ms), found.limited_by or ""]
        if is_varied:
            times = [r.outcome.milliseconds for r in rows if r.outcome.milliseconds is not None]
            cells.append(str(len(rows)))
            cells.append(f"{max(times) / min(times):.2f}" if times else "")
        table.add_row(*cells)
    return table


def _errors(failed: Sequence[Row]) -> list[RenderableType]:
    """Lines with each different error, the most frequent first, with an example."""
    reasons: dict[str, list[Row]] = {}
    for row in failed:
        reasons.setdefault(row.outcome.error or "", []).append(row)
    order = sorted(reasons.items(), key=lambda item: -len(item[1]))
    found: list[RenderableType] = []
    for why, rows in order[:ERRORS_SHOWN]:
        task = rows[0].task
        values = values_in_words((*task.sizes, *task.parameters))
        example = f"{task.case} on {task.machine_name}{', ' if values else ''}{values}"
        found.append(Text.assemble((f"{len(rows)} failed", "bold yellow"), f": {why}"))
        found.append(Text(f"    such as {example}", style="dim"))
    if len(order) > ERRORS_SHOWN:
        found.append(Text(f"… and {len(order) - ERRORS_SHOWN} other errors"))
    return found
