"""The data of one form of a kernel on a page: source, listings, memory chart, heat of lines,
accesses of single warps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from placewise.advisor.forms.timing import watch_form
from placewise.advisor.lint import Remark
from placewise.advisor.lint_rules import lint_launch
from placewise.advisor.predictions.predicted_counters import CounterReport, predict_counters
from placewise.errors import PlacewiseError
from placewise.executor import DEFAULT_LIMIT
from placewise.kernel.cases.case import Case, Language
from placewise.machine import Machine
from placewise.model import Prediction
from placewise.report.html.charts.cache_curves import L2_LINES, cache_curves
from placewise.report.html.charts.line_heat import line_heat
from placewise.report.html.charts.memory_chart import memory_chart
from placewise.report.html.charts.roofline import roofline
from placewise.report.html.charts.sm_accesses import sm_accesses
from placewise.report.html.charts.warp_samples import warp_samples
from placewise.report.html.charts.warp_timeline import warp_timeline
from placewise.report.html.listings import ptx_listing, sass_listing


def form_document(
    report: CounterReport,
    *,
    title: str,
    option: int | None = None,
    prediction: Prediction | None = None,
    remarks: Sequence[Remark] | None = None,
) -> dict[str, Any]:
    """The document :class:`placewise.schemas.page.PageForm` of a simulated launch. Its time is
    predicted where ``prediction`` is not given, and ``remarks`` are worked out if not given."""
    run, case = report.run, report.case
    notes = list(report.notes)
    form = watch_form(run.kernel, case, run.machine, prediction)
    if prediction is None:
        prediction = form.timed.prediction
        if form.timed.why_not:
            notes.append(f"no shares of peak and no roofline: {form.timed.why_not}")
    seen = sm_accesses(run, case.inputs)
    if seen is None:
        notes.append("no accesses of single warps: the block cannot run without the others")
    if remarks is None:
        remarks = lint_launch(report, form.evidence)
    return {
        **_source(case),
        "title": title,
        "option": option,
        "chart": memory_chart(run, prediction),
        "lines": line_heat(run, remarks),
        "samples": [] if seen is None else warp_samples(run, seen),
        "timeline": None if form.watched is None else warp_timeline(form.watched, run.kernel),
        "curves": cache_curves(run, seen),
        "ptx": ptx_listing(run.kernel),
        "sass": sass_listing(run),
        "roofline": roofline(run, prediction),
        "notes": notes,
    }


def simulated_form(
    case: Case,
    machine: Machine,
    *,
    title: str,
    option: int | None = None,
    prediction: Prediction | None = None,
    instruction_limit: int = DEFAULT_LIMIT,
) -> dict[str, Any]:
    """Simulate a form and return its document. Where it cannot be simulated, the document has only
    the source and the reason, so that the page can be shown without charts."""
    try:
        report = predict_counters(
            case, machine, lines=L2_LINES, instruction_limit=instruction_limit
        )
    except PlacewiseError as error:
        note = f"the memories were not simulated: {error.message}"
        return {**source_document(case, title=title, note=note), "option": option}
    return form_document(report, title=title, option=option, prediction=prediction)


def source_document(case: Case, *, title: str, note: str = "") -> dict[str, Any]:
    """The document of a form with its source alone."""
    return {
        **_source(case),
        "title": title,
        "option": None,
        "chart": None,
        "lines": [],
        "samples": [],
        "timeline": None,
        "curves": [],
        "ptx": [],
        "sass": [],
        "roofline": None,
        "notes": [note] if note else [],
    }


def _source(case: Case) -> dict[str, Any]:
    ptx = case.language is Language.PTX
    return {
        "file": Path(case.filename).name,
        "source": case.source,
        "language": "ptx" if ptx else "cuda",
    }
