"""Shortens long paths: the beginning of each section of a path stands for the whole section.

A path of millions of instructions is a loop that does the same again and again; a timeline reaches
its steady rate within some ten thousand of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LONGEST = 32_768
"""Paths of at most this many instructions are not shortened."""
SECTIONS = 8


def shortened(
    path: NDArray[np.int64], sizes: NDArray[np.int64], longest: int = LONGEST
) -> NDArray[np.int64]:
    """A path (steps,) of basic blocks, or about ``longest`` instructions of it.

    ``sizes`` are the instructions of each basic block, by number. A longer path is cut into
    ``SECTIONS`` equal parts, and the beginning of each is kept. It starts, where possible, at the
    basic block that followed the end of the part kept before, so that blocks that are neighbours in
    the result are neighbours in the path, too.
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
