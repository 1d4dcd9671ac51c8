"""Points-to analysis before a checked run: which arrays a kernel may write.

Reads of arrays that no thread can write need no race check, which saves most of the work. Pointers
are followed from the kernel's parameters and the module's variables through arithmetic and
registers. A 64-bit value loaded from memory may be any pointer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.executor.device_memory.address_space import WINDOW_OF_SPACE, WINDOW_SHIFT, WINDOWS
from placewise.executor.device_memory.device import Device
from placewise.executor.ir.nodes import BITS, Access, Branch, Node, Program, Reg, Switch

_ANY = frozenset({-1})
"""Set that stands for every window."""
_NONE: frozenset[int] = frozenset()
_KEEPS_POINTERS = 33
"""Fewest bits of a loaded value that can hold a pointer."""


@dataclass(frozen=True)
class Reach:
    """The windows of device memory that each memory instruction may access."""

    of_site: dict[int, frozenset[int] | None]
    """Window numbers by site; None if it may be any."""
    writes: frozenset[int]
    """Sites of stores and atomics."""

    def may_write(self, window: int) -> bool:
        """Whether some thread may write to ``window``."""
        return any(window in _or_all(self.of_site[site], window) for site in self.writes)

    def sites(self, window: int) -> tuple[int, ...]:
        """Sites that may access ``window``."""
        return tuple(s for s, found in self.of_site.items() if window in _or_all(found, window))


def _or_all(windows: frozenset[int] | None, window: int) -> frozenset[int]:
    """``windows``; None stands for all of them, of which only ``window`` is asked for."""
    return frozenset({window}) if windows is None else windows


def reach(program: Program, device: Device) -> Reach:
    """Windows that the memory instructions may access, given a launch's parameters."""
    live = frozenset({r.window for r in device.regions} | set(WINDOW_OF_SPACE.values()))
    values: dict[Node, frozenset[int]] = {}
    registers: dict[Reg, frozenset[int]] = {}
    changed = True
    while changed:
        changed = False
        for block in program.blocks:
            for n in block.nodes:
                found = _sources(n, values, registers, device.parameters)
                found &= live | _ANY
                values[n] = found
                if n.op == "set":
                    merged = registers.get(n.reg, _NONE) | found
                    changed |= merged != registers.get(n.reg, _NONE)
                    registers[n.reg] = merged
    of_site: dict[int, frozenset[int] | None] = {}
    writes = set()
    for block in program.blocks:
        for n in block.nodes:
            if isinstance(n.attr, Access) and n.args:
                found = values[n.args[0]]
                of_site[n.attr.site] = None if -1 in found else found
                if n.op in ("store", "atomic", "surface"):
                    writes.add(n.attr.site)
    return Reach(of_site, frozenset(writes))


def atomics_looked_at(program: Program) -> frozenset[int]:
    """Sites of atomics whose old value is used."""
    read = {n.attr for b in program.blocks for n in b.nodes if n.op == "get"}
    used: set[Node] = set()
    for block in program.blocks:
        for n in block.nodes:
            if n.op != "set" or n.attr in read:
                used.update(n.args)
        if isinstance(block.terminator, Branch):
            used.add(block.terminator.condition)
        elif isinstance(block.terminator, Switch):
            used.add(block.terminator.index)
    return frozenset(n.access.site for n in used if n.op == "atomic")


def _sources(
    n: Node,
    values: dict[Node, frozenset[int]],
    registers: dict[Reg, frozenset[int]],
    parameters: NDArray[np.uint8],
) -> frozenset[int]:
    """Windows that the value of ``n`` may point into."""
    if n.op == "const":
        return _window_of(n.integer)
    if n.op == "get":
        return registers.get(n.reg, _NONE)
    if n.op == "param":
        # Either half of a pointer counts as the pointer.
        start = n.integer & ~7
        word = np.zeros(8, np.uint8)
        part = parameters[start : start + 8]
        word[: part.size] = part
        return _window_of(int(word.view(np.uint64)[0]))
    if n.op in ("load", "atomic", "texture", "sample", "special"):
        return _ANY if BITS[n.type] >= _KEEPS_POINTERS else _NONE
    found = _NONE
    for a in n.args:
        found |= values.get(a, _NONE)
    return found


def _window_of(value: int) -> frozenset[int]:
    window = value >> WINDOW_SHIFT
    return frozenset({window}) if 0 < window < WINDOWS else _NONE
