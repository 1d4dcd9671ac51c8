"""``placewise draft``: a case file to start from, for a kernel of one's own."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from placewise.cli.options import AsJson, Format, OutputFormat, Quiet, show
from placewise.cli.progress import StepProgress
from placewise.errors import CaseError, PlacewiseError
from placewise.output_file import write_whole

_BESIDE = 20
"""Most other files that are looked at for kernels."""


# Long for its options, one parameter with its help for each.
def draft(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="CUDA C++ file with the kernel, such as my.cu.")
    ],
    kernel: Annotated[
        str | None,
        typer.Option("--kernel", "-k", metavar="NAME", help="Which kernel, if there are several."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="File to write. Default: the source's name, ending in .toml.",
        ),
    ] = None,
    run: Annotated[
        bool,
        typer.Option(
            "--run/--no-run",
            help="Run the kernel with the guessed inputs, and enlarge what turns out too small.",
        ),
    ] = True,
    quiet: Quiet = False,
    format_: OutputFormat = Format.text,
    as_json: AsJson = False,
) -> None:
    """Write a case file to start from: a kernel's launch and inputs, guessed from its source."""
    from placewise.executor.fitted_draft import fitted_draft
    from placewise.kernel.cases.drafts.drafted_case import draft_text, drafted_kernels
    from placewise.kernel.cases.make_case import read_source
    from placewise.kernel.host_code.includes import folders_of_headers, included_texts
    from placewise.report.draft import draft_document, render_draft
    from placewise.report.formats import Report

    text = read_source(source)[0]
    # Many programs keep their kernels in headers, and launch them in the source.
    headers = folders_of_headers(text, source.parent)
    kernels = drafted_kernels("\n".join((text, *included_texts(text, source.parent, headers))))
    if not kernels:
        raise CaseError(
            "no __global__ kernel found here or in the files beside it that it includes",
            where=str(source),
            hint=_elsewhere(source)
            or "this reads CUDA C++; for Numba and CuPy there is placewise.make_case",
        )
    found = [k for k in kernels if kernel in (None, k.kernel, k.name)]
    if len({k.name for k in found}) != 1:
        what = "several kernels" if found else "no such kernel"
        names = ", ".join(dict.fromkeys(k.name for k in kernels))
        raise CaseError(what, where=str(source), hint=f"name one with --kernel: {names}")
    # Of several definitions the compiler takes that of its branch of #ifdef, most likely the first.
    chosen = found[0]
    file = source.with_suffix(".toml") if out is None else out
    if file.is_file():
        raise CaseError("exists already", where=str(file), hint="name another file with --out")
    beside = _from(file, source)
    chosen = replace(chosen, include=tuple(_from(file, folder) for folder in headers))
    stopped: PlacewiseError | None = None
    if run:
        with StepProgress(Console(stderr=True), quiet=quiet) as progress:
            chosen, stopped = fitted_draft(chosen, beside, file, progress.step)
    write_whole(file, draft_text(chosen, beside))
    shown = partial(render_draft, chosen, file, tried=run, stopped=stopped)
    data = partial(draft_document, chosen, source, file, tried=run, stopped=stopped)
    show(Report(shown, data), format_, as_json)


def _from(file: Path, path: Path) -> str:
    """``path`` as a case file names it, from the folder of ``file``."""
    return Path(os.path.relpath(path.absolute(), file.absolute().parent)).as_posix()


def _elsewhere(source: Path) -> str:
    """Which files beside a source without kernels define some; empty where none does."""
    from placewise.kernel.cases.drafts.drafted_case import drafted_kernels
    from placewise.kernel.cases.make_case import read_source

    others = sorted(p for p in source.parent.glob("*.cu") if p.name != source.name)[:_BESIDE]
    found = [p.name for p in others if drafted_kernels(read_source(p)[0])]
    return f"kernels are defined in {', '.join(found)}" if found else ""
