"""``placewise counters``: what a profiler would count."""

from __future__ import annotations

import json
from collections.abc import Iterable
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
    SarifFile,
)
from placewise.cli.progress import StepProgress
from placewise.cli.quantities import check_row
from placewise.errors import CaseError


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
    place: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ARRAY=SPACE",
            help="Counters with this array there, beside those of the case as it is: the kernel is "
            "rewritten and run. May be given again.",
        ),
    ] = None,
    retarget: Annotated[
        bool,
        typer.Option(
            "--retarget", help="With --place: reckon the present code's accesses there instead."
        ),
    ] = False,
    sizes: Annotated[
        bool,
        typer.Option(
            "--sizes",
            help="What other sizes of L2 would miss: from reuse distances, and simulated.",
        ),
    ] = False,
    sarif: SarifFile = None,
    limit: InstructionLimit = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Predict hardware counters, under Nsight Compute's names, without a GPU."""
    from placewise.advisor.documents.counters import counters_document
    from placewise.advisor.moved_counters import predict_moved_counters
    from placewise.advisor.predicted_counters import predict_counters
    from placewise.executor import DEFAULT_LIMIT
    from placewise.report import render_counters, report_console
    from placewise.report.advice.files import check_file
    from placewise.report.sarif.findings import write_lint_sarif

    if sarif is not None:
        check_file(sarif)
    check_row(row, measured)
    moves = _moves(place or (), retarget=retarget)
    if moves and measured is not None:
        raise CaseError("recorded counters are those of the case as it is", where="--measured")
    if moves and sizes:
        raise CaseError("these are worked out for the case as it is", where="--sizes")
    instruction_limit = limit or DEFAULT_LIMIT
    with StepProgress(Console(stderr=True), quiet=quiet) as progress:
        if moves:
            both = predict_moved_counters(
                case,
                machine,
                moves,
                retarget=retarget,
                nvrtc=nvrtc,
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
                instruction_limit=instruction_limit,
                progress=progress.step,
            )
    if sarif is not None:
        write_lint_sarif(sarif, report)
    if as_json or format_ is Format.json:
        print(json.dumps(counters_document(report, present=present), indent=2, allow_nan=False))
        return
    report_console().print(render_counters(report, by=by, present=present))


def _moves(place: Iterable[str], *, retarget: bool) -> dict[str, str]:
    """Space by array of ``array=space``; raises CaseError for anything else."""
    moves: dict[str, str] = {}
    for text in place:
        array, equals, space = (part.strip() for part in text.partition("="))
        if not (array and equals and space):
            raise CaseError(f"'{text}' is no move", where="--place", hint="such as x=texture")
        if array in moves:
            raise CaseError(f"'{array}' is moved twice", where="--place")
        moves[array] = space
    if retarget and not moves:
        raise CaseError(
            "says how moves are counted, and there are none",
            where="--retarget",
            hint="give --place ARRAY=SPACE",
        )
    return moves
