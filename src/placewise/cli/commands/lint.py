"""``placewise lint``: accesses that waste memory bandwidth, for continuous integration."""

from __future__ import annotations

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
    MachineName,
    OutputFormat,
    Quiet,
    SarifFile,
    show,
)
from placewise.cli.progress import StepProgress


# One parameter for each option of the command: Typer reads them from the signature.
def lint(
    case: CaseName,
    machine: MachineName,
    nvrtc: CompilerVersion = None,
    sarif: SarifFile = None,
    html: HtmlFile = None,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Exit with status 0 even if there are warnings.")
    ] = False,
    limit: InstructionLimit = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Find uncoalesced accesses, bank conflicts, divergent constant loads and spills, by line.

    Exit status: 0 if there are no warnings, 1 if there are, 2 for bad input.
    """
    from placewise.advisor.documents.lint import lint_document
    from placewise.advisor.layouts.layout_remarks import lint_with_layouts
    from placewise.advisor.predictions.predicted_counters import predict_counters
    from placewise.executor import DEFAULT_LIMIT
    from placewise.report.advice.files import check_file
    from placewise.report.formats import Report
    from placewise.report.html.counter_pages import lint_page
    from placewise.report.html.page import write_html
    from placewise.report.lint import render_lint
    from placewise.report.sarif.findings import write_lint_sarif

    for file in (sarif, html):
        if file is not None:
            check_file(file)
    with StepProgress(Console(stderr=True), quiet=quiet) as progress:
        report = predict_counters(
            case,
            machine,
            nvrtc=nvrtc,
            instruction_limit=limit or DEFAULT_LIMIT,
            progress=progress.step,
        )
    remarks = lint_with_layouts(report)
    if sarif is not None:
        write_lint_sarif(sarif, report)
    files = write_html(html, lint_page(report, remarks) if html is not None else None)
    show(
        Report(lambda: render_lint(report, remarks), lambda: lint_document(report, remarks), files),
        format_,
        as_json,
    )
    if any(remark.warning for remark in remarks) and not report_only:
        raise typer.Exit(FOUND)
