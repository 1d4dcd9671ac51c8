"""Arguments and options that several commands take, said once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """Output formats."""

    text = "text"
    json = "json"


CaseName = Annotated[
    str,
    typer.Argument(
        metavar="CASE",
        help="A bundled case, a case file (.toml), or a tuning problem in the T1 format (.json).",
    ),
]
MachineName = Annotated[
    str, typer.Option("--machine", "-m", metavar="NAME|FILE", help="A known GPU or an MSL file.")
]
MachineNames = Annotated[
    list[str] | None,
    typer.Option(
        "--machine",
        "-m",
        metavar="NAME|FILE",
        help="GPU of the measurements: once for all files, or once for each in their order. "
        "By default the device that the file names.",
    ),
]
OutputFormat = Annotated[Format, typer.Option("--format", "-f", help="What to print.")]
AsJson = Annotated[bool, typer.Option("--json", help="The same as --format json.")]
CompilerVersion = Annotated[
    str | None,
    typer.Option(
        "--nvrtc",
        metavar="VERSION",
        help="Compiler: 13, or 12.9 or 11.8 if installed; the case's own by default.",
    ),
]
InstructionLimit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        "--instruction-limit",
        min=1,
        help="Instructions of a warp after which it is taken to be endless; looked at about once "
        "in a million.",
    ),
]
SarifFile = Annotated[
    Path | None,
    typer.Option(
        "--sarif",
        metavar="FILE",
        help="Write what is found there as SARIF, which code hosts and editors show at its lines.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")]
