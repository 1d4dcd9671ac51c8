"""The resident blocks of all SMs, run against L1s and L2.

Policy: loose round robin. In each round every resident warp of an SM issues one request, or a burst
of requests between which it does not wait for data, in the order of its blocks and warps, unless it
waits at a barrier for other warps of its block; all SMs advance in step, and what they miss meets
in L2 round by round. Latencies do not hold warps back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.cache import (
    LRU,
    READ,
    WRITE_THROUGH,
    Caches,
    Int,
    Shape,
    access,
    shape_of,
)
from placewise.memory.simulate.constant_caches import ConstantCaches, read_constant
from placewise.memory.simulate.lanes import apart, bits, hand_on4, inlined, lowest, prefetch
from placewise.memory.simulate.parts import (
    LINE_BIT,
    MOST_PAIRS,
    PAIR_BIT,
    SECTOR_BIT,
    SECTORS,
    Buffer,
)
from placewise.memory.simulate.passed_on import Missed, pass_on
from placewise.memory.simulate.plain import (
    access_recent,
    fetch_ahead,
    first_ways,
    is_plain,
    read_drawn,
)
from placewise.memory.simulate.requests import CONSTANT, LOAD, STORE, Pairs

AT_ONCE = 2048
"""Parts that are put in order before they go through a cache: room for them is in the processor's
own first cache, and each of the two loops has few variables."""
AHEAD = 32
"""Parts of its own that a warp has fetched ahead."""
SLACK = 16
"""Room behind these: for four words that are copied at a time, and for looking ahead."""
HINTS = 4096
"""A few times the lines that a cache of an SM holds; a power of two."""
PLAIN, OTHER, PAST = range(3)
"""Where parts go first: a plain cache, another, none of the SM."""


NO_SHAPE = Shape(*(np.int64(0),) * len(Shape._fields))


class Wave(NamedTuple):
    """Requests of one wave, by warp."""

    part: NDArray[np.int64]
    seat_segment: NDArray[np.int64]
    """(seats + 1,) first segment of each warp's seat."""
    segment: NDArray[np.int64]
    """(segments, 3) phase, first part, end of its parts; in the order of seats and of time."""
    sm_part: NDArray[np.int64]
    """(SMs + 1,) room for what each SM misses: parts of the SMs before it."""


class Room(NamedTuple):
    """What one thread works in."""

    alive: NDArray[np.int64]
    segment: NDArray[np.int64]
    at: NDArray[np.int64]
    end: NDArray[np.int64]
    own_phase: NDArray[np.int64]
    """(warps of an SM or SMs, the more,) each: warps that have something left, the segment each is
    in, its next part, the end of its parts, and its phase."""
    phase: NDArray[np.int64]
    """(blocks of an SM,)"""
    first_of: NDArray[np.int64]
    how: NDArray[np.int64]
    """(pairs,) each: first cache of each pair, and what it is asked to do."""
    allocates: NDArray[np.bool_]
    """(first caches,) whether stores bring lines in."""
    out: NDArray[np.int64]
    """(shares,)"""
    hint: NDArray[np.int32]
    """(HINTS,) of :func:`read_drawn`."""
    past: NDArray[np.int64]
    """(pairs,) which way parts go: PLAIN, OTHER or PAST."""
    order: NDArray[np.int64]
    turn: NDArray[np.int64]
    first_way: NDArray[np.int64]
    """(AT_ONCE + SLACK,) parts in the order in which they reach a cache, the round of each, and the
    first way of its set."""


def new_room(
    warps: int, sms: int, blocks: int, pairs: int, shares: int, allocates: Sequence[bool]
) -> Room:
    """For so many warps and blocks of an SM."""

    def room(size: int) -> NDArray[np.int64]:
        return np.zeros(size, np.int64)

    most = max(warps, sms)
    return Room(
        alive=room(most),
        segment=room(most),
        at=room(most),
        end=room(most),
        own_phase=room(most),
        phase=room(blocks),
        first_of=room(pairs),
        how=room(pairs),
        # One more, as there may be no cache of the SM at all.
        allocates=np.array([*allocates, False], np.bool_),
        out=room(shares),
        hint=np.zeros(HINTS, np.int32),
        past=room(pairs),
        order=room(AT_ONCE + SLACK),
        turn=room(AT_ONCE + SLACK),
        first_way=room(AT_ONCE + SLACK),
    )


@apart
def sort_segments(buffer: Buffer, wave: Wave, at: NDArray[np.int64]) -> bool:
    """Fill the last three columns of a wave from a buffer's segments; whether they are of several
    phases. ``at`` (seats,) is room to work in."""
    segment, first, ordered, sm_part = (
        buffer.segment,
        wave.seat_segment,
        wave.segment,
        wave.sm_part,
    )
    parts, count = buffer.used[0], buffer.used[1]
    seats, sms = first.shape[0] - 1, sm_part.shape[0] - 1
    per_sm = seats // sms
    first[:] = 0
    sm_part[:] = 0
    for s in range(count):
        first[segment[s, 0] + 1] += 1
    for seat in range(seats):
        first[seat + 1] += first[seat]
        at[seat] = first[seat]
    phased = False
    for s in range(count):
        seat = segment[s, 0]
        end = segment[s + 1, 2] if s + 1 < count else parts
        k = at[seat]
        at[seat] = k + 1
        ordered[k, 0] = segment[s, 1]
        ordered[k, 1] = segment[s, 2]
        ordered[k, 2] = end
        sm_part[seat // per_sm + 1] += end - segment[s, 2]
        phased = phased or segment[s, 1] != segment[0, 1]
    for sm in range(sms):
        sm_part[sm + 1] += sm_part[sm]
    return phased


@apart
def run_sms(
    first_sm: int,
    last_sm: int,
    wave: Wave,
    pairs: Pairs,
    caches: Caches,
    per_line: int,
    warps: int,
    phased: bool,
    missed: Missed,
    beyond: NDArray[np.int64],
    room: Room,
    constant: ConstantCaches,
) -> None:
    """Run the L1s of some SMs through a wave.

    ``caches`` are the first caches (instance: the SM); pairs with a number beyond them go to L2 at
    once, as stores and atomics do. ``warps`` make a block; ``phased``: segments are of several
    phases. A line has ``per_line`` sectors. ``beyond`` (pairs,) counts sectors that loads fetch
    together with those they lack. Loads of constant memory have caches of their own.
    """
    per_sm = (wave.seat_segment.shape[0] - 1) // (wave.sm_part.shape[0] - 1)
    alive, segment, at, end, own_phase = room.alive, room.segment, room.at, room.end, room.own_phase
    order, turns, phase = room.order, room.turn, room.phase
    parts, segments, seat_segment = wave.part, wave.segment, wave.seat_segment
    first_caches = np.int64(caches.geometry.shape[0])
    plain_first = first_caches > 0 and is_plain(shape_of(caches.geometry, 0))
    # Which cache a pair asks first: stores and atomics go past those of the SM.
    for p in range(pairs.used[0]):
        row = pairs.rows[p]
        room.first_of[p] = first_caches
        room.how[p] = READ if row.kind == LOAD else WRITE_THROUGH
        if row.kind == LOAD or (row.kind == STORE and room.allocates[row.cache]):
            room.first_of[p] = row.cache
        plain = row.kind == LOAD and row.cache == 0 and plain_first
        room.past[p] = PAST if room.first_of[p] == first_caches else PLAIN if plain else OTHER
    shares = missed.length.shape[0]

    for sm in range(first_sm, last_sm):
        if first_caches and sm + 1 < last_sm:
            fetch_ahead(caches, shape_of(caches.geometry, 0), sm + 1)
        count = 0
        first_seat = sm * per_sm
        for w in range(per_sm):
            s = seat_segment[first_seat + w]
            if s < seat_segment[first_seat + w + 1]:
                alive[count] = w
                count += 1
                segment[w] = s
                own_phase[w], at[w], end[w] = segments[s, 0], segments[s, 1], segments[s, 2]
        for share in range(shares):
            room.out[share] = wave.sm_part[sm]
        turn = 0
        moved = True
        n = np.int64(0)
        while count:
            if phased and moved:
                _block_phases(own_phase, alive, count, warps, phase)
            moved = False
            left = 0
            for k in range(count):
                warp = np.uintp(alive[np.uintp(k)])
                if phased and own_phase[warp] > phase[np.uintp(warp // np.uintp(warps))]:
                    alive[np.uintp(left)] = warp
                    left += 1
                    continue
                i = at[warp]
                prefetch(parts, i + AHEAD)
                last = np.int64(0)
                while not last:
                    if n >= AT_ONCE:
                        _first_caches(sm, n, caches, per_line, room, missed, beyond, constant)
                        n = np.int64(0)
                    last = hand_on4(parts, i, order, turns, n, turn)
                    copied = lowest(last | 8) + 1
                    i += copied
                    n += copied
                if i == end[warp]:
                    s = segment[warp] + 1
                    if s == seat_segment[first_seat + np.int64(warp) + 1]:
                        moved = True
                        continue
                    segment[warp] = s
                    moved = moved or segments[s, 0] != own_phase[warp]
                    own_phase[warp], i, end[warp] = segments[s, 0], segments[s, 1], segments[s, 2]
                at[warp] = i
                alive[np.uintp(left)] = warp
                left += 1
            count = left
            turn += 1
        _first_caches(sm, n, caches, per_line, room, missed, beyond, constant)
        missed.rounds[sm] = turn
        for share in range(shares):
            missed.length[share, sm] = room.out[share] - wave.sm_part[sm]


@apart
def _first_caches(
    sm: Int,
    n: Int,
    caches: Caches,
    per_line: int,
    room: Room,
    missed: Missed,
    beyond: NDArray[np.int64],
    constant: ConstantCaches,
) -> None:
    """Run ``n`` parts of an SM, in their order, through its caches."""
    first_caches = np.int64(caches.geometry.shape[0])
    shares = np.int64(missed.length.shape[0])
    size = np.int64(missed.part.shape[0] // shares)
    g = NO_SHAPE
    if first_caches:
        g = shape_of(caches.geometry, 0)
        if g.policy == LRU:
            first_ways(g, sm, room.order, n, LINE_BIT, room.first_way)
    # Where the next part of each share goes; a single share is all even.
    even, odd = room.out[0], size + room.out[shares - 1]
    k = np.int64(0)
    while k < n:
        if g.policy == LRU:
            k, even, odd = _recent(k, n, caches, g, sm, room, missed, even, odd)
        else:
            k, even, odd = _drawn(k, n, caches, g, sm, room, missed, even, odd)
        if k == n:
            break
        part = room.order[np.uintp(k)]
        p = np.uintp((part >> PAIR_BIT) & MOST_PAIRS)
        sectors = (part >> SECTOR_BIT) & SECTORS
        if room.first_of[p] == CONSTANT:
            turn = room.turn[np.uintp(k)]
            even, odd = read_constant(constant, sm, part, turn, per_line, beyond, missed, even, odd)
            k += 1
            continue
        how = room.how[p]
        missing, fetched, _ = access(
            caches, room.first_of[p], sm, part >> LINE_BIT, sectors, per_line, how
        )
        if how == READ:
            sectors = fetched
            beyond[p] += bits(fetched & ~missing)
        even, odd = pass_on(part, sectors, room.turn[np.uintp(k)], missed, even, odd)
        k += 1
    room.out[0] = even
    if shares > 1:
        room.out[1] = odd - size


def _plain_parts(read: Any) -> Any:
    """Runs parts up to the next OTHER one through a first cache that is plain."""

    @apart
    def run(
        k: Int,
        n: Int,
        caches: Caches,
        g: Shape,
        sm: Int,
        room: Room,
        missed: Missed,
        even: Int,
        odd: Int,
    ) -> tuple[Int, Int, Int]:
        order, turns, past = room.order, room.turn, room.past
        last, last_held = np.int64(-1), np.int64(0)
        while k < n:
            part = order[np.uintp(k)]
            how = past[np.uintp((part >> PAIR_BIT) & MOST_PAIRS)]
            sectors = (part >> SECTOR_BIT) & SECTORS
            if how == PLAIN:
                line = part >> LINE_BIT
                if line == last and not sectors & ~last_held:
                    k += 1
                    continue
                last_held = sectors if line != last else last_held | sectors
                last = line
                first_way = room.first_way[np.uintp(k)]
                sectors = read(caches, g, sm, line, sectors, first_way, room)
            elif how == OTHER:
                break
            even, odd = pass_on(part, sectors, turns[np.uintp(k)], missed, even, odd)
            k += 1
        return k, even, odd

    return run


@inlined
def _read_recent(
    caches: Caches, g: Shape, _sm: Int, line: Int, sectors: Int, first_way: Int, _room: Room
) -> Int:
    missing, _, _ = access_recent(caches, g, first_way, line, sectors, 0)
    return missing


@inlined
def _read_drawn(
    caches: Caches, g: Shape, sm: Int, line: Int, sectors: Int, _first_way: Int, room: Room
) -> Int:
    return read_drawn(caches, g, sm, line, sectors, room.hint)


_recent, _drawn = _plain_parts(_read_recent), _plain_parts(_read_drawn)


@apart
def _block_phases(
    own: NDArray[np.int64],
    alive: NDArray[np.int64],
    count: int,
    warps: int,
    phase: NDArray[np.int64],
) -> None:
    """The phase that each block is in: the earliest of its warps'."""
    for k in range(count):
        phase[alive[k] // warps] = np.int64(1) << 60
    for k in range(count):
        block = alive[k] // warps
        phase[block] = min(phase[block], own[alive[k]])
