"""``placewise advise``: where each array of a kernel should live."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from placewise.cli.moves import parse_moves
from placewise.cli.options import (
    AsJson,
    CachesBefore,
    CachesName,
    CaseName,
    Clock,
    CompilerVersion,
    Format,
    HtmlFile,
    InstructionLimit,
    MachineName,
    OutputFormat,
    ProfileKind,
    ProfileName,
    Quiet,
    SarifFile,
    show,
)
from placewise.cli.progress import StepProgress
from placewise.cli.quantities import check_row, parse_time_ms


class ChooserName(StrEnum):
    """Values of ``--chooser``. A test checks that they equal those of
    :class:`placewise.advisor.choosers.Chooser`, which takes long to import."""

    timeline = "timeline"
    porple = "porple"
    rules = "rules"
    optimum = "optimum"


class ModelName(StrEnum):
    """Values of ``--model``: models that predict all placements from one measured sample."""

    huang_li = "huang-li"


# One parameter for each option of the command: Typer reads them from the signature.
def advise(
    case: CaseName,
    machine: MachineName,
    measured: Annotated[
        str | None,
        typer.Option(
            metavar="TIME|FILE",
            help="Measurement of the unchanged kernel: its time, such as 1.3ms, or counters "
            "recorded by Nsight Compute (report or CSV), which correct the predicted ones.",
        ),
    ] = None,
    model: Annotated[
        ModelName | None,
        typer.Option(
            help="huang-li: predict the time of every placement from the --measured sample alone, "
            "by the model of Huang and Li 2017; nothing is rewritten or run again."
        ),
    ] = None,
    place: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ARRAY=SPACE", help="With --model: only this placement. May be given again."
        ),
    ] = None,
    row: Annotated[
        int | None,
        typer.Option(min=0, help="Which launch of the --measured file, from 0, if it has several."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the report and the verified source to DIR."),
    ] = None,
    finalists: Annotated[
        int | None,
        typer.Option(min=0, help="How many of the best placements are rewritten, verified, timed."),
    ] = None,
    probability: Annotated[
        float,
        typer.Option(
            min=0.5, max=1.0, help="Recommend a move only if it is faster with this probability."
        ),
    ] = 0.9,
    least_gain: Annotated[
        float,
        typer.Option(
            min=0.0, help="… and only if it gains at least this: 0.03 is 1.03 times as fast."
        ),
    ] = 0.03,
    chooser: Annotated[
        ChooserName,
        typer.Option(
            help="What decides: timeline, the predicted times of the finalists; porple, the path "
            "model as Chen et al. 2017 print it; rules, those after Jang et al. 2011; optimum, the "
            "predicted times of all legal placements."
        ),
    ] = ChooserName.timeline,
    layouts: Annotated[
        bool,
        typer.Option(
            "--layouts",
            help="Search layouts of structs and matrices together with placements; takes about "
            "three times as long.",
        ),
    ] = False,
    join: Annotated[
        str | None,
        typer.Option(
            metavar="ARRAYS",
            help="With --layouts: try these separate arrays of one length as one array of structs: "
            "x,y,z.",
        ),
    ] = None,
    profile: ProfileName = ProfileKind.full,
    clock: Clock = None,
    caches: CachesBefore = CachesName.cold,
    nvrtc: CompilerVersion = None,
    sarif: SarifFile = None,
    html: HtmlFile = None,
    limit: InstructionLimit = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Rank the placements of a kernel's arrays, say why, and write out the best, verified."""
    from placewise.advisor import FINALISTS, Demand
    from placewise.advisor import advise as find_advice
    from placewise.advisor.choosers import Chooser
    from placewise.advisor.layouts.advise_jointly import advise_jointly
    from placewise.advisor.predictions.one_sample import predict_targets
    from placewise.advisor.predictions.predicted_counters import predict_counters
    from placewise.advisor.prepare import Profiling
    from placewise.advisor.programs.advise_program import advise_program
    from placewise.advisor.programs.advise_program_jointly import advise_program_jointly
    from placewise.advisor.programs.program_advice import ProgramAdvice
    from placewise.advisor.programs.program_layout_advice import ProgramJointAdvice
    from placewise.errors import CaseError
    from placewise.executor import DEFAULT_LIMIT
    from placewise.kernel.programs.program_file import holds_program
    from placewise.machine import load_machine
    from placewise.machine.clocks import machine_at, with_caches
    from placewise.report.advice.files import check_file, check_folder, write_files
    from placewise.report.advice.text import render
    from placewise.report.formats import Report
    from placewise.report.html.advice_page import advice_page, joint_page
    from placewise.report.html.page import write_html
    from placewise.report.html.program_pages import of_program
    from placewise.report.layouts.joint import render_joint, write_joint_files
    from placewise.report.layouts.program_layout import (
        render_program_joint,
        write_program_joint_files,
    )
    from placewise.report.measured.targets import render_targets
    from placewise.report.program import render_program, write_program_files
    from placewise.report.sarif.findings import write_lint_sarif

    there = with_caches(machine_at(load_machine(machine), clock), caches.value)
    recorded = Path(measured) if measured is not None and Path(measured).is_file() else None
    measured_ms = None if measured is None or recorded else parse_time_ms(measured)
    check_row(row, recorded)
    if out is not None:
        check_folder(out)
    for file in (sarif, html):
        if file is not None:
            check_file(file)
    if place and model is None:
        raise CaseError("--place goes with --model", hint="`placewise rewrite` writes a placement")
    if join is not None and (not layouts or holds_program(case)):
        raise CaseError("--join goes with --layouts, of one launch")
    if model is not None:
        if layouts or any(given is not None for given in (sarif, html, out)):
            raise CaseError("--model goes with none of --layouts, --sarif, --html and --out")
        with StepProgress(Console(stderr=True), quiet=quiet) as progress:
            targets = predict_targets(
                case,
                there,
                measured_ms=measured_ms,
                profile=recorded,
                row=row,
                moves=parse_moves(place or ()),
                nvrtc=nvrtc,
                instruction_limit=limit or DEFAULT_LIMIT,
                progress=progress.step,
            )
        show(Report(partial(render_targets, targets), targets.to_dict), format_, as_json)
        return
    if holds_program(case):
        plain = chooser is ChooserName.timeline and profile is ProfileKind.full
        if any(given is not None for given in (measured, sarif)) or not plain:
            raise CaseError(
                "several launches go with none of --measured, --sarif, --chooser, --profile",
                where=case,
            )
        search: Callable[..., ProgramAdvice | ProgramJointAdvice]
        search = advise_program_jointly if layouts else advise_program
        with StepProgress(Console(stderr=True), quiet=quiet) as progress:
            program = search(
                case,
                there,
                finalists=FINALISTS if finalists is None else finalists,
                demand=Demand(probability, least_gain),
                nvrtc=nvrtc,
                instruction_limit=limit or DEFAULT_LIMIT,
                progress=progress.step,
            )
            drawn = of_program(program, progress=progress.step) if html is not None else None
        if isinstance(program, ProgramJointAdvice):
            files = write_program_joint_files(program, out) if out is not None else ()
            what = "report, verified source and conversions"
            shown = partial(render_program_joint, program)
        else:
            files = write_program_files(program, out) if out is not None else ()
            kept = program.recommended is None
            what = "report" if kept else "report, verified source and its host code"
            shown = partial(render_program, program)
        files += write_html(html, drawn)
        show(Report(shown, program.to_dict, files, what), format_, as_json)
        return
    if layouts:
        if measured is not None or sarif is not None:
            raise CaseError("--layouts goes with neither --measured nor --sarif")
        if chooser is not ChooserName.timeline or profile is not ProfileKind.full:
            raise CaseError("--layouts goes with neither --chooser nor --profile")
        with StepProgress(Console(stderr=True), quiet=quiet) as progress:
            joint = advise_jointly(
                case,
                there,
                join=[name.strip() for name in join.split(",")] if join else (),
                finalists=FINALISTS if finalists is None else finalists,
                demand=Demand(probability, least_gain),
                nvrtc=nvrtc,
                instruction_limit=limit or DEFAULT_LIMIT,
                progress=progress.step,
            )
            drawn = joint_page(joint, progress=progress.step) if html is not None else None
        files = write_joint_files(joint, out) if out is not None else ()
        files += write_html(html, drawn)
        what = "report, verified source and conversions"
        show(Report(partial(render_joint, joint), joint.to_dict, files, what), format_, as_json)
        return
    with StepProgress(Console(stderr=True), quiet=quiet) as progress:
        advice = find_advice(
            case,
            there,
            measured_ms=measured_ms,
            profile=recorded,
            row=row,
            finalists=FINALISTS if finalists is None else finalists,
            demand=Demand(probability, least_gain),
            chooser=Chooser(chooser.value),
            profiling=Profiling(profile.value),
            nvrtc=nvrtc,
            instruction_limit=limit or DEFAULT_LIMIT,
            progress=progress.step,
        )
        if sarif is not None:
            counted = predict_counters(
                advice.case,
                advice.machine,
                instruction_limit=limit or DEFAULT_LIMIT,
                progress=progress.step,
            )
            write_lint_sarif(sarif, counted, advice)
        page = None
        if html is not None:
            page = advice_page(
                advice, instruction_limit=limit or DEFAULT_LIMIT, progress=progress.step
            )
    files = write_files(advice, out) if out is not None else ()
    files += write_html(html, page)
    kept = advice.recommended is None
    what = "report" if kept else "report, verified source and its host code"
    show(Report(partial(render, advice), advice.to_dict, files, what), format_, as_json)
