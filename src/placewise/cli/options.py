"""Arguments and options that several commands take, and a function that prints results."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from placewise.errors import CaseError

if TYPE_CHECKING:
    from placewise.report.formats import Report

FOUND = 1
"""Exit status of a checking command that has findings."""
STATUSES = (
    "Exit status: 0 success; 1 findings of `lint` or `run --check`, a time beyond `time "
    "--baseline`, something missing in `doctor`, or output that cannot be written; 2 bad input; 3 "
    "an error in Placewise itself; 130 Ctrl-C."
)


class Format(StrEnum):
    """Output formats. A test checks that they equal the keys of
    :data:`placewise.report.formats.FORMATS`."""

    text = "text"
    json = "json"


class ProfileKind(StrEnum):
    """How much is traced. A test checks that the values equal those of
    :class:`placewise.advisor.prepare.Profiling`."""

    full = "full"
    active = "active"
    affine = "affine"


CaseName = Annotated[
    str,
    typer.Argument(
        metavar="CASE",
        help="A bundled case (see `placewise cases`), a case file (.toml), or a tuning problem in "
        "the T1 format (.json).",
    ),
]
MachineName = Annotated[
    str,
    typer.Option(
        "--machine",
        "-m",
        metavar="NAME|FILE",
        help="A known GPU (see `placewise machine list`) or a machine file (.msl).",
    ),
]
MachineNames = Annotated[
    list[str] | None,
    typer.Option(
        "--machine",
        "-m",
        metavar="NAME|FILE",
        help="GPU of the measurements: given once for all files, or once for each file, in the "
        "same order. Default: the device that the file names.",
    ),
]
OutputFormat = Annotated[Format, typer.Option("--format", "-f", help="What to print.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; short for --format json.")]
CompilerVersion = Annotated[
    str | None,
    typer.Option(
        "--nvrtc",
        metavar="VERSION",
        help="Version of the CUDA compiler: 13, or another that is installed, such as 12.9. "
        "Default: the one that the case names.",
    ),
]
Clock = Annotated[
    str | None,
    typer.Option(
        "--clock",
        metavar="MHZ|base|boost",
        help="Clock of the SMs: a number of MHz; base, to which profilers lock it; or boost, the "
        "machine's highest. Default: not known, anywhere between base and boost.",
    ),
]


class CachesName(StrEnum):
    """Values of ``--caches``. A test checks that they equal those of
    :data:`placewise.machine.clocks.CACHES`."""

    cold = "cold"
    warm = "warm"


CachesBefore = Annotated[
    CachesName,
    typer.Option(
        "--caches",
        help="What L2 holds when the kernel starts: cold, none of its data (a profiler empties "
        "L2); warm, what an earlier launch on the same data left there.",
    ),
]
InstructionLimit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        "--instruction-limit",
        min=1,
        help="Stop with an error when a warp has executed this many instructions. Checked about "
        "once in a million.",
    ),
]
SarifFile = Annotated[
    Path | None,
    typer.Option(
        "--sarif",
        metavar="FILE",
        help="Write the findings to FILE as SARIF, which code hosts and editors show beside the "
        "source.",
    ),
]
HtmlFile = Annotated[
    Path | None,
    typer.Option(
        "--html",
        metavar="FILE",
        help="Write the report to FILE as a page for browsers: one file that needs no network.",
    ),
]
ProfileName = Annotated[
    ProfileKind,
    typer.Option(
        "--profile",
        help="How much of the launch is traced: full, all that memory allows; active, a few blocks "
        "and more as long as they change the profile, at most a tenth of all; affine, none: "
        "accesses are worked out from index patterns, which must not depend on loaded data.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


def separate_names(given: list[str]) -> list[str]:
    """Names of machines from an option that may be given several times, each time with several
    names separated by commas; without repetition. Raises CaseError where there is none."""
    names = [name.strip() for one in given for name in one.split(",") if name.strip()]
    if not names:
        raise CaseError("no machine is named", where="--machine", hint="give A100, for example")
    return list(dict.fromkeys(names))


def show(report: Report, format_: Format, as_json: bool) -> None:
    """Print a command's result in the format that was asked for."""
    from placewise.report.formats import FORMATS

    FORMATS[Format.json if as_json else format_](report)
