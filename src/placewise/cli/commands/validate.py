"""``placewise validate``: predictions compared with measured times."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from placewise.cli.options import (
    AsJson,
    CompilerVersion,
    Format,
    HtmlFile,
    MachineNames,
    OutputFormat,
    Quiet,
    show,
)
from placewise.cli.progress import StepProgress

CONFIGURATIONS = 100
"""Configurations of each file that are predicted by default."""


# One parameter for each option of the command: Typer reads them from the signature.
def validate(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA...",
            help="Measured times: a cache of Kernel Tuner, results of KTT or in the T4 format, or "
            "CSV; gzipped or not.",
        ),
    ],
    case: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="The measured kernel: a case file (.toml) with [parameters]."
        ),
    ],
    machine: MachineNames = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Compare only this model; may be given again. Default: all. Huang and Li's model "
            "also comes with one part switched off: huang-li:no-queue, :even-queue, :no-replays, "
            ":latency-service.",
        ),
    ] = None,
    configurations: Annotated[
        int,
        typer.Option(
            "--configurations",
            "-n",
            min=0,
            help="Configurations of each file to predict, chosen at random; 0 for all.",
        ),
    ] = CONFIGURATIONS,
    best: Annotated[
        bool,
        typer.Option(
            "--best",
            help="Search all configurations for those that the first model ranks best: a random "
            "quarter of --configurations first, then the most promising.",
        ),
    ] = False,
    clock: Annotated[
        float | None,
        typer.Option(
            metavar="MHZ",
            min=1.0,
            help="Clock of the SMs during the measurement, if not the machine's own.",
        ),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option(
            "--limit",
            metavar="SECONDS",
            min=0.001,
            help="Give up a configuration if its prediction takes longer than this.",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of processes. Default: one for each core.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random choice.")] = 0,
    time_column: Annotated[
        str | None,
        typer.Option("--time", metavar="NAME", help="Column or measurement that holds the time."),
    ] = None,
    nvrtc: CompilerVersion = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Plot predicted over measured times (.svg or .png)."),
    ] = None,
    html: HtmlFile = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Compare the models' predictions with measured times of a kernel's configurations."""
    from placewise.report.advice.files import check_file
    from placewise.report.drawing import check_drawing
    from placewise.report.formats import Report
    from placewise.report.html.measured_pages import validation_page
    from placewise.report.html.page import write_html
    from placewise.report.measured.scatter import draw_scatter
    from placewise.report.measured.validation import render_validation, validation_document
    from placewise.validate import validate as run_validate

    if plot is not None:
        check_drawing(plot)
    if html is not None:
        check_file(html)
    with StepProgress(Console(stderr=True), quiet=quiet) as progress:
        results = run_validate(
            data,
            case,
            machine or (),
            models=model or (),
            nvrtc=nvrtc,
            clock_mhz=clock,
            time_column=time_column,
            configurations=configurations or None,
            seed=seed,
            best=best,
            workers=workers,
            limit_s=limit,
            progress=progress.step,
        )
    if plot is not None:
        draw_scatter(results, plot)
    files: tuple[Path, ...] = () if plot is None else (plot,)
    files += write_html(html, validation_page(results) if html is not None else None)
    show(
        Report(lambda: render_validation(results), lambda: validation_document(results), files),
        format_,
        as_json,
    )
