"""``placewise machine-code``: facts about the machine code that a kernel compiles to."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from placewise.cli.options import AsJson, CaseName, CompilerVersion, Format, OutputFormat, show


def machine_code(
    case: CaseName,
    machine: Annotated[
        str | None,
        typer.Option("--machine", "-m", metavar="NAME|FILE", help="A known GPU or a machine file."),
    ] = None,
    arch: Annotated[
        str | None,
        typer.Option(metavar="SM", help="Compile for this architecture, such as sm_86."),
    ] = None,
    nvrtc: CompilerVersion = None,
    run: Annotated[
        bool,
        typer.Option(
            "--run",
            help="Execute it with the case's inputs, count instructions, and compare outputs "
            "with those of the PTX.",
        ),
    ] = False,
    listing: Annotated[
        bool, typer.Option("--listing", "-l", help="Show every instruction under its source line.")
    ] = False,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
) -> None:
    """Show registers, occupancy, spills, instructions and schedule of a kernel's machine code."""
    from placewise.advisor.predictions.machine_code import inspect_machine_code
    from placewise.report.formats import Report
    from placewise.report.predictions.machine_code import render_machine_code

    report = inspect_machine_code(case, machine, arch=arch, nvrtc=nvrtc, run=run)
    text = partial(render_machine_code, report, listing=listing)
    show(Report(text, report.to_dict), format_, as_json)
