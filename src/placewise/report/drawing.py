"""Writes figures to files: SVG or PNG by the suffix. No partial file is left after an error."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from placewise.errors import PlacewiseError
from placewise.report.advice.files import check_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png")


def check_drawing(path: Path) -> None:
    """Raises PlacewiseError where no figure could be written to ``path``; creates nothing."""
    if path.suffix not in SUFFIXES:
        raise PlacewiseError(
            "a figure is an .svg or a .png file", where=str(path), hint=f"{path.stem}.svg"
        )
    check_file(path)


def write_drawing(figure: Figure, path: Path) -> None:
    """Write ``figure`` to ``path``; raises PlacewiseError where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".placewise-") as staging:
            made = Path(staging) / path.name
            figure.savefig(made, dpi=150, bbox_inches="tight")
            made.replace(path)
    except OSError as error:
        raise PlacewiseError(f"cannot be written: {error.strerror}", where=str(path)) from error
