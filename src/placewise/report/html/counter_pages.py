"""The pages of ``placewise counters --html`` and ``placewise lint --html``."""

from __future__ import annotations

from collections.abc import Sequence

from placewise.advisor.documents.counters import counters_document
from placewise.advisor.lint import lint
from placewise.advisor.predictions.predicted_counters import CounterReport
from placewise.report.findings.lint_findings import (
    Found,
    first_remark,
    lint_document,
    remarks_in_short,
)
from placewise.report.html.advice_page import PRESENT
from placewise.report.html.forms import form_document
from placewise.report.html.page import Page


def counters_page(report: CounterReport, *, present: CounterReport | None = None) -> Page:
    """The page of predicted counters. Where ``report`` has moved arrays, ``present`` is the report
    of the case without these moves."""
    forms = [] if present is None else [form_document(present, title=PRESENT)]
    moves = ", ".join(f"{array} → {space}" for array, space in report.moves)
    forms.append(form_document(report, title=moves or PRESENT, option=0 if moves else None))
    return Page(
        kind="counters",
        title=f"{report.run.kernel.name} on {report.run.machine.name}: counters",
        verdict=first_remark(lint(report.run)),
        document=counters_document(report, present=present),
        forms=forms,
    )


def lint_page(report: CounterReport, found: Sequence[Found]) -> Page:
    """The page of findings on wasted bandwidth; the verdict leaves out findings of the baseline."""
    return Page(
        kind="lint",
        title=f"{report.run.kernel.name} on {report.run.machine.name}: wasted bandwidth",
        verdict=remarks_in_short([one.remark for one in found if not one.known]),
        document=lint_document(report, found),
        forms=[form_document(report, title=PRESENT, remarks=[one.remark for one in found])],
    )
