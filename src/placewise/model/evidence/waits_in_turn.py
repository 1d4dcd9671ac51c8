"""How often a warp waits for loads, one time after another."""

from __future__ import annotations

import numpy as np

from placewise.kernel.binary.sass.control import control
from placewise.kernel.binary.sass.instruction import Instruction
from placewise.kernel.kernel import Kernel
from placewise.model.evidence.warp_paths import WarpPaths
from placewise.model.timeline.schedule import instructions

_LOADS = frozenset({"LDG", "LD", "TLD", "TEX", "TLD4", "ATOMG", "ATOM"})
"""Operations whose result comes from L1 or beyond."""
_FOLLOWED = 50_000
"""Most instructions of a path that are followed; the number of waits is scaled to all."""


def waits_in_turn(kernel: Kernel, paths: WarpPaths) -> int:
    """Number of times that a warp waits for results of loads, on a path of average length.

    Loads that are on their way together are waited for once: what was loaded before the result that
    is waited for arrives at about the same time.
    """
    own = np.unique(paths.warps[paths.rows_of(0)])
    path = int(own[np.argmin(np.abs(paths.length[own] - paths.length[own].mean()))])
    start, length = int(paths.start[path]), int(paths.length[path])
    if not length:
        return 0
    by_offset = {i.offset: i for i in instructions(kernel)}
    followed = min(length, _FOLLOWED)
    offsets = paths.instructions[start : start + followed].tolist()
    return round(_waits([by_offset[offset] for offset in offsets]) * length / followed)


def _waits(path: list[Instruction]) -> int:
    under_way: set[int] = set()
    waits = 0
    for instruction in path:
        scheduled = control(instruction.encoding)
        if under_way.intersection(scheduled.waits):
            waits += 1
            under_way.clear()
        if scheduled.write_barrier is not None and instruction.parts[0] in _LOADS:
            under_way.add(scheduled.write_barrier)
    return waits
