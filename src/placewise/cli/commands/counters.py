"""``placewise counters``: the hardware counters that a profiler would show."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from placewise.cli.moves import parse_moves
from placewise.cli.options import (
    AsJson,
    CaseName,
    CompilerVersion,
    Format,
    HtmlFile,
    InstructionLimit,
    MachineName,
    OutputFormat,
    Quiet,
    SarifFile,
    show,
)
from placewise.cli.progress import StepProgress
from placewise.cli.quantities import check_row
from placewise.errors import CaseError


class Part(StrEnum):
    """Parts of a launch that counters can be shown for."""

    array = "array"
    line = "line"


# One parameter for each option of the command: Typer reads them from the signature.
def counters(
    case: CaseName,
    machine: MachineName,
    nvrtc: CompilerVersion = None,
    by: Annotated[
        Part | None,
        typer.Option(help="Also show the counters of each array, or of each source line."),
    ] = None,
    measured: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Compare with recorded counters: a report (.ncu-rep) or CSV of Nsight Compute, "
            "CSV or JSON of KTT, JSON of Kernel Tuner.",
        ),
    ] = None,
    row: Annotated[
        int | None,
        typer.Option(min=0, help="Which launch of the --measured file, from 0, if it has several."),
    ] = None,
    place: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ARRAY=SPACE",
            help="Also show the counters with this array moved: the kernel is rewritten and run. "
            "May be given again.",
        ),
    ] = None,
    retarget: Annotated[
        bool,
        typer.Option(
            "--retarget",
            help="With --place: count the present code's accesses in the new space instead of "
            "rewriting the kernel.",
        ),
    ] = False,
    sizes: Annotated[
        bool,
        typer.Option(
            "--sizes",
            help="Also show misses that L2 caches of other sizes would have, estimated from reuse "
            "distances and simulated.",
        ),
    ] = False,
    sarif: SarifFile = None,
    html: HtmlFile = None,
    limit: InstructionLimit = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Predict hardware counters, under Nsight Compute's names, without a GPU."""
    from placewise.advisor.documents.counters import counters_document
    from placewise.advisor.predictions.moved_counters import predict_moved_counters
    from placewise.advisor.predictions.predicted_counters import predict_counters
    from placewise.executor import DEFAULT_LIMIT
    from placewise.report.advice.files import check_file
    from placewise.report.formats import Report
    from placewise.report.html.charts.cache_curves import L2_LINES
    from placewise.report.html.counter_pages import counters_page
    from placewise.report.html.page import write_html
    from placewise.report.predictions.counters import render_counters
    from placewise.report.sarif.findings import write_lint_sarif

    for file in (sarif, html):
        if file is not None:
            check_file(file)
    check_row(row, measured)
    moves = parse_moves(place or ())
    if retarget and not moves:
        raise CaseError("no array is moved", where="--retarget", hint="add --place ARRAY=SPACE")
    if moves and measured is not None:
        raise CaseError(
            "recorded counters cannot be compared with moved arrays",
            where="--measured",
            hint="give --measured or --place, not both",
        )
    if moves and sizes:
        raise CaseError(
            "other L2 sizes are not simulated for moved arrays",
            where="--sizes",
            hint="give --sizes or --place, not both",
        )
    instruction_limit = limit or DEFAULT_LIMIT
    lines = 0 if html is None else L2_LINES
    with StepProgress(Console(stderr=True), quiet=quiet) as progress:
        if moves:
            both = predict_moved_counters(
                case,
                machine,
                moves,
                retarget=retarget,
                nvrtc=nvrtc,
                lines=lines,
                instruction_limit=instruction_limit,
                progress=progress.step,
            )
            report, present = both.moved, both.present
        else:
            present = None
            report = predict_counters(
                case,
                machine,
                nvrtc=nvrtc,
                measured=measured,
                row=row,
                sizes=sizes,
                lines=lines,
                instruction_limit=instruction_limit,
                progress=progress.step,
            )
    if sarif is not None:
        write_lint_sarif(sarif, report)
    page = counters_page(report, present=present) if html is not None else None
    files = write_html(html, page)
    show(
        Report(
            partial(render_counters, report, by=by, present=present),
            partial(counters_document, report, present=present),
            files,
        ),
        format_,
        as_json,
    )
