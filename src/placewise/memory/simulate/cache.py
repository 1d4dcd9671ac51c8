"""A sectored, set-associative cache, compiled: the state of many alike, and one access to it.

A tag stands for a line of up to 32 sectors; a miss fetches only the sectors asked for. What is
replaced is up to the policy: ``lru``, ``fifo``, ``random``, tree pseudo-LRU (``plru``), or ways
drawn with given probabilities (``weighted``, which Mei et al. 2014 found in Fermi's L1). An empty
way is always taken first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from placewise.errors import MachineError
from placewise.machine.details import POLICIES

LRU, FIFO, RANDOM, PLRU, WEIGHTED = range(5)
_NUMBERS = dict(zip(POLICIES, range(5), strict=True))
EMPTY = -1

Int = Any
"""An integer of compiled code, where Python's and NumPy's mix."""


class CacheState(NamedTuple):
    """``instances`` caches of the same geometry."""

    tags: NDArray[np.int64]
    """(instances, sets, ways) line numbers, EMPTY where there is none."""
    valid: NDArray[np.uint32]
    """(instances, sets, ways) sectors present."""
    dirty: NDArray[np.uint32]
    """(instances, sets, ways) sectors written and not yet written back."""
    stamp: NDArray[np.int64]
    """(instances, sets, ways) time of last use (lru) or of filling (fifo)."""
    clock: NDArray[np.int64]
    """(instances,) accesses so far."""
    tree: NDArray[np.uint32]
    """(instances, sets) bits of the pseudo-LRU tree, node 1 the root."""
    state: NDArray[np.uint64]
    """(instances,) of the random number generator, never 0."""
    cumulative: NDArray[np.float64]
    """(ways,) upper ends of the ways' shares of the unit interval."""
    policy: int
    split: int
    """Lines of these caches in a line of the requests."""
    grain: int
    """Sectors fetched together: a power of two."""
    hashed: int
    """1: upper bits of the line number are folded into the set number; 0: line modulo sets."""


def new_cache(
    instances: int,
    sets: int,
    ways: int,
    *,
    policy: str = "lru",
    probabilities: tuple[float, ...] = (),
    hashed: bool = False,
    split: int = 1,
    grain: int = 1,
    seed: int = 1,
) -> CacheState:
    """Empty caches. Raises MachineError for pseudo-LRU of ways that are no power of two."""
    if policy == "plru" and ways & (ways - 1):
        raise MachineError(f"tree pseudo-LRU needs a power of two as ways, not {ways}")
    shape = (instances, sets, ways)
    shares = probabilities or (1 / ways,) * ways
    return CacheState(
        np.full(shape, EMPTY, np.int64),
        np.zeros(shape, np.uint32),
        np.zeros(shape, np.uint32),
        np.zeros(shape, np.int64),
        np.zeros(instances, np.int64),
        np.zeros((instances, sets), np.uint32),
        (np.arange(instances) * 2 + 2 * seed + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15),
        np.cumsum(shares) / np.sum(shares),
        _NUMBERS[policy],
        split,
        grain,
        int(hashed),
    )


@njit(cache=True, nogil=True)
def set_of(cache: CacheState, line: Int) -> Int:
    """Set that a line belongs to."""
    sets = cache.tags.shape[1]
    if cache.hashed:
        mixed = (np.uint64(line) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
        return np.int64(mixed % np.uint64(sets))
    return np.int64(line % sets)


@njit(cache=True, nogil=True)
def find(cache: CacheState, at: Int, row: Int, line: Int) -> Int:
    """Way of cache ``at`` and set ``row`` that holds ``line``, or -1."""
    tags = cache.tags
    for way in range(tags.shape[2]):
        if tags[at, row, way] == line:
            return way
    return -1


@njit(cache=True, nogil=True)
def _uniform(cache: CacheState, at: Int) -> Any:
    """A number in [0, 1) by xorshift64* (Vigna 2016)."""
    x = cache.state[at]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    cache.state[at] = x
    return np.float64((x * np.uint64(2685821657736338717)) >> np.uint64(11)) * (1.0 / (1 << 53))


@njit(cache=True, nogil=True)
def used(cache: CacheState, at: Int, row: Int, way: Int) -> None:
    """Tell the policy that a way has been accessed."""
    if cache.policy == LRU:
        cache.clock[at] += 1
        cache.stamp[at, row, way] = cache.clock[at]
    elif cache.policy == PLRU:
        # From the leaf to the root, each node on the way is made to point to the other side.
        node = way + cache.tags.shape[2]
        bits = cache.tree[at, row]
        while node > 1:
            parent = node >> 1
            if node & 1:
                bits &= ~(np.uint32(1) << np.uint32(parent))
            else:
                bits |= np.uint32(1) << np.uint32(parent)
            node = parent
        cache.tree[at, row] = bits


@njit(cache=True, nogil=True)
def victim(cache: CacheState, at: Int, row: Int) -> Int:
    """Way of a set to give to a new line."""
    ways = cache.tags.shape[2]
    for way in range(ways):
        if cache.tags[at, row, way] == EMPTY:
            return way
    policy = cache.policy
    if policy in (LRU, FIFO):
        oldest = 0
        for way in range(1, ways):
            if cache.stamp[at, row, way] < cache.stamp[at, row, oldest]:
                oldest = way
        return oldest
    if policy == PLRU:
        node: Int = 1
        bits = cache.tree[at, row]
        while node < ways:
            node = 2 * node + np.int64((bits >> np.uint32(node)) & np.uint32(1))
        return node - ways
    drawn = _uniform(cache, at)
    for way in range(ways - 1):
        if drawn < cache.cumulative[way]:
            return way
    return ways - 1


@njit(cache=True, nogil=True)
def place(cache: CacheState, at: Int, row: Int, line: Int) -> tuple[Int, Int]:
    """Give ``line`` a way, without sectors; returns the way and the dirty sectors it drove out."""
    way = victim(cache, at, row)
    driven_out = np.int64(cache.dirty[at, row, way])
    cache.tags[at, row, way] = line
    cache.valid[at, row, way] = 0
    cache.dirty[at, row, way] = 0
    if cache.policy == FIFO:
        cache.clock[at] += 1
        cache.stamp[at, row, way] = cache.clock[at]
    return way, driven_out


@njit(cache=True, nogil=True)
def _access(
    cache: CacheState, at: Int, line: Int, wanted: Int, fetch: bool
) -> tuple[Int, Int, Int]:
    """One line of the cache's own: sectors missing, sectors fetched, dirty sectors lost."""
    row = set_of(cache, line)
    way = find(cache, at, row, line)
    lost = np.int64(0)
    if way < 0:
        way, lost = place(cache, at, row, line)
    present = np.int64(cache.valid[at, row, way])
    missing = wanted & ~present
    fetched = np.int64(0)
    now = wanted
    if fetch and missing:
        fetched = missing
        if cache.grain > 1:
            group = (np.int64(1) << cache.grain) - 1
            shift = 0
            while missing >> shift:
                if (missing >> shift) & group:
                    now |= group << shift
                shift += cache.grain
            fetched = now & ~present
    cache.valid[at, row, way] |= np.uint32(now)
    if not fetch:
        cache.dirty[at, row, way] |= np.uint32(wanted)
    used(cache, at, row, way)
    return missing, fetched, lost


@njit(cache=True, nogil=True)
def access(
    cache: CacheState, at: Int, line: Int, sectors: Int, per_line: Int, fetch: bool
) -> tuple[Int, Int, Int]:
    """Access sectors of a request's line in cache ``at``.

    ``fetch``: a read, what is missing is fetched; else a write that is kept until driven out, of
    whole sectors, for which nothing is fetched. ``per_line`` sectors make a line of the requests.
    Returns the sectors that were missing, the number fetched, and the number of dirty sectors that
    were driven out.
    """
    if cache.split == 1:
        missing, fetched, lost = _access(cache, at, line, sectors, fetch)
        return missing, bits(fetched), bits(lost)
    missing, fetched, lost = np.int64(0), np.int64(0), np.int64(0)
    own = per_line // cache.split
    for k in range(cache.split):
        wanted = (sectors >> (k * own)) & ((np.int64(1) << own) - 1)
        if wanted:
            absent, taken, out = _access(cache, at, line * cache.split + k, wanted, fetch)
            missing |= absent << (k * own)
            fetched += bits(taken)
            lost += bits(out)
    return missing, fetched, lost


@njit(cache=True, nogil=True)
def bits(mask: Int) -> Int:
    """Number of ones."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count
