"""Parts of one SM, in the order in which its warps issue them, through the SM's caches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.cache import (
    FIRST_OUT,
    GOLDEN,
    LRU,
    RANDOM,
    READ,
    WRITE_THROUGH,
    Caches,
    Int,
    Shape,
    access,
    shape_of,
)
from placewise.memory.simulate.caches.constant_caches import ConstantCaches, read_constant
from placewise.memory.simulate.caches.fast_cache import (
    HINTS,
    access_recent,
    find_drawn,
    first_ways,
    is_plain,
)
from placewise.memory.simulate.caches.miss_queue import Missed, pass_on
from placewise.memory.simulate.requests.collect import CONSTANT, LEAVES_FIRST, LOAD, STORE, Pairs
from placewise.memory.simulate.requests.line_requests import (
    ASIDE,
    LINE_BIT,
    MOST_PAIRS,
    PAIR_BIT,
    SECTOR_BIT,
    SECTORS,
)
from placewise.memory.simulate.simd.jit_helpers import apart, bits

AT_ONCE = 1024
"""Parts that are put in order before they go through a cache, at most: room for them is in the
processor's own first cache, and each of the two loops has few variables."""
ROUNDS = 256
"""Rounds whose parts are put in order before that, at most."""
SIDES = 4
"""Places where what each pair asks the cache of the die for is counted."""
SLACK = 32
"""Room behind the parts: for words that are copied several at a time, and for looking ahead."""

NO_SHAPE = Shape(*(np.int64(0),) * len(Shape._fields))


class Room(NamedTuple):
    """What one thread works in."""

    ready: NDArray[np.int64]
    segment: NDArray[np.int64]
    at: NDArray[np.int64]
    end: NDArray[np.int64]
    own_phase: NDArray[np.int64]
    """(warps of an SM or SMs, the more,) each: those that go on in the next round, and of each the
    segment it is in, its next part, the end of its parts, and its phase."""
    first_of: NDArray[np.int64]
    how: NDArray[np.int64]
    """(pairs,) each: first cache of each pair, and what it is asked to do."""
    allocates: NDArray[np.bool_]
    """(first caches,) whether stores bring lines in."""
    out: NDArray[np.int64]
    """(shares,)"""
    order: NDArray[np.int64]
    first_way: NDArray[np.int64]
    turn: NDArray[np.int64]
    """(AT_ONCE + SLACK,) parts in the order in which they reach a cache, the first way of the set
    of each, and its round."""
    round_end: NDArray[np.int64]
    """(ROUNDS,) where the parts of each round end in ``order``."""
    hint: NDArray[np.int32]
    """(HINTS,) the way, from the first of an instance on, where a line with the same lowest bits
    was found last, in any instance: whether it is there is seen at once, and no set need be
    compared, which takes its time after a write to it."""
    line: NDArray[np.uint32]
    added: NDArray[np.uint32]
    """(AT_ONCE + SLACK,) the line of each part in a share of the cache of the die, and what is to
    be known of its sectors there, as in :attr:`Caches.held`."""
    found: NDArray[np.uint32]
    """(2 (AT_ONCE + SLACK),) of each part what was known of the way that its line took there, and 0
    if that did not hold it."""
    stored: NDArray[np.bool_]
    """(pairs,) whether a pair stores."""
    counted: NDArray[np.int64]
    """(SIDES * pairs,) sectors that a wave's parts ask the cache of the die for, and lack."""


def new_room(warps: int, sms: int, pairs: int, shares: int, allocates: Sequence[bool]) -> Room:
    """For so many warps of an SM."""

    def room(size: int) -> NDArray[np.int64]:
        return np.zeros(size, np.int64)

    most = max(warps, sms)
    return Room(
        ready=room(most + 1),
        segment=room(most),
        at=room(most),
        end=room(most),
        own_phase=room(most),
        first_of=room(pairs),
        how=room(pairs),
        # One more, as there may be no cache of the SM at all.
        allocates=np.array([*allocates, False], np.bool_),
        out=room(shares),
        order=room(AT_ONCE + SLACK),
        first_way=room(AT_ONCE + SLACK),
        turn=room(AT_ONCE + SLACK),
        round_end=room(ROUNDS),
        hint=np.zeros(HINTS, np.int32),
        line=np.zeros(AT_ONCE + SLACK, np.uint32),
        added=np.zeros(AT_ONCE + SLACK, np.uint32),
        found=np.zeros(2 * (AT_ONCE + SLACK), np.uint32),
        stored=np.zeros(pairs, np.bool_),
        counted=room(SIDES * pairs),
    )


@apart
def note_pairs(pairs: Pairs, caches: Caches, room: Room) -> None:
    """Note where the parts of each pair go: stores and atomics go past the SM's caches, but for
    stores to one that allocates."""
    first_caches = np.int64(caches.geometry.shape[0])
    for p in range(pairs.used[0]):
        row = pairs.rows[p]
        room.first_of[p] = first_caches
        room.how[p] = READ if row.kind == LOAD else WRITE_THROUGH
        if row.flags & LEAVES_FIRST:
            room.how[p] |= FIRST_OUT
        if row.kind == LOAD or (row.kind == STORE and room.allocates[row.cache]):
            room.first_of[p] = row.cache


@apart
def run_parts(
    sm: Int,
    first_round: Int,
    rounds: Int,
    caches: Caches,
    per_line: int,
    room: Room,
    missed: Missed,
    beyond: NDArray[np.int64],
    constant: ConstantCaches,
) -> None:
    """Run the parts of an SM's rounds from ``first_round`` on, in their order, through its
    caches."""
    g = NO_SHAPE
    policy = np.int64(-1)
    n = room.round_end[np.uintp(rounds - 1)]
    if caches.geometry.shape[0]:
        g = shape_of(caches.geometry, 0)
        if is_plain(g):
            policy = g.policy
    if policy == LRU:
        first_ways(g, sm, room.order, n, LINE_BIT, room.first_way)
    begin = np.int64(0)
    shares = np.int64(missed.length.shape[0])
    size = np.int64(missed.part.shape[0] // shares)
    for number in range(rounds):
        end = room.round_end[np.uintp(number)]
        if policy == RANDOM:
            _run_drawn(begin, end, sm, caches, g, per_line, room, missed, beyond, constant)
        else:
            _run_others(begin, end, sm, caches, g, per_line, room, missed, beyond, constant)
        begin = end
        at = missed.first_round[np.uintp(sm)] + first_round + number
        missed.end[np.uintp(at)] = room.out[0] - missed.first[0, np.uintp(sm)]
        if shares > 1:
            missed.end[np.uintp(size + at)] = room.out[1] - missed.first[1, np.uintp(sm)]


@apart
def _run_drawn(
    begin: Int,
    end: Int,
    sm: Int,
    caches: Caches,
    g: Shape,
    per_line: int,
    room: Room,
    missed: Missed,
    beyond: NDArray[np.int64],
    constant: ConstantCaches,
) -> None:
    """Run parts of a round where the first cache is plain and its policy random."""
    order, hint, out = room.order, room.hint, room.out
    tags, held = caches.tags, caches.held
    own = g.first_way + sm * g.sets * g.lanes
    seed = np.uintp(g.first_seed + sm)
    # Every part that is not aside has a random number, which is only worked out where it is used.
    state = caches.seed[seed] - np.uint64(begin - 1) * GOLDEN
    last, last_held = np.int64(-1), np.int64(0)
    for k in range(begin, end):
        part = order[np.uintp(k)]
        if part & ASIDE:
            state -= GOLDEN + caches.seed[seed]
            _run_aside(sm, part, caches, per_line, room, missed, beyond, constant)
            state += caches.seed[seed]
            last = np.int64(-1)
            continue
        line, sectors = part >> LINE_BIT, (part >> SECTOR_BIT) & SECTORS
        if line == last and not sectors & ~last_held:
            continue
        slot = np.uintp(line & (HINTS - 1))
        at = np.uintp(own + np.int64(hint[slot]))
        if tags[at] != line:
            way = find_drawn(caches, g, own, line, state + np.uint64(k) * GOLDEN)
            hint[slot] = way
            at = np.uintp(own + way)
        before = np.int64(held[at])
        last, last_held = line, before | sectors
        if sectors & ~before:
            held[at] = before | sectors
            pass_on(part, before, np.int64(1), missed, out)
    caches.seed[seed] = state + np.uint64(end - 1) * GOLDEN


@apart
def _run_others(
    begin: Int,
    end: Int,
    sm: Int,
    caches: Caches,
    g: Shape,
    per_line: int,
    room: Room,
    missed: Missed,
    beyond: NDArray[np.int64],
    constant: ConstantCaches,
) -> None:
    """The same for other caches."""
    last, last_held = np.int64(-1), np.int64(0)
    plain = g.policy == LRU and is_plain(g)
    for k in range(begin, end):
        part = room.order[np.uintp(k)]
        if part & ASIDE or not plain:
            _run_aside(sm, part, caches, per_line, room, missed, beyond, constant)
            last = np.int64(-1)
            continue
        line = part >> LINE_BIT
        sectors = (part >> SECTOR_BIT) & SECTORS
        if line == last and not sectors & ~last_held:
            continue
        last_held = sectors if line != last else last_held | sectors
        last = line
        first_way = room.first_way[np.uintp(k)]
        missing, _, _ = access_recent(caches, g, first_way, line, sectors, 0)
        pass_on(part, sectors & ~missing, missing, missed, room.out)


@apart
def _run_aside(
    sm: Int,
    part: Int,
    caches: Caches,
    per_line: int,
    room: Room,
    missed: Missed,
    beyond: NDArray[np.int64],
    constant: ConstantCaches,
) -> None:
    """Run a part through a cache of any kind, or none."""
    p = np.uintp((part >> PAIR_BIT) & MOST_PAIRS)
    cache = room.first_of[p]
    if cache == caches.geometry.shape[0]:
        pass_on(part, np.int64(0), np.int64(1), missed, room.out)
        return
    if cache == CONSTANT:
        read_constant(constant, sm, part, per_line, beyond, missed, room.out)
        return
    sectors, how = (part >> SECTOR_BIT) & SECTORS, room.how[p]
    missing, fetched, _ = access(caches, cache, sm, part >> LINE_BIT, sectors, per_line, how)
    if how & READ:
        sectors = fetched
        beyond[p] += bits(fetched & ~missing)
    rest = part & ~np.int64(SECTORS << SECTOR_BIT)
    pass_on(rest | (sectors << SECTOR_BIT), np.int64(0), sectors, missed, room.out)
