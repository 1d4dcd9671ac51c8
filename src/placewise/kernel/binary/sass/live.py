"""How many registers hold a value at each instruction, as nvdisasm's life ranges count them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_SECTION = re.compile(r"\s*\.section\s+\.text\.(?P<entry>\S+?),")
_HEADER = re.compile(r"//\s*\|(?P<names> *GPR [A-Z |]+)\|\s*$")
_ROW = re.compile(r"\s*/\*(?P<offset>[0-9a-f]{4,})\*/.*//\s*\|(?P<counts>[\d |]+)\|\s*$")


class LiveRegisters(NamedTuple):
    """Registers that are occupied at one instruction."""

    general: int
    predicate: int
    uniform: int


_FIELDS = {"GPR": "general", "PRED": "predicate", "UGPR": "uniform"}


def live_registers(text: str, entry: str) -> Mapping[int, LiveRegisters]:
    """Registers in use at each instruction of ``entry``, by offset in bytes.

    ``text`` is what ``nvdisasm -c -lrm count`` prints. At a call nvdisasm counts every register
    that the callee may touch.
    """
    found: dict[int, LiveRegisters] = {}
    names: list[str] = []
    inside = False
    for line in text.splitlines():
        if match := _SECTION.match(line):
            inside = match["entry"] == entry
        elif not inside:
            continue
        elif match := _ROW.match(line):
            counts = [int(cell or 0) for cell in map(str.strip, match["counts"].split("|"))]
            fields = dict(zip(names, counts, strict=False))
            found[int(match["offset"], 16)] = LiveRegisters(
                **{field: fields.get(name, 0) for name, field in _FIELDS.items()}
            )
        elif match := _HEADER.search(line):
            names = [cell.strip() for cell in match["names"].split("|")]
    return found
