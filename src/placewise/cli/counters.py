"""``placewise counters``: what a profiler would count."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from placewise.cli.options import (
    AsJson,
    CaseName,
    CompilerVersion,
    Format,
    InstructionLimit,
    MachineName,
    OutputFormat,
    Quiet,
)
from placewise.cli.progress import StepProgress
from placewise.cli.quantities import check_row


class Part(StrEnum):
    """Parts of a launch that counters are told apart by."""

    array = "array"
    line = "line"


def counters(
    case: CaseName,
    machine: MachineName,
    nvrtc: CompilerVersion = None,
    by: Annotated[
        Part | None, typer.Option(help="Counters of each array, or of each source line, too.")
    ] = None,
    measured: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Recorded counters to show beside: a report (.ncu-rep) or CSV of Nsight Compute, "
            "CSV or JSON of KTT, JSON of Kernel Tuner.",
        ),
    ] = None,
    row: Annotated[
        int | None,
        typer.Option(min=0, help="Which launch of that file, from 0, where it has several."),
    ] = None,
    limit: InstructionLimit = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Predict hardware counters, under Nsight Compute's names, without a GPU."""
    from placewise.advise.counters import predict_counters
    from placewise.execute import DEFAULT_LIMIT
    from placewise.report import counters_document, render_counters, report_console

    check_row(row, measured)
    with StepProgress(Console(stderr=True), quiet=quiet) as progress:
        report = predict_counters(
            case,
            machine,
            nvrtc=nvrtc,
            measured=measured,
            row=row,
            instruction_limit=limit or DEFAULT_LIMIT,
            progress=progress.step,
        )
    if as_json or format_ is Format.json:
        print(json.dumps(counters_document(report), indent=2, allow_nan=False))
        return
    report_console().print(render_counters(report, by=by))
