"""What a run returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.execute.host_calls import Printed
from placewise.execute.trace import Site


class InstructionCount(NamedTuple):
    """How often one instruction was executed, whole launch."""

    place: int
    """PTX line, or byte offset of machine code."""
    warps: int
    threads: int


@dataclass(frozen=True, eq=False)
class Execution:
    """Outputs and counts of one kernel launch on the CPU."""

    outputs: tuple[tuple[str, NDArray[np.generic]], ...]
    """Every array argument after the run, by name; the caller's arrays are left untouched."""
    read: frozenset[str]
    """Names of arrays and constants that the kernel loads from."""
    written: frozenset[str]
    """Names of arrays that the kernel stores to (or updates atomically)."""
    warp_instructions: int
    thread_instructions: int
    sites: tuple[Site, ...]
    site_executions: NDArray[np.int64]
    """(sites,) warp executions of each memory instruction, whole launch."""
    seconds: float
    block_executions: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """(basic blocks, 2) warp and thread executions of each basic block, whole launch."""
    block_places: tuple[tuple[int, ...], ...] = ()
    """For each basic block the PTX line, or offset of machine code, of its instructions."""
    printed: Printed = field(default_factory=Printed)
    """Output of ``printf``: blocks in ascending order unless they wait for each other, within a
    block warps as they run, lanes in order."""
    optimised: bool = True
    """Whether the run ended with optimised code; see :mod:`placewise.execute.codegen.better_code`."""

    def instruction_counts(self) -> tuple[InstructionCount, ...]:
        """Executions of every instruction, by place; all copies of a function taken together."""
        totals: dict[int, tuple[int, int]] = {}
        for places, (warps, threads) in zip(
            self.block_places, self.block_executions.tolist(), strict=True
        ):
            for place in places:
                before = totals.get(place, (0, 0))
                totals[place] = (before[0] + warps, before[1] + threads)
        return tuple(InstructionCount(p, *totals[p]) for p in sorted(totals))

    def output(self, name: str) -> NDArray[np.generic]:
        """Array ``name`` after the run; raises KeyError if there is none."""
        return dict(self.outputs)[name]
