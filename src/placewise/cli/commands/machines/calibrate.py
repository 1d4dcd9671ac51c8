"""``placewise calibrate``: a GPU's clock from one measured time."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from placewise.cli.options import (
    AsJson,
    CaseName,
    Clock,
    CompilerVersion,
    Format,
    MachineName,
    OutputFormat,
    show,
)
from placewise.cli.quantities import parse_time_ms
from placewise.errors import CaseError, MachineError
from placewise.output_file import write_whole


# One parameter for each option of the command: Typer reads them from the signature.
def calibrate(
    case: CaseName,
    machine: MachineName,
    measured: Annotated[
        str, typer.Option(metavar="TIME", help="Time that the case's launch took, such as 1.3ms.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write a machine file (.msl) of the calibrated GPU, to use as --machine.",
        ),
    ] = None,
    clock: Clock = None,
    nvrtc: CompilerVersion = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
) -> None:
    """Find the clock that a GPU runs at, and a factor for its times, from one measured time."""
    from placewise.advisor.predictions.calibrate import base_for
    from placewise.advisor.predictions.calibrate import calibrate as find
    from placewise.machine import load_machine
    from placewise.report.formats import Report
    from placewise.report.predictions.calibration import render_calibration

    time_ms = parse_time_ms(measured)
    if out is not None:
        _check_file(out)
    found = find(case, Path(machine) if machine.endswith(".msl") else machine, time_ms,
                 clock=clock, nvrtc=nvrtc)  # fmt: skip
    files: tuple[Path, ...] = ()
    if out is not None:
        name = re.sub(r"\W", "_", out.stem)
        write_whole(out, found.machine_file(name, base_for(machine, out)))
        load_machine(out)
        files = (out,)
    show(Report(partial(render_calibration, found), found.to_dict, files), format_, as_json)


def _check_file(out: Path) -> None:
    """Raises an error where ``out`` cannot be the name of a machine file, or cannot be written."""
    if out.suffix != ".msl":
        raise CaseError("a machine file ends in .msl", where="--out", hint=f"{out.stem}.msl")
    if not re.match(r"[A-Za-z]", out.stem):
        raise MachineError(
            "the file's name becomes the machine's name and must begin with a letter",
            where=f"--out {out}",
        )
