"""Finds a case by name among the bundled ones, or by the path of its file."""

from __future__ import annotations

import difflib
import functools
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

from placewise.cases.papers import papers_of_cases
from placewise.errors import CaseError
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.case_file import read_case_family, read_case_file
from placewise.kernel.launch import Dim3

_FOLDER = Path(__file__).parent
GROUPS = {
    "linear_algebra": "linear algebra",
    "grids": "grids and signals",
    "arrays": "reduce, scan, sort, search",
    "simulation": "simulation",
    "analysis": "graphs and learning",
}
"""Title of each kind of kernel by the folder that its cases are in."""
_SOURCES = frozenset({".cu", ".cuh", ".ptx", ".cpp", ".cc", ".c", ".h", ".hpp", ".py"})
_ALIASES = {"convolution": "convolution-rows"}


@dataclass(frozen=True)
class BundledCase:
    """A bundled case as lists show it: known from its file alone, without making its arrays."""

    name: str
    group: str
    """Kind of kernel, a title of :data:`GROUPS`."""
    papers: tuple[str, ...]
    """Papers that evaluate this kernel, with their name for it, such as ``PORPLE mm``."""
    kernel: str
    description: str
    grid: Dim3
    block: Dim3


def case_names() -> tuple[str, ...]:
    """Names of the bundled cases, sorted."""
    return tuple(sorted(_files()))


@functools.cache
def _files() -> dict[str, Path]:
    """The bundled case files by the names of the cases."""
    return {path.stem: path for folder in GROUPS for path in (_FOLDER / folder).glob("*.toml")}


def case_path(name: str) -> Path:
    """File of a bundled case; raises KeyError for a name that is none."""
    return _files()[name]


def bundled_cases() -> tuple[BundledCase, ...]:
    """All bundled cases, by group and then by name."""
    papers = papers_of_cases()
    found = []
    for folder, title in GROUPS.items():
        for name in sorted(n for n, path in _files().items() if path.parent.name == folder):
            family = read_case_family(case_path(name))
            shape = family.shape(family.parameters)
            found.append(
                BundledCase(
                    name,
                    title,
                    papers.get(name, ()),
                    family.kernel,
                    family.description,
                    shape.grid,
                    shape.block,
                )
            )
    return tuple(found)


CaseLike = Case | str | PathLike[str]
"""What every function takes as a case: the value, a bundled case's name, or a file's path."""


def load_case(name_or_path: CaseLike) -> Case:
    """The case that a name, a path or a :class:`Case` stands for.

    Files are ``.toml``, or ``.json`` in the T1 format. ``convolution`` is its pass along the rows;
    a :class:`Case` is returned as it is. Raises CaseError, with the nearest names where there is no
    such case.
    """
    if isinstance(name_or_path, Case):
        return name_or_path
    if not isinstance(name_or_path, str | PathLike):
        raise CaseError(
            f"not a case: a value of type {type(name_or_path).__name__}",
            where="case",
            hint="give a Case (make_case builds one), a bundled case's name, or a file's path",
        )
    name = fspath(name_or_path)
    name = _ALIASES.get(name, name)
    if name in _files():
        return read_case_file(case_path(name))
    path = Path(name)
    if path.suffix in _SOURCES:
        raise CaseError(
            "a kernel's source is no case: it does not say what is launched, and on what",
            where=f"'{name_or_path}'",
            hint=f"`placewise draft {path.name}` writes a case file to start from, with its launch "
            "and arguments; docs/start/your-own-kernel.md tells more",
        )
    if path.suffix in (".toml", ".json") or (name and path.exists()):
        return read_case_file(path)
    near = difflib.get_close_matches(name, [*case_names(), *_ALIASES], n=3, cutoff=0.5)
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    else:
        hint = "`placewise cases` lists the bundled ones; or give the path of a .toml file"
    raise CaseError("no such case", where=f"'{name_or_path}'", hint=hint)
