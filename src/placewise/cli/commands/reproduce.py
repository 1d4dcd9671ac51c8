"""``placewise reproduce``: tables of the papers behind Placewise, recomputed."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from placewise.cli.options import AsJson, Format, MachineNames, OutputFormat, Quiet, show
from placewise.cli.progress import StepProgress
from placewise.errors import CaseError

CONFIGURATIONS = 24
"""Configurations of each file of times that are used by default; they take some minutes."""
FORMS = 16
"""Forms of each kernel that porple-speedups writes and times by default; about ten minutes in
all."""


class What(StrEnum):
    """Tables that can be recomputed."""

    porple_table4 = "porple-table4"
    porple_speedups = "porple-speedups"
    hu_liu = "hu-liu"
    huang_li = "huang-li"
    addressing = "huang-li-addressing"
    events = "huang-li-events"
    ablations = "huang-li-ablations"
    peng = "peng-layouts"
    mei = "mei"
    machines = "machines"
    coverage = "coverage"


# One parameter for each option of the command: Typer reads them from the signature.
def reproduce(
    what: Annotated[
        list[What] | None,
        typer.Argument(
            metavar="WHAT",
            help="porple-table4, porple-speedups, hu-liu, huang-li (Table IV, Figs. 4 and 6), "
            "huang-li-addressing, huang-li-events, huang-li-ablations, peng-layouts, mei, machines "
            "(what papers print of GPUs, beside the machine files), coverage (every table and "
            "figure, and why some cannot be recomputed). Default: all that the "
            "given files allow, except porple-speedups, huang-li and mei, which take minutes.",
        ),
    ] = None,
    counters: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Recorded counters of one kernel in several forms, for huang-li-events: CSV of "
            "Nsight Compute, CSV or JSON of KTT. May be given again.",
        ),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Measured times of a kernel's configurations, for huang-li-ablations, as "
            "`validate` reads them. May be given again.",
        ),
    ] = None,
    case: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The measured kernel: a case file with [parameters]."),
    ] = None,
    machine: MachineNames = None,
    cases: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A bundled case for porple-speedups or huang-li (default: all). May be given "
            "again.",
        ),
    ] = None,
    forms: Annotated[
        int,
        typer.Option(
            min=3,
            help="Most forms that porple-speedups writes and times for each kernel and machine.",
        ),
    ] = FORMS,
    exhaustive: Annotated[
        int,
        typer.Option(
            min=0,
            help="Time all forms of a case that has at most so many, whatever --forms says.",
        ),
    ] = 0,
    configurations: Annotated[
        int,
        typer.Option(
            "--configurations", "-n", min=2, help="Configurations of each --data file to use."
        ),
    ] = CONFIGURATIONS,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random choice.")] = 0,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Recompute tables of the papers behind Placewise and compare with the printed figures."""
    from placewise.report.formats import Report
    from placewise.report.reproduction import render_reproductions, reproduction_document
    from placewise.reproduce import (
        Reproduction,
        ablations,
        addressing_reproduction,
        coverage,
        event_selection,
        hu_liu_tables,
        machine_tables,
        mei_tables,
        peng_tables,
        placement_tests,
        porple_speedups,
        porple_table4,
    )

    given = {
        What.ablations: data,
        What.events: counters,
        What.porple_speedups: None,
        What.huang_li: None,
        What.mei: None,
    }
    chosen = what or [w for w in What if given.get(w, True)]
    if What.events in chosen and not counters:
        raise CaseError(
            "the selection of events needs recorded counters",
            where="huang-li-events",
            hint="give --counters FILE",
        )
    if What.ablations in chosen and (not data or case is None):
        raise CaseError(
            "the ablations need measured times and their kernel",
            where="huang-li-ablations",
            hint="give --data FILE --machine NAME --case FILE.toml",
        )
    with StepProgress(Console(stderr=True), quiet=quiet) as progress:
        make: dict[What, Callable[[], Reproduction]] = {
            What.porple_table4: lambda: porple_table4(progress.step),
            What.porple_speedups: lambda: porple_speedups(
                cases or (), machine or (), forms, progress.step, exhaustive=exhaustive
            ),
            What.hu_liu: hu_liu_tables,
            What.peng: peng_tables,
            What.mei: lambda: mei_tables(progress.step),
            What.machines: machine_tables,
            What.coverage: coverage,
            What.huang_li: lambda: placement_tests(machine or (), cases or (), progress.step),
            What.addressing: lambda: addressing_reproduction(progress.step),
            What.events: lambda: event_selection(counters or ()),
            What.ablations: lambda: ablations(
                data or (),
                case or Path(),
                machine or (),
                configurations=configurations,
                seed=seed,
                progress=progress.step,
            ),
        }
        found = [make[one]() for one in dict.fromkeys(chosen)]
    show(
        Report(lambda: render_reproductions(found), lambda: reproduction_document(found)),
        format_,
        as_json,
    )
