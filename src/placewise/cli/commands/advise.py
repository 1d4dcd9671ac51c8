"""``placewise advise``: where each array of a kernel should live."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

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
from placewise.cli.quantities import check_row, parse_time_ms

MOST_WORKERS = 8
"""There are seldom more forms to try, and each process needs its own memory."""


def default_workers() -> int:
    """Number of processes that try forms, unless the user says otherwise."""
    return min(MOST_WORKERS, len(os.sched_getaffinity(0)))


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
        typer.Option(
            "--out", "-o", metavar="DIR", help="Write the report and the verified source to DIR."
        ),
    ] = None,
    finalists: Annotated[
        int | None,
        typer.Option(min=0, help="How many of the best placements are rewritten and timed."),
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
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of processes that try forms at the same time. Default: one for each "
            f"processor, at most {MOST_WORKERS}. One tries all that take under half a second.",
        ),
    ] = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Rank the placements of a kernel's arrays, say why, and write out the best, verified."""
    from placewise.advisor import FINALISTS, Demand
    from placewise.cli.advice import (
        Question,
        advice_on_launch,
        advice_on_program,
        advice_with_layouts,
        targets_of_sample,
    )
    from placewise.errors import CaseError
    from placewise.executor import DEFAULT_LIMIT
    from placewise.kernel.programs.program_file import holds_program
    from placewise.machine import load_machine
    from placewise.machine.clocks import machine_at, with_caches
    from placewise.report.advice.files import check_file, check_folder

    recorded = Path(measured) if measured is not None and Path(measured).is_file() else None
    asked = Question(
        case=case,
        machine=with_caches(machine_at(load_machine(machine), clock), caches.value),
        measured_ms=None if measured is None or recorded else parse_time_ms(measured),
        recorded=recorded,
        row=row,
        place=tuple(place or ()),
        join=tuple(name.strip() for name in join.split(",")) if join else (),
        out=out,
        sarif=sarif,
        html=html,
        finalists=FINALISTS if finalists is None else finalists,
        demand=Demand(probability, least_gain),
        chooser=chooser.value,
        profile=profile.value,
        nvrtc=nvrtc,
        instruction_limit=limit or DEFAULT_LIMIT,
        workers=workers or default_workers(),
        quiet=quiet,
    )
    check_row(row, recorded)
    if out is not None:
        check_folder(out)
    for file in (sarif, html):
        if file is not None:
            check_file(file)
    several = holds_program(case)
    if place and model is None:
        raise CaseError("--place goes with --model", hint="`placewise rewrite` writes a placement")
    if join is not None and (not layouts or several):
        raise CaseError("--join goes with --layouts, of one launch")
    written = any(file is not None for file in (sarif, html, out))
    if model is not None and (layouts or written):
        raise CaseError("--model goes with none of --layouts, --sarif, --html and --out")
    if model is not None:
        report = targets_of_sample(asked)
    elif several:
        report = advice_on_program(asked, layouts=layouts)
    elif layouts:
        report = advice_with_layouts(asked)
    else:
        report = advice_on_launch(asked)
    show(report, format_, as_json)
