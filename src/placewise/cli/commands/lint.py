"""``placewise lint``: accesses that waste memory bandwidth, for continuous integration."""

from __future__ import annotations

from enum import StrEnum
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
    MachineName,
    Quiet,
    SarifFile,
    show,
)
from placewise.cli.progress import StepProgress


class LintFormat(StrEnum):
    """Output formats of lint: those of all commands, and GitHub annotations."""

    text = "text"
    json = "json"
    github = "github"


# One parameter for each option of the command: Typer reads them from the signature.
def lint(
    case: CaseName,
    machine: MachineName,
    nvrtc: CompilerVersion = None,
    sarif: SarifFile = None,
    html: HtmlFile = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Known findings, as --write-baseline wrote them. They are only counted; new "
            "warnings are shown and make the command exit with 1.",
        ),
    ] = None,
    write_baseline: Annotated[
        Path | None,
        typer.Option(
            "--write-baseline", metavar="FILE", help="Write all findings to FILE and exit with 0."
        ),
    ] = None,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Exit with status 0 even if there are warnings.")
    ] = False,
    limit: InstructionLimit = None,
    as_json: AsJson = False,
    format_: Annotated[
        LintFormat,
        typer.Option(
            "--format", "-f", help="What to print; github: annotations for GitHub Actions."
        ),
    ] = LintFormat.text,
    quiet: Quiet = False,
) -> None:
    """Find what a launch does badly with its memories, by line, and what mending it would save.

    Uncoalesced accesses, partly used sectors, redundant loads, bank conflicts, divergent constant
    loads, spills, dropped cache hints, occupancy lost by a few registers. Exit status: 0 if there
    are no new warnings, 1 if there are, 2 for bad input.
    """
    from placewise.advisor.lint_rules import lint_launch
    from placewise.advisor.predictions.predicted_counters import predict_counters
    from placewise.executor import DEFAULT_LIMIT
    from placewise.output_file import write_whole
    from placewise.report.advice.files import check_file
    from placewise.report.findings.github import github_annotations
    from placewise.report.findings.lint import render_lint
    from placewise.report.findings.lint_findings import (
        compared,
        lint_document,
        read_baseline,
        with_fingerprints,
    )
    from placewise.report.formats import Report, json_text
    from placewise.report.html.charts.cache_curves import L2_LINES
    from placewise.report.html.counter_pages import lint_page
    from placewise.report.html.page import write_html
    from placewise.report.sarif.findings import write_lint_sarif

    for file in (sarif, html, write_baseline):
        if file is not None:
            check_file(file)
    known = None if baseline is None else read_baseline(baseline)
    with StepProgress(Console(stderr=True), quiet=quiet) as progress:
        report = predict_counters(
            case,
            machine,
            nvrtc=nvrtc,
            lines=0 if html is None else L2_LINES,
            instruction_limit=limit or DEFAULT_LIMIT,
            progress=progress.step,
        )
        progress.step("timing what could be mended", 0, 0)
        found = with_fingerprints(report, lint_launch(report))
    if known is not None:
        found = compared(found, known)
    if sarif is not None:
        write_lint_sarif(sarif, report, found=found, with_baseline=known is not None)
    if write_baseline is not None:
        write_whole(write_baseline, json_text(lint_document(report, found)) + "\n")
    files = write_html(html, lint_page(report, found) if html is not None else None)
    if format_ is LintFormat.github and not as_json:
        print(github_annotations(report, found))
    else:
        show(
            Report(lambda: render_lint(report, found), lambda: lint_document(report, found), files),
            Format.json if format_ is LintFormat.json else Format.text,
            as_json,
        )
    new = any(one.remark.warning and not one.known for one in found)
    if new and not report_only and write_baseline is None:
        raise typer.Exit(FOUND)
