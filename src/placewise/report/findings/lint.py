"""Remarks of lint as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from placewise.advisor.lint import Remark
from placewise.advisor.predictions.predicted_counters import CounterReport
from placewise.report.source_lines import SourceLines, short

if TYPE_CHECKING:
    from placewise.report.findings.lint_findings import Found

_WORTH_SAYING = 0.005
"""Smaller savings are not shown, since they round to 0 %."""


def render_lint(report: CounterReport, found: Sequence[Found]) -> RenderableType:
    """Findings in the form of compiler messages: place, level, message and rule, with the source
    line below. Findings of the baseline are only counted."""
    source = SourceLines(report.case)
    parts: list[RenderableType] = []
    new = [one.remark for one in found if not one.known]
    for remark in new:
        level, style = ("warning", "bold yellow") if remark.warning else ("note", "bold cyan")
        where = short(report.case.filename)
        text = ""
        if remark.line is not None:
            where = f"{short(remark.line.file)}:{remark.line.line}"
            text = source.text(*remark.line)
        parts.append(
            Text.assemble(
                (f"{where}: ", "bold"), (f"{level}: ", style), remark.message,
                saving_in_words(remark), (f" [{remark.rule}]", "dim"),
            )
        )  # fmt: skip
        if text:
            parts.append(Padding(Text(text, style="cyan"), (0, 0, 0, 4)))
    warnings = sum(remark.warning for remark in new)
    notes = len(new) - warnings
    known = len(found) - len(new)
    parts.append(
        Text(
            f"{report.run.kernel.name} on {report.run.machine.name}: "
            f"{warnings} warning{'s' * (warnings != 1)}, {notes} note{'s' * (notes != 1)}"
            + (f", {known} known" if known else "")
        )
    )
    return Group(*parts)


def saving_in_words(remark: Remark) -> str:
    """Text after the message with what mending would save; empty where that is little or not
    known."""
    if remark.saving is None or remark.saving < _WORTH_SAYING:
        return ""
    return f" (saves up to {remark.saving:.0%} of the predicted time)"
