"""``placewise validate``: predictions beside measured times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from placewise.cli.options import AsJson, CompilerVersion, Format, MachineNames, OutputFormat, Quiet
from placewise.cli.progress import StepProgress

CONFIGURATIONS = 100


def validate(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA...",
            help="Measured times: a cache of Kernel Tuner, results in the T4 format, or CSV; "
            "gzipped or not.",
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
            help="Only this model; may be given again. All by default. Huang and Li's also without "
            "a part: huang-li:no-queue, :even-queue, :no-replays, :latency-service.",
        ),
    ] = None,
    configurations: Annotated[
        int,
        typer.Option(
            "--configurations",
            "-n",
            min=0,
            help="Predicted of every file, drawn at random; 0: all.",
        ),
    ] = CONFIGURATIONS,
    best: Annotated[
        bool,
        typer.Option(
            "--best",
            help="Look for the configurations that the first model puts first, among all: a random "
            "quarter of --configurations, then the most promising.",
        ),
    ] = False,
    clock: Annotated[
        float | None,
        typer.Option(
            metavar="MHZ",
            min=1.0,
            help="Clock that the SMs really ran at, where it was not the machine's own.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of that choice.")] = 0,
    time_column: Annotated[
        str | None,
        typer.Option("--time", metavar="NAME", help="Column or measurement that is the time."),
    ] = None,
    nvrtc: CompilerVersion = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw predicted over measured times (.svg or .png)."),
    ] = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Compare every model's predictions with measured times of a kernel's configurations."""
    from placewise.report import render_validation, report_console, validation_document
    from placewise.report.drawing import check_drawing
    from placewise.report.scatter import draw_scatter
    from placewise.validate import validate as run_validate

    if plot is not None:
        check_drawing(plot)
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
            progress=progress.step,
        )
    if plot is not None:
        draw_scatter(results, plot)
    if as_json or format_ is Format.json:
        print(json.dumps(validation_document(results), indent=2, allow_nan=False))
        return
    console = report_console()
    console.print(render_validation(results))
    if plot is not None:
        console.print(f"Written: {plot}", soft_wrap=True)
