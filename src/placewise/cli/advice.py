"""The four kinds of answers of ``placewise advise``.

Each function takes what the user asked, works it out with progress on standard error, writes the
files that were asked for, and gives back the report. Only what its kind of answer needs is
imported: the next answer is seconds away, and imports are a tenth of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from placewise.cli.moves import parse_moves
from placewise.cli.progress import StepProgress
from placewise.errors import CaseError

if TYPE_CHECKING:
    from placewise.advisor.finalists import Demand
    from placewise.advisor.programs.program_advice import ProgramAdvice
    from placewise.advisor.programs.program_layout_advice import ProgramJointAdvice
    from placewise.machine import Machine
    from placewise.report.formats import Report


@dataclass(frozen=True)
class Question:
    """What the options of ``placewise advise`` ask, read and checked one by one."""

    case: str
    machine: Machine
    measured_ms: float | None
    recorded: Path | None
    """File of recorded counters."""
    row: int | None
    """Which launch of ``recorded``."""
    place: tuple[str, ...]
    """Placements as ``array=space``."""
    join: tuple[str, ...]
    """Arrays to try as one array of structs."""
    out: Path | None
    sarif: Path | None
    html: Path | None
    finalists: int
    demand: Demand
    chooser: str
    profile: str
    nvrtc: str | None
    instruction_limit: int
    workers: int
    """Processes that try forms at the same time."""
    quiet: bool

    @property
    def plain(self) -> bool:
        """Whether the timeline chooses, from profiles of whole launches."""
        return self.chooser == "timeline" and self.profile == "full"

    @property
    def progress(self) -> StepProgress:
        """A new line of progress on standard error."""
        return StepProgress(Console(stderr=True), quiet=self.quiet)


def targets_of_sample(asked: Question) -> Report:
    """Every placement's time from one measured sample, by the model of Huang and Li."""
    from placewise.advisor.predictions.one_sample import predict_targets
    from placewise.report.formats import Report
    from placewise.report.measured.targets import render_targets

    with asked.progress as progress:
        targets = predict_targets(
            asked.case,
            asked.machine,
            measured_ms=asked.measured_ms,
            profile=asked.recorded,
            row=asked.row,
            moves=parse_moves(asked.place),
            nvrtc=asked.nvrtc,
            instruction_limit=asked.instruction_limit,
            progress=progress.step,
        )
    return Report(partial(render_targets, targets), targets.to_dict)


def advice_on_program(asked: Question, *, layouts: bool) -> Report:
    """Placements, and with ``layouts`` layouts too, of several launches that share arrays."""
    from placewise.advisor.programs.advise_program import advise_program
    from placewise.advisor.programs.advise_program_jointly import advise_program_jointly
    from placewise.advisor.programs.program_layout_advice import ProgramJointAdvice
    from placewise.report.formats import Report
    from placewise.report.html.page import write_html
    from placewise.report.layouts.program_layout import (
        render_program_joint,
        write_program_joint_files,
    )
    from placewise.report.program import render_program, write_program_files

    measured = asked.measured_ms is not None or asked.recorded is not None
    if measured or asked.sarif is not None or not asked.plain:
        raise CaseError(
            "several launches go with none of --measured, --sarif, --chooser, --profile",
            where=asked.case,
        )
    search: Callable[..., ProgramAdvice | ProgramJointAdvice]
    search = advise_program_jointly if layouts else advise_program
    page = None
    with asked.progress as progress:
        program = search(
            asked.case,
            asked.machine,
            finalists=asked.finalists,
            demand=asked.demand,
            nvrtc=asked.nvrtc,
            instruction_limit=asked.instruction_limit,
            workers=asked.workers,
            progress=progress.step,
        )
        if asked.html is not None:
            from placewise.report.html.program_pages import of_program

            page = of_program(program, progress=progress.step)
    files: tuple[Path, ...] = ()
    if isinstance(program, ProgramJointAdvice):
        what = "report, verified source and conversions"
        shown = partial(render_program_joint, program)
        if asked.out is not None:
            files = write_program_joint_files(program, asked.out)
    else:
        what = _report_and_source(kept=program.recommended is None)
        shown = partial(render_program, program)
        if asked.out is not None:
            files = write_program_files(program, asked.out)
    return Report(shown, program.to_dict, files + write_html(asked.html, page), what)


def advice_with_layouts(asked: Question) -> Report:
    """Layouts of structs and matrices together with placements, of one launch."""
    from placewise.advisor.layouts.advise_jointly import advise_jointly
    from placewise.report.formats import Report
    from placewise.report.html.page import write_html
    from placewise.report.layouts.joint import render_joint, write_joint_files

    if asked.measured_ms is not None or asked.recorded is not None or asked.sarif is not None:
        raise CaseError("--layouts goes with neither --measured nor --sarif")
    if not asked.plain:
        raise CaseError("--layouts goes with neither --chooser nor --profile")
    page = None
    with asked.progress as progress:
        joint = advise_jointly(
            asked.case,
            asked.machine,
            join=asked.join,
            finalists=asked.finalists,
            demand=asked.demand,
            nvrtc=asked.nvrtc,
            instruction_limit=asked.instruction_limit,
            workers=asked.workers,
            progress=progress.step,
        )
        if asked.html is not None:
            from placewise.report.html.advice_page import joint_page

            page = joint_page(joint, progress=progress.step)
    files = write_joint_files(joint, asked.out) if asked.out is not None else ()
    return Report(
        partial(render_joint, joint),
        joint.to_dict,
        files + write_html(asked.html, page),
        "report, verified source and conversions",
    )


def advice_on_launch(asked: Question) -> Report:
    """Placements of one launch's arrays."""
    from placewise.advisor import advise
    from placewise.advisor.choosers import Chooser
    from placewise.advisor.prepare import Profiling
    from placewise.report.advice.files import write_files
    from placewise.report.advice.text import render
    from placewise.report.formats import Report
    from placewise.report.html.page import write_html

    page = None
    with asked.progress as progress:
        advice = advise(
            asked.case,
            asked.machine,
            measured_ms=asked.measured_ms,
            profile=asked.recorded,
            row=asked.row,
            finalists=asked.finalists,
            demand=asked.demand,
            chooser=Chooser(asked.chooser),
            profiling=Profiling(asked.profile),
            nvrtc=asked.nvrtc,
            instruction_limit=asked.instruction_limit,
            workers=asked.workers,
            progress=progress.step,
        )
        if asked.sarif is not None:
            from placewise.advisor.predictions.predicted_counters import predict_counters
            from placewise.report.sarif.findings import write_lint_sarif

            counted = predict_counters(
                advice.case,
                advice.machine,
                instruction_limit=asked.instruction_limit,
                progress=progress.step,
            )
            write_lint_sarif(asked.sarif, counted, advice)
        if asked.html is not None:
            from placewise.report.html.advice_page import advice_page

            page = advice_page(
                advice, instruction_limit=asked.instruction_limit, progress=progress.step
            )
    files = write_files(advice, asked.out) if asked.out is not None else ()
    return Report(
        partial(render, advice),
        advice.to_dict,
        files + write_html(asked.html, page),
        _report_and_source(kept=advice.recommended is None),
    )


def _report_and_source(*, kept: bool) -> str:
    """The content of the written files, in words."""
    return "report" if kept else "report, verified source and its host code"
