"""``placewise time``: how long a kernel takes, and what limits it."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from placewise.cli.options import (
    FOUND,
    AsJson,
    CachesBefore,
    CachesName,
    CaseName,
    Clock,
    CompilerVersion,
    Format,
    HtmlFile,
    OutputFormat,
    Quiet,
    separate_names,
    show,
)
from placewise.cli.progress import StepProgress
from placewise.cli.quantities import parse_share, parse_time_ms
from placewise.errors import CaseError


class TimeModelName(StrEnum):
    """Values of ``--model``."""

    timeline = "timeline"
    huang_li = "huang-li"


# One parameter for each option of the command: Typer reads them from the signature.
def predicted_time(
    case: CaseName,
    machine: Annotated[
        list[str],
        typer.Option(
            "--machine",
            "-m",
            metavar="NAME|FILE,…",
            help="Known GPUs (see `placewise machine list`) or machine files (.msl), separated by "
            "commas. May be given again.",
        ),
    ],
    measured: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]TIME",
            help="A measured time to compare with, such as 1.3ms, or A100=1.3ms if there are "
            "several machines. May be given again.",
        ),
    ] = None,
    model: Annotated[
        TimeModelName,
        typer.Option(help="timeline follows the warps; huang-li is the model of the 2017 paper."),
    ] = TimeModelName.timeline,
    clock: Clock = None,
    caches: CachesBefore = CachesName.cold,
    overhead: Annotated[
        str | None,
        typer.Option(
            "--launch-overhead",
            metavar="TIME",
            help="Time of an empty kernel, such as 1.7us, where short launches matter. Default: "
            "the machine's, or 2us.",
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Earlier times of the same case, as --json printed them; exit with 1 where a time "
            "is longer by more than --tolerance.",
        ),
    ] = None,
    tolerance: Annotated[
        str,
        typer.Option(metavar="SHARE", help="How much longer a time may be, such as 5% or 0.05."),
    ] = "5%",
    nvrtc: CompilerVersion = None,
    html: HtmlFile = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Predict how long a kernel takes on one or several GPUs, and what limits it, without a GPU.

    Exit status: 0; 1 where a time exceeds the baseline; 2 for bad input.
    """
    from placewise.advisor.predictions.predicted_time import predict_times
    from placewise.advisor.predictions.time_baseline import (
        read_time_baseline,
        slower,
        with_baseline,
    )
    from placewise.machine import load_machine
    from placewise.machine.clocks import with_launch_overhead
    from placewise.report.advice.files import check_file
    from placewise.report.formats import Report
    from placewise.report.html.page import write_html
    from placewise.report.html.time_page import times_page
    from placewise.report.predictions.times import render_times

    machines = [load_machine(name) for name in separate_names(machine)]
    if overhead is not None:
        machines = [with_launch_overhead(m, parse_time_ms(overhead) * 1e6) for m in machines]
    if html is not None:
        check_file(html)
    times = _measured(measured or [], [m.name for m in machines])
    known = None if baseline is None else read_time_baseline(baseline)
    allowed = parse_share(tolerance, "--tolerance")
    console = Console(stderr=True)
    with StepProgress(console, quiet=quiet) as progress:
        report = predict_times(
            case,
            machines,
            nvrtc=nvrtc,
            measured_ms=times,
            clock=clock,
            caches=caches.value,
            model=model.value,
            progress=progress.step,
        )
        if known is not None:
            report = with_baseline(report, known, str(baseline))
        page = times_page(report, progress=progress.step) if html is not None else None
    files = write_html(html, page)
    show(Report(partial(render_times, report), report.to_dict, files), format_, as_json)
    late = slower(report, allowed)
    for one in late:
        console.print(
            f"{one.machine.name}: {one.milliseconds / (one.baseline_ms or 1.0) - 1.0:+.1%} beside "
            f"the baseline, {allowed:.1%} allowed",
            highlight=False,
        )
    if late:
        raise typer.Exit(FOUND)


def _measured(given: list[str], machines: list[str]) -> dict[str, float]:
    """Measured milliseconds by machine; raises CaseError where a time does not belong to one of the
    machines."""
    found: dict[str, float] = {}
    for text in given:
        name, mark, time = text.rpartition("=")
        if not mark and len(machines) > 1:
            raise CaseError(
                f"'{text}' does not say which machine it was measured on",
                where="--measured",
                hint=f"give {machines[0]}={text}",
            )
        name = name.strip() if mark else machines[0]
        if name not in machines:
            raise CaseError(
                f"'{name}' is not among the machines",
                where="--measured",
                hint=f"they are {', '.join(machines)}",
            )
        found[name] = parse_time_ms(time)
    return found
