"""What ptxas, run inside NVRTC or nvJitLink with ``-v``, reports beside its code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)'")
_SPILLS = re.compile(r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads")


@dataclass(frozen=True)
class Spills:
    """Registers that did not fit and went to local memory: bytes per thread, as written in the
    code (not as executed), of a kernel and the functions it calls."""

    store_bytes: int
    load_bytes: int


def spills_of(log: str) -> Mapping[str, Spills]:
    """Spills by mangled name of the kernel; empty for a log without such lines."""
    found: dict[str, Spills] = {}
    entry = ""
    for line in log.splitlines():
        if match := _ENTRY.search(line):
            entry = match["name"]
            found[entry] = Spills(0, 0)
        elif entry and (match := _SPILLS.search(line)):
            # The functions that a kernel calls follow it: ptxas copies them for each kernel.
            before = found[entry]
            found[entry] = Spills(
                before.store_bytes + int(match["stores"]), before.load_bytes + int(match["loads"])
            )
    return found
