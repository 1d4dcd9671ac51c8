"""Costs of placements as plain arrays, for the compiled loops that search them.

A placement gives each array one of its options (spaces). The cost of an option depends on the other
arrays only through how many of them share each of its caches. So there is a row of ``cycles`` for
each array, option and combination of these numbers. The functions are compiled with Numba, because
a search evaluates millions of placements.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from placewise.compiled_code import compiled

NOT_WORSE = 1.0 - 1e-12
"""A placement counts as better only if its time is less than this factor times the best time."""
_PARTS = (2, 3, 4)
"""Arrays that take more than 1/2, 1/3 or 1/4 of a memory's room are counted; see
:func:`with_covers`."""


class Costs(NamedTuple):
    """The search's view of arrays, options, paths, caches and limited memories.

    The arrays that the source itself has placed come last, with one option each.
    """

    options: NDArray[np.int64]
    """(arrays,) number of options."""
    present: NDArray[np.int64]
    """(arrays,) option that the source has now."""
    uses: NDArray[np.int64]
    """(arrays, options, caches) 1 where the array takes a portion of the cache."""
    stride: NDArray[np.int64]
    """(arrays, options, caches) step to the row of the same option with one array more in the
    cache."""
    start: NDArray[np.int64]
    """(arrays, options) first row of an option: that with no array in its caches."""
    cycles: NDArray[np.float64]
    """(rows, paths) cycles that the option adds to each path."""
    floor: NDArray[np.float64]
    """(rows, paths) least cycles with at least as many arrays in each cache as in the row."""
    takes: NDArray[np.int64]
    """(arrays, options, limits) amount that the option takes of each limited resource."""
    room: NDArray[np.int64]
    """(limits,) amount of each limited resource that all arrays may take together."""
    host_filled: NDArray[np.bool_]
    """(arrays, options) whether the host copies the array there before the launch."""
    sums: bool
    """True: the time is the sum of the paths' times; False: the longest of them."""


@njit(nogil=True, inline="always")
def row_of(costs: Costs, array: int, option: int, counts: NDArray[np.int64]) -> int:
    """Row of an option with ``counts`` (caches,) arrays in each cache."""
    row = int(costs.start[array, option])
    for c in range(costs.stride.shape[2]):
        row += int(costs.stride[array, option, c] * counts[c])
    return row


@njit(nogil=True, inline="always")
def combined(paths: NDArray[np.float64], sums: bool) -> float:
    """The time from the times of the paths."""
    total = 0.0
    for p in range(paths.size):
        total = total + paths[p] if sums else max(total, paths[p])
    return total


@compiled(nogil=True)
def time_of(costs: Costs, choice: NDArray[np.int64]) -> float:
    """Time of one placement, ``choice`` (arrays,)."""
    counts = np.zeros(costs.stride.shape[2], np.int64)
    for a in range(choice.size):
        for c in range(counts.size):
            counts[c] += costs.uses[a, choice[a], c]
    paths = np.zeros(costs.cycles.shape[1])
    for a in range(choice.size):
        row = row_of(costs, a, choice[a], counts)
        for p in range(paths.size):
            paths[p] += costs.cycles[row, p]
    time: float = combined(paths, costs.sums)
    return time


def with_covers(
    sizes: NDArray[np.int64], room: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """``takes`` and ``room`` of memories, with further limits on the number of large arrays.

    ``sizes`` (arrays, options, memories) and ``room`` (memories,) are in bytes. At most one array
    fits that takes more than a half of a memory's room, two that take more than a third, three that
    take more than a quarter. The limit in bytes alone gives weaker bounds, since its relaxation
    lets a part of an array fit.
    """
    columns, most = [sizes], [room]
    for parts in _PARTS:
        columns.append((sizes * parts > room).astype(np.int64))
        most.append(np.full(len(room), parts - 1, np.int64))
    return np.concatenate(columns, axis=2), np.concatenate(most)


@compiled(nogil=True)
def fits(costs: Costs, choice: NDArray[np.int64]) -> bool:
    """Whether a placement's arrays fit their memories together."""
    for r in range(costs.room.size):
        taken = 0
        for a in range(choice.size):
            taken += costs.takes[a, choice[a], r]
        if taken > costs.room[r]:
            return False
    return True
