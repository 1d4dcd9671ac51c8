"""Advice on layouts as text: the answer, a comparison of layouts, and lines that waste bytes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from placewise.advisor.explain.duration import duration
from placewise.advisor.explain.gain import chance, speedup, speedup_range
from placewise.advisor.forms.timing import Timed
from placewise.advisor.layouts.layout_advice import (
    NOTHING,
    Conversion,
    LayoutAdvice,
    LayoutOption,
    MatrixAdvice,
    StructAdvice,
    TriedLayout,
)
from placewise.choose.matrix_orders import MatrixUse
from placewise.kernel.cases.case import Case
from placewise.machine import Machine
from placewise.report.tables import plain_table

LINES_SHOWN = 6


def render_layouts(advice: LayoutAdvice) -> RenderableType:
    """The whole report, for a rich console."""
    parts: list[RenderableType] = [layout_heading(advice.case, advice.machine), Text()]
    if not advice.structs and advice.matrices is None:
        parts.append(Text(NOTHING))
    for structs in advice.structs:
        parts += _struct(structs)
    if advice.matrices is not None:
        parts += _matrices(advice.matrices)
    parts += [Text(note, style="dim") for note in advice.notes]
    return Group(*parts)


def layout_heading(case: Case, machine: Machine) -> Text:
    """The kernel, its launch and the machine, in a line."""
    launch = case.launch
    return Text.from_markup(
        f"[bold]{escape(case.kernel)}[/bold] of {escape(case.filename)}, "
        f"grid {'×'.join(map(str, launch.grid))}, block {'×'.join(map(str, launch.block))}, "
        f"on {escape(machine.name)}"
    )


def _struct(structs: StructAdvice) -> list[RenderableType]:
    if structs.arrays.obstacle is not None:
        return [Text(structs.verdict), Text()]
    parts: list[RenderableType] = [Text(structs.verdict, style="bold")]
    if structs.conversion is not None:
        parts.append(_conversion(structs.conversion))
    declared = structs.now.describe()
    parts += [Text(), _options(declared, structs.present, structs.options), Text()]
    wasteful = [use for use in structs.lines if use.moved_bytes > use.used_bytes]
    if wasteful:
        parts += [Text("Share of moved bytes that warps use, in the present layout", style="bold")]
        parts += [_lines(structs), Text()]
    return parts


def _matrices(matrices: MatrixAdvice) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(matrices.verdict, style="bold")]
    if matrices.conversion is not None:
        parts.append(_conversion(matrices.conversion))
    if matrices.options:
        parts += [Text(), _options("row by row", matrices.present, matrices.options)]
    parts += [Text(), Text("Sectors of the matrices' accesses, 32 bytes each", style="bold")]
    return [*parts, _sectors(matrices.uses), Text()]


def _sectors(uses: Sequence[MatrixUse]) -> Table:
    table = plain_table()
    table.add_column("array")
    table.add_column("rows × columns", justify="right")
    table.add_column("sectors a\nrequest", justify="right")
    table.add_column("in the best\norder", justify="right")
    table.add_column("order", overflow="fold")
    for use in uses:
        requests = max(1, use.requests)
        order = "as it is" if use.best is None else use.best.kind
        table.add_row(
            escape(use.matrix.name),
            f"{use.matrix.rows} × {use.matrix.columns}",
            f"{use.sectors / requests:.1f}",
            f"{use.best_sectors / requests:.1f}",
            order,
        )
    return table


def _conversion(found: Conversion) -> Text:
    if found.milliseconds is None:
        return Text(f"Converting there and back moves {found.bytes} bytes.")
    words = (
        f"Converting there and back takes about {duration(found.milliseconds)} on the GPU, two "
        "launches at the bandwidth of its DRAM"
    )
    if found.launches is not None:
        launches = f"{found.launches} launches" if found.launches > 1 else "one launch"
        words += f": paid back after {launches}"
    return Text(words + ".")


def _options(declared: str, present: Timed | None, options: Sequence[TriedLayout]) -> Table:
    table = plain_table()
    table.add_column("layout", overflow="fold")
    table.add_column("kind")
    judged = [_judged(option) for option in options if isinstance(option, LayoutOption)]
    if judged:
        table.add_column("static\ncost", justify="right")
        table.add_column("sectors", justify="right")
    table.add_column("time", justify="right")
    table.add_column("times as fast", justify="right")
    table.add_column("likely\nfaster", justify="right")
    table.add_column("proof", overflow="fold")
    if present is not None and present.ms is not None:
        same = ["1.00", "1.00"] if judged else []
        table.add_row(declared, "as it is", *same, duration(present.ms), "", "", "")
    for option in options:
        cells = [option.text, option.kind]
        if isinstance(option, LayoutOption):
            cells += _judged(option)
        if option.timed is not None and option.timed.ms is not None and option.ratio is not None:
            faster = option.ratio.faster
            cells += [
                duration(option.timed.ms),
                f"{speedup(option.ratio.ratio)} ({speedup_range(option.ratio)})",
                "" if faster is None else chance(faster),
            ]
        else:
            cells += ["", "", ""]
        detail = option.detail
        if option.timed is not None and option.timed.why_not:
            detail += f"; no time: {option.timed.why_not}"
        table.add_row(*map(escape, (*cells, detail)))
    return table


def _judged(option: LayoutOption) -> list[str]:
    """Static cost and sectors of the present layout's."""
    return ["" if x is None else f"{x:.2f}" for x in (option.static_ratio, option.sectors_ratio)]


def _lines(structs: StructAdvice) -> Table:
    table = plain_table()
    table.add_column("line", justify="right")
    table.add_column("array")
    table.add_column("access")
    table.add_column("fields", overflow="fold")
    table.add_column("bytes moved\nper request", justify="right")
    table.add_column("used", justify="right")
    for use in structs.lines[:LINES_SHOWN]:
        table.add_row(
            "" if use.line is None else str(use.line),
            escape(use.array),
            use.kind,
            escape(" ".join(use.fields)),
            f"{use.moved_bytes / use.requests:.0f}",
            f"{use.used_bytes / max(1, use.moved_bytes):.0%}",
        )
    return table
