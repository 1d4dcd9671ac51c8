"""``placewise trace``: what every warp executes and accesses, as files for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from placewise.cli.options import (
    AsJson,
    CaseName,
    CompilerVersion,
    Format,
    MachineName,
    OutputFormat,
    Quiet,
    show,
)
from placewise.cli.progress import StepProgress
from placewise.errors import CaseError


# One parameter for each option of the command: Typer reads them from the signature.
def trace(
    case: CaseName,
    machine: MachineName,
    accel_sim: Annotated[
        Path | None,
        typer.Option(
            "--accel-sim",
            metavar="DIR",
            help="Write the machine code's trace as Accel-Sim reads it: kernelslist.g and "
            "kernel-1.traceg.",
        ),
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a table with a row for each access of a warp."),
    ] = None,
    blocks: Annotated[
        int | None, typer.Option(min=1, help="Trace only this many blocks, the first ones.")
    ] = None,
    nvrtc: CompilerVersion = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Trace the machine code of a launch, warp by warp, for simulators and for analysis."""
    from rich.text import Text

    from placewise.executor.exported.export import export_traces
    from placewise.report.advice.files import check_file, check_folder
    from placewise.report.formats import Report

    if accel_sim is None and parquet is None:
        raise CaseError(
            "there is nothing to write", where="--accel-sim", hint="give a folder, or --parquet"
        )
    if accel_sim is not None:
        check_folder(accel_sim)
    if parquet is not None:
        check_file(parquet)
    with StepProgress(Console(stderr=True), quiet=quiet) as progress:
        done = export_traces(
            case,
            machine,
            accel_sim=accel_sim,
            parquet=parquet,
            blocks=blocks,
            nvrtc=nvrtc,
            progress=progress.step,
        )

    def text() -> Any:
        return Text(
            f"{done.case.kernel} for {done.arch}: {done.blocks} of {done.case.launch.blocks} "
            f"blocks, {done.warp_instructions:,} warp instructions, {done.accesses:,} accesses"
        )

    show(Report(text, done.to_dict, done.files), format_, as_json)
