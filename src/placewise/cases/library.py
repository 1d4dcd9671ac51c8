"""Finds a case by name among the bundled ones, or by the path of its file."""

from __future__ import annotations

import difflib
from os import PathLike, fspath
from pathlib import Path

from placewise.errors import CaseError
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.case_file import read_case_file

_FOLDER = Path(__file__).parent
_SOURCES = frozenset({".cu", ".cuh", ".ptx", ".cpp", ".cc", ".c", ".h", ".hpp", ".py"})
_ALIASES = {"convolution": "convolution-rows"}


def case_names() -> tuple[str, ...]:
    """Names of the bundled cases, sorted."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


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
    if name in case_names():
        return read_case_file(_FOLDER / f"{name}.toml")
    path = Path(name)
    if path.suffix in _SOURCES:
        raise CaseError(
            "a kernel's source is no case: it does not say what is launched, and on what",
            where=f"'{name_or_path}'",
            hint=f'write a .toml file with source = "{path.name}", the kernel and its launch and '
            "arguments, as docs/reference/cases.md has it",
        )
    if path.suffix in (".toml", ".json") or (name and path.exists()):
        return read_case_file(path)
    near = difflib.get_close_matches(name, [*case_names(), *_ALIASES], n=3, cutoff=0.5)
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    else:
        hint = f"bundled cases: {', '.join(case_names())}; or give the path of a .toml file"
    raise CaseError("no such case", where=f"'{name_or_path}'", hint=hint)
