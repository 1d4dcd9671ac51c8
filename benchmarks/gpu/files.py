"""Names of the GPU programme's files, and its exit status without a GPU."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

NO_GPU = 3
"""Exit status where there is no GPU."""


MeasuredFile = Annotated[Path, typer.Argument(help="What `benchmarks.gpu` left.")]
MachineName = Annotated[str, typer.Argument(help="Known machine, such as H100.")]
FiguresFile = Annotated[Path, typer.Argument(help="Where the figures go.")]
Workers = Annotated[int, typer.Option(help="Processes.")]


def dated(folder: Path, kind: str, device: str, date: str) -> Path:
    """``KIND-DEVICE-DATE.json`` in ``folder``; ``date`` in ISO 8601, of which the day is taken."""
    name = re.sub(r"\W+", "-", device).strip("-")
    return folder / f"{kind}-{name}-{date[:10]}.json"
