"""The pages of ``placewise advise --html`` and ``placewise layout --html`` for programs."""

from __future__ import annotations

from typing import Any

from placewise.advisor.programs.joint_search import AdvisedStep
from placewise.advisor.programs.program_advice import ProgramAdvice
from placewise.advisor.programs.program_layout_advice import (
    ProgramJointAdvice,
    ProgramLayoutAdvice,
    TimedStep,
)
from placewise.advisor.programs.relaid_program import RelaidProgram
from placewise.executor import DEFAULT_LIMIT
from placewise.kernel.cases.case import Case
from placewise.machine import Machine
from placewise.progress import Progress, silent
from placewise.report.html.advice_page import DRAWING, PRESENT
from placewise.report.html.changes import changed_lines
from placewise.report.html.forms import simulated_form
from placewise.report.html.page import Page


def of_program(advice: ProgramAdvice | ProgramJointAdvice, *, progress: Progress = silent) -> Page:
    """The page of ``placewise advise`` for a program, with or without layouts."""
    if isinstance(advice, ProgramJointAdvice):
        return program_joint_page(advice, progress=progress)
    return program_page(advice, progress=progress)


def program_page(
    advice: ProgramAdvice, *, instruction_limit: int = DEFAULT_LIMIT, progress: Progress = silent
) -> Page:
    """The page of advice on a program's placements. The launch that takes the longest in all is
    simulated for its memory charts, as it is and in its recommended form."""
    heaviest: AdvisedStep = max(
        advice.launches, key=lambda one: one.present_ns * one.step.launch.times
    )
    written = None
    if advice.recommended is not None:
        _, option = advice.recommended.by_launch[heaviest.step.number]
        written = None if option.rewritten is None else option.rewritten.case
    forms = _forms(
        heaviest.step.title, heaviest.advice.case, written, advice.machine, instruction_limit,
        progress,
    )  # fmt: skip
    source = None if advice.written is None else advice.written.source
    return Page(
        kind="advise",
        title=f"{advice.program.name} on {advice.machine.name}: where its arrays should live",
        verdict=advice.verdict,
        document=advice.to_dict(),
        forms=forms,
        changes=_changes(advice.program.source, source),
    )


def program_layout_page(
    advice: ProgramLayoutAdvice, *, instruction_limit: int = DEFAULT_LIMIT,
    progress: Progress = silent,
) -> Page:  # fmt: skip
    """The page of advice on the layouts of a program's arrays. The launch that takes the longest in
    all is simulated for its memory charts, as it is and in the first recommended layout."""
    best = next((one.best for one in advice.structs if one.best is not None), None)
    relaid = None if best is None else best.relaid
    forms = _layout_forms(advice, relaid, instruction_limit, progress)
    source = None if relaid is None else relaid.program.source
    if advice.together is not None:
        source = advice.together.source
    return Page(
        kind="layout",
        title=f"{advice.program.name} on {advice.machine.name}: how its arrays should be laid out",
        verdict=advice.verdict,
        document=advice.to_dict(),
        forms=forms,
        changes=_changes(advice.program.source, source),
    )


def program_joint_page(
    advice: ProgramJointAdvice, *, instruction_limit: int = DEFAULT_LIMIT,
    progress: Progress = silent,
) -> Page:  # fmt: skip
    """The page of a program's layouts and placements searched together. The launch that takes the
    longest in all is simulated for its memory charts as it is."""
    layouts = advice.layouts
    source = None if advice.recommended is None else advice.recommended.source
    return Page(
        kind="advise",
        title=f"{layouts.program.name} on {layouts.machine.name}: layout and placement together",
        verdict=advice.verdict,
        document=advice.to_dict(),
        forms=_layout_forms(layouts, None, instruction_limit, progress),
        changes=_changes(layouts.program.source, source),
    )


def _layout_forms(
    advice: ProgramLayoutAdvice, relaid: RelaidProgram | None, instruction_limit: int,
    progress: Progress,
) -> list[dict[str, Any]]:  # fmt: skip
    """The launch that takes the longest in all, as it is and as it stands in ``relaid``."""
    heaviest: TimedStep | None = max(advice.launches, key=lambda one: one.total_ms, default=None)
    if heaviest is None:
        return []
    form = None if relaid is None else relaid.relaid.get(heaviest.step.number)
    return _forms(
        heaviest.step.title, heaviest.step.case, None if form is None else form.case,
        advice.machine, instruction_limit, progress,
    )  # fmt: skip


def _forms(
    title: str, present: Case, written: Case | None, machine: Machine, instruction_limit: int,
    progress: Progress,
) -> list[dict[str, Any]]:  # fmt: skip
    """One launch as it is and, where it is, as it was written."""
    cases = [(present, PRESENT, None), *([(written, "as written", 0)] if written else [])]
    made = []
    for done, (case, what, option) in enumerate(cases):
        progress(DRAWING, done, len(cases))
        made.append(
            simulated_form(
                case, machine, title=f"launch {title}, {what}", option=option,
                instruction_limit=instruction_limit,
            )
        )  # fmt: skip
    return made


def _changes(before: str, after: str | None) -> list[dict[str, Any]]:
    """What the recommended forms change in the program's source."""
    if after is None or after == before:
        return []
    return [{"option": 0, "title": "all kernels", "lines": changed_lines(before, after)}]
