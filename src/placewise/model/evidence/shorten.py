"""Long paths, shortened: some of every stretch of a path stands for all of it.

A path of millions of instructions is a loop that does the same over and over; a timeline of some
ten thousand of them has found its pace long since.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LONGEST = 32_768
"""Instructions of a path that is left as it is."""
SECTIONS = 8


def shortened(
    path: NDArray[np.int64], sizes: NDArray[np.int64], longest: int = LONGEST
) -> NDArray[np.int64]:
    """A path (steps,) of basic blocks, or about ``longest`` instructions of it.

    ``sizes`` are the instructions of each basic block, by number. Of each of ``SECTIONS`` equal
    parts of a longer path the beginning is kept, from the first step on that goes on where the part
    before broke off: what follows what in the result does so in the path, wherever that can be.
    """
    behind = np.cumsum(sizes[path])
    total = int(behind[-1]) if len(path) else 0
    if total <= longest:
        return path
    kept: list[NDArray[np.int64]] = []
    following, end = -1, 0
    for section in range(SECTIONS):
        edges = total * section // SECTIONS, total * (section + 1) // SECTIONS
        first, last = np.searchsorted(behind, edges, side="right").tolist()
        first = max(first, end)
        if first >= last and section:
            continue
        alike = np.flatnonzero(path[first:last] == following)
        begin = first + int(alike[0]) if len(alike) else first
        room = int(behind[begin - 1] if begin else 0) + longest // SECTIONS
        end = int(np.searchsorted(behind, room, side="right"))
        end = max(begin + 1, min(end, last))
        kept.append(path[begin:end])
        following = int(path[end]) if end < len(path) else -1
    return np.concatenate(kept)
