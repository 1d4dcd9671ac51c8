"""Disjoint sets of numbers, joined pair by pair (union-find; Tarjan 1975)."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from placewise.compiled_code import compiled

_COLUMN = types.Array(types.int64, 1, "C")
_PAIR = types.Array(types.int64, 1, "A", readonly=True)


@compiled(types.void(_COLUMN, _PAIR, _PAIR))
def _join(parent: NDArray[np.int64], first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
    """Join the sets of each pair; ``parent`` (n,), which starts as 0, 1, …, then holds the smallest
    number of each one's set."""
    for pair in range(len(first)):
        a, b = first[pair], second[pair]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        parent[max(a, b)] = min(a, b)
    for one in range(len(parent)):
        # A parent is smaller, so it holds its own set's smallest number by now.
        parent[one] = parent[parent[one]]


def smallest_of_sets(first: NDArray[np.int64], second: NDArray[np.int64]) -> dict[int, int]:
    """The smallest number of the set of each number, where ``first`` (n,) and ``second`` (n,) are
    pairs of numbers in one set. Numbers in no pair are left out."""
    numbers, place = np.unique(np.concatenate([first, second]), return_inverse=True)
    parent = np.arange(len(numbers))
    _join(parent, place[: len(first)], place[len(first) :])
    return dict(zip(numbers.tolist(), numbers[parent].tolist(), strict=True))
