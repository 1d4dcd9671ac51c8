"""Findings as annotations that GitHub Actions shows at their source lines.

GitHub, "Workflow commands for GitHub Actions": ``::warning file=F,line=N,title=T::MESSAGE``.
"""

from __future__ import annotations

from collections.abc import Sequence

from placewise.advisor.predictions.predicted_counters import CounterReport
from placewise.report.findings.lint import saving_in_words
from placewise.report.findings.lint_findings import Found
from placewise.report.source_lines import short


def github_annotations(report: CounterReport, found: Sequence[Found]) -> str:
    """One annotation for each finding that is not in the baseline, then one summary, to be printed
    in a step of a workflow. Paths are relative to the working folder, which should be the
    repository's root."""
    lines = []
    for one in found:
        if one.known:
            continue
        remark = one.remark
        place = {"file": short(remark.line.file if remark.line else report.case.filename)}
        if remark.line is not None:
            place["line"] = str(remark.line.line)
        place["title"] = f"placewise: {remark.rule}"
        where = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in place.items())
        level = "warning" if remark.warning else "notice"
        message = _escaped(f"{remark.message}{saving_in_words(remark)}")
        lines.append(f"::{level} {where}::{message}")
    known = sum(one.known for one in found)
    lines.append(
        f"{report.run.kernel.name} on {report.run.machine.name}: {len(found) - known} findings, "
        f"{known} known"
    )
    return "\n".join(lines)


def _escaped(text: str, further: str = "") -> str:
    """``text`` with ``%``, line ends and the characters of ``further`` escaped for GitHub."""
    for character in f"%\r\n{further}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
