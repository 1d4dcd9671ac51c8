"""Which of the user's own files a source includes, and headers that concern the host alone."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from placewise.kernel.host_code.tokens import tokens

_INCLUDE = re.compile(r'\s*#\s*include\s*(?P<open>[<"])(?P<name>[^>"\n]+)[>"]')

_OPTION = re.compile(r"(?<!\S)-I\s*([^\s$()'\"]{1,200})(?!\S)")
"""A compiler's option for a folder of headers, without variables."""
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_MOST_MAKEFILE = 1 << 20
"""Characters of a Makefile that are looked at."""
_HOST_ONLY = Path(__file__).with_name("host_only_headers.txt")
_LEVELS = 3
"""Levels above a source at which a header is looked for."""
_MOST_INNER = 200
"""Most folders in one folder that are looked into for a header."""


@dataclass(frozen=True)
class Include:
    """One ``#include`` directive: its extent in characters and what it names."""

    start: int
    end: int
    name: str
    quoted: bool


def includes(text: str) -> tuple[Include, ...]:
    """All ``#include`` directives that name a header, whatever conditions they stand under."""
    found = []
    for token in tokens(text):
        match = _INCLUDE.match(token.text) if token.kind == "directive" else None
        if match:
            found.append(Include(token.start, token.end, match["name"], match["open"] == '"'))
    return tuple(found)


def is_host_only(name: str) -> bool:
    """Whether a header of this name concerns host code alone, so that a missing one does no
    harm."""
    return name in _host_only() or name.split("/", 1)[0] + "/" in _host_only()


@cache
def _host_only() -> frozenset[str]:
    lines = _HOST_ONLY.read_text().splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


def resolve(include: Include, folder: Path, include_paths: Iterable[Path]) -> Path | None:
    """The file that a directive in a file of ``folder`` names, or None."""
    for base in (*((folder,) if include.quoted else ()), *include_paths):
        path: Path = base / include.name
        if path.is_file():
            return path.resolve()
    return None


def leads_to(include: Include, folder: Path, include_paths: Sequence[Path]) -> set[Path]:
    """The files that a directive in a file of ``folder`` names, directly or by way of others."""
    found: set[Path] = set()
    pending = [resolve(include, folder, include_paths)]
    while pending:
        path = pending.pop()
        if path is None or path in found:
            continue
        found.add(path)
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        pending += [resolve(one, path.parent, include_paths) for one in includes(text)]
    return found


def included_texts(text: str, folder: Path, include_paths: Sequence[Path] = ()) -> list[str]:
    """Texts of the files that ``text``, of a file in ``folder``, includes in quotes and that exist,
    directly or by way of others; each once."""
    found: dict[Path, None] = {}
    for include in includes(text):
        if include.quoted:
            found |= dict.fromkeys(sorted(leads_to(include, folder, include_paths)))
    return [path.read_text(encoding="utf-8-sig", errors="replace") for path in found]


def folders_of_headers(text: str, folder: Path) -> tuple[Path, ...]:
    """Folders near ``folder`` with headers that ``text``, of a file there, includes, directly or by
    way of others, and that are not found from where they are included. A program's Makefile names
    such folders to the compiler."""
    found: list[Path] = []
    seen: set[Path] = set()
    pending = [(text, folder)]
    while pending:
        text, place = pending.pop()
        for include in includes(text):
            path = resolve(include, place, found)
            if path is None and not is_host_only(include.name):
                near = folder_with(include.name, folder)
                found += [near] if near else []
                path = resolve(include, place, found)
            if path is not None and path not in seen:
                seen.add(path)
                included = path.read_text(encoding="utf-8-sig", errors="replace")
                pending.append((included, path.parent))
    return tuple(found)


def folder_with(name: str, folder: Path) -> Path | None:
    """The folder from which a header is included as ``name``: one that the Makefile in ``folder``
    names, or one that holds ``folder``, up to three levels above it or up to the repository's own,
    or one directly in one of these; None where there is none."""
    for place in _of_makefile(folder.absolute()):
        if (place / name).is_file():
            return place
    for base in _around(folder.absolute()):
        try:
            inner = sorted(p for p in base.iterdir() if p.is_dir() and not p.name.startswith("."))
        except OSError:
            continue
        for place in (base, *inner[:_MOST_INNER]):
            if (place / name).is_file():
                return place
    return None


def _of_makefile(folder: Path) -> Iterator[Path]:
    """Folders that the options of a Makefile in ``folder`` name."""
    for name in _MAKEFILES:
        file = folder / name
        if file.is_file():
            with suppress(OSError):
                text = file.read_text(encoding="utf-8", errors="replace")[:_MOST_MAKEFILE]
                for told in _OPTION.findall(text):
                    yield Path(os.path.normpath(folder / told))


def _around(folder: Path) -> Iterator[Path]:
    for base in (folder, *folder.parents)[: 1 + _LEVELS]:
        yield base
        if (base / ".git").exists():
            return
