"""``placewise machine``: the machines that are known, and files of others."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from placewise.cli.options import AsJson, Format, OutputFormat
from placewise.output_file import write_whole

machine_app = typer.Typer(no_args_is_help=True, help="The machines that are known.")

Name = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A known GPU or an MSL file.")]


@machine_app.command("list", epilog="Example: `placewise machine list --json`")
def list_machines(format_: OutputFormat = Format.text, as_json: AsJson = False) -> None:
    """List the machines that are known."""
    from placewise.machine import load_machine, machine_names

    if as_json or format_ is Format.json:
        from placewise.report.machine import list_document

        machines = [load_machine(name) for name in machine_names()]
        print(json.dumps(list_document(machines), indent=2))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("name", "GPU", "SMs", "spaces"):
        table.add_column(column)
    for name in machine_names():
        machine = load_machine(name)
        spaces = ", ".join(space.name for space in machine.spaces)
        table.add_row(machine.name, machine.title, str(machine.processor.sms), spaces)
    Console().print(table)


@machine_app.command("check", epilog="Example: `placewise machine check mine.msl --json`")
def check_machine(
    machine: Name, format_: OutputFormat = Format.text, as_json: AsJson = False
) -> None:
    """Read a machine file and report its first error, or what it left to defaults."""
    from placewise.machine import load_machine

    loaded = load_machine(machine)
    if as_json or format_ is Format.json:
        from placewise.report.machine import check_document

        print(json.dumps(check_document(loaded), indent=2))
        return
    console = Console()
    for warning in loaded.warnings:
        console.print(f"warning: {warning}", highlight=False, soft_wrap=True)
    console.print(
        f"{loaded.name}: {len(loaded.memories)} memories, {len(loaded.spaces)} spaces, "
        f"{len(loaded.warnings)} warnings",
        highlight=False,
    )


@machine_app.command("show", epilog="Example: `placewise machine show A100`")
def show_machine(
    machine: Name, format_: OutputFormat = Format.text, as_json: AsJson = False
) -> None:
    """Show every figure of a machine and where it is from."""
    from placewise.machine import load_machine
    from placewise.report import report_console
    from placewise.report.machine import machine_document, render_machine

    loaded = load_machine(machine)
    if as_json or format_ is Format.json:
        print(json.dumps(machine_document(loaded), indent=2))
        return
    report_console().print(render_machine(loaded), highlight=False)


@machine_app.command("diff", epilog="Example: `placewise machine diff A100 H100`")
def diff_machines(
    one: Name, other: Name, format_: OutputFormat = Format.text, as_json: AsJson = False
) -> None:
    """Show the figures in which two machines differ."""
    from placewise.machine import load_machine
    from placewise.report import report_console
    from placewise.report.machine import difference_document, render_difference

    first, second = load_machine(one), load_machine(other)
    if as_json or format_ is Format.json:
        print(json.dumps(difference_document(first, second), indent=2))
        return
    report_console().print(render_difference(first, second), highlight=False)


@machine_app.command(
    "from-mt4g", epilog="Example: `placewise machine from-mt4g H100.json --out h100.msl`"
)
def from_mt4g(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON that mt4g wrote.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the machine file goes; else printed.")
    ] = None,
) -> None:
    """Write a machine file from a topology that mt4g found."""
    from placewise.recorded.mt4g import read_mt4g

    text = read_mt4g(file)
    if out is None:
        print(text, end="")
        return
    write_whole(out, text)
    Console().print(f"Written: {out}", soft_wrap=True)


@machine_app.command("curve", epilog="Example: `placewise machine curve gpu-latency_h100.txt`")
def read_curve(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="What gpu-latency, gpu-cache, gpu-l2-cache or gpu-stream of gpu-benches printed, "
            "or a raw file of mt4g.",
        ),
    ],
    format_: OutputFormat = Format.text,
    as_json: AsJson = False,
) -> None:
    """Read levels, capacities, lines, latencies and bandwidths from others' measurements."""
    from placewise.probe.recorded.levels import read_levels

    levels = read_levels(file)
    if as_json or format_ is Format.json:
        print(json.dumps([asdict(level) for level in levels], indent=2))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    columns = ("level", "capacity", "latency", "bandwidth", "line", "fetched", "confidence")
    for column in columns:
        table.add_column(column)
    for number, level in enumerate(levels, 1):
        size = level.capacity_bytes
        beyond = "beyond" if len(levels) > 1 else ""
        table.add_row(
            str(number),
            beyond if size is None else f"{size / 1024:.0f} KB",
            _with_unit(level.cycles, ".1f", "clk"),
            _with_unit(level.gb_per_s, ".0f", "GB/s"),
            _with_unit(level.line_bytes, "d", "B"),
            _with_unit(level.fetched_bytes, "d", "B"),
            "; ".join(("low", *level.doubts)) if level.doubts else "high",
        )
    Console().print(table)


def _with_unit(value: float | None, form: str, unit: str) -> str:
    return "" if value is None else f"{value:{form}} {unit}"
