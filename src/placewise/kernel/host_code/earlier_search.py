"""What the search for host code found in one version of a source, for the next version of it.

Rewriting changes a kernel and leaves the rest of its file as it is. Each round of the search is a
compilation, which takes seconds where a file includes large headers.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from placewise.kernel.frontends.source_file import SourceFile
from placewise.kernel.host_code.declarations import Declaration, walk
from placewise.kernel.host_code.dialect import Taken

_Places = frozenset[tuple[str, str]]
"""(file's name, text) of declarations or names of headers."""


@dataclass(frozen=True)
class EarlierSearch:
    """What was left out of a source and its files, and what was put in front of it."""

    left_out: _Places
    annotated: _Places
    dropped_includes: _Places
    further: tuple[str, ...]
    full_library: bool
    platform: bool
    few_headers: bool
    dialect: Taken


def places(file: SourceFile, found: Sequence[Declaration]) -> _Places:
    """The texts of declarations of ``file``."""
    return frozenset((file.name, file.text[d.start : d.end]) for d in found)


def leave_out_again(files: Sequence[SourceFile], earlier: EarlierSearch, wanted: Set[str]) -> None:
    """Leave out of ``files`` what stands there as it did before, functions of the names ``wanted``
    apart."""
    for file in files:
        for declaration in walk(file.declarations):
            place = (file.name, file.text[declaration.start : declaration.end])
            if place in earlier.left_out and declaration.name not in wanted:
                file.drop(declaration)
            if place in earlier.annotated:
                file.annotate(declaration)
        file.drop_includes(
            [i for i in file.includes if (file.name, i.name) in earlier.dropped_includes]
        )
