"""What all SMs miss, in the cache of the die: round by round, within a round by SM."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.cache import (
    BYPASS,
    FIRST_OUT,
    LRU,
    READ,
    SPARE,
    WRITE_BACK,
    WRITE_THROUGH,
    Caches,
    Int,
    Shape,
    access_line,
    dirty_bit,
    is_held,
    shape_of,
)
from placewise.memory.simulate.caches.fast_cache import first_ways, is_plain, last_way, use_recent
from placewise.memory.simulate.caches.miss_queue import Missed
from placewise.memory.simulate.caches.sm_caches import AT_ONCE, SIDES, Room
from placewise.memory.simulate.dram.banks import Log
from placewise.memory.simulate.requests.collect import (
    ATOMIC,
    LEAVES_FIRST,
    LEAVES_OUT_LAST,
    LOAD,
    Pairs,
)
from placewise.memory.simulate.requests.line_requests import (
    ASIDE,
    LINE_BIT,
    MOST_PAIRS,
    PAIR_BIT,
    SECTOR_BIT,
    SECTORS,
)
from placewise.memory.simulate.simd.jit_helpers import apart, bits, entry, prefetch

SETS_AHEAD = 32
"""Parts by which sets of L2 are fetched ahead."""
ASKED_BIT = 32
"""Of a word of :attr:`Room.counted`: sectors asked for, below it those not found."""
STRETCHES_AHEAD = 2
"""SMs by which what an SM missed in a round is fetched ahead."""


@entry
def run_l2(
    pairs: Pairs,
    missed: Missed,
    cache: Caches,
    per_line: int,
    share: int,
    asked: NDArray[np.int64],
    lacking: NDArray[np.int64],
    beyond: NDArray[np.int64],
    written: NDArray[np.int64],
    room: Room,
    write: int,
    first_round: int,
    log: Log,
) -> None:
    """Run what all SMs missed of one share of the lines through that share of L2, in the order of
    rounds, within a round by SM.

    ``asked``, ``lacking`` and ``beyond`` (pairs,) count sectors, those not found and those fetched
    with them, all of no meaning for stores; ``written`` (1,) sectors written to DRAM. ``write`` is
    what a store does; what leaves the cache is added to ``log`` if that has room, rounds counted
    from ``first_round`` on.
    """
    g = shape_of(cache.geometry, 0)
    usual = is_plain(g) and g.policy == LRU and write == WRITE_BACK and not log.part.shape[0]
    for p in range(pairs.used[0]):
        room.stored[np.uintp(p)] = pairs.rows[p].kind != LOAD
        if pairs.rows[p].flags & LEAVES_OUT_LAST:
            usual = False
    sms = missed.length.shape[1]
    at, end, busy = room.at, room.end, room.ready
    order, parts, ends = room.order, missed.part, missed.end
    first, ended = missed.first[share], share * (parts.shape[0] // missed.length.shape[0])
    count = 0
    for sm in range(sms):
        at[sm] = first[sm]
        end[sm] = at[sm] + missed.length[share, sm]
        if at[sm] < end[sm]:
            busy[count] = sm
            count += 1
    turn = 0
    n = np.int64(0)
    while count:
        left = 0
        for k in range(count):
            ahead = np.uintp(busy[min(k + STRETCHES_AHEAD, count - 1)])
            prefetch(ends, ended + missed.first_round[ahead] + turn)
            source = np.uintp(busy[k])
            i = at[source]
            stop = ended + missed.first_round[source] + turn
            stop = first[source] + np.int64(ends[np.uintp(stop)])
            # What another SM missed in the round is about as long.
            for number in range(0, stop - i + SPARE, SPARE // 2):
                prefetch(parts, at[ahead] + number)
            while i < stop:
                some = min(stop - i, AT_ONCE - n)
                for number in range(some):
                    order[np.uintp(n + number)] = parts[np.uintp(i + number)]
                if log.part.shape[0]:
                    for number in range(n, n + some):
                        room.turn[np.uintp(number)] = first_round + turn
                i += some
                n += some
                if n == AT_ONCE:
                    _last_cache(
                        n, share, pairs, cache, per_line, room, missed, asked, lacking, beyond,
                        written, write, log, usual,
                    )  # fmt: skip
                    n = np.int64(0)
            at[source] = i
            if i < end[source]:
                busy[left] = source
                left += 1
        count = left
        turn += 1
    _last_cache(
        n, share, pairs, cache, per_line, room, missed, asked, lacking, beyond, written, write, log,
        usual,
    )  # fmt: skip
    counted = room.counted
    for p in range(pairs.used[0]):
        for side in range(SIDES):
            word = np.uintp(SIDES * p + side)
            asked[np.uintp(p)] += counted[word] >> ASKED_BIT
            lacking[np.uintp(p)] += counted[word] & ((1 << ASKED_BIT) - 1)
            counted[word] = 0


@apart
def _last_cache(
    n: Int,
    share: Int,
    pairs: Pairs,
    cache: Caches,
    per_line: int,
    room: Room,
    missed: Missed,
    asked: NDArray[np.int64],
    lacking: NDArray[np.int64],
    beyond: NDArray[np.int64],
    written: NDArray[np.int64],
    write: int,
    log: Log,
    usual: bool,
) -> None:
    """Run ``n`` parts in their order through a share of L2. ``usual``: its policy is LRU, it is
    plain, keeps what is written, is asked by all pairs, and what leaves it is not noted."""
    shift = LINE_BIT + missed.length.shape[0] - 1
    g = shape_of(cache.geometry, 0)
    if not usual:
        _last_in_detail(
            n, share, pairs, cache, per_line, room, missed, asked, lacking, beyond, written, write,
            log,
        )  # fmt: skip
        return
    first_way, line, added, found = room.first_way, room.line, room.added, room.found
    first_ways(g, 0, room.order, n, shift, first_way)
    above, end = dirty_bit(cache), last_way(g)
    writes = _unpack(n, shift, above, room)
    for k in range(n):
        at = np.uintp(k)
        ahead = first_way[np.uintp(k + SETS_AHEAD)]
        prefetch(cache.tags, ahead)
        prefetch(cache.held, ahead)
        before, hit = use_recent(cache.tags, cache.held, first_way[at], line[at], added[at], end)
        found[np.uintp(2 * k)], found[np.uintp(2 * k + 1)] = before, hit
    _count(n, above, writes, room, written, cache.dirty)


@apart
def _unpack(n: Int, shift: Int, above: Int, room: Room) -> bool:
    """Unpack ``n`` parts; whether some are stores."""
    order, line, added = room.order, room.line, room.added
    some = np.int64(0)
    for k in range(n):
        part = order[np.uintp(k)]
        some |= part
        line[np.uintp(k)] = part >> shift
        added[np.uintp(k)] = (part >> SECTOR_BIT) & SECTORS
    if not some & ASIDE:
        return False
    writes = False
    for k in range(n):
        if room.stored[np.uintp((order[np.uintp(k)] >> PAIR_BIT) & MOST_PAIRS)]:
            writes = True
            added[np.uintp(k)] |= added[np.uintp(k)] << above
    return writes


@apart
def _count(
    n: Int,
    above: Int,
    writes: bool,
    room: Room,
    written: NDArray[np.int64],
    dirty_sectors: NDArray[np.int64],
) -> None:
    """Count what ``n`` parts found in a share of L2 and drove out of it. ``writes``: whether some
    are stores."""
    order, added, found = room.order, room.added, room.found
    word, counted = room.turn, room.counted
    out = np.int64(0)
    for k in range(n):
        sectors = np.int64(added[np.uintp(k)]) & ((np.int64(1) << above) - 1)
        before = np.int64(found[np.uintp(2 * k)])
        hit = np.int64(found[np.uintp(2 * k + 1)] != 0)
        missing = sectors & ~(before & -hit)
        word[np.uintp(k)] = (bits(sectors) << ASKED_BIT) + bits(missing)
        out += bits((before & (hit - 1)) >> above)
    for k in range(n, n + SIDES):
        order[np.uintp(k)] = word[np.uintp(k)] = 0
    # Side by side, as each addition to one word waits for that before it.
    for k in range(0, n, SIDES):
        for side in range(SIDES):
            p = np.uintp((order[np.uintp(k + side)] >> PAIR_BIT) & MOST_PAIRS)
            counted[p * np.uintp(SIDES) + np.uintp(side)] += word[np.uintp(k + side)]
    fresh = np.int64(0)
    if writes:
        for k in range(n):
            before = np.int64(found[np.uintp(2 * k)])
            hit = np.int64(found[np.uintp(2 * k + 1)] != 0)
            fresh += bits((np.int64(added[np.uintp(k)]) & ~(before & -hit)) >> above)
    written[0] += out
    dirty_sectors[0] += fresh - out


@apart
def _last_in_detail(
    n: Int,
    share: Int,
    pairs: Pairs,
    cache: Caches,
    per_line: int,
    room: Room,
    missed: Missed,
    asked: NDArray[np.int64],
    lacking: NDArray[np.int64],
    beyond: NDArray[np.int64],
    written: NDArray[np.int64],
    write: int,
    log: Log,
) -> None:
    """The same for a cache of any kind, and with what leaves it noted."""
    order = room.order
    share_shift = missed.length.shape[0] - 1
    g = shape_of(cache.geometry, 0)
    own = per_line // g.split
    whole = (np.int64(1) << own) - 1
    out = np.int64(0)
    for k in range(n):
        part = order[k]
        p = np.uintp((part >> PAIR_BIT) & MOST_PAIRS)
        sectors = (part >> SECTOR_BIT) & SECTORS
        line = (part >> (LINE_BIT + share_shift)) * g.split
        if pairs.rows[p].flags & LEAVES_OUT_LAST:
            count = bits(sectors)
            asked[p] += count
            lacking[p] += count
            if pairs.rows[p].kind != LOAD:
                out += count
            if log.part.shape[0]:
                _note(log, g, line, sectors, share, share_shift, room.turn[k])
            continue
        how = np.int64(READ if pairs.rows[p].kind == LOAD else write)
        if pairs.rows[p].flags & LEAVES_FIRST:
            how |= FIRST_OUT
        shift = np.int64(0)
        while sectors:
            wanted = sectors & whole
            if wanted:
                present = True
                if how & BYPASS:
                    present = is_held(cache, g, line)
                missing, taken, lost, victim = access_line(cache, g, 0, line, wanted, how)
                if pairs.rows[p].kind == ATOMIC:
                    # Unlike a store's, what is there before is read.
                    taken = missing
                passed = np.int64(0)
                if how & WRITE_THROUGH or (how & BYPASS and not present):
                    passed = wanted
                out += bits(lost) + bits(passed)
                asked[p] += bits(wanted)
                lacking[p] += bits(missing)
                beyond[p] += bits(taken) - bits(missing)
                if log.part.shape[0]:
                    number = room.turn[k]
                    if taken | passed:
                        _note(log, g, line, (taken | passed) << shift, share, share_shift, number)
                    if lost:
                        above = (victim % g.split) * own
                        _note(log, g, victim, lost << above, share, share_shift, number)
            sectors >>= own
            shift += own
            line += 1
    written[0] += out


@apart
def _note(
    log: Log, g: Shape, line: Int, sectors: Int, share: Int, share_shift: Int, number: Int
) -> None:
    """Add sectors of the request's line that a line of the cache's own belongs to."""
    at = log.length[0]
    if at < log.part.shape[0]:
        whole = (line // g.split << share_shift) | share
        log.part[at] = (whole << LINE_BIT) | (sectors << SECTOR_BIT)
        log.round[at] = number
        log.length[0] = at + 1
