"""Misses of one cache on a stream of lines: simulated, or from reuse distances.

The simulation models the cache's sets, ways and policy. Reuse distances are found once for caches
of all sizes (Chen et al. 2017, section 3.1.1): an access misses if at least as many other lines
were used since the last use of its line as the cache holds. Both agree for a fully associative
cache with LRU replacement; for other caches reuse distances give an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.memory.reuse.stack_distance import count_distances
from placewise.memory.simulate.caches.cache import lines_missed, new_caches
from placewise.memory.simulate.caches.geometry import Geometry


@dataclass(frozen=True, eq=False)
class MissCurve:
    """Misses of caches of all sizes on one stream."""

    beyond: NDArray[np.int64]
    """(lines + 1,) number of accesses at reuse distance d or more, including first uses."""

    def misses(self, capacity: int) -> int:
        """Misses of a fully associative LRU cache of ``capacity`` lines."""
        return int(self.beyond[min(max(0, capacity), len(self.beyond) - 1)])

    def rates(self, capacities: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n,) miss rates of LRU caches of ``capacities`` (n,) lines; 0 for an empty stream."""
        at = np.clip(capacities, 0, len(self.beyond) - 1)
        rates: NDArray[np.float64] = self.beyond[at] / max(1, int(self.beyond[0]))
        return rates


def miss_curve(lines: NDArray[np.int64]) -> MissCurve:
    """Miss curve of a stream, from the (n,) line numbers of its accesses, in order."""
    known, number = np.unique(lines, return_inverse=True)
    n, distinct = len(lines), max(1, len(known))
    counts, cold = np.zeros((1, distinct + 1), np.int64), np.zeros(1, np.int64)
    words, narrow = np.zeros(n, np.int32), np.zeros(n, np.uint8)
    # Each line number is given as one lane's access to one byte, with blocks of one byte.
    count_distances(
        np.array([0, n], np.int64),
        np.arange(n, dtype=np.int64),
        np.ascontiguousarray(number, np.int64),
        words,
        np.ones(n, np.uint32),
        words - 1,
        np.zeros((0, 32), np.int32),
        words + 1,
        narrow,
        narrow,
        1,
        counts,
        cold,
        np.zeros(distinct, np.uint8),
    )
    beyond = np.cumsum(counts[0, ::-1])[::-1] + cold[0]
    return MissCurve(np.ascontiguousarray(beyond))


def misses(lines: NDArray[np.int64], geometry: Geometry, *, exact: bool = True) -> int:
    """Misses of one cache on a stream of (n,) line numbers below 2**31, in order.

    ``exact``: the cache is simulated; else misses come from reuse distances alone. Raises
    MachineError for a policy that does not work with the number of ways.
    """
    if not exact:
        return miss_curve(lines).misses(geometry.sets * geometry.ways)
    caches = new_caches([geometry])
    return int(lines_missed(caches, np.ascontiguousarray(lines, np.int64)))
