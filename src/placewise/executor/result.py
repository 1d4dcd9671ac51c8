"""What a run returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.executor.runtime.host_calls import Printed
from placewise.executor.trace import Site
from placewise.short_repr import ShortRepr


class InstructionCount(NamedTuple):
    """How often one instruction was executed, whole launch."""

    place: int
    """PTX line, or byte offset of machine code."""
    warps: int
    threads: int
    active: int
    """Threads in which its guard predicate held. Of PTX all of them: its guards are not counted."""


@dataclass(frozen=True, eq=False, repr=False)
class Execution(ShortRepr):
    """Outputs and counts of one kernel launch on the CPU."""

    outputs: tuple[tuple[str, NDArray[np.generic]], ...]
    """Every array argument after the run, by name; the caller's arrays are left untouched."""
    read: frozenset[str]
    """Names of arrays and constants that the kernel loads from."""
    written: frozenset[str]
    """Names of arrays that the kernel stores to (or updates atomically)."""
    warp_instructions: int
    """Instructions that warps executed, whole launch."""
    thread_instructions: int
    """Instructions that active threads executed, whole launch."""
    sites: tuple[Site, ...]
    site_executions: NDArray[np.int64]
    """(sites,) warp executions of each memory instruction, whole launch."""
    seconds: float
    block_executions: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """(basic blocks, 2) warp and thread executions of each basic block, whole launch."""
    block_work: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """(blocks of the launch,) basic blocks that each block's warps executed, 0 for blocks that did
    not run. Empty unless ``execute`` was asked to count by block, and where blocks wait for each
    other."""
    block_places: tuple[tuple[int, ...], ...] = ()
    """For each basic block the PTX line, or offset of machine code, of its instructions."""
    guard_executions: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """(guards,) threads in which a guard predicate of machine code held, whole launch."""
    guard_places: tuple[tuple[int, ...], ...] = ()
    """For each guard, offsets of the machine instructions that it guards."""
    arrivals: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """(places where lanes meet again,) groups of lanes that arrived there beside the one that the
    block's executions count. Each executes the instruction by which lanes meet."""
    meeting_places: tuple[int, ...] = ()
    """For each place where lanes meet again, the offset of its machine instruction."""
    printed: Printed = field(default_factory=Printed)
    """Output of ``printf``: blocks in ascending order unless they wait for each other, within a
    block warps as they run, lanes in order."""
    optimised: bool = True
    """Whether the run ended with optimised code
    (:mod:`placewise.executor.codegen.backend.background_jit`)."""

    def _in_short(self) -> str:
        written = ", ".join(sorted(self.written)) or "nothing"
        return f"wrote {written}; {self.warp_instructions} warp instructions"

    def instruction_counts(self) -> tuple[InstructionCount, ...]:
        """Executions of every instruction, by place; all copies of a function taken together."""
        totals: dict[int, tuple[int, int]] = {}
        active: dict[int, int] = {}
        for places, held in zip(self.guard_places, self.guard_executions.tolist(), strict=True):
            for place in places:
                active[place] = active.get(place, 0) + held
        for places, (warps, threads) in zip(
            self.block_places, self.block_executions.tolist(), strict=True
        ):
            for place in places:
                before = totals.get(place, (0, 0))
                totals[place] = (before[0] + warps, before[1] + threads)
        for place, more in zip(self.meeting_places, self.arrivals.tolist(), strict=True):
            totals[place] = (totals[place][0] + more, totals[place][1])
        return tuple(
            InstructionCount(p, *totals[p], active.get(p, totals[p][1])) for p in sorted(totals)
        )

    def output(self, name: str) -> NDArray[np.generic]:
        """Array ``name`` after the run; raises CaseError, with the names, if there is none."""
        arrays = dict(self.outputs)
        if name not in arrays:
            raise CaseError(
                "the launch has no such array",
                where=f"output '{name}'",
                hint=f"it has {', '.join(arrays)}" if arrays else "it has none",
            )
        return arrays[name]
