"""What a run returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.execute.trace import Site


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

    def output(self, name: str) -> NDArray[np.generic]:
        """Array ``name`` after the run; raises KeyError if there is none."""
        return dict(self.outputs)[name]
