"""Replacement policies that need state of their own: random, pseudo-LRU trees, evict-first
marks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.geometry import Int
from placewise.memory.simulate.simd.jit_helpers import inlined, lowest, noinline, product


@inlined
def random_bits(state: Any) -> Any:
    """64 random bits from a state by SplitMix64 (Steele, Lea and Flood 2014). Successive states
    differ by a constant, so those of later accesses are known in advance."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@inlined
def random_way(bits_: Any, ways: Int) -> Int:
    """A random way; each has the same probability."""
    return np.int64(product(bits_ >> np.uint64(32), ways) >> np.uint64(32))


AGED_SHIFT = 2
"""Policy ``aged`` draws from 1 / 2**AGED_SHIFT of a set's ways."""


@inlined
def aged_way(bits_: Any, ways: Int, old: Int) -> Int:
    """One of the last ``old`` of the ways, at least the last."""
    return np.int64(ways - 1) - random_way(bits_, max(np.int64(1), np.int64(old)))


@noinline
def point(tree: NDArray[np.uint64], row: Int, way: Int, ways: Int, towards: Int) -> None:
    """Make each node on the path to leaf ``way`` point to the leaf (``towards`` 1) or away from it
    (0)."""
    node = way + ways
    found = tree[row]
    while node > 1:
        parent = node >> 1
        if (node & 1) == towards:
            found |= np.uint64(1) << np.uint64(parent)
        else:
            found &= ~(np.uint64(1) << np.uint64(parent))
        node = parent
    tree[row] = found


@noinline
def pointed_at(tree: Any, ways: Int) -> Int:
    """The way that a pseudo-LRU tree points to."""
    node = np.int64(1)
    while node < ways:
        node = 2 * node + np.int64((tree >> np.uint64(node)) & np.uint64(1))
    return node - ways


@noinline
def way_by_share(share: NDArray[np.float64], first: Int, ways: Int, bits_: Any) -> Int:
    """A random way, drawn with the ways' probabilities. ``share`` has their cumulative sums from
    index ``first`` on."""
    place = np.float64(bits_ >> np.uint64(11)) * (1.0 / (1 << 53))
    way = np.int64(0)
    while way < ways - 1 and place >= share[first + way]:
        way += 1
    return way


@noinline
def marked_way(marked: Int, nth: Int) -> Int:
    """The ``nth`` of the marked ways, from 0."""
    while nth:
        marked &= marked - 1
        nth -= 1
    return np.int64(lowest(marked))


@noinline
def mark(marks: NDArray[np.uint64], row: Int, way: Int, first_out: Int, found: Int) -> None:
    """Mark a way of a set to be evicted first, or remove its mark. A mark set when the line was
    brought in stays until an access without evict-first finds the line."""
    bit = np.uint64(1) << np.uint64(way)
    if not first_out:
        marks[row] &= ~bit
    elif not found:
        marks[row] |= bit
