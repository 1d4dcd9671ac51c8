"""Sparse matrices and graphs of which few rows hold most of the entries, as in networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def skewed(rows: int, entries: float, skew: float, seed: int) -> csr_array:
    """A square matrix of ``rows`` rows, about ``entries`` entries in a row on average, in CSR form
    with sorted columns and float64 values in [-1, 1).

    The entries of the r-th longest row are proportional to r ** -skew (Zipf's law; 0: equal rows),
    but one at least; which row that is, is random, and so are the columns. Entries that fall on
    the same place are one, so that long rows have some fewer.
    """
    from scipy.sparse import csr_array

    random = np.random.default_rng(seed)
    starts, columns = _pattern(random, rows, entries, skew)
    values = random.uniform(-1.0, 1.0, len(columns))
    return csr_array((values, columns, starts), shape=(rows, rows))


def graph(
    nodes: int, edges: float, skew: float, levels: int, seed: int
) -> Mapping[str, NDArray[Any]]:
    """A directed graph in compressed sparse rows, and how far a breadth-first search has come.

    Node n has edges to ``edges[edge_starts[n]:edge_starts[n + 1]]``, sorted; their numbers follow
    Zipf's law as those of :func:`skewed`. ``levels`` (nodes,) is each node's distance from node 0
    in edges where that is at most the given number, else -1.
    """
    starts, ends = _pattern(np.random.default_rng(seed), nodes, edges, skew)
    return {"edge_starts": starts, "edges": ends, "levels": _levels(starts, ends, levels)}


def _pattern(
    random: np.random.Generator, rows: int, entries: float, skew: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(rows + 1,) starts and (entries,) sorted columns of each row."""
    weights = random.permutation((1.0 + np.arange(rows)) ** -skew)
    lengths = np.clip(np.rint(weights * (rows * entries / weights.sum())), 1, rows).astype(np.int64)
    row = np.repeat(np.arange(rows), lengths)
    places = np.unique(row * rows + random.integers(0, rows, len(row)))
    starts = np.searchsorted(places, rows * np.arange(rows + 1))
    return starts, places % rows


def _levels(starts: NDArray[np.int64], ends: NDArray[np.int64], last: int) -> NDArray[np.int64]:
    """(nodes,) distance from node 0 up to ``last``, -1 beyond."""
    levels = np.full(len(starts) - 1, -1)
    front = np.zeros(1, np.int64)
    levels[front] = 0
    for level in range(1, last + 1):
        slices = [ends[starts[n] : starts[n + 1]] for n in front]
        met = np.unique(np.concatenate(slices)) if slices else front
        front = met[levels[met] < 0]
        levels[front] = level
    return levels
