"""Simulates the SMs' caches for one wave: the blocks that are resident on all SMs at one time.

Scheduling is loose round robin. In each round every resident warp of an SM issues one access, or a
burst of accesses between which it does not wait for data, in the order of blocks and warps; a warp
that waits at a barrier for other warps of its block issues nothing. All SMs advance together, and
in each round the misses of all SMs reach L2. Latencies do not delay warps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.cache import SPARE
from placewise.memory.simulate.caches.fast_cache import fetch_ahead
from placewise.memory.simulate.caches.geometry import Int, shape_of
from placewise.memory.simulate.caches.sm_caches import (
    BATCH_REQUESTS,
    BATCH_ROUNDS,
    SmCaches,
    Workspace,
    route_streams,
    run_requests,
)
from placewise.memory.simulate.dram.arrivals import Issued, note_bursts
from placewise.memory.simulate.requests.line_requests import Buffer
from placewise.memory.simulate.requests.streams import Streams
from placewise.memory.simulate.simd.jit_helpers import (
    copy4,
    entry,
    inlined,
    lowest,
    noinline,
    prefetch,
)

AHEAD = 32
"""A warp's line requests are prefetched into the processor's caches this many requests ahead,
together with the next cache line, because a burst may be longer than one line."""
NEVER = 1 << 60
"""Phase of a warp that has ended."""


class Wave(NamedTuple):
    """Line requests of one wave, by warp. A segment is the line requests of one warp between
    barriers."""

    request: NDArray[np.int64]
    slot_segment: NDArray[np.int64]
    """(SM slots + 1,) first segment of the warp in each slot."""
    segment: NDArray[np.int64]
    """(segments, 3) phase, first line request, end of the line requests; sorted by slot and
    time."""
    sm_requests: NDArray[np.int64]
    """(SMs + 1,) number of line requests of all SMs before each SM, which is where its misses
    start."""
    issued: Issued
    """The bursts of one SM, if they are to be recorded."""


@entry
def sort_segments(buffer: Buffer, wave: Wave, at: NDArray[np.int64]) -> None:
    """Fill all of a wave but ``request`` from a buffer's segments; ``at`` (slots,) is temporary
    room."""
    segment, first, ordered = buffer.segment, wave.slot_segment, wave.segment
    sm_requests = wave.sm_requests
    requests, count = buffer.used[0], buffer.used[1]
    slots, sms = first.shape[0] - 1, sm_requests.shape[0] - 1
    per_sm = slots // sms
    first[:] = 0
    for s in range(count):
        first[np.uintp(segment[np.uintp(s), 0] + 1)] += 1
    for slot in range(slots):
        first[slot + 1] += first[slot]
        at[slot] = first[slot]
    for s in range(count):
        of = np.uintp(segment[np.uintp(s), 0])
        end = segment[np.uintp(s + 1), 2] if s + 1 < count else requests
        to = np.uintp(at[of])
        at[of] += 1
        ordered[to, 0] = segment[np.uintp(s), 1]
        ordered[to, 1] = segment[np.uintp(s), 2]
        ordered[to, 2] = end
    # The slots of an SM are next to each other, and so are its segments.
    sm_requests[0] = 0
    for sm in range(sms):
        total = sm_requests[sm]
        for k in range(first[sm * per_sm], first[(sm + 1) * per_sm]):
            total += ordered[np.uintp(k), 2] - ordered[np.uintp(k), 1]
        sm_requests[sm + 1] = total


@entry
def run_sms(
    first_sm: int, last_sm: int, wave: Wave, streams: Streams, warps: int, run: SmCaches
) -> None:
    """Simulate a wave on SMs ``first_sm`` to ``last_sm - 1``; each block has ``warps`` warps."""
    caches, work, missed = run.caches, run.work, run.missed
    route_streams(streams, caches, work)
    shards = missed.length.shape[0]
    size = np.int64(missed.request.shape[0] // shards)
    for shard in range(shards):
        work.out[shard] = shard * size + wave.sm_requests[first_sm]
    first_round = np.int64(wave.sm_requests[first_sm])
    for sm in range(first_sm, last_sm):
        if caches.geometry.shape[0] and sm + 1 < last_sm:
            fetch_ahead(caches, shape_of(caches.geometry, 0), sm + 1)
        for shard in range(shards):
            missed.first[shard, sm] = work.out[shard]
        missed.first_round[sm] = first_round
        rounds = _run_sm(sm, wave, warps, run)
        missed.rounds[sm] = rounds
        for shard in range(shards):
            missed.length[shard, sm] = work.out[shard] - missed.first[shard, sm]
        first_round += rounds


@inlined
def _run_sm(sm: Int, wave: Wave, warps: Int, run: SmCaches) -> Int:
    """Simulate a wave on one SM. Returns the number of rounds."""
    work, segments = run.work, wave.segment
    at, end, round_end = work.at, work.end, work.round_end
    per_sm = (wave.slot_segment.shape[0] - 1) // (wave.sm_requests.shape[0] - 1)
    slots = wave.slot_segment[sm * per_sm : (sm + 1) * per_sm + 1]
    for warp in range(per_sm):
        work.segment[warp] = slots[warp] - 1
        _begin_segment(segments, slots, work, warp)
    turn = 0
    ready = _find_ready(work, per_sm, warps)
    n, rounds = np.int64(0), np.int64(0)
    while ready:
        moved = False
        k = np.int64(0)
        while k < ready:
            k, n = _issue(wave.request, work.ready, k, ready, at, end, work.order, n)
            if k == ready:
                break
            warp = work.ready[k]
            if at[warp] == end[warp]:
                _begin_segment(segments, slots, work, warp)
                moved = True
                k += 1
            else:
                # The batch is full; the round continues in the next batch.
                round_end[np.uintp(rounds)] = n
                if sm == wave.issued.sm[0]:
                    note_bursts(work.order, round_end, turn - rounds, rounds + 1, wave.issued)
                run_requests(sm, turn - rounds, rounds + 1, run)
                n = rounds = np.int64(0)
        if moved:
            ready = _find_ready(work, per_sm, warps)
        round_end[np.uintp(rounds)] = n
        rounds += 1
        turn += 1
        if 2 * n >= BATCH_REQUESTS or rounds == BATCH_ROUNDS or not ready:
            if sm == wave.issued.sm[0]:
                note_bursts(work.order, round_end, turn - rounds, rounds, wave.issued)
            run_requests(sm, turn - rounds, rounds, run)
            n = rounds = np.int64(0)
    return turn


@noinline
def _issue(
    requests: NDArray[np.int64],
    ready: NDArray[np.int64],
    k: Int,
    count: Int,
    at: NDArray[np.int64],
    end: NDArray[np.int64],
    order: NDArray[np.int64],
    n: Int,
) -> tuple[Int, Int]:
    """Append a burst of each of the warps ``ready[k:count]`` to the ``n`` line requests in
    ``order``, up to the first warp that ends its segment or for which the batch has no room.
    Returns that warp's index in ``ready``, and how many line requests there are then."""
    while k < count:
        warp = np.uintp(ready[np.uintp(k)])
        i = at[warp]
        prefetch(requests, i + AHEAD)
        prefetch(requests, i + AHEAD + SPARE // 2)
        last = np.int64(0)
        while not last:
            if n >= BATCH_REQUESTS:
                at[warp] = i
                return k, n
            last = copy4(requests, i, order, n)
            i += 4
            n += 4
        # This comes last, so that the addresses of the next reads do not depend on it.
        over = 3 - lowest(last)
        i -= over
        n -= over
        at[warp] = i
        if i == end[warp]:
            return k, n
        k += 1
    return k, n


@noinline
def _begin_segment(
    segments: NDArray[np.int64], slots: NDArray[np.int64], work: Workspace, warp: Int
) -> None:
    """Start the next segment of a warp; ``slots`` has the first segment of each of the SM's
    slots."""
    s = work.segment[warp] + 1
    if s == slots[warp + 1]:
        work.own_phase[warp] = NEVER
        return
    work.segment[warp] = s
    work.own_phase[warp] = segments[s, 0]
    work.at[warp], work.end[warp] = segments[s, 1], segments[s, 2]


@noinline
def _find_ready(work: Workspace, count: Int, warps: Int) -> Int:
    """Fill ``ready`` with those of an SM's first ``count`` warps that have requests left and do not
    wait at a barrier. Returns their number. Each block has ``warps`` warps."""
    own, ready = work.own_phase, np.int64(0)
    for first in range(0, count, warps):
        phase = np.int64(NEVER)
        for warp in range(first, first + warps):
            phase = min(phase, own[warp])
        for warp in range(first, first + warps):
            work.ready[ready] = warp
            ready += np.int64(own[warp] == phase and phase != NEVER)
    return ready
