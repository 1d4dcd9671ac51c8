"""The resident blocks of all SMs, run against L1s and L2.

Policy: loose round robin. In each round every resident warp of an SM issues one request, or a burst
of requests between which it does not wait for data, in the order of its blocks and warps, unless it
waits at a barrier for other warps of its block; all SMs advance in step, and what they miss meets
in L2 round by round. Latencies do not hold warps back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.cache import (
    READ,
    WRITE_THROUGH,
    Caches,
    Int,
    Shape,
    access,
    access_line,
    shape_of,
)
from placewise.memory.simulate.lanes import apart, bits, prefetch
from placewise.memory.simulate.parts import (
    LAST,
    LINE_BIT,
    MOST_PAIRS,
    PAIR_BIT,
    SECTOR_BIT,
    SECTORS,
    Buffer,
)
from placewise.memory.simulate.requests import LOAD, STORE, Pairs

AT_ONCE = 2048
"""Parts that are put in order before they go through a cache: room for them is in the processor's
own first cache, and each of the two loops has few variables."""
AHEAD = 16
"""Parts of its own that a warp has fetched ahead, when it starts on another eight (a cache line):
one line is behind it, and the others' turns come before."""
_KEPT = ~np.int64(SECTORS << SECTOR_BIT)
"""Of a part, all but its sectors."""


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


class Missed(NamedTuple):
    """What L1s pass on, by share of L2 and SM, in the order of rounds."""

    part: NDArray[np.int64]
    turn: NDArray[np.int32]
    """(shares * parts,) each."""
    length: NDArray[np.int64]
    """(shares, SMs)"""
    rounds: NDArray[np.int64]
    """(SMs,) that each took."""


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
    order: NDArray[np.int64]
    turn: NDArray[np.int64]
    """(AT_ONCE,) parts in the order in which they reach a cache, and the round of each."""


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
        order=room(AT_ONCE),
        turn=room(AT_ONCE),
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
    start: Int,
    missed: Missed,
    hits: NDArray[np.int64],
    room: Room,
) -> None:
    """Run the L1s of some SMs through a wave.

    ``caches`` are the first caches (instance: the SM); pairs with a number beyond them go to L2 at
    once, as stores and atomics do. ``warps`` make a block; ``phased``: segments are of several
    phases. A line has ``per_line`` sectors; ``start`` is the number of parts in all waves before.
    ``hits`` (pairs,) counts sectors that loads found.
    """
    per_sm = (wave.seat_segment.shape[0] - 1) // (wave.sm_part.shape[0] - 1)
    alive, segment, at, end, own_phase = room.alive, room.segment, room.at, room.end, room.own_phase
    order, turns, phase = room.order, room.turn, room.phase
    parts, segments, seat_segment = wave.part, wave.segment, wave.seat_segment
    first_caches = np.int64(caches.geometry.shape[0])
    # Which cache a pair asks first: stores and atomics go past those of the SM.
    for p in range(pairs.used[0]):
        row = pairs.rows[p]
        room.first_of[p] = first_caches
        room.how[p] = READ if row.kind == LOAD else WRITE_THROUGH
        if row.kind == LOAD or (row.kind == STORE and room.allocates[row.cache]):
            room.first_of[p] = row.cache
    shares = missed.length.shape[0]

    for sm in range(first_sm, last_sm):
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
        tick = start
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
                more = True
                while more:
                    part = parts[np.uintp(i)]
                    i += 1
                    if not i & 7:
                        prefetch(parts, i + AHEAD)
                    more = (part & LAST) == 0
                    order[np.uintp(n)] = part
                    turns[np.uintp(n)] = turn
                    n += 1
                    if n == AT_ONCE:
                        _first_caches(sm, n, tick, caches, per_line, room, missed, hits)
                        tick += n
                        n = np.int64(0)
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
        _first_caches(sm, n, tick, caches, per_line, room, missed, hits)
        missed.rounds[sm] = turn
        for share in range(shares):
            missed.length[share, sm] = room.out[share] - wave.sm_part[sm]


@apart
def _first_caches(
    sm: Int,
    n: Int,
    tick: Int,
    caches: Caches,
    per_line: int,
    room: Room,
    missed: Missed,
    hits: NDArray[np.int64],
) -> None:
    """Run ``n`` parts of an SM, in their order, through its caches; ``tick`` is the time before."""
    order, turns, first_of, out = room.order, room.turn, room.first_of, room.out
    first_caches = np.int64(caches.geometry.shape[0])
    share_mask = np.int64(missed.length.shape[0] - 1)
    size = np.int64(missed.part.shape[0] // missed.length.shape[0])
    missed_part, missed_turn = missed.part, missed.turn
    g = shape_of(caches.geometry, 0) if first_caches else NO_SHAPE
    simple = g.split == 1
    last_key, last_held = np.int64(-1), np.int64(0)
    for k in range(n):
        part = order[k]
        p = np.uintp((part >> PAIR_BIT) & MOST_PAIRS)
        sectors = (part >> SECTOR_BIT) & SECTORS
        line = part >> LINE_BIT
        cache = first_of[p]
        if cache < first_caches:
            key = (line << 8) | cache
            how = room.how[p]
            if key == last_key and how == READ and not sectors & ~last_held:
                hits[p] += bits(sectors)
                continue
            if cache == 0 and simple:
                missing, fetched, _, _ = access_line(caches, g, sm, line, sectors, how, tick + k)
            else:
                missing, fetched, _ = access(
                    caches, cache, sm, line, sectors, per_line, how, tick + k
                )
            last_held = sectors if key != last_key else last_held | sectors
            last_key = key
            if how == READ:
                hits[p] += bits(sectors & ~missing)
                if not fetched:
                    continue
                part = (part & _KEPT) | (fetched << SECTOR_BIT)
        share = line & share_mask
        o = out[np.uintp(share)]
        out[np.uintp(share)] = o + 1
        to = np.uintp(share * size + o)
        missed_part[to] = part
        missed_turn[to] = turns[k]


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
