"""Which executions of a load miss where a warp comes back to the same data.

A warp that goes round the same data several times fetches them in the first round; later it finds
them in L1. If its misses were spread evenly, each round would wait for the next cache.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placewise.compiled_code import compiled
from placewise.model.timeline.schedule import COLUMNS

_EARLY, _MISSES = COLUMNS.index("early"), COLUMNS.index("misses")
_MOVED = [COLUMNS.index("l2_bytes"), COLUMNS.index("dram_bytes")]

RARE = 0.02
"""Rarer misses stay spread evenly: most warps, whose data another warp has fetched, have none."""


def with_misses_first(
    table: NDArray[np.float64],
    path: NDArray[np.int64],
    start: NDArray[np.int64],
    length: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The table and the paths of :func:`.warps.run`, where each ``early`` row stands for the
    executions that miss, the first ones on each path, and a second row for the others. Second rows
    follow all first ones, in the same order."""
    misses = table[:, _MISSES]
    early = (table[:, _EARLY] > 0.0) & (misses >= RARE) & (misses < 1.0)
    if not early.any():
        return table, path
    first, later = table.copy(), table.copy()
    first[early, _MISSES] = 1.0
    for column in _MOVED:
        first[early, column] /= misses[early]
        later[early, column] = 0.0
    later[early, _MISSES] = 0.0
    split = path.copy()
    _split(split, start, length, np.where(early, misses, 1.0))
    return np.concatenate([first, later]), split


@compiled("void(int64[::1], int64[::1], int64[::1], float64[::1])")
def _split(
    path: NDArray[np.int64],
    start: NDArray[np.int64],
    length: NDArray[np.int64],
    share: NDArray[np.float64],
) -> None:
    """Replace, on each path, all but the first ``share`` (rows,) of a row's places by the row
    behind all others. A place counts as first if less than this share of the row's places is in
    front of it."""
    rows = share.size
    count = np.zeros(rows, np.int64)
    seen = np.zeros(rows, np.int64)
    for p in range(start.size):
        places = range(start[p], start[p] + length[p])
        for k in places:
            count[path[k]] += 1
        for k in places:
            row = path[k]
            if seen[row] >= share[row] * count[row]:
                path[k] = rows + row
            seen[row] += 1
        for k in places:
            row = path[k] % rows
            count[row] = 0
            seen[row] = 0
