"""Sectored, set-associative caches, compiled: the state of several caches, and an access to one of
them.

A tag stands for a line of up to 16 sectors; a miss fetches only the sectors asked for. What is
replaced is up to the policy: ``lru``, ``aged`` (drawn from the quarter of the set that was not used
for longest), ``fifo``, ``random``, tree pseudo-LRU (``plru``), or ways drawn with given
probabilities (``weighted``, which Mei et al. 2014 found in Fermi's L1). An empty way is always
taken first. The ways of a set lie side by side and are compared all at once; where the order of use
or of arrival decides (``lru``, ``aged``, ``fifo``), they lie in it, the newest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.compiled_code import compiled
from placewise.errors import MachineError
from placewise.memory.simulate.caches.geometry import (
    AGED,
    COLUMNS,
    FIFO,
    PLRU,
    POLICY_NUMBERS,
    RANDOM,
    WEIGHTED,
    Geometry,
    Int,
    Shape,
    shape_of,
)
from placewise.memory.simulate.caches.kept_lines import order_kept, update_kept, way_not_kept
from placewise.memory.simulate.caches.replacement import (
    AGED_SHIFT,
    aged_way,
    mark,
    marked_way,
    point,
    pointed_at,
    random_bits,
    random_way,
    way_by_share,
)
from placewise.memory.simulate.simd.jit_helpers import (
    bits,
    entry,
    equal16,
    inlined,
    lowest,
    noinline,
    product,
    push16,
)

EMPTY, NO_WAY = -1, -2
"""Tags of an empty way, and of the padding after a set's last way."""
NARROW = 4
"""If a line has at most this many sectors, one byte holds a way's state. The smaller the state, the
more of it fits the processor's caches."""
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SPARE = 16
"""Padding after the last set, in 32-bit words: one line of the processor's caches."""
MOST_TREE_WAYS = 64

WRITE_BACK, READ, WRITE_THROUGH = 0, 1, 2
"""Kinds of access: a write whose data stay in the cache until they are evicted, a read, which
fetches missing sectors, and a write that is also passed on at once. Writes are of whole sectors and
fetch nothing."""
BYPASS = 4
"""Added to the kind of an access that brings no line into the cache on a miss."""
EVICT_FIRST = 8
"""Added to the kind of a read: a line that it brings in is evicted before the others of its set.
With LRU and FIFO it goes to the end of the order; a pseudo-LRU tree points to it until other hits
turn it away; with random replacement bits of :attr:`Caches.tree` mark such ways."""
KEEP = 16
"""Added to the kind of an access: its line is kept, which means that it is evicted after all lines
of the set that are not kept. A set keeps up to :attr:`Geometry.kept_ways` lines."""
FETCH_GROUP = 5
"""From this bit of a read's kind on: number of sectors that are fetched together, if it is larger
than :attr:`Geometry.grain`."""


class Caches(NamedTuple):
    """The state of caches of several geometries. Ways are stored by cache, instance, set and
    way."""

    tags: NDArray[np.int32]
    """Line number of each way, EMPTY where there is none; padding behind the last set."""
    held: NDArray[np.uint8] | NDArray[np.uint32]
    """State of each way: a bit for each valid sector and, in the upper half, for each dirty
    sector."""
    dirty: NDArray[np.int64]
    """(1,) number of dirty sectors in all caches."""
    tree: NDArray[np.uint64]
    """(sets,) bits of the pseudo-LRU tree, with node 1 as the root; with random replacement, bits
    of the ways that are marked to be evicted first."""
    seed: NDArray[np.uint64]
    """Random state of each instance; it advances with every access, needed or not."""
    share: NDArray[np.float64]
    """Cumulative probabilities of the ways, by cache (policy ``weighted``)."""
    geometry: NDArray[np.int64]
    """(caches, COLUMNS) the numbers of each cache's :class:`Shape`."""
    kept: NDArray[np.int64]
    """(sets,) the lines that are kept: with LRU and FIFO their number, since they are stored before
    the others; else a bit for each way."""


def new_caches(geometries: Sequence[Geometry], seed: int = 1, line_sectors: int = 16) -> Caches:
    """Empty caches, whose lines have ``line_sectors`` sectors at most, up to 16. Raises
    MachineError for pseudo-LRU of ways that are no power of two or more than 64, or of more than 64
    ways where some reads are EVICT_FIRST or KEEP."""
    rows, shares = [], [np.zeros(0)]
    sets: list[tuple[slice, NDArray[np.int32]]] = []
    way = row = instance = share = 0
    for g in geometries:
        if g.policy == "plru" and (g.ways & (g.ways - 1) or g.ways > MOST_TREE_WAYS):
            raise MachineError(
                f"tree pseudo-LRU needs a power of two as ways, up to {MOST_TREE_WAYS}, "
                f"not {g.ways}"
            )
        prioritised = g.evicts_first or g.kept_ways > 0
        if prioritised and g.ways > MOST_TREE_WAYS:
            raise MachineError(f"priorities among more than {MOST_TREE_WAYS} ways: {g.ways}")
        columns = (way, g.sets, g.ways, POLICY_NUMBERS[g.policy], g.split, g.grain, int(g.hashed))
        rows.append([*columns, row, instance, share, g.lanes, int(prioritised), g.kept_ways])
        part = np.array(g.probabilities or (1.0,) * g.ways)
        shares.append(np.cumsum(part) / part.sum())
        one_set = np.where(np.arange(g.lanes) < g.ways, EMPTY, NO_WAY).astype(np.int32)
        size = g.instances * g.sets * g.lanes
        sets.append((slice(way, way + size), one_set))
        way += size
        row += g.instances * g.sets
        instance += g.instances
        share += g.ways
    numbers = np.arange(instance, dtype=np.uint64) * np.uint64(2) + np.uint64(2 * seed + 1)
    tags = aligned(way + SPARE, np.int32)
    tags[way:] = NO_WAY
    for place, one_set in sets:
        tags[place].reshape(-1, one_set.size)[:] = one_set
    return Caches(
        tags,
        aligned(way + SPARE, np.uint8 if line_sectors <= NARROW else np.uint32),
        np.zeros(1, np.int64),
        np.zeros(row, np.uint64),
        random_bits.py_func(numbers * GOLDEN),
        np.concatenate(shares),
        np.array(rows, np.int64).reshape(-1, COLUMNS),
        np.zeros(row, np.int64),
    )


def aligned(size: int, kind: type[np.generic]) -> NDArray[Any]:
    """An array of zeros that starts at a line of the processor's caches, so that sets do, too."""
    room = np.zeros(size + SPARE, kind)
    skipped = -room.ctypes.data % (SPARE * room.itemsize) // room.itemsize
    return room[skipped : skipped + size]


def held_sectors(c: Caches) -> float:
    """Number of sectors in a full cache, if each line has as many as the present lines have on
    average."""
    lines = int(np.count_nonzero(c.tags >= 0))
    valid = int(np.bitwise_count(c.held & c.held.dtype.type((1 << 4 * c.held.itemsize) - 1)).sum())
    return int(np.count_nonzero(c.tags != NO_WAY)) * valid / lines if lines else 0.0


@inlined
def dirty_bit(c: Caches) -> Int:
    """First bit of a way's state that stands for a dirty sector."""
    return 4 * c.held.itemsize


@inlined
def mixed_set(line: Int, sets: Any) -> Int:
    """Set of a line in a hashed cache with ``sets`` sets, uint64."""
    high = ((np.uint64(line) & np.uint64(0xFFFFFFFF)) * GOLDEN) >> np.uint64(32)
    return np.int64(product(high, sets) >> np.uint64(32))


@inlined
def set_of(g: Shape, line: Int) -> Int:
    """Set that a line belongs to."""
    sets = np.uint64(g.sets)
    if g.hashed:
        return mixed_set(line, sets)
    if sets & (sets - np.uint64(1)) == np.uint64(0):
        return np.int64(np.uint64(line) & (sets - np.uint64(1)))
    return np.int64(np.uint64(line) % sets)


@inlined
def way_of(tags: NDArray[np.int32], first: Int, lanes: Int, line: Int) -> Int:
    """The first way of a set whose tag is ``line`` (which may be EMPTY); -1 where there is none."""
    at = np.int64(0)
    found = equal16(tags, first, np.int32(line))
    while not found and at + 16 < lanes:
        at += 16
        found = equal16(tags, first + at, np.int32(line))
    return at + lowest(found) if found else np.int64(-1)


@noinline
def _replaced(c: Caches, g: Shape, instance: Int, row: Int, first: Int) -> Int:
    """Way of a set that a new line replaces."""
    if g.policy == AGED and c.tags[np.uintp(first + g.ways - 1)] != EMPTY:
        free = g.ways - (c.kept[np.uintp(row)] if g.kept_ways else 0)
        random = random_bits(c.seed[np.uintp(g.first_seed + instance)])
        return aged_way(random, g.ways, min(free, g.ways >> AGED_SHIFT))
    if g.policy <= FIFO:
        return np.int64(g.ways - 1)
    way = way_of(c.tags, first, g.lanes, EMPTY)
    if way >= 0:
        return way
    random = random_bits(c.seed[np.uintp(g.first_seed + instance)])
    if g.policy == PLRU:
        way = np.int64(pointed_at(c.tree[np.uintp(row)], g.ways))
    else:
        if g.marks:
            marked = np.int64(c.tree[np.uintp(row)])
            if marked:
                return np.int64(marked_way(marked, random_way(random, bits(marked))))
        if g.policy == RANDOM:
            way = random_way(random, g.ways)
        else:
            way = np.int64(way_by_share(c.share, g.first_share, g.ways, random))
    if g.kept_ways:
        way = way_not_kept(c.kept[np.uintp(row)], way, g.ways, random)
    return way


@inlined
def _push(words: Any, first: Int, value: Int, way: Int) -> None:
    """Insert a value at the start of a set's words; the words before ``way`` move on by one, and
    that of ``way`` drops out."""
    at = np.int64(0)
    while at <= way:
        last = np.int64(words[np.uintp(first + at + 15)])
        push16(words, first + at, value, way - at)
        value = last
        at += 16


@inlined
def is_held(c: Caches, g: Shape, line: Int) -> bool:
    """Whether the first instance of a cache contains a line."""
    return bool(way_of(c.tags, g.first_way + set_of(g, line) * g.lanes, g.lanes, line) >= 0)


@inlined
def held_of(c: Caches, g: Shape, line: Int) -> Int:
    """Bits of the sectors of a line that the first instance of a cache contains."""
    first = g.first_way + set_of(g, line) * g.lanes
    way = way_of(c.tags, first, g.lanes, line)
    sectors = (np.int64(1) << dirty_bit(c)) - 1
    return np.int64(c.held[np.uintp(first + way)]) & sectors if way >= 0 else np.int64(0)


@inlined
def _grown(missing: Int, grain: Int) -> Int:
    """Sectors that are fetched for the ``missing`` ones, in groups of ``grain``."""
    group = (np.int64(1) << grain) - 1
    shift = np.int64(0)
    fetched = np.int64(0)
    while missing >> shift:
        if (missing >> shift) & group:
            fetched |= group << shift
        shift += grain
    return fetched


# One long function, since its branches share nearly all variables, and callers need it inlined.
@inlined
def access_line(
    c: Caches, g: Shape, instance: Int, line: Int, wanted: Int, kind: Int
) -> tuple[Int, Int, Int, Int]:
    """Access sectors of one line, below 2**31, of the cache of shape ``g``.

    ``kind`` is READ, WRITE_BACK or WRITE_THROUGH, with or without BYPASS, EVICT_FIRST and KEEP; a
    read may have a FETCH_GROUP. Returns the missing sectors, the fetched sectors, the dirty sectors
    of the evicted line, and that line (EMPTY where none was evicted).
    """
    place = set_of(g, line) + instance * g.sets
    row = g.first_set + place
    first = g.first_way + place * g.lanes
    out = np.int64(0)
    victim = np.int64(EMPTY)
    way = way_of(c.tags, first, g.lanes, line)
    if g.policy == AGED or g.policy == RANDOM or g.policy == WEIGHTED or g.kept_ways:
        c.seed[np.uintp(g.first_seed + instance)] += GOLDEN
    found = way >= 0
    held = np.int64(0)
    if found:
        held = np.int64(c.held[np.uintp(first + way)])
    else:
        if kind & BYPASS:
            return wanted, np.int64(0), out, victim
        way = _replaced(c, g, instance, row, first)
        if kind & EVICT_FIRST and g.policy <= FIFO:
            empty = way_of(c.tags, first, g.lanes, EMPTY)
            way = empty if empty >= 0 else way
        at = np.uintp(first + way)
        victim = np.int64(c.tags[at])
        out = np.int64(c.held[at]) >> dirty_bit(c)
        if out:
            c.dirty[0] -= bits(out)
    missing = wanted & ~held
    fetched = np.int64(0)
    if kind & READ:
        if missing:
            grain = max(g.grain, kind >> FETCH_GROUP)
            fetched = missing if grain == 1 else _grown(missing, grain) & ~held
            held |= fetched
    elif kind & WRITE_THROUGH:
        held |= wanted
    else:
        c.dirty[0] += bits(wanted & ~(held >> dirty_bit(c)))
        held |= wanted | (wanted << dirty_bit(c))
    if g.kept_ways and g.policy <= FIFO:
        moves = not kind & EVICT_FIRST and (g.policy <= AGED or not found)
        way = order_kept(
            c.tags, c.held, c.kept, row, first, g.kept_ways, way, found, kind & KEEP != 0, moves
        )
        at = np.uintp(first + way)
        c.tags[at] = line
        c.held[at] = held
    elif (g.policy <= AGED or (g.policy == FIFO and not found)) and not kind & EVICT_FIRST:
        _push(c.tags, first, line, way)
        _push(c.held, first, held, way)
    else:
        at = np.uintp(first + way)
        c.tags[at] = line
        c.held[at] = held
        if g.policy == PLRU and not kind & EVICT_FIRST:
            point(c.tree, np.uintp(row), way, g.ways, 0)
        elif g.policy == PLRU and not found:
            point(c.tree, np.uintp(row), way, g.ways, 1)
        elif g.marks and g.policy > FIFO:
            mark(c.tree, np.uintp(row), way, kind & EVICT_FIRST, found)
        if g.kept_ways:
            random = random_bits(c.seed[np.uintp(g.first_seed + instance)])
            update_kept(c.kept, row, g.kept_ways, way, found, kind & KEEP != 0, random)
    return missing, fetched, out, victim


@noinline
def _access_split(
    c: Caches, g: Shape, instance: Int, line: Int, sectors: Int, per_line: Int, kind: Int
) -> tuple[Int, Int, Int]:
    """Access the sectors of a line request whose line consists of several lines of the cache."""
    missing, fetched, lost = np.int64(0), np.int64(0), np.int64(0)
    own = per_line // g.split
    for k in range(g.split):
        wanted = (sectors >> (k * own)) & ((np.int64(1) << own) - 1)
        if wanted:
            absent, taken, out, _ = access_line(c, g, instance, line * g.split + k, wanted, kind)
            missing |= absent << (k * own)
            fetched |= taken << (k * own)
            lost += bits(out)
    return missing, fetched, lost


@noinline
def access(
    c: Caches,
    number: Int,
    instance: Int,
    line: Int,
    sectors: Int,
    per_line: Int,
    kind: Int,
) -> tuple[Int, Int, Int]:
    """Access sectors of a request's line in one instance of cache ``number``.

    ``per_line`` is the number of sectors in a line of the requests; ``line``, ``sectors`` and
    ``kind`` are those of the access, as :func:`access_line` takes them. Returns the missing
    sectors, the fetched sectors, and the number of dirty sectors that were evicted.
    """
    g = shape_of(c.geometry, number)
    if g.split == 1:
        missing, fetched, out, _ = access_line(c, g, instance, line, sectors, kind)
        return missing, fetched, bits(out)
    missing, fetched, lost = _access_split(c, g, instance, line, sectors, per_line, kind)
    return missing, fetched, lost


@entry
def lines_missed(c: Caches, lines: NDArray[np.int64]) -> Int:
    """Number of misses of a sequence of reads of whole lines in the first cache."""
    g = shape_of(c.geometry, 0)
    missed = np.int64(0)
    for k in range(lines.shape[0]):
        missing, _, _, _ = access_line(c, g, 0, lines[k], 1, READ)
        missed += missing
    return missed


@compiled(nogil=True)
def one_access(
    c: Caches,
    number: Int,
    instance: Int,
    line: Int,
    sectors: Int,
    per_line: Int,
    kind: Int,
) -> tuple[Int, Int, Int]:
    """:func:`access` as a function of its own, for callers outside compiled code."""
    missing, fetched, lost = access(c, number, instance, line, sectors, per_line, kind)
    return missing, fetched, lost
