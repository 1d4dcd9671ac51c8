"""``placewise machine``: known machines, and machine files from other tools' measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from placewise.cli.options import AsJson, Format, OutputFormat, show
from placewise.output_file import write_whole

machine_app = typer.Typer(no_args_is_help=True, help="List, show, check and compare machines.")

Name = Annotated[
    str, typer.Argument(metavar="NAME|FILE", help="A known GPU or a machine file (.msl).")
]


@machine_app.command("list", epilog="Example: `placewise machine list --json`")
def list_machines(format_: OutputFormat = Format.text, as_json: AsJson = False) -> None:
    """List the known machines."""
    from placewise.machine import load_machine, machine_names
    from placewise.report.formats import Report
    from placewise.report.machine import list_document, render_list

    machines = [load_machine(name) for name in machine_names()]
    show(Report(lambda: render_list(machines), lambda: list_document(machines)), format_, as_json)


@machine_app.command("check", epilog="Example: `placewise machine check mine.msl --json`")
def check_machine(
    machine: Name, format_: OutputFormat = Format.text, as_json: AsJson = False
) -> None:
    """Check a machine file; show its first error, or warnings such as figures left to defaults."""
    from placewise.machine import load_machine
    from placewise.report.formats import Report
    from placewise.report.machine import check_document, render_check

    loaded = load_machine(machine)
    show(Report(lambda: render_check(loaded), lambda: check_document(loaded)), format_, as_json)


@machine_app.command("show", epilog="Example: `placewise machine show A100`")
def show_machine(
    machine: Name, format_: OutputFormat = Format.text, as_json: AsJson = False
) -> None:
    """Show every figure of a machine and its source."""
    from placewise.machine import load_machine
    from placewise.report.formats import Report
    from placewise.report.machine import machine_document, render_machine

    loaded = load_machine(machine)
    show(Report(lambda: render_machine(loaded), lambda: machine_document(loaded)), format_, as_json)


@machine_app.command("diff", epilog="Example: `placewise machine diff A100 H100`")
def diff_machines(
    one: Name, other: Name, format_: OutputFormat = Format.text, as_json: AsJson = False
) -> None:
    """Show the figures in which two machines differ."""
    from placewise.machine import load_machine
    from placewise.report.formats import Report
    from placewise.report.machine import difference_document, render_difference

    first, second = load_machine(one), load_machine(other)
    show(
        Report(
            lambda: render_difference(first, second), lambda: difference_document(first, second)
        ),
        format_,
        as_json,
    )


@machine_app.command(
    "from-mt4g", epilog="Example: `placewise machine from-mt4g H100.json --out h100.msl`"
)
def from_mt4g(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON that mt4g wrote.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Machine file to write. Default: print it."
        ),
    ] = None,
    format_: OutputFormat = Format.text,
    as_json: AsJson = False,
) -> None:
    """Make a machine file from the JSON report of mt4g."""
    from rich.text import Text

    from placewise.machine import parse_machine
    from placewise.recorded.mt4g import read_mt4g
    from placewise.report.formats import Report
    from placewise.report.machine import machine_document

    text = read_mt4g(file)
    if out is not None:
        write_whole(out, text)
    elif not as_json and format_ is Format.text:
        print(text, end="")
        return
    files = () if out is None else (out,)
    show(
        Report(lambda: Text(end=""), lambda: machine_document(parse_machine(text)), files),
        format_,
        as_json,
    )


@machine_app.command("curve", epilog="Example: `placewise machine curve gpu-latency_h100.txt`")
def read_curve(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Output of gpu-latency, gpu-cache, gpu-l2-cache or gpu-stream of gpu-benches, or "
            "a raw file of mt4g.",
        ),
    ],
    format_: OutputFormat = Format.text,
    as_json: AsJson = False,
) -> None:
    """Read cache levels, capacities, lines, latencies and bandwidths from other tools' files."""
    from placewise.probe.recorded.levels import read_levels
    from placewise.report.formats import Report
    from placewise.report.measured.levels import levels_document, render_levels

    levels = read_levels(file)
    show(Report(lambda: render_levels(levels), lambda: levels_document(levels)), format_, as_json)
