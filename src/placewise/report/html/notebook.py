"""Results in notebooks: the HTML report in a frame."""

from __future__ import annotations

import html
from typing import Any

from placewise.advisor.advice import Advice
from placewise.advisor.layouts.joint_advice import JointAdvice
from placewise.advisor.layouts.layout_advice import LayoutAdvice
from placewise.advisor.predictions.moved_counters import MovedCounters
from placewise.advisor.predictions.predicted_counters import CounterReport
from placewise.advisor.predictions.predicted_time import TimePrediction, TimeReport
from placewise.executor.run_case import CaseRun
from placewise.report.findings.lint_report import LintReport
from placewise.report.html.advice_page import advice_page, joint_page
from placewise.report.html.counter_pages import counters_page, lint_page
from placewise.report.html.layout_page import layout_page
from placewise.report.html.page import Page, page_text
from placewise.report.html.run_page import run_page
from placewise.report.html.time_page import times_page

HEIGHT = 720
"""Pixels of the frame; its page scrolls."""


def page_of(result: Any) -> Page:
    """The page of a result. Raises TypeError for a value without a page."""
    match result:
        case Advice():
            return advice_page(result)
        case JointAdvice():
            return joint_page(result)
        case LayoutAdvice():
            return layout_page(result)
        case CounterReport():
            return counters_page(result)
        case MovedCounters():
            return counters_page(result.moved, present=result.present)
        case LintReport():
            return lint_page(result.counters, result.found)
        case TimeReport():
            return times_page(result)
        case TimePrediction():
            return times_page(TimeReport((result,), ()))
        case CaseRun():
            return run_page(result)
        case _:
            raise TypeError(f"{type(result).__name__} has no page")


def framed(page: Page) -> str:
    """The page as an ``iframe`` whose document cannot reach the notebook around it."""
    text = html.escape(page_text(page))
    return (
        f'<iframe sandbox="allow-scripts allow-modals" srcdoc="{text}" '
        f'style="width:100%;height:{HEIGHT}px;border:1px solid #8884;border-radius:6px" '
        f'title="{html.escape(page.title)}"></iframe>'
    )
