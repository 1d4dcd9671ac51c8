"""Every placement that fits, judged: exact, and fast enough up to some hundred thousand."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from placewise.choose.table import CostTable

_AT_ONCE = 1 << 16
TIE = 1e-9
"""Relative difference of two times below which they count as equal."""


def placements(table: CostTable) -> int:
    """Number of combinations of legal spaces, fitting or not."""
    return math.prod(len(spaces) for spaces in table.options)


def exhaustive(table: CostTable, limit: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The best placements: (n, arrays) options and (n,) times, best first, n at most ``limit``.

    Ties go to the placement that moves fewer arrays.
    """
    kept = np.zeros((0, len(table.arrays)), np.int64)
    times = np.zeros(0)
    shape = tuple(len(spaces) for spaces in table.options)
    for start in range(0, placements(table), _AT_ONCE):
        flat = np.arange(start, min(start + _AT_ONCE, placements(table)))
        choice = np.stack(np.unravel_index(flat, shape), axis=1) if shape else kept[:0]
        choice = choice[table.fits(choice)]
        total = table.model.total(table.path_times(choice))
        kept, times = ranked(
            table, np.concatenate([kept, choice]), np.concatenate([times, total]), limit
        )
    return kept, times


def ranked(
    table: CostTable, choice: NDArray[np.int64], times: NDArray[np.float64], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The first ``limit`` placements by time, then by moves, then by bytes to copy."""
    if not len(choice):
        return choice, times
    scale = times.min() * TIE
    level = np.round(times / scale) if scale > 0 else times
    copied = sum((sizes[choice[:, a], 0] for a, sizes in enumerate(table.sizes)), start=0 * times)
    order = np.lexsort((copied, table.moves(choice), level))[:limit]
    return choice[order], times[order]
