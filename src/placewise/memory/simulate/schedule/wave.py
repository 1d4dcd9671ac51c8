"""The resident blocks of all SMs, run against L1s and L2.

Policy: loose round robin. In each round every resident warp of an SM issues one request, or a burst
of requests between which it does not wait for data, in the order of its blocks and warps, unless it
waits at a barrier for other warps of its block; all SMs advance in step, and what they miss meets
in L2 round by round. Latencies do not hold warps back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.cache import SPARE, Caches, Int, shape_of
from placewise.memory.simulate.caches.constant_caches import ConstantCaches
from placewise.memory.simulate.caches.fast_cache import fetch_ahead
from placewise.memory.simulate.caches.miss_queue import Missed
from placewise.memory.simulate.caches.sm_caches import AT_ONCE, ROUNDS, Room, note_pairs, run_parts
from placewise.memory.simulate.requests.collect import Pairs
from placewise.memory.simulate.requests.line_requests import Buffer
from placewise.memory.simulate.simd.jit_helpers import apart, entry, hand_on4, lowest, prefetch

AHEAD = 32
"""Parts of its own that a warp has fetched ahead; with those of the next line of the processor's
cache, as a burst may be longer than one."""
NEVER = 1 << 60
"""Phase of a warp that has come to its end."""


class Wave(NamedTuple):
    """Requests of one wave, by warp."""

    part: NDArray[np.int64]
    seat_segment: NDArray[np.int64]
    """(seats + 1,) first segment of each warp's seat."""
    segment: NDArray[np.int64]
    """(segments, 3) phase, first part, end of its parts; in the order of seats and of time."""
    sm_part: NDArray[np.int64]
    """(SMs + 1,) room for what each SM misses: parts of the SMs before it."""


@entry
def sort_segments(buffer: Buffer, wave: Wave, at: NDArray[np.int64]) -> None:
    """Fill the last three columns of a wave from a buffer's segments; ``at`` (seats,) is room to
    work in."""
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
    for s in range(count):
        first[np.uintp(segment[np.uintp(s), 0] + 1)] += 1
    for seat in range(seats):
        first[seat + 1] += first[seat]
        at[seat] = first[seat]
    for s in range(count):
        of = np.uintp(segment[np.uintp(s), 0])
        end = segment[np.uintp(s + 1), 2] if s + 1 < count else parts
        to = np.uintp(at[of])
        at[of] += 1
        ordered[to, 0] = segment[np.uintp(s), 1]
        ordered[to, 1] = segment[np.uintp(s), 2]
        ordered[to, 2] = end
    # Seats of an SM follow one another: which SM a segment is of need not be worked out.
    sm_part[0] = 0
    for sm in range(sms):
        total = sm_part[sm]
        for k in range(first[sm * per_sm], first[(sm + 1) * per_sm]):
            total += ordered[np.uintp(k), 2] - ordered[np.uintp(k), 1]
        sm_part[sm + 1] = total


@entry
def run_sms(
    first_sm: int,
    last_sm: int,
    wave: Wave,
    pairs: Pairs,
    caches: Caches,
    per_line: int,
    warps: int,
    missed: Missed,
    beyond: NDArray[np.int64],
    room: Room,
    constant: ConstantCaches,
) -> None:
    """Run the L1s of some SMs through a wave.

    ``caches`` are the first caches (instance: the SM); pairs with a number beyond them go to L2 at
    once, as stores and atomics do. ``warps`` make a block. A line has ``per_line`` sectors.
    ``beyond`` (pairs,) counts sectors that loads fetch together with those they lack. Loads of
    constant memory have caches of their own.
    """
    per_sm = (wave.seat_segment.shape[0] - 1) // (wave.sm_part.shape[0] - 1)
    at, end, order, round_end = room.at, room.end, room.order, room.round_end
    parts, segments, seat_segment = wave.part, wave.segment, wave.seat_segment
    note_pairs(pairs, caches, room)
    shares = missed.length.shape[0]
    size = np.int64(missed.part.shape[0] // shares)

    for share in range(shares):
        room.out[share] = share * size + wave.sm_part[first_sm]
    first_round = np.int64(wave.sm_part[first_sm])
    for sm in range(first_sm, last_sm):
        if caches.geometry.shape[0] and sm + 1 < last_sm:
            fetch_ahead(caches, shape_of(caches.geometry, 0), sm + 1)
        for share in range(shares):
            missed.first[share, sm] = room.out[share]
        missed.first_round[sm] = first_round
        seats = seat_segment[sm * per_sm : (sm + 1) * per_sm + 1]
        for warp in range(per_sm):
            room.segment[warp] = seats[warp] - 1
            _begin_segment(segments, seats, room, warp)
        turn = 0
        ready = _find_ready(room, per_sm, warps)
        n, rounds = np.int64(0), np.int64(0)
        while ready:
            moved = False
            k = np.int64(0)
            while k < ready:
                k, n = _issue(parts, room.ready, k, ready, at, end, order, n)
                if k == ready:
                    break
                warp = room.ready[k]
                if at[warp] == end[warp]:
                    _begin_segment(segments, seats, room, warp)
                    moved = True
                    k += 1
                else:
                    # The round goes on once there is room again.
                    round_end[np.uintp(rounds)] = n
                    run_parts(
                        sm, turn - rounds, rounds + 1, caches, per_line, room, missed, beyond,
                        constant,
                    )  # fmt: skip
                    n = rounds = np.int64(0)
            if moved:
                ready = _find_ready(room, per_sm, warps)
            round_end[np.uintp(rounds)] = n
            rounds += 1
            turn += 1
            if 2 * n >= AT_ONCE or rounds == ROUNDS or not ready:
                run_parts(
                    sm, turn - rounds, rounds, caches, per_line, room, missed, beyond, constant
                )
                n = rounds = np.int64(0)
        missed.rounds[sm] = turn
        for share in range(shares):
            missed.length[share, sm] = room.out[share] - missed.first[share, sm]
        first_round += turn


@apart
def _issue(
    parts: NDArray[np.int64],
    ready: NDArray[np.int64],
    k: Int,
    count: Int,
    at: NDArray[np.int64],
    end: NDArray[np.int64],
    order: NDArray[np.int64],
    n: Int,
) -> tuple[Int, Int]:
    """Put a burst of each of the warps ``ready[k:count]`` behind the ``n`` parts in ``order``, up
    to the first that comes to the end of its segment, or that finds no room. Which that is, and how
    many parts there are now."""
    while k < count:
        warp = np.uintp(ready[np.uintp(k)])
        i = at[warp]
        prefetch(parts, i + AHEAD)
        prefetch(parts, i + AHEAD + SPARE // 2)
        last = np.int64(0)
        while not last:
            if n >= AT_ONCE:
                at[warp] = i
                return k, n
            last = hand_on4(parts, i, order, n)
            i += 4
            n += 4
        # Only afterwards, so that where the next words are read does not wait for these.
        over = 3 - lowest(last)
        i -= over
        n -= over
        at[warp] = i
        if i == end[warp]:
            return k, n
        k += 1
    return k, n


@apart
def _begin_segment(
    segments: NDArray[np.int64], seats: NDArray[np.int64], room: Room, warp: Int
) -> None:
    """Let a warp of an SM, whose segments start at ``seats``, go on with its next segment."""
    s = room.segment[warp] + 1
    if s == seats[warp + 1]:
        room.own_phase[warp] = NEVER
        return
    room.segment[warp] = s
    room.own_phase[warp] = segments[s, 0]
    room.at[warp], room.end[warp] = segments[s, 1], segments[s, 2]


@apart
def _find_ready(room: Room, count: Int, warps: Int) -> Int:
    """Fill :attr:`Room.ready` with the first ``count`` warps of an SM that have something left and
    do not wait for others of their block, which are ``warps``; how many there are."""
    own, ready = room.own_phase, np.int64(0)
    for first in range(0, count, warps):
        phase = np.int64(NEVER)
        for warp in range(first, first + warps):
            phase = min(phase, own[warp])
        for warp in range(first, first + warps):
            room.ready[ready] = warp
            ready += np.int64(own[warp] == phase and phase != NEVER)
    return ready
