"""Files of an advice: all of them are written, or none."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

from rich.console import Console

from placewise.advise.advice import Advice, Option
from placewise.errors import PlacewiseError
from placewise.report.document import document
from placewise.report.text import render

REPORT_WIDTH = 110


def written_option(advice: Advice) -> Option | None:
    """The option whose source is written out: the recommended one, else the best proven one."""
    proven = (option for option in advice.options if option.proven)
    return advice.recommended or next(proven, None)


def write_files(advice: Advice, folder: Path) -> tuple[Path, ...]:
    """Write the advice and the verified source into ``folder`` (made if missing).

    ``advice.json`` and ``advice.txt`` always; where an option is proven, its kernel under the
    source's name and the host code it needs as ``NAME.host.txt``. Raises PlacewiseError if the
    folder cannot be written.
    """
    contents = {
        "advice.json": json.dumps(document(advice), indent=2) + "\n",
        "advice.txt": as_text(advice),
    }
    option = written_option(advice)
    if option is not None and option.rewritten is not None:
        name = Path(advice.case.filename)
        contents[name.name] = option.rewritten.case.source
        contents[f"{name.stem}.host.txt"] = option.rewritten.host
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".placewise-") as staging:
            for file, text in contents.items():
                (Path(staging) / file).write_text(text, encoding="utf-8")
            for file in contents:
                (Path(staging) / file).replace(folder / file)
    except OSError as error:
        raise PlacewiseError(
            f"cannot write: {error.strerror or error}", where=str(folder)
        ) from error
    return tuple(folder / file for file in contents)


def as_text(advice: Advice) -> str:
    """The text report without colours."""
    text = io.StringIO()
    Console(width=REPORT_WIDTH, file=text, color_system=None).print(render(advice))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def report_console() -> Console:
    """Console for the report: the terminal's width, or a fixed one where there is no terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=REPORT_WIDTH)
