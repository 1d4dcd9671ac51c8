"""Formats that commands print their results in, one function each.

A new format is one more function here, with its name as a key of :data:`FORMATS`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType

REPORT_WIDTH = 110
"""Columns of a text report that goes to a file or a pipe."""


@dataclass(frozen=True)
class Report:
    """A command's result, as text and as data. Each is made only when it is printed."""

    text: Callable[[], RenderableType]
    data: Callable[[], Mapping[str, Any] | Sequence[Any]]
    files: tuple[Path, ...] = ()
    """Files that the command wrote."""
    what: str = ""
    """The content of the written files, in words."""
    printed: str = ""
    """Output of the kernel's printf, which goes before the text."""


def print_text(report: Report) -> None:
    """Print the tables, then the names of written files."""
    if report.printed:
        print(report.printed, end="", flush=True)
    console = report_console()
    console.print(report.text(), highlight=False)
    if report.files:
        what = f" ({report.what})" if report.what else ""
        names = ", ".join(map(str, report.files))
        console.print(f"Written{what}: {names}", soft_wrap=True, markup=False)


def print_json(report: Report) -> None:
    """Print the data as JSON."""
    print(json_text(report.data()))


FORMATS: Mapping[str, Callable[[Report], None]] = {"text": print_text, "json": print_json}
"""The functions by the format's name in ``--format``."""


def json_text(data: object) -> str:
    """Indented JSON. Infinities and NaN, which JSON does not have, become null."""
    return json.dumps(finite(data), indent=2, allow_nan=False)


def report_console() -> Console:
    """Console of the terminal's width, or of :data:`REPORT_WIDTH` where there is no terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=REPORT_WIDTH)


def finite_number(value: float) -> float | None:
    """``value``; None where it is infinite or NaN, which JSON does not have."""
    return value if math.isfinite(value) else None


def finite(data: object) -> object:
    """``data`` with null for infinities and NaN, which JSON does not have."""
    match data:
        case float():
            return finite_number(data)
        case dict():
            return {key: finite(value) for key, value in data.items()}
        case list() | tuple():
            return [finite(value) for value in data]
        case _:
            return data
