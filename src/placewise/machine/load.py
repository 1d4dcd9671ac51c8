"""Machines by name or file."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from placewise.errors import MachineError
from placewise.machine.machine import Machine
from placewise.machine.msl.located import nearest
from placewise.machine.msl.parse import parse_specification
from placewise.machine.msl.resolve import resolve

_SUFFIX = ".msl"


def load_machine(name_or_path: Machine | str | Path) -> Machine:
    """A bundled machine by name (in any case), or the machine of an ``.msl`` file.

    A machine is given back as it is. What ends in ``.msl`` or contains a path separator is a file.
    Raises MachineError for an unknown name, a file that cannot be read, and whatever is wrong in
    it.
    """
    if isinstance(name_or_path, Machine):
        return name_or_path
    name_or_path = str(name_or_path)
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
    folder = resources.files("placewise.machine").joinpath("files")
    return tuple(
        sorted(f.name.removesuffix(_SUFFIX) for f in folder.iterdir() if f.name.endswith(_SUFFIX))
    )


def parse_machine(text: str, filename: str = "<machine>") -> Machine:
    """The machine that an MSL text describes. Raises MachineError at ``filename:line:column``."""
    return resolve(parse_specification(text, filename), filename)


def machine_text(name: str) -> str:
    """MSL text of a bundled machine; ``name`` is one of :func:`machine_names`."""
    file = resources.files("placewise.machine").joinpath("files", name + _SUFFIX)
    return file.read_text("utf-8")


@cache
def _bundled(name: str) -> Machine:
    return parse_machine(machine_text(name), name + _SUFFIX)
