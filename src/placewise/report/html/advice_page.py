"""The pages of ``placewise advise --html``, with and without ``--layouts``."""

from __future__ import annotations

from placewise.advisor.advice import Advice
from placewise.advisor.layouts.joint_advice import JointAdvice
from placewise.executor import DEFAULT_LIMIT
from placewise.progress import Progress, silent
from placewise.report.html.changes import changed_lines
from placewise.report.html.forms import simulated_form
from placewise.report.html.page import Page

PRESENT = "as it is"
DRAWING = "simulating memories for the report"


def advice_page(
    advice: Advice, *, instruction_limit: int = DEFAULT_LIMIT, progress: Progress = silent
) -> Page:
    """The page of advice. The present form and the recommended one (or else the best that was
    written) are simulated for their memory charts, which takes about as long as ``placewise
    counters``."""
    best = _compared(advice)
    progress(DRAWING, 0, 1 if best is None else 2)
    timed = advice.present.timed
    forms = [
        simulated_form(
            advice.case,
            advice.machine,
            title=PRESENT,
            prediction=None if timed is None else timed.prediction,
            instruction_limit=instruction_limit,
        )
    ]
    titles = [o.placement.describe(advice.present.placement) for o in advice.options]
    if best is not None:
        progress(DRAWING, 1, 2)
        option = advice.options[best]
        assert option.rewritten is not None, "only written forms are compared"
        forms.append(
            simulated_form(
                option.rewritten.case,
                advice.machine,
                title=titles[best],
                option=best,
                prediction=None if option.timed is None else option.timed.prediction,
                instruction_limit=instruction_limit,
            )
        )
    return Page(
        kind="advise",
        title=f"{advice.case.kernel} on {advice.machine.name}: where its arrays should live",
        verdict=advice.verdict,
        document=advice.to_dict(),
        forms=forms,
        changes=[
            {
                "option": n,
                "title": titles[n],
                "lines": changed_lines(advice.case.source, o.rewritten.case.source),
            }
            for n, o in enumerate(advice.options)
            if o.rewritten is not None and advice.case.source
        ],
    )


def _compared(advice: Advice) -> int | None:
    """Position of the option that the page compares with the present form: the recommended one,
    else the first that was written and proven; None where there is none."""
    for n, option in enumerate(advice.options):
        if option is advice.recommended and option.rewritten is not None:
            return n
    proven = (n for n, o in enumerate(advice.options) if o.proven and o.rewritten is not None)
    return next(proven, None)


def joint_page(
    advice: JointAdvice, *, instruction_limit: int = DEFAULT_LIMIT, progress: Progress = silent
) -> Page:
    """The page of layouts and placements searched together: the present form and the recommended
    one."""
    best = advice.recommended
    progress(DRAWING, 0, 1 if best is None else 2)
    forms = [
        simulated_form(
            advice.case,
            advice.machine,
            title=PRESENT,
            prediction=advice.present.prediction,
            instruction_limit=instruction_limit,
        )
    ]
    changes = []
    if best is not None:
        progress(DRAWING, 1, 2)
        title = f"{best.layout_text}; {best.placement_text}"
        forms.append(
            simulated_form(
                best.case,
                advice.machine,
                title=title,
                option=advice.forms.index(best),
                prediction=best.timed.prediction,
                instruction_limit=instruction_limit,
            )
        )
        lines = changed_lines(advice.case.source, best.case.source)
        changes = [{"option": advice.forms.index(best), "title": title, "lines": lines}]
    return Page(
        kind="advise",
        title=f"{advice.case.kernel} on {advice.machine.name}: layout and placement together",
        verdict=advice.verdict,
        document=advice.to_dict(),
        forms=forms,
        changes=changes,
    )
