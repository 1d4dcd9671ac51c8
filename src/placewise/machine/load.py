"""Machines by name or file."""

from __future__ import annotations

import os
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from os import PathLike, fspath
from pathlib import Path

from placewise.errors import MachineError
from placewise.machine.machine import Machine
from placewise.machine.msl.inherit import as_inherited, with_base
from placewise.machine.msl.located import located, nearest
from placewise.machine.msl.parse import parse_specification
from placewise.machine.msl.resolve import resolve
from placewise.machine.msl.tree import Base, Specification

_SUFFIX = ".msl"
_FILES = resources.files("placewise.machine") / "files"


MachineLike = Machine | str | PathLike[str]
"""What every function takes as a machine: the value, a bundled one's name, or a file's path."""


def load_machine(name_or_path: MachineLike) -> Machine:
    """The machine that a bundled name (in any case), a path or a :class:`Machine` stands for.

    What ends in ``.msl`` or contains a path separator is a file. A :class:`Machine` is returned as
    it is. Raises MachineError for an unknown name, a file that cannot be read, and whatever is
    wrong in it.
    """
    if isinstance(name_or_path, Machine):
        return name_or_path
    if not isinstance(name_or_path, str | PathLike):
        raise MachineError(
            f"not a machine: a value of type {type(name_or_path).__name__}",
            where="machine",
            hint="give a Machine, the name of a known GPU, or the path of an .msl file",
        )
    name_or_path = fspath(name_or_path)
    known = {name.lower(): name for name in machine_names()}
    if name_or_path.lower() in known:
        return _bundled(known[name_or_path.lower()])
    path = Path(name_or_path)
    if path.suffix == _SUFFIX or len(path.parts) > 1 or path.is_file():
        try:
            return parse_machine(path.read_text("utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise MachineError(f"cannot read the machine file: {reason}", where=str(path)) from None
    names = ", ".join(machine_names())
    hint = nearest(name_or_path, machine_names())
    close = f"{hint} " if hint and hint.startswith("did you mean") else ""
    raise MachineError(
        f"no machine named '{name_or_path}'",
        where="machine",
        hint=f"{close}known machines: {names}; or give the path of an .msl file",
    )


@cache
def machine_names() -> tuple[str, ...]:
    """Names of the bundled machines, sorted."""
    return _names(_FILES)


@cache
def architecture_names() -> tuple[str, ...]:
    """Names of the bundled architectures, which machines inherit from, sorted."""
    return _names(_FILES / "architectures")


def _names(folder: Traversable) -> tuple[str, ...]:
    files = (file.name for file in folder.iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX)))


def parse_machine(text: str, filename: str = "<machine>") -> Machine:
    """The machine that an MSL text describes. Raises MachineError at ``filename:line:column``."""
    return resolve(whole_specification(text, filename), filename)


def whole_specification(text: str, filename: str) -> Specification:
    """What an MSL text describes, together with all that it inherits.

    A base given as a path is relative to the folder of ``filename``. Raises MachineError for what
    is wrong in the text or a base of it, an unknown base, and bases that lead back to themselves.
    """
    own = parse_specification(text, filename)
    if own.header is not None and own.header.is_architecture:
        raise located(
            filename,
            own.header.at,
            f"{own.header.name} is an architecture, which machines inherit from",
            "start a machine's file with: machine NAME like ARCHITECTURE;",
        )
    return _inheriting(own, filename, ())


def bundled_specification(name: str) -> Specification:
    """What the file of a bundled machine describes, together with all that it inherits."""
    return whole_specification(machine_text(name), name + _SUFFIX)


def machine_text(name: str) -> str:
    """MSL text of a bundled machine; ``name`` is one of :func:`machine_names`."""
    return (_FILES / (name + _SUFFIX)).read_text("utf-8")


def _inheriting(own: Specification, filename: str, heirs: tuple[str, ...]) -> Specification:
    """``own`` with the entries of its bases; ``heirs`` are the files on the way to ``filename``."""
    header = own.header
    if header is None or header.base is None:
        for entry in (*own.changes, *own.without):
            raise located(
                filename,
                entry.at,
                "there is nothing inherited to change or leave out",
                "name the base at the start of the file: machine NAME like BASE;",
            )
        return own
    text, base_file = _base_text(header.base, filename)
    if base_file in (*heirs, filename):
        chain = " → ".join((*heirs, filename, base_file))
        raise located(filename, header.base.at, f"the bases lead back to themselves: {chain}")
    base = _inheriting(parse_specification(text, base_file), base_file, (*heirs, filename))
    name = base.header.name if base.header else Path(base_file).stem
    return with_base(own, as_inherited(base, name, base_file), filename)


def _base_text(base: Base, filename: str) -> tuple[str, str]:
    """Text and file of a base. Raises MachineError if there is none, or it cannot be read."""
    if not base.is_path:
        for folder in (_FILES, _FILES / "architectures"):
            for file in folder.iterdir():
                if file.name.lower() == base.name.lower() + _SUFFIX:
                    return file.read_text("utf-8"), file.name
        hint = nearest(base.name, [*machine_names(), *architecture_names()])
        raise located(
            filename,
            base.at,
            f"no machine or architecture named '{base.name}'",
            f'{hint}; a file of your own is given as a path in quotes: like "base.msl"',
        )
    path = os.path.normpath(Path(filename).parent / base.name)
    try:
        return Path(path).read_text("utf-8"), path
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise located(filename, base.at, f"cannot read the base {path}: {reason}") from None


@cache
def _bundled(name: str) -> Machine:
    return parse_machine(machine_text(name), name + _SUFFIX)
