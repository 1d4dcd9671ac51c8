"""``placewise time``: how long a kernel takes, and what limits it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from placewise.cli.options import (
    AsJson,
    CaseName,
    Clock,
    CompilerVersion,
    Format,
    HtmlFile,
    OutputFormat,
    Quiet,
    show,
)
from placewise.cli.progress import StepProgress
from placewise.cli.quantities import parse_time_ms
from placewise.errors import CaseError


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
            help="A measured time to stand beside, such as 1.3ms, or A100=1.3ms where there are "
            "several machines. May be given again.",
        ),
    ] = None,
    clock: Clock = None,
    nvrtc: CompilerVersion = None,
    html: HtmlFile = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Predict how long a kernel takes on one or several GPUs, and what limits it, without a GPU."""
    from placewise.advisor.predictions.predicted_time import predict_times
    from placewise.machine import load_machine
    from placewise.report.advice.files import check_file
    from placewise.report.formats import Report
    from placewise.report.html.page import write_html
    from placewise.report.html.time_page import times_page
    from placewise.report.times import render_times

    names = [name.strip() for one in machine for name in one.split(",") if name.strip()]
    if not names:
        raise CaseError("no machine is named", where="--machine", hint="give A100, for example")
    machines = [load_machine(Path(n) if n.endswith(".msl") else n) for n in dict.fromkeys(names)]
    if html is not None:
        check_file(html)
    times = _measured(measured or [], [m.name for m in machines])
    with StepProgress(Console(stderr=True), quiet=quiet) as progress:
        report = predict_times(
            case, machines, nvrtc=nvrtc, measured_ms=times, clock=clock, progress=progress.step
        )
        page = times_page(report, progress=progress.step) if html is not None else None
    files = write_html(html, page)
    show(Report(partial(render_times, report), report.to_dict, files), format_, as_json)


def _measured(given: list[str], machines: list[str]) -> dict[str, float]:
    """Measured milliseconds by machine; raises CaseError where one names no machine."""
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
