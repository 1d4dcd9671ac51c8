"""``placewise machine-code``: what the compiler made of a kernel."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from placewise.cli.options import AsJson, CaseName, CompilerVersion, Format, OutputFormat


def machine_code(
    case: CaseName,
    machine: Annotated[
        str | None,
        typer.Option("--machine", "-m", metavar="NAME|FILE", help="A known GPU or an MSL file."),
    ] = None,
    arch: Annotated[
        str | None,
        typer.Option(metavar="SM", help="Architecture, such as sm_86, in place of a machine's."),
    ] = None,
    nvrtc: CompilerVersion = None,
    run: Annotated[
        bool, typer.Option("--run", help="Execute it with the case's inputs, and count.")
    ] = False,
    listing: Annotated[
        bool, typer.Option("--listing", "-l", help="Every instruction, under its source line.")
    ] = False,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
) -> None:
    """Registers, occupancy, spills, instructions and schedule of a kernel's real machine code."""
    from placewise.advisor.machine_code import inspect_machine_code
    from placewise.report import machine_code_document, render_machine_code, report_console

    report = inspect_machine_code(case, machine, arch=arch, nvrtc=nvrtc, run=run)
    if as_json or format_ is Format.json:
        print(json.dumps(machine_code_document(report), indent=2))
        return
    report_console().print(render_machine_code(report, listing=listing))
