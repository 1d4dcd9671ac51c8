"""Remarks of the lint as a person reads them, and as data."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from placewise.advisor.lint import Remark
from placewise.advisor.predictions.predicted_counters import CounterReport
from placewise.report.source_lines import SourceLines, short


def render_lint(report: CounterReport, remarks: Sequence[Remark]) -> RenderableType:
    """Remarks in the form of compiler messages: place, level, message and rule, with the source
    line below."""
    source = SourceLines(report.case)
    parts: list[RenderableType] = []
    for remark in remarks:
        level, style = ("warning", "bold yellow") if remark.warning else ("note", "bold cyan")
        where = short(report.case.filename)
        text = ""
        if remark.line is not None:
            where = f"{short(remark.line.file)}:{remark.line.line}"
            text = source.text(*remark.line)
        parts.append(
            Text.assemble(
                (f"{where}: ", "bold"), (f"{level}: ", style), remark.message,
                (f" [{remark.rule}]", "dim"),
            )
        )  # fmt: skip
        if text:
            parts.append(Padding(Text(text, style="cyan"), (0, 0, 0, 4)))
    warnings = sum(remark.warning for remark in remarks)
    notes = len(remarks) - warnings
    parts.append(
        Text(
            f"{report.run.kernel.name} on {report.run.machine.name}: "
            f"{warnings} warning{'s' * (warnings != 1)}, {notes} note{'s' * (notes != 1)}"
        )
    )
    return Group(*parts)
