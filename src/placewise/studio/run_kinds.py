"""The kinds of runs that the studio offers. Each takes a case and machines and makes a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from placewise.advisor import advise
from placewise.advisor.layouts.advise_layout import advise_layout
from placewise.advisor.lint_rules import lint_launch
from placewise.advisor.predictions.predicted_counters import predict_counters
from placewise.advisor.predictions.predicted_time import predict_times
from placewise.executor.check import Checker
from placewise.executor.run_case import run_case
from placewise.kernel.cases.case import Case
from placewise.machine import Machine
from placewise.progress import Progress
from placewise.report.findings.lint_findings import with_fingerprints
from placewise.report.html.advice_page import advice_page
from placewise.report.html.charts.cache_curves import L2_LINES
from placewise.report.html.counter_pages import counters_page, lint_page
from placewise.report.html.layout_page import layout_page
from placewise.report.html.page import Page
from placewise.report.html.run_page import run_page
from placewise.report.html.time_page import times_page

Run = Callable[[Case, Sequence[Machine], Progress], Page]


def _advise(case: Case, machines: Sequence[Machine], progress: Progress) -> Page:
    return advice_page(advise(case, machines[0], progress=progress), progress=progress)


def _layout(case: Case, machines: Sequence[Machine], progress: Progress) -> Page:
    return layout_page(advise_layout(case, machines[0], progress=progress), progress=progress)


def _time(case: Case, machines: Sequence[Machine], progress: Progress) -> Page:
    return times_page(predict_times(case, machines, progress=progress), progress=progress)


def _counters(case: Case, machines: Sequence[Machine], progress: Progress) -> Page:
    return counters_page(predict_counters(case, machines[0], lines=L2_LINES, progress=progress))


def _lint(case: Case, machines: Sequence[Machine], progress: Progress) -> Page:
    report = predict_counters(case, machines[0], lines=L2_LINES, progress=progress)
    return lint_page(report, with_fingerprints(report, lint_launch(report)))


def _run(case: Case, machines: Sequence[Machine], progress: Progress) -> Page:
    return run_page(run_case(case, machine=machines[0], checker=Checker(), progress=progress))


KINDS: Mapping[str, Run] = {
    "advise": _advise,
    "layout": _layout,
    "time": _time,
    "counters": _counters,
    "lint": _lint,
    "run": _run,
}
"""The functions by the name of the command."""
