"""The page of ``placewise layout --html``."""

from __future__ import annotations

from collections.abc import Iterator

from placewise.advisor.layouts.layout_advice import (
    LayoutAdvice,
    LayoutOption,
    MatrixOption,
    TriedLayout,
)
from placewise.executor import DEFAULT_LIMIT
from placewise.kernel.cases.case import Case
from placewise.progress import Progress, silent
from placewise.report.html.advice_page import DRAWING, PRESENT
from placewise.report.html.changes import changed_lines
from placewise.report.html.forms import simulated_form
from placewise.report.html.page import Page


def layout_page(
    advice: LayoutAdvice, *, instruction_limit: int = DEFAULT_LIMIT, progress: Progress = silent
) -> Page:
    """The page of advice on layouts: the present form and the first recommended one are simulated
    for their memory charts."""
    options = list(_options(advice))
    best = next((n for n, (_, o, is_best) in enumerate(options) if is_best and _case(o)), None)
    progress(DRAWING, 0, 1 if best is None else 2)
    forms = [
        simulated_form(
            advice.case, advice.machine, title=PRESENT, instruction_limit=instruction_limit
        )
    ]
    if best is not None and (written := _case(options[best][1])) is not None:
        progress(DRAWING, 1, 2)
        timed = options[best][1].timed
        forms.append(
            simulated_form(
                written,
                advice.machine,
                title=options[best][0],
                option=best,
                prediction=None if timed is None else timed.prediction,
                instruction_limit=instruction_limit,
            )
        )
    return Page(
        kind="layout",
        title=f"{advice.case.kernel} on {advice.machine.name}: how its arrays should be laid out",
        verdict=advice.verdict,
        document=advice.to_dict(),
        forms=forms,
        changes=[
            {
                "option": n,
                "title": title,
                "lines": changed_lines(advice.case.source, case.source),
            }
            for n, (title, option, _) in enumerate(options)
            if (case := _case(option)) is not None
        ],
    )


def _options(advice: LayoutAdvice) -> Iterator[tuple[str, TriedLayout, bool]]:
    """(title, option, whether it is recommended), struct types first."""
    for structs in advice.structs:
        for option in structs.options:
            yield f"{structs.arrays.type_name}: {option.text}", option, option is structs.best
    if advice.matrices is not None:
        for order in advice.matrices.options:
            yield order.text, order, order is advice.matrices.best


def _case(option: TriedLayout) -> Case | None:
    """The rewritten case; None where the layout cannot be written."""
    match option:
        case LayoutOption(relaid=relaid) if relaid is not None:
            return relaid.case
        case MatrixOption(reordered=reordered) if reordered is not None:
            return reordered.case
        case _:
            return None
