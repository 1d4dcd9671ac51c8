"""Names of the GPU programme's files, and its exit status without a GPU."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from placewise.kernel.cases.case import Case
from placewise.kernel.toolchain import DEFAULT_NVRTC

NO_GPU = 3
"""Exit status where there is no GPU."""


MeasuredFile = Annotated[Path, typer.Argument(help="What `benchmarks.gpu` left.")]
MachineName = Annotated[str, typer.Argument(help="Known machine, such as H100.")]
FiguresFile = Annotated[Path, typer.Argument(help="Where the figures go.")]
Nvrtc = Annotated[
    str,
    typer.Option(help="Compiler that made what was measured, such as 13.0, if it is installed."),
]
Workers = Annotated[int, typer.Option(help="Processes.")]


def dated(folder: Path, kind: str, device: str, date: str) -> Path:
    """``KIND-DEVICE-DATE.json`` in ``folder``; ``date`` in ISO 8601, of which the day is taken."""
    name = re.sub(r"\W+", "-", device).strip("-")
    return folder / f"{kind}-{name}-{date[:10]}.json"


def compiled_by(case: Case, nvrtc: str) -> Case:
    """``case`` compiled by ``nvrtc``, unless it asks for a compiler of its own."""
    if case.options.nvrtc != DEFAULT_NVRTC:
        return case
    return replace(case, options=replace(case.options, nvrtc=nvrtc))
