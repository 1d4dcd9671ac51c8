"""``placewise run``: execute a case, and check it."""

from __future__ import annotations

import json
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
    OutputFormat,
    Quiet,
    SarifFile,
)
from placewise.cli.progress import StepProgress
from placewise.errors import CaseError

FOUND = 1
"""Exit status where the checker found mistakes."""


def run(
    case: CaseName,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Look for wrong accesses, uninitialised reads, races and barrier mistakes.",
        ),
    ] = False,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine", "-m", metavar="NAME|FILE", help="Compile for a known GPU or an MSL file."
        ),
    ] = None,
    arch: Annotated[
        str | None, typer.Option(metavar="SM", help="Compile for an architecture such as sm_86.")
    ] = None,
    nvrtc: CompilerVersion = None,
    sarif: SarifFile = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write each output array there, as NAME.npy."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all output arrays to one .npz file.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Cores to use; all that give the same result.")
    ] = None,
    limit: InstructionLimit = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Run a case on the CPU: outputs, counts by source line, and with --check its mistakes.

    Exit status: 0, 1 if the checker found mistakes, 2 if something is wrong with the input.
    """
    from placewise.executor.check import Checker
    from placewise.executor.run_case import run_case
    from placewise.report import render_findings, render_run, report_console
    from placewise.report.advice.files import check_file
    from placewise.report.outputs import check_targets, write_outputs
    from placewise.report.sarif.findings import check_sarif
    from placewise.report.sarif.log import write_sarif

    check_targets(save, out)
    if sarif is not None:
        if not check:
            raise CaseError("only the checker finds anything", where="--sarif", hint="add --check")
        check_file(sarif)
    checker = Checker() if check else None
    errors = Console(stderr=True)
    try:
        with StepProgress(errors, quiet=quiet) as progress:
            done = run_case(
                case,
                machine=machine,
                arch=arch,
                nvrtc=nvrtc,
                checker=checker,
                threads=threads,
                instruction_limit=limit,
                progress=progress.step,
            )
    except KeyboardInterrupt:
        if checker is not None and checker.findings:
            errors.print("found until then:")
            errors.print(render_findings(checker))
        raise
    files = write_outputs(done, save, out)
    if sarif is not None and checker is not None:
        write_sarif(sarif, check_sarif(done.case, checker.findings))
    if as_json or format_ is Format.json:
        print(json.dumps(done.to_dict(), indent=2, allow_nan=False))
    else:
        if done.execution.printed.text:
            print(done.execution.printed.text, end="", flush=True)
        console = report_console()
        console.print(render_run(done))
        if files:
            console.print(f"Written: {', '.join(map(str, files))}", soft_wrap=True)
    if checker is not None and not checker.clean:
        raise typer.Exit(FOUND)
