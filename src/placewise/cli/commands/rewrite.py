"""``placewise rewrite``: writes a kernel in the placement that the user names, or in several
placements to switch between."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from placewise.cli.moves import parse_moves
from placewise.cli.options import (
    AsJson,
    CaseName,
    CompilerVersion,
    Format,
    OutputFormat,
    Quiet,
    show,
)
from placewise.cli.progress import StepProgress
from placewise.errors import CaseError


# One parameter for each option of the command: Typer reads them from the signature.
def rewrite(
    case: CaseName,
    machine: Annotated[
        list[str],
        typer.Option(
            "--machine",
            "-m",
            metavar="NAME|FILE,…",
            help="Known GPU (see `placewise machine list`) or machine file (.msl). With "
            "--agnostic it may be several, separated by commas: each gets its best placement.",
        ),
    ],
    place: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ARRAY=SPACE",
            help="Move an array: x=texture. Of the kernel's own arrays: tile=global or "
            "tile=padded of a shared one, counts=shared of one of each thread. May be given again.",
        ),
    ] = None,
    chunk: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --place ARRAY=shared: tiles for this many iterations of a loop at a time.",
        ),
    ] = None,
    buffers: Annotated[
        int,
        typer.Option(
            min=1,
            max=2,
            help="With --chunk: tiles of each array. With 2, one is fetched (cp.async) while the "
            "block computes with the other.",
        ),
    ] = 1,
    agnostic: Annotated[
        bool,
        typer.Option(
            "--agnostic",
            help="Write versions for the best placements and one kernel that can have each array "
            "in any memory. The host program chooses among them while it runs.",
        ),
    ] = False,
    versions: Annotated[
        int | None,
        typer.Option(min=0, help="With --agnostic: the most versions. Default: 5."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Write the source and its host code to DIR."
        ),
    ] = None,
    nvrtc: CompilerVersion = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Write a kernel in a placement that you name, or in several to switch between; proven."""
    from placewise.advisor.forms.agnostic import VERSIONS, write_agnostic_kernel, write_placement
    from placewise.machine import load_machine
    from placewise.report.advice.files import check_folder
    from placewise.report.agnostic import (
        render_agnostic,
        render_written,
        write_agnostic_files,
        write_placement_files,
    )
    from placewise.report.formats import Report

    moves = parse_moves(place or ())
    named = [name.strip() for one in machine for name in one.split(",") if name.strip()]
    _check(moves, named, versions, chunk, agnostic=agnostic)
    if buffers > 1 and (chunk is None or agnostic):
        raise CaseError(
            "two buffers are for tiles by chunks of a loop of one version",
            where="--buffers",
            hint="add --chunk, without --agnostic",
        )
    if out is not None:
        check_folder(out)
    machines = [load_machine(Path(n) if n.endswith(".msl") else n) for n in dict.fromkeys(named)]
    with StepProgress(Console(stderr=True), quiet=quiet) as progress:
        if agnostic:
            report = write_agnostic_kernel(
                case,
                machines,
                moves,
                chunk=chunk,
                versions=VERSIONS if versions is None else versions,
                nvrtc=nvrtc,
                progress=progress.step,
            )
            files = write_agnostic_files(report, out) if out is not None else ()
            shown = Report(
                partial(render_agnostic, report), report.to_dict, files, "source and host header"
            )
        else:
            written = write_placement(
                case,
                machines[0],
                moves,
                chunk=chunk,
                buffers=buffers,
                nvrtc=nvrtc,
                progress=progress.step,
            )
            files = write_placement_files(written, out) if out is not None else ()
            shown = Report(
                partial(render_written, written), written.to_dict, files, "source and host code"
            )
    show(shown, format_, as_json)


def _check(
    moves: dict[str, str], machines: list[str], versions: int | None, chunk: int | None, *,
    agnostic: bool,
) -> None:  # fmt: skip
    """Raise CaseError where the options do not go together."""
    if not machines:
        raise CaseError("no machine is named", where="--machine", hint="give A100, for example")
    if chunk is not None and not moves:
        raise CaseError("no array is moved", where="--chunk", hint="add --place ARRAY=shared")
    if agnostic:
        return
    if not moves:
        raise CaseError(
            "no array is moved", where="--place", hint="give ARRAY=SPACE, or --agnostic"
        )
    if len(machines) > 1:
        raise CaseError(
            "one placement is written for one machine",
            where="--machine",
            hint="name one machine, or add --agnostic",
        )
    if versions is not None:
        raise CaseError("needs --agnostic", where="--versions")
