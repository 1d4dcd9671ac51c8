"""What the commands of the GPU programme share: names of files, arguments, an exit status."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from placewise.space import Placement

NO_GPU = 3
"""Exit status where there is no GPU."""
L2_OF_ADVICE = "flushed"
"""State of L2 in which advice is judged: what a kernel finds that runs after others."""


MeasuredFile = Annotated[Path, typer.Argument(help="What `benchmarks.gpu` left.")]
MachineName = Annotated[str, typer.Argument(help="Known machine, such as H100.")]
FiguresFile = Annotated[Path, typer.Argument(help="Where the figures go.")]
Nvrtc = Annotated[
    str | None,
    typer.Option(help="Compiler that made what was measured, such as 13.0, if it is installed."),
]
Workers = Annotated[int, typer.Option(help="Processes.")]


def flushed_ms(measurement: dict[str, Any]) -> dict[Placement, float]:
    """Median milliseconds of each placement of an entry of a file of ``benchmarks.gpu``, L2 flushed
    before. Tiles of several sizes have the same spaces; the fastest counts."""
    found: dict[Placement, float] = {}
    for record in measurement["records"]:
        placement = Placement(tuple((array, space) for array, space in record["placement"]))
        for timing in record["timings"]:
            if timing["l2"] == L2_OF_ADVICE:
                ms = timing["median_ms"]
                found[placement] = min(ms, found.get(placement, ms))
    return found


def dated(folder: Path, kind: str, device: str, date: str) -> Path:
    """``KIND-DEVICE-DATE.json`` in ``folder``; ``date`` in ISO 8601, of which the day is taken."""
    name = re.sub(r"\W+", "-", device).strip("-")
    return folder / f"{kind}-{name}-{date[:10]}.json"
