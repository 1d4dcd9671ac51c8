"""Machine files in the editor: checked, shown figure by figure, and edited by figure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from placewise.errors import MachineError
from placewise.machine import Machine, parse_machine
from placewise.machine.figures import figures
from placewise.machine.msl.parse import parse_specification
from placewise.machine.msl.tree import LimitEntry, Position, Specification

FILE = "machine"
"""File name of the text in messages."""
EDITED = "edited in the studio"
_CHANGED = ("size", "blockSize", "banks", "latency")
"""Fields of an inherited memory that a file can change one by one."""
_WHOLE = ("shareScope", "concurrencyFactor", "rw", "levels")
"""Fields that can only be given in a whole entry, so the editor cannot set them one by one."""
_VALUE = re.compile(r"[\w.<>?^, /%+-]{1,80}")
_SEVERAL = re.compile(r"^([\d.]+(?: [\d.]+)+)((?: [\w/]+)?)$")
_PLACE = re.compile(rf"^{FILE}:(\d+):(\d+)$")


def parsed_machine(text: str) -> Machine:
    """The machine that a text from the browser describes. Its base must be a bundled machine or
    architecture, so that no file is read. Raises MachineError with its place in the text."""
    specification = parse_specification(text, FILE)
    base = None if specification.header is None else specification.header.base
    if base is not None and base.is_path:
        raise MachineError(
            "in the studio a machine starts from a bundled one",
            where=f"{FILE}:{base.at.line}:{base.at.column}",
            hint="name it without quotes, such as: like A100",
        )
    return parse_machine(text, FILE)


def machine_view(text: str) -> dict[str, Any]:
    """What the editor shows for a text: its figures, or its first error and the error's place."""
    try:
        machine = parsed_machine(text)
    except MachineError as error:
        return {"text": text, "name": None, "title": None, "figures": [], "error": _error(error)}
    return {
        "text": text,
        "name": machine.name,
        "title": machine.title,
        "figures": [
            {
                "part": f.part,
                "name": f.name,
                "value": f.value,
                "unit": f.unit,
                "source": f.source,
                "editable": _is_editable(f.part, f.name),
            }
            for f in figures(machine)
        ],
        "error": None,
    }


def _is_editable(part: str, name: str) -> bool:
    return part != "processor" and not part.startswith("space ") and name not in _WHOLE


def _error(error: MachineError) -> dict[str, Any]:
    place = _PLACE.match(error.where or "")
    return {
        "line": int(place[1]) if place else 1,
        "column": int(place[2]) if place else 1,
        "message": error.message,
        "hint": error.hint,
    }


def with_figure(text: str, part: str, name: str, value: str) -> str:
    """``text`` with one figure set, as :func:`placewise.machine.figures.figures` names it.

    A setting that the text has already is replaced; else it is added to the entry of its part, and
    the entry is added if there is none. Raises MachineError for a figure that only a whole entry
    can give, for an invalid value, and where ``text`` cannot be parsed.
    """
    if not _is_editable(part, name):
        raise MachineError(f"{part} {name} can only be edited in the text", where=FILE)
    if not _VALUE.fullmatch(value):
        raise MachineError(f"'{value}' is no value of a machine file", where=f"{part} {name}")
    specification = parse_specification(text, FILE)
    if any(memory.name == part for memory in specification.memories) and name in _CHANGED:
        raise MachineError(f"{part} is described in the text: edit it there", where=FILE)
    # A machine file has several numbers in angle brackets; figures show them without.
    value = _SEVERAL.sub(r"<\1>\2", value.strip())
    statement = f'{name} = {value} from "{EDITED}";'
    head = _head(part, name)
    for block_head, at, settings in _blocks(specification):
        if block_head != head:
            continue
        for setting in settings:
            if setting.name == name:
                start = _offset(text, setting.at)
                return text[:start] + statement + text[_end(text, start) :]
        inside = text.index("{", _offset(text, at)) + 1
        return f"{text[:inside]} {statement}{text[inside:]}"
    return f"{text.rstrip()}\n\n{head} {{ {statement} }}\n"


def _head(part: str, name: str) -> str:
    """Beginning of the entry that a figure belongs to: ``change L1``, ``detail L1``, ``pipe fma``
    …"""
    if part in ("limits", "dram") or " " in part:
        return part
    return f"change {part}" if name in _CHANGED else f"detail {part}"


def _blocks(
    specification: Specification,
) -> Iterator[tuple[str, Position, Iterable[LimitEntry]]]:
    """(beginning, place, settings) of all entries that consist of settings."""
    if specification.limits is not None:
        yield "limits", specification.limits.at, specification.limits.limits
    for change in specification.changes:
        yield f"change {change.name}", change.at, change.settings
    for detail in specification.details:
        yield f"detail {detail.name}", detail.at, detail.settings
    for entry in specification.parts:
        head = entry.kind if entry.name is None else f"{entry.kind} {entry.name}"
        yield head, entry.at, entry.settings


def _offset(text: str, at: Position) -> int:
    """Index in the text of a line and column."""
    start = 0
    for _ in range(at.line - 1):
        start = text.index("\n", start) + 1
    return start + at.column - 1


def _end(text: str, start: int) -> int:
    """Index after the semicolon that ends the statement at ``start``; semicolons in quotes do not
    count."""
    quoted = False
    for at in range(start, len(text)):
        if text[at] == '"':
            quoted = not quoted
        elif text[at] == ";" and not quoted:
            return at + 1
    return len(text)
