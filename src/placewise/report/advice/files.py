"""Writes the files of advice: all of them, or none."""

from __future__ import annotations

import io
import os
from pathlib import Path

from rich.console import Console

from placewise.advisor.advice import Advice
from placewise.errors import PlacewiseError
from placewise.output_file import write_together
from placewise.report.advice.text import render
from placewise.report.formats import REPORT_WIDTH, json_text


def check_folder(folder: Path) -> None:
    """Raises PlacewiseError where files could not be written into ``folder``; creates nothing."""
    there = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    if not there.is_dir():
        raise PlacewiseError("is not a folder", where=str(there))
    if not os.access(there, os.W_OK | os.X_OK):
        raise PlacewiseError("cannot be written to", where=str(there))


def check_file(file: Path) -> None:
    """Raises PlacewiseError where ``file`` could not be written; creates nothing."""
    if file.is_dir():
        raise PlacewiseError("is a folder", where=str(file))
    check_folder(file.absolute().parent)


def write_files(advice: Advice, folder: Path) -> tuple[Path, ...]:
    """Write the advice and the verified source into ``folder`` (made if missing).

    ``advice.json`` and ``advice.txt`` are always written. If there is a recommendation, its
    verified kernel is written under the source's name, and the host code that it needs as
    ``NAME.host.txt``. Raises PlacewiseError if the folder cannot be written.
    """
    contents = {
        "advice.json": json_text(advice.to_dict()) + "\n",
        "advice.txt": as_text(advice),
    }
    option = advice.recommended
    if option is not None and option.rewritten is not None:
        name = Path(option.rewritten.case.file_name)
        contents[name.name] = option.rewritten.case.source
        contents[f"{name.stem}.host.txt"] = option.rewritten.host
    return write_together(folder, contents)


def as_text(advice: Advice) -> str:
    """The text report without colours."""
    text = io.StringIO()
    Console(width=REPORT_WIDTH, file=text, color_system=None).print(render(advice))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"
