"""Which cache hints of a kernel's loads survived compilation.

PTX says what a load asks of the caches (``ld.global.L1::no_allocate.L2::256B``). ptxas makes
machine code of it and may drop a hint without a word: for sm_80, ``ld.global.nc…L2::256B`` becomes
``LDG…LTC128B``. Both texts name the source line of every instruction, so the loads of a line are
compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from placewise.errors import CaseError, PlacewiseError
from placewise.kernel.binary.line_table import Place
from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.kernel import Kernel
from placewise.kernel.ptx import Instruction as Load
from placewise.kernel.ptx import Module, parse_ptx
from placewise.space import Hint, hint_of

_LOADS = frozenset({"LDG", "LD"})
"""Machine instructions that load from global memory, through its own addresses or generic ones."""
_NOWHERE: Place = ("", 0)
_OTHER_MEMORY = ("shared", "local", "const", "param")


class Fate(StrEnum):
    """What became of a hint."""

    SURVIVED = "survived"
    """The machine code asks for the same."""
    CHANGED = "changed"
    """The machine code asks for something else."""
    DROPPED = "dropped"
    """The loads of the machine code ask for nothing."""
    NO_LOAD = "no load"
    """The machine code has no load of that source line left."""


@dataclass(frozen=True)
class HintFate:
    """A cache hint of the loads of one source line, and what became of it."""

    file: str
    line: int
    """0 for a kernel without source lines, whose loads are all taken together."""
    asked: Hint
    """The hint that the PTX asks for."""
    fate: Fate
    found: tuple[str, ...]
    """Opcodes of the line's loads in the machine code, each once; where the hint survived, of those
    that have it."""

    @property
    def text(self) -> str:
        """``line 12: L1::no_allocate L2::256B changed to L1::no_allocate L2::128B (LDG.E…)``."""
        where = f"line {self.line}: " if self.line else ""
        words = f"{where}{self.asked.describe()} {self.fate}"
        if self.fate is Fate.NO_LOAD:
            return f"{where}{self.asked.describe()}: no load is left in the machine code"
        hints = dict.fromkeys(h.describe() for o in self.found if (h := hint_of(o)))
        became = f" to {', '.join(hints)}" if self.fate is Fate.CHANGED else ""
        return f"{words}{became} ({', '.join(self.found)})"


def hint_fates(kernel: Kernel) -> tuple[HintFate, ...]:
    """What became of each cache hint that the PTX of a kernel's loads asks for, by source line;
    nothing where there is no machine code that can be listed."""
    if kernel.cubin is None:
        return ()
    try:
        code = machine_code(kernel)
    except PlacewiseError:
        return ()
    if code.listing is None:
        return ()
    by_line = any(i.place is not None for i in code.instructions)
    left: dict[Place, list[str]] = {}
    for instruction in code.instructions:
        if instruction.parts[0] in _LOADS:
            place = instruction.place if by_line else None
            left.setdefault(place or _NOWHERE, []).append(instruction.opcode)
    fates = []
    for (file, line), asked in _asked(kernel, by_line=by_line).items():
        opcodes = _distinct(left.get((file, line), ()))
        hints = [hint_of(opcode) for opcode in opcodes]
        for hint in asked:
            fate = _fate(hint, [h for h in hints if h is None or h not in asked or h == hint])
            own = opcodes
            if fate is Fate.SURVIVED:
                own = tuple(o for o, h in zip(opcodes, hints, strict=True) if h == hint)
            fates.append(HintFate(file, line, hint, fate, own))
    return tuple(fates)


def _fate(asked: Hint, found: list[Hint | None]) -> Fate:
    """What became of a hint, judged by the line's machine instructions that no other hint of that
    line accounts for."""
    if not found:
        return Fate.NO_LOAD
    if asked in found:
        return Fate.SURVIVED
    return Fate.CHANGED if any(found) else Fate.DROPPED


def _asked(kernel: Kernel, *, by_line: bool) -> dict[Place, list[Hint]]:
    """The hints of the loads in a kernel's PTX, by source file and line."""
    try:
        module = parse_ptx(kernel.ptx, kernel.entry, kernel.filename)
    except CaseError:
        return {}
    asked: dict[Place, list[Hint]] = {}
    for load in _loads(module):
        hint = hint_of(load.opcode)
        if hint is None:
            continue
        place = _NOWHERE
        if by_line and load.place is not None:
            place = module.files.get(load.place[0], ""), load.place[1]
        hints = asked.setdefault(place, [])
        if hint not in hints:
            hints.append(hint)
    return asked


def _loads(module: Module) -> Iterable[Load]:
    """Loads from global memory, or through generic addresses, of all functions of a kernel."""
    for function in module.functions.values():
        for item in function.body:
            if isinstance(item, Load) and item.parts[0] == "ld":
                states = (part.split("::")[0] for part in item.parts[1:])
                if not any(state in _OTHER_MEMORY for state in states):
                    yield item


def _distinct(opcodes: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(opcodes))
