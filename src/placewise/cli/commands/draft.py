"""``placewise draft``: a case file to start from, for a kernel of one's own."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from placewise.cli.options import AsJson, Format, OutputFormat, show
from placewise.errors import CaseError
from placewise.output_file import write_whole


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
            metavar="FILE", help="File to write. Default: the source's name, ending in .toml."
        ),
    ] = None,
    format_: OutputFormat = Format.text,
    as_json: AsJson = False,
) -> None:
    """Write a case file to start from: a kernel's launch and inputs, guessed from its source."""
    from placewise.kernel.cases.drafted_case import draft_text, drafted_kernels
    from placewise.report.draft import draft_document, render_draft
    from placewise.report.formats import Report

    try:
        text = source.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CaseError("no such file", where=str(source)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CaseError(f"cannot be read as a source: {error}", where=str(source)) from error
    found = [k for k in drafted_kernels(text) if kernel in (None, k.kernel, k.name)]
    if len(found) != 1:
        names = ", ".join(dict.fromkeys(k.name for k in drafted_kernels(text)))
        what = "several kernels" if len(found) > 1 else "no such kernel"
        if not names:
            raise CaseError(
                "no __global__ kernel found",
                where=str(source),
                hint="this reads CUDA C++; for Numba and CuPy there is placewise.make_case",
            )
        raise CaseError(what, where=str(source), hint=f"name one with --kernel: {names}")
    file = source.with_suffix(".toml") if out is None else out
    if file.is_file():
        raise CaseError("exists already", where=str(file), hint="name another file with --out")
    beside = os.path.relpath(source.absolute(), file.absolute().parent)
    write_whole(file, draft_text(found[0], Path(beside).as_posix()))
    report = Report(
        partial(render_draft, found[0], file), partial(draft_document, found[0], source, file)
    )
    show(report, format_, as_json)
