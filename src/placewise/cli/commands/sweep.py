"""``placewise sweep``: many predictions, stored so that an interrupted sweep can continue."""

from __future__ import annotations

import ast
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from placewise.cli.options import (
    AsJson,
    CompilerVersion,
    Format,
    OutputFormat,
    Quiet,
    separate_names,
    show,
)
from placewise.cli.progress import StepProgress
from placewise.errors import CaseError

if TYPE_CHECKING:
    from placewise.kernel.cases.strict_model import Parameter
    from placewise.sweep import SweepPlan

_VALUES = re.compile(r"([A-Za-z_]\w*)=(.+)")


# One parameter for each option of the command: Typer reads them from the signature.
def sweep(
    case: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CASE...]", help="Bundled cases or case files; none where --plan is given."
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A TOML file that says what to sweep, see the docs."),
    ] = None,
    machine: Annotated[
        list[str] | None,
        typer.Option(
            "--machine",
            "-m",
            metavar="NAME|FILE,…",
            help="Known GPUs or machine files (.msl), separated by commas. May be given again.",
        ),
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=N,…",
            help="Values of an entry of the cases' [sizes], one after another. May be given again.",
        ),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE,…",
            help="Values of an entry of the cases' [parameters]. May be given again.",
        ),
    ] = None,
    condition: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EXPRESSION",
            help="Sweep only where this holds, such as 'tile_x * tile_y <= 1024'. May be given "
            "again.",
        ),
    ] = None,
    all_configurations: Annotated[
        bool,
        typer.Option(
            "--all-configurations",
            help="For tuning problems (T1): sweep all values of their parameters that their own "
            "conditions allow.",
        ),
    ] = False,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder for results, table and plot. The same command again predicts only what "
            "is missing there.",
        ),
    ] = Path("sweep"),
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Predict only part I of N, for job arrays. Afterwards the same command without "
            "it collects all parts.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Number of processes. Default: one for each processor."),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Predict on the Dask cluster with this scheduler."),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            min=0.1,
            help="A prediction that takes longer fails.",
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Repeat predictions that failed before.")
    ] = False,
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the predictions as a cache file of Kernel Tuner, for its simulation mode.",
        ),
    ] = None,
    t4: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the predictions as results in the T4 format."),
    ] = None,
    nvrtc: CompilerVersion = None,
    as_json: AsJson = False,
    format_: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> None:
    """Predict kernels × machines × sizes × configurations; an interrupted sweep can continue."""
    from placewise.report.advice.files import check_file, check_folder
    from placewise.report.formats import Report
    from placewise.report.sweep.plot import draw_sweep
    from placewise.report.sweep.table_file import table_suffix, write_table
    from placewise.report.sweep.text import render_sweep
    from placewise.report.sweep.tuner_output import write_tuner_files
    from placewise.sweep import sweep as run_sweep

    asked = _plan(plan, case or [], machine or [], size or [], parameter or [], condition or [],
                  nvrtc, all_configurations)  # fmt: skip
    if dask is not None and (workers is not None or time_limit is not None):
        name = "--workers" if workers is not None else "--time-limit"
        raise CaseError("cannot be given for a Dask cluster, which has its own workers", where=name)
    part = None if shard is None else _part(shard)
    check_folder(out)
    for file in (cache, t4):
        if file is not None:
            if part is not None:
                raise CaseError(
                    "only a whole sweep can be written for tuners",
                    where="--shard",
                    hint="leave it out",
                )
            check_file(file)
    console = Console(stderr=True)
    try:
        with StepProgress(console, quiet=quiet) as progress:
            result = run_sweep(
                asked,
                out,
                shard=part,
                workers=workers,
                dask=dask,
                time_limit=time_limit,
                retry_failed=retry_failed,
                progress=progress.step,
            )
    except KeyboardInterrupt:
        console.print(f"Predictions so far are kept in {out}; the same command continues.")
        raise
    files: tuple[Path, ...] = ()
    if part is None:
        files = (out / f"results{table_suffix()}", out / "times.svg")
        write_table(result.records(), files[0])
        draw_sweep(result, files[1])
        files += write_tuner_files(result.rows, cache, t4)
    show(Report(partial(render_sweep, result), result.to_dict, files), format_, as_json)


def _plan(
    file: Path | None, cases: list[str], machines: list[str], sizes: list[str],
    parameters: list[str], conditions: list[str], nvrtc: str | None, all_configurations: bool,
) -> SweepPlan:  # fmt: skip
    """The plan in ``file``, or the one that the options make."""
    from placewise.sweep import SweepPlan, SweptKernel, read_plan

    if file is not None:
        for where, given in (("CASE", cases), ("--machine", machines), ("--size", sizes),
                             ("--parameter", parameters), ("--condition", conditions)):  # fmt: skip
            if given:
                raise CaseError(
                    "cannot be given beside --plan", where=where, hint=f"write it into {file}"
                )
        found = read_plan(file)
        return found if nvrtc is None else found.model_copy(update={"nvrtc": nvrtc})
    if not cases:
        raise CaseError("no case is named", where="CASE", hint="give one, or --plan FILE")
    names = separate_names(machines)
    numbers = {name: list(map(_size, texts)) for name, texts in map(_named, sizes)}
    values = {name: list(map(_value, texts)) for name, texts in map(_named, parameters)}
    kernels = [
        SweptKernel(
            case=one,
            sizes=numbers,
            parameters=values,
            conditions=conditions,
            all_configurations=all_configurations,
        )
        for one in cases
    ]
    return SweepPlan(machines=names, kernels=kernels, nvrtc=nvrtc)


def _named(text: str) -> tuple[str, list[str]]:
    """``n=1,2`` as ``("n", ["1", "2"])``."""
    found = _VALUES.fullmatch(text)
    values = [value.strip() for value in found[2].split(",") if value.strip()] if found else []
    if found is None or not values:
        raise CaseError(
            f"'{text}' is not NAME=VALUE,…", where="--size or --parameter", hint="such as n=256,512"
        )
    return found[1], values


def _size(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**63:
        raise CaseError(f"'{text}' is not a size", where="--size", hint="give whole numbers")
    return int(text)


def _value(text: str) -> Parameter:
    """The value that a text stands for: a number, ``True`` or ``False`` for true and false, else
    the text."""
    if text in ("true", "false"):
        return text == "true"
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return found if isinstance(found, int | float) else text


def _part(text: str) -> tuple[int, int]:
    part, slash, parts = text.partition("/")
    if not slash or not part.isdecimal() or not parts.isdecimal():
        raise CaseError(f"'{text}' is not I/N", where="--shard", hint="such as 3/8")
    if not 1 <= int(part) <= int(parts):
        raise CaseError(f"there is no part {part} of {parts}", where="--shard", hint="from 1 on")
    return int(part), int(parts)
