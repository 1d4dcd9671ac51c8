"""Files that the program writes: completely or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from placewise.errors import PlacewiseError

_DEVICES = ("dev", "proc")
"""Top-level folders whose files are written to in place, even those that are links to regular files
(``/dev/stdout`` where the output is redirected to a file)."""


def write_whole(path: Path, text: str) -> None:
    """Write ``text`` to ``path``, whose folder is made if it is missing.

    If that fails, for instance on a full disk, the old file stays as it was: the text goes to a
    temporary file beside it, which replaces it at the end. Pipes and devices (``/dev/stdout``) are
    written to in place. Raises PlacewiseError if the file cannot be written.
    """
    try:
        if path.exists() and (not path.is_file() or path.absolute().parts[1] in _DEVICES):
            path.write_text(text, encoding="utf-8")
            return
        target = path.resolve()  # of a link, the file that it points to
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".placewise-") as staging:
            made = Path(staging) / target.name
            made.write_text(text, encoding="utf-8")
            if target.exists():
                made.chmod(target.stat().st_mode)
            made.replace(target)
    except OSError as error:
        reason = error.strerror or str(error)
        raise PlacewiseError(f"cannot be written: {reason}", where=str(path)) from error


def write_together(folder: Path, contents: Mapping[str, str]) -> tuple[Path, ...]:
    """Write texts by file name into ``folder`` (made if missing): all of them, or none.

    Returns the files. Raises PlacewiseError if the folder cannot be written.
    """
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
