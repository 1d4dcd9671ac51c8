"""PTX and machine code of a kernel, line by line, each with its source line."""

from __future__ import annotations

from typing import Any

from placewise.errors import PlacewiseError
from placewise.executor.translate import parsed
from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.kernel import Kernel
from placewise.kernel.ptx import Instruction
from placewise.memory.simulate.launch import SimulatedLaunch

MOST_LINES = 4000
"""Most lines of a listing on a page."""


def ptx_listing(kernel: Kernel) -> list[dict[str, Any]]:
    """The kernel's PTX instructions (:class:`placewise.schemas.page.CodeLine`); empty where the PTX
    cannot be parsed."""
    text = kernel.ptx.splitlines()
    try:
        module = parsed(kernel)
        functions = list(module.functions.values())
    except PlacewiseError:
        return []
    return [
        {
            "text": text[item.line - 1].strip(),
            "file": None if item.place is None else module.files.get(item.place[0]),
            "line": None if item.place is None else item.place[1],
            "place": item.line,
            "executions": None,
        }
        for function in functions
        for item in function.body
        if isinstance(item, Instruction)
    ][:MOST_LINES]


def sass_listing(run: SimulatedLaunch) -> list[dict[str, Any]]:
    """The machine code's instructions with the number of warps that executed them; empty where it
    cannot be disassembled."""
    try:
        code = machine_code(run.kernel)
    except PlacewiseError:
        return []
    warps = {}
    if run.from_machine_code:
        warps = {count.place: count.warps for count in run.execution.instruction_counts()}
    return [
        {
            "text": code.text[i.offset].strip(),
            "file": None if i.place is None else i.place[0],
            "line": None if i.place is None else i.place[1],
            "place": i.offset,
            "executions": warps.get(i.offset, 0) if run.from_machine_code else None,
        }
        for i in code.instructions
    ][:MOST_LINES]
