"""Sectored, set-associative caches, compiled: the state of many, and one access to one of them.

A tag stands for a line of up to 16 sectors; a miss fetches only the sectors asked for. What is
replaced is up to the policy: ``lru``, ``fifo``, ``random``, tree pseudo-LRU (``plru``), or ways
drawn with given probabilities (``weighted``, which Mei et al. 2014 found in Fermi's L1). An empty
way is always taken first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from placewise.errors import MachineError
from placewise.machine.details import POLICIES

LRU, FIFO, RANDOM, PLRU, WEIGHTED = range(5)
_NUMBERS = dict(zip(POLICIES, range(5), strict=True))
EMPTY = -1
DIRTY = 16
"""Bit of a way's state where the dirty sectors start; below are the valid ones."""
VALID = (1 << DIRTY) - 1

FIRST_WAY, SETS, WAYS, POLICY, SPLIT, GRAIN, HASHED, FIRST_SET, FIRST_SEED, FIRST_SHARE = range(10)
"""Columns of :attr:`Caches.geometry`."""

Int = Any
"""An integer of compiled code, where Python's and NumPy's mix."""


@dataclass(frozen=True)
class Geometry:
    """``instances`` caches alike."""

    instances: int
    sets: int
    ways: int
    policy: str = "lru"
    probabilities: tuple[float, ...] = ()
    """Of the ways, for ``weighted``."""
    hashed: bool = False
    """Upper bits of the line number are mixed into the set number; else line modulo sets."""
    split: int = 1
    """Lines of these caches in a line of the requests."""
    grain: int = 1
    """Sectors fetched together."""


class Caches(NamedTuple):
    """The state of caches of several geometries."""

    tags: NDArray[np.int64]
    """Line number of each way, EMPTY where there is none; by cache, instance, set and way."""
    held: NDArray[np.int64]
    """Sectors of each way: valid, and from bit DIRTY on written and not yet written back."""
    stamp: NDArray[np.int64]
    """Time of each way's last use (lru) or of its filling (fifo)."""
    recent: NDArray[np.int64]
    """Way that each set used last: where the next access mostly finds its line."""
    tree: NDArray[np.uint32]
    """Bits of each set's pseudo-LRU tree, node 1 the root."""
    seed: NDArray[np.uint64]
    """State of each instance's random numbers, never 0."""
    share: NDArray[np.float64]
    """Upper ends of the ways' shares of the unit interval, by cache."""
    geometry: NDArray[np.int64]
    """(caches, 10)"""


def new_caches(geometries: Sequence[Geometry], seed: int = 1) -> Caches:
    """Empty caches. Raises MachineError for pseudo-LRU of ways that are no power of two."""
    rows, shares = [], [np.zeros(0)]
    way = row = instance = share = 0
    for g in geometries:
        if g.policy == "plru" and g.ways & (g.ways - 1):
            raise MachineError(f"tree pseudo-LRU needs a power of two as ways, not {g.ways}")
        columns = (way, g.sets, g.ways, _NUMBERS[g.policy], g.split, g.grain, int(g.hashed))
        rows.append([*columns, row, instance, share])
        part = np.array(g.probabilities or (1.0,) * g.ways)
        shares.append(np.cumsum(part) / part.sum())
        way += g.instances * g.sets * g.ways
        row += g.instances * g.sets
        instance += g.instances
        share += g.ways
    numbers = np.arange(instance, dtype=np.uint64) * np.uint64(2) + np.uint64(2 * seed + 1)
    return Caches(
        np.full(way, EMPTY, np.int64),
        np.zeros(way, np.int64),
        np.zeros(way, np.int64),
        np.zeros(row, np.int64),
        np.zeros(row, np.uint32),
        numbers * np.uint64(0x9E3779B97F4A7C15),
        np.concatenate(shares),
        np.array(rows, np.int64).reshape(-1, 10),
    )


def dirty_sectors(c: Caches) -> int:
    """Sectors held that are newer than what lies below."""
    return int(np.bitwise_count(c.held >> DIRTY).sum())


def held_sectors(c: Caches) -> float:
    """Sectors that fit, if every line holds as many as the lines present do on average."""
    lines = int((c.tags != EMPTY).sum())
    valid = int(np.bitwise_count(c.held & VALID).sum())
    return c.tags.size * valid / lines if lines else 0.0


@njit(cache=True, nogil=True, inline="always")
def bits(mask: Int) -> Int:
    """Number of ones among the lower 32 bits."""
    x = np.uint64(mask)
    x = x - ((x >> np.uint64(1)) & np.uint64(0x55555555))
    x = (x & np.uint64(0x33333333)) + ((x >> np.uint64(2)) & np.uint64(0x33333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F)
    return np.int64(((x * np.uint64(0x01010101)) >> np.uint64(24)) & np.uint64(0xFF))


@njit(cache=True, nogil=True, inline="always")
def set_of(geometry: NDArray[np.int64], number: Int, line: Int) -> Int:
    """Set that a line of cache ``number`` belongs to."""
    sets = np.uint64(geometry[number, SETS])
    if geometry[number, HASHED]:
        mixed = (np.uint64(line) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
        return np.int64((mixed * sets) >> np.uint64(32))
    if sets & (sets - np.uint64(1)) == np.uint64(0):
        return np.int64(np.uint64(line) & (sets - np.uint64(1)))
    return np.int64(np.uint64(line) % sets)


@njit(cache=True, nogil=True)
def _uniform(seed: NDArray[np.uint64], at: Int) -> Any:
    """A number in [0, 1) by xorshift64* (Vigna 2016)."""
    x = seed[at]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    seed[at] = x
    return np.float64((x * np.uint64(2685821657736338717)) >> np.uint64(11)) * (1.0 / (1 << 53))


@njit(cache=True, nogil=True)
def _point_away(tree: NDArray[np.uint32], row: Int, way: Int, ways: Int) -> None:
    """Make each node on the way to a leaf point to its other side."""
    node = way + ways
    found = tree[row]
    while node > 1:
        parent = node >> 1
        if node & 1:
            found &= ~(np.uint32(1) << np.uint32(parent))
        else:
            found |= np.uint32(1) << np.uint32(parent)
        node = parent
    tree[row] = found


@njit(cache=True, nogil=True)
def _replaced(c: Caches, number: Int, instance: Int, row: Int, first: Int) -> Int:
    """Way of a set that a new line gets."""
    ways = c.geometry[number, WAYS]
    policy = c.geometry[number, POLICY]
    for way in range(ways):
        if c.tags[first + way] == EMPTY:
            return way
    if policy <= FIFO:
        oldest: Int = 0
        for way in range(1, ways):
            if c.stamp[first + way] < c.stamp[first + oldest]:
                oldest = way
        return oldest
    if policy == PLRU:
        node: Int = 1
        while node < ways:
            node = 2 * node + np.int64((c.tree[row] >> np.uint32(node)) & np.uint32(1))
        return node - ways
    drawn = _uniform(c.seed, c.geometry[number, FIRST_SEED] + instance)
    share = c.geometry[number, FIRST_SHARE]
    for way in range(ways - 1):
        if drawn < c.share[share + way]:
            return way
    return ways - 1


@njit(cache=True, nogil=True, inline="always")
def _access(
    c: Caches, number: Int, instance: Int, line: Int, wanted: Int, fetch: Int, now: Int
) -> tuple[Int, Int, Int]:
    """One line of the cache's own: sectors missing, sectors fetched, dirty sectors lost."""
    geometry = c.geometry
    ways = geometry[number, WAYS]
    policy = geometry[number, POLICY]
    place = set_of(geometry, number, line) + instance * geometry[number, SETS]
    row = geometry[number, FIRST_SET] + place
    first = geometry[number, FIRST_WAY] + place * ways
    lost = np.int64(0)
    way = c.recent[row]
    if c.tags[first + way] != line:
        way = np.int64(0)
        while way < ways and c.tags[first + way] != line:
            way += 1
        if way == ways:
            way = np.int64(_replaced(c, number, instance, row, first))
            lost = c.held[first + way] >> DIRTY
            c.tags[first + way] = line
            c.held[first + way] = 0
            c.stamp[first + way] = now
        c.recent[row] = way
    if policy == LRU:
        c.stamp[first + way] = now
    elif policy == PLRU:
        _point_away(c.tree, row, way, ways)
    held = c.held[first + way]
    missing = wanted & ~held
    fetched = np.int64(0)
    if fetch:
        fetched = missing
        grain = geometry[number, GRAIN]
        if missing and grain > 1:
            group = (np.int64(1) << grain) - 1
            shift = np.int64(0)
            fetched = np.int64(0)
            while missing >> shift:
                if (missing >> shift) & group:
                    fetched |= group << shift
                shift += grain
            fetched &= ~held
        if missing:
            c.held[first + way] = held | fetched
    else:
        c.held[first + way] = held | wanted | (wanted << DIRTY)
    return missing, fetched, lost


@njit(cache=True, nogil=True)
def _access_split(
    c: Caches,
    number: Int,
    instance: Int,
    line: Int,
    sectors: Int,
    per_line: Int,
    fetch: Int,
    now: Int,
) -> tuple[Int, Int, Int]:
    """A request whose line is several of the cache's own."""
    missing, fetched, lost = np.int64(0), np.int64(0), np.int64(0)
    split = c.geometry[number, SPLIT]
    own = per_line // split
    for k in range(split):
        wanted = (sectors >> (k * own)) & ((np.int64(1) << own) - 1)
        if wanted:
            absent, taken, out = _access(c, number, instance, line * split + k, wanted, fetch, now)
            missing |= absent << (k * own)
            fetched |= taken << (k * own)
            lost += bits(out)
    return missing, fetched, lost


@njit(cache=True, nogil=True, inline="always")
def access(
    c: Caches,
    number: Int,
    instance: Int,
    line: Int,
    sectors: Int,
    per_line: Int,
    fetch: Int,
    now: Int,
) -> tuple[Int, Int, Int]:
    """Access sectors of a request's line in one instance of cache ``number``.

    ``fetch``: a read, what is missing is fetched; else a write that is kept until driven out, of
    whole sectors, for which nothing is fetched. ``per_line`` sectors make a line of the requests;
    ``now`` grows from access to access of an instance.
    Returns the sectors that were missing, the sectors fetched, and the number of dirty sectors that
    were driven out.
    """
    if c.geometry[number, SPLIT] == 1:
        missing, fetched, out = _access(c, number, instance, line, sectors, fetch, now)
        lost = bits(out)
    else:
        missing, fetched, lost = _access_split(
            c, number, instance, line, sectors, per_line, fetch, now
        )
    return missing, fetched, lost


@njit(cache=True, nogil=True)
def one_access(
    c: Caches,
    number: Int,
    instance: Int,
    line: Int,
    sectors: Int,
    per_line: Int,
    fetch: Int,
    now: Int,
) -> tuple[Int, Int, Int]:
    """:func:`access` as a function of its own, for callers outside compiled code."""
    missing, fetched, lost = access(c, number, instance, line, sectors, per_line, fetch, now)
    return missing, fetched, lost
