"""``placewise run``: execute a case on the CPU, and check it for mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from placewise.cli.options import (
    FOUND,
    AsJson,
    CaseName,
    CompilerVersion,
    Format,
    HtmlFile,
    InstructionLimit,
    OutputFormat,
    Quiet,
    SarifFile,
    show,
)
from placewise.cli.progress import StepProgress
from placewise.errors import CaseError


# One parameter for each option of the command: Typer reads them from the signature.
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
            "--machine",
            "-m",
            metavar="NAME|FILE",
            help="Compile for a known GPU or that of a machine file (.msl).",
        ),
    ] = None,
    arch: Annotated[
        str | None, typer.Option(metavar="SM", help="Compile for an architecture such as sm_86.")
    ] = None,
    nvrtc: CompilerVersion = None,
    sarif: SarifFile = None,
    html: HtmlFile = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write each output array to DIR/NAME.npy."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write all output arrays to one .npz file."
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Cores to use. Default: all, or one if the order of blocks could matter.",
        ),
    ] = None,
    limit: InstructionLimit = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Run a case on the CPU; show outputs, counts by source line, and with --check mistakes.

    Exit status: 0, 1 if --check found mistakes, 2 for bad input.
    """
    from placewise.executor.check import Checker
    from placewise.executor.run_case import run_case
    from placewise.report.advice.files import check_file
    from placewise.report.formats import Report
    from placewise.report.html.page import write_html
    from placewise.report.html.run_page import run_page
    from placewise.report.outputs import check_targets, write_outputs
    from placewise.report.run import render_findings, render_run
    from placewise.report.sarif.findings import check_sarif
    from placewise.report.sarif.log import write_sarif

    check_targets(save, out)
    if sarif is not None:
        if not check:
            raise CaseError(
                "there is nothing to write without --check", where="--sarif", hint="add --check"
            )
        check_file(sarif)
    if html is not None:
        check_file(html)
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
            errors.print("Found before the interrupt:")
            errors.print(render_findings(checker))
        raise
    files = write_outputs(done, save, out)
    if sarif is not None and checker is not None:
        write_sarif(sarif, check_sarif(done.case, checker.findings))
    files += write_html(html, run_page(done) if html is not None else None)
    printed = done.execution.printed.text
    show(Report(lambda: render_run(done), done.to_dict, files, printed=printed), format_, as_json)
    if checker is not None and not checker.clean:
        raise typer.Exit(FOUND)
