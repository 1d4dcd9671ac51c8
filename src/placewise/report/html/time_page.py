"""The page of ``placewise time --html``."""

from __future__ import annotations

from placewise.advisor.explain.duration import duration
from placewise.advisor.predictions.predicted_time import TimePrediction, TimeReport
from placewise.progress import Progress, silent
from placewise.report.html.advice_page import DRAWING
from placewise.report.html.forms import simulated_form
from placewise.report.html.page import Page

FORMS = 2
"""Most machines whose memories are simulated for the page, the first ones asked for."""


def times_page(report: TimeReport, *, progress: Progress = silent) -> Page:
    """The page of predicted times, with the memory charts of the first machines."""
    shown = report.predictions[:FORMS]
    forms = []
    for n, found in enumerate(shown):
        progress(DRAWING, n, len(shown))
        title = f"on {found.machine.name}"
        forms.append(
            simulated_form(found.case, found.machine, title=title, prediction=found.prediction)
        )
    first = report.predictions[0]
    names = ", ".join(p.machine.name for p in report.predictions)
    return Page(
        kind="time",
        title=f"{first.case.kernel} on {names}: predicted time",
        verdict=_verdict(report),
        document=report.to_dict(),
        forms=forms,
    )


def _verdict(report: TimeReport) -> str:
    fastest = min(report.predictions, key=lambda p: p.milliseconds)
    if len(report.predictions) == 1:
        return _sentence(fastest)
    return f"Fastest of {len(report.predictions)}: {_sentence(fastest)}"


def _sentence(found: TimePrediction) -> str:
    low, high = (duration(t) for t in found.range_ms)
    nearly = f", nearly by {' and '.join(found.nearly)}" if found.nearly else ""
    return (
        f"{found.machine.name} takes {duration(found.milliseconds)} ({low}–{high}), limited by "
        f"{found.limited_by}{nearly}."
    )
