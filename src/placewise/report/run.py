"""A run on the CPU as text."""

from __future__ import annotations

from collections import Counter

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from placewise.advisor.explain.why import count
from placewise.executor.check import Checker, Finding, Place, Severity
from placewise.executor.run_case import CaseRun, LineCount
from placewise.kernel.cases.case import Case
from placewise.report.source_lines import SourceLines, short
from placewise.report.tables import plain_table

LINES_SHOWN = 16
_STYLE = {Severity.error: "bold red", Severity.warning: "bold yellow", Severity.note: "bold cyan"}


def render_run(run: CaseRun) -> RenderableType:
    """The whole report, for a rich console."""
    source = SourceLines(run.case)
    parts: list[RenderableType] = [_heading(run), Text()]
    if run.checker is not None:
        parts += [render_findings(run.checker, run.case), Text()]
    parts += [_arrays(run)]
    if run.lines:
        parts += [Text(), _lines(run, source)]
    if run.execution.printed.dropped:
        parts += [Text(f"printf: the first {run.execution.printed.dropped} calls were dropped")]
    if run.notes:
        parts += [Text(), *(Text(f"note: {note}", style="dim") for note in run.notes)]
    return Group(*parts)


def _heading(run: CaseRun) -> RenderableType:
    case, execution = run.case, run.execution
    grid = "×".join(str(d) for d in case.launch.grid)
    block = "×".join(str(d) for d in case.launch.block)
    return Group(
        Text.from_markup(
            f"[bold]{escape(run.kernel.name)}[/bold] of {escape(short(case.filename))} "
            f"({run.kernel.arch})"
        ),
        Text(
            f"grid {grid}, block {block}; compiled in {run.compile_seconds:.2g} s, run in "
            f"{execution.seconds:.2g} s: {count(execution.warp_instructions)} warp and "
            f"{count(execution.thread_instructions)} thread instructions (PTX)",
            style="dim",
        ),
    )


def _arrays(run: CaseRun) -> Table:
    table = plain_table()
    table.add_column("output", overflow="fold")
    table.add_column("type")
    for column in ("shape", "least", "most", "NaN"):
        table.add_column(column, justify="right")
    table.add_column("SHA-256")
    for a in run.arrays:
        if a.written:
            table.add_row(
                escape(a.name),
                escape(a.dtype),
                "×".join(map(str, a.shape)),
                _number(a.least),
                _number(a.most),
                str(a.nans) if a.nans else "",
                a.sha256[:16],
            )
    if not table.row_count:
        table.add_row("none: the kernel writes to no array", "", "", "", "", "", "")
    return table


def _number(value: float | int | None) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _lines(run: CaseRun, source: SourceLines) -> Table:
    """A table of the source lines that execute most instructions, in the order of the source."""
    heaviest = sorted(run.lines, key=_weight, reverse=True)[:LINES_SHOWN]
    table = plain_table()
    for column in ("line", "warp instr.", "lanes"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("warp accesses", no_wrap=True)
    # Rich first narrows columns that may wrap. So the columns of figures, which may not, keep their
    # width, and the source column gets narrower and its lines are cut.
    table.add_column("source", overflow="ellipsis")
    several = len({c.file for c in run.lines}) > 1
    for c in run.lines:
        if c in heaviest:
            where = f"{short(c.file)}:{c.line}" if several else str(c.line)
            lanes = c.thread_instructions / c.warp_instructions if c.warp_instructions else 0.0
            table.add_row(
                escape(where),
                count(c.warp_instructions),
                f"{lanes:.3g}",
                "\n".join(f"{what} {count(n)}" for what, n in c.accesses),
                Text(source.text(c.file, c.line), no_wrap=True, overflow="ellipsis"),
            )
    hidden = len(run.lines) - len(heaviest)
    if hidden > 0:
        table.caption = f"and {hidden} more lines (in the JSON report)"
        table.caption_justify = "left"
    return table


def _weight(line: LineCount) -> int:
    return line.warp_instructions + sum(n for _, n in line.accesses)


def render_findings(checker: Checker, case: Case | None = None) -> RenderableType:
    """What the checker found, with the lines of the case's source."""
    source = SourceLines(case)
    totals = Counter(f.severity for f in checker.findings)
    parts: list[RenderableType] = []
    for f in checker.findings:
        parts += [_finding(f, source), Text()]
    if checker.clean:
        verdict = Text("Check  no mistakes found", style="bold green")
    else:
        said = [_plural(totals[s], s.value) for s in Severity if totals[s]]
        verdict = Text(f"Check  {', '.join(said)}", style="bold")
    remarks = [Text(f"not checked: {remark}", style="yellow") for remark in checker.remarks]
    return Group(*parts, verdict, *remarks)


def _plural(n: int, what: str) -> str:
    return f"{n} {what}{'s' if n != 1 else ''}"


def _finding(f: Finding, source: SourceLines) -> RenderableType:
    times = f"  ×{f.count:,}" if f.count > 1 else ""
    if f.launches > 1:
        times += f" in {f.launches:,} launches"
    head = Text.assemble(
        (f"{f.severity.value}  ", _STYLE[f.severity]),
        (f.kind.value, "bold"),
        f"  {_at(f.place)}",
        times,
    )
    body: list[RenderableType] = [Text(f.message)]
    body += _quoted(f.place, source)
    if f.thread is not None:
        body.append(Text(f"by {f.thread}", style="dim"))
    if f.other_place is not None and str(f.other_place) != str(f.place):
        body.append(Text(f"the other at {_at(f.other_place)}", style="dim"))
        body += _quoted(f.other_place, source)
    if f.other_thread is not None:
        body.append(Text(f"with {f.other_thread}", style="dim"))
    if f.hint:
        body.append(Text.assemble(("hint  ", "bold"), f.hint))
    return Group(head, Padding(Group(*body), (0, 0, 0, 2)))


def _at(place: Place) -> str:
    if place.line is None:
        return f"{short(place.file)} (PTX line {place.ptx_line})" if place.ptx_line else ""
    return f"{short(place.file)}:{place.line}"


def _quoted(place: Place, source: SourceLines) -> list[RenderableType]:
    text = source.text(place.file, place.line)
    return [Text(f"│ {text}", style="cyan", no_wrap=True, overflow="ellipsis")] if text else []
