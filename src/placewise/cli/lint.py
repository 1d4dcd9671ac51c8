"""``placewise lint``: what a launch does badly with its memories, for continuous integration."""

from __future__ import annotations

import json
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

FOUND = 1
"""Exit status where there are warnings."""


def lint(
    case: CaseName,
    machine: MachineName,
    nvrtc: CompilerVersion = None,
    sarif: SarifFile = None,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Exit with 0 even if there are warnings.")
    ] = False,
    limit: InstructionLimit = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Find uncoalesced accesses, bank conflicts, divergent constant loads and spills, by line.

    Exit status: 0, 1 if there are warnings, 2 if something is wrong with the input.
    """
    from placewise.advisor.documents.lint import lint_document
    from placewise.advisor.lint import lint as remarks_on
    from placewise.advisor.predicted_counters import predict_counters
    from placewise.executor import DEFAULT_LIMIT
    from placewise.report import report_console
    from placewise.report.advice.files import check_file
    from placewise.report.lint import render_lint
    from placewise.report.sarif.findings import write_lint_sarif

    if sarif is not None:
        check_file(sarif)
    with StepProgress(Console(stderr=True), quiet=quiet) as progress:
        report = predict_counters(
            case,
            machine,
            nvrtc=nvrtc,
            instruction_limit=limit or DEFAULT_LIMIT,
            progress=progress.step,
        )
    remarks = remarks_on(report.run)
    if sarif is not None:
        write_lint_sarif(sarif, report)
    if as_json or format_ is Format.json:
        print(json.dumps(lint_document(report, remarks), indent=2, allow_nan=False))
    else:
        report_console().print(render_lint(report, remarks))
    if any(remark.warning for remark in remarks) and not report_only:
        raise typer.Exit(FOUND)
