"""Evaluates every placement that fits; exact, and fast enough up to some hundred thousand."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from placewise.choose.table import CostTable

_AT_ONCE = 1 << 16
TIE = 1e-9
"""Relative difference of two times below which they count as equal."""


def placements(table: CostTable) -> int:
    """Number of combinations of legal spaces, including those whose arrays do not fit together."""
    return math.prod(len(spaces) for spaces in table.options)


def exhaustive(
    table: CostTable, limit: int, *, equals: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The best placements: (n, arrays) options and (n,) times, best first, n at most ``limit``.

    Ties go to the placement that moves fewer arrays. A placement with an idle move, one of several
    moves that changes nothing, is left out unless ``equals``, since the placement without that move
    is in the list.
    """
    shape = tuple(len(spaces) for spaces in table.options)
    times = np.full(placements(table), np.inf)
    for start in range(0, len(times), _AT_ONCE):
        choice = _unravel(np.arange(start, min(start + _AT_ONCE, len(times))), shape)
        fits = np.flatnonzero(table.fits(choice))
        times[start + fits] = table.times(choice[fits])
    kept = np.flatnonzero(np.isfinite(times))
    choice = _unravel(kept, shape)
    if not equals:
        idle = _has_idle_move(table, choice, kept, times, shape)
        kept, choice = kept[~idle], choice[~idle]
    return ranked(table, choice, times[kept], limit)


def _unravel(flat: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    if not shape:
        return np.zeros((len(flat), 0), np.int64)
    return np.stack(np.unravel_index(flat, shape), axis=1)


def _has_idle_move(
    table: CostTable,
    choice: NDArray[np.int64],
    flat: NDArray[np.int64],
    times: NDArray[np.float64],
    shape: tuple[int, ...],
) -> NDArray[np.bool_]:
    """(placements,) whether a placement takes two or more moves and one of them could be undone
    without a change in time."""
    idle = np.zeros(len(choice), np.bool_)
    stride = np.cumprod((1, *shape[:0:-1]))[::-1]
    for a, present in enumerate(table.present):
        moved = choice[:, a] != present
        undone = times[flat - (choice[:, a] - present) * stride[a]]
        idle |= moved & (np.abs(undone - times[flat]) <= TIE * times[flat])
    return idle & (table.moves(choice) > 1)


def ranked(
    table: CostTable, choice: NDArray[np.int64], times: NDArray[np.float64], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The first ``limit`` placements by time, then by moves, then by bytes to copy."""
    if not len(choice):
        return choice, times
    scale = times.min() * TIE
    level = np.round(times / scale) if scale > 0 else times
    order = np.lexsort((table.copied_bytes(choice), table.moves(choice), level))[:limit]
    return choice[order], times[order]
