"""Runs the requests that miss the SMs' caches through L2: round by round, and within a round SM by
SM."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.cache import (
    BYPASS,
    EVICT_FIRST,
    FETCH_GROUP,
    GOLDEN,
    KEEP,
    READ,
    SPARE,
    WRITE_BACK,
    WRITE_THROUGH,
    Caches,
    access_line,
    dirty_bit,
    held_of,
    is_held,
)
from placewise.memory.simulate.caches.fast_cache import first_ways, is_fast, use_lru, way_out
from placewise.memory.simulate.caches.geometry import AGED, Int, Shape, shape_of
from placewise.memory.simulate.caches.last_level.dirty_lines import DirtyLines, note_stores
from placewise.memory.simulate.caches.last_level.policy_window import PolicyWindow, priority_in
from placewise.memory.simulate.caches.miss_queue import Missed
from placewise.memory.simulate.caches.sm_caches import BATCH_REQUESTS, COUNT_COPIES, Workspace
from placewise.memory.simulate.dram.banks import Log
from placewise.memory.simulate.requests.line_requests import (
    LINE_BIT,
    MOST_STREAMS,
    SECTOR_BIT,
    SECTORS,
    SLOW_PATH,
    STREAM_BIT,
)
from placewise.memory.simulate.requests.streams import (
    ATOMIC,
    EVICTED_FIRST,
    L2_GROUP,
    LOAD,
    MOST_PREFETCHED,
    PAST_L2,
    Streams,
)
from placewise.memory.simulate.simd.jit_helpers import bits, entry, inlined, noinline, prefetch

SETS_AHEAD = 32
"""How many line requests ahead L2's sets are prefetched into the processor's caches."""
ASKED_BIT = 32
"""A word of :attr:`Workspace.counted` has the number of sectors asked for from this bit on, and the
misses below it."""
SMS_AHEAD = 2
"""How many SMs ahead the queued requests of a round are prefetched into the processor's caches."""


class L2Counts(NamedTuple):
    """Counts of one L2 shard, by access stream unless stated otherwise."""

    asked: NDArray[np.int64]
    misses: NDArray[np.int64]
    overfetch: NDArray[np.int64]
    """(streams,) each: sectors asked for, sectors not found, and further sectors fetched together
    with these. They have no meaning for stores."""
    written: NDArray[np.int64]
    """(1,) sectors written to DRAM."""


class L2Shard(NamedTuple):
    """The part of L2's sets that one thread simulates: the lines whose number modulo the number of
    shards is ``number``."""

    number: int
    cache: Caches
    per_line: int
    """Number of sectors in a line of line requests."""
    write: int
    """Kind of access of a store: WRITE_BACK or WRITE_THROUGH, with or without BYPASS."""
    streams: Streams
    missed: Missed
    counts: L2Counts
    log: Log
    """Log of what the cache sends to DRAM; it has no entries where none is wanted."""
    work: Workspace
    window: PolicyWindow
    """The access policy window, whose lines have their own priority."""
    dirty: DirtyLines
    """The dirty lines, where L2 limits their number."""


@entry
def run_l2(l2: L2Shard, first_round: int) -> None:
    """Run all requests of a wave that missed the SMs' caches through a shard of L2. ``first_round``
    is the number of the wave's first round in :attr:`L2Shard.log`."""
    fast = _is_fast(l2)
    count = _begin_queues(l2)
    turn = 0
    n = np.int64(0)
    while count:
        n, count = _run_round(l2, fast, turn, first_round + turn, n, count)
        turn += 1
    _run_batch(l2, fast, n)
    counted, counts = l2.work.counted, l2.counts
    for p in range(l2.streams.used[0]):
        for copy in range(COUNT_COPIES):
            word = np.uintp(COUNT_COPIES * p + copy)
            counts.asked[np.uintp(p)] += counted[word] >> ASKED_BIT
            counts.misses[np.uintp(p)] += counted[word] & ((1 << ASKED_BIT) - 1)
            counted[word] = 0


@inlined
def _is_fast(l2: L2Shard) -> bool:
    """Whether all requests can take the fast path: replacement by LRU or by age, write-back, no
    stream that bypasses L2 or prefetches to it, and no log of what leaves it. Also notes which
    streams store."""
    g = shape_of(l2.cache.geometry, 0)
    fast = is_fast(g) and g.policy <= AGED and l2.write == WRITE_BACK
    fast = fast and not l2.log.request.shape[0]
    for p in range(l2.streams.used[0]):
        l2.work.stored[np.uintp(p)] = l2.streams.rows[p].kind != LOAD
        if l2.streams.rows[p].flags & (PAST_L2 | MOST_PREFETCHED << L2_GROUP):
            fast = False
    return bool(fast)


@inlined
def _begin_queues(l2: L2Shard) -> Int:
    """Go to the start of each SM's queue. Returns how many SMs have requests in it."""
    work, missed = l2.work, l2.missed
    count = 0
    for sm in range(missed.length.shape[1]):
        work.at[sm] = missed.first[l2.number, sm]
        work.end[sm] = work.at[sm] + missed.length[l2.number, sm]
        if work.at[sm] < work.end[sm]:
            work.ready[count] = sm
            count += 1
    return count


@inlined
def _run_round(
    l2: L2Shard, fast: bool, turn: Int, logged_round: Int, n: Int, count: Int
) -> tuple[Int, Int]:
    """Put a round's line requests of the first ``count`` SMs in ``ready`` behind the ``n`` of the
    batch, and run each full batch. Returns how many line requests the batch has then, and how many
    SMs have more."""
    work, missed = l2.work, l2.missed
    at, end, busy, order = work.at, work.end, work.ready, work.order
    requests, ends, first = missed.request, missed.end, missed.first[l2.number]
    ended = l2.number * (requests.shape[0] // missed.length.shape[0])
    left = 0
    for k in range(count):
        ahead = np.uintp(busy[min(k + SMS_AHEAD, count - 1)])
        prefetch(ends, ended + missed.first_round[ahead] + turn)
        source = np.uintp(busy[k])
        i = at[source]
        stop = ended + missed.first_round[source] + turn
        stop = first[source] + np.int64(ends[np.uintp(stop)])
        # Another SM has about as many requests in the round.
        for number in range(0, stop - i + SPARE, SPARE // 2):
            prefetch(requests, at[ahead] + number)
        while i < stop:
            some = min(stop - i, BATCH_REQUESTS - n)
            for number in range(some):
                order[np.uintp(n + number)] = requests[np.uintp(i + number)]
            if l2.log.request.shape[0]:
                for number in range(n, n + some):
                    work.turn[np.uintp(number)] = logged_round
            i += some
            n += some
            if n == BATCH_REQUESTS:
                _run_batch(l2, fast, n)
                n = np.int64(0)
        at[source] = i
        if i < end[source]:
            busy[left] = source
            left += 1
    return n, left


@noinline
def _run_batch(l2: L2Shard, fast: bool, n: Int) -> None:
    """Run the ``n`` line requests of the batch, in order."""
    shift = LINE_BIT + l2.missed.length.shape[0] - 1
    if l2.dirty.counted:
        note_stores(l2.dirty, l2.streams, l2.work.stored, l2.work.order, n, shift, l2.per_line)
    if not fast:
        _run_slow_path(l2, n)
        return
    work, cache = l2.work, l2.cache
    first_way, line, added, found = work.first_way, work.line, work.added, work.found
    g = shape_of(cache.geometry, 0)
    first_ways(g, 0, work.order, n, shift, first_way)
    above = dirty_bit(cache)
    state = cache.seed[np.uintp(g.first_seed)]
    writes = _unpack(n, shift, above, work)
    for k in range(n):
        at = np.uintp(k)
        ahead = first_way[np.uintp(k + SETS_AHEAD)]
        prefetch(cache.tags, ahead)
        prefetch(cache.held, ahead)
        state += GOLDEN
        end = way_out(cache, g, first_way[at], state)
        before, hit = use_lru(cache.tags, cache.held, first_way[at], line[at], added[at], end)
        found[np.uintp(2 * k)], found[np.uintp(2 * k + 1)] = before, hit
    cache.seed[np.uintp(g.first_seed)] = state
    written = _count(n, above, work)
    turned = np.int64(0)
    if writes:
        for k in range(n):
            before = np.int64(found[np.uintp(2 * k)])
            hit = np.int64(found[np.uintp(2 * k + 1)] != 0)
            turned += bits((np.int64(added[np.uintp(k)]) & ~(before & -hit)) >> above)
    l2.counts.written[0] += written
    cache.dirty[0] += turned - written


@inlined
def _unpack(n: Int, shift: Int, above: Int, work: Workspace) -> bool:
    """Fill ``line`` and ``added`` from the batch. Returns whether it has stores."""
    order, line, added = work.order, work.line, work.added
    some = np.int64(0)
    for k in range(n):
        request = order[np.uintp(k)]
        some |= request
        line[np.uintp(k)] = request >> shift
        added[np.uintp(k)] = (request >> SECTOR_BIT) & SECTORS
    if not some & SLOW_PATH:
        return False
    writes = False
    for k in range(n):
        if work.stored[np.uintp((order[np.uintp(k)] >> STREAM_BIT) & MOST_STREAMS)]:
            writes = True
            added[np.uintp(k)] |= added[np.uintp(k)] << above
    return writes


@inlined
def _count(n: Int, above: Int, work: Workspace) -> Int:
    """Count, by stream, the sectors that the batch asked for and missed. Returns the number of
    dirty sectors that it evicted."""
    order, added, found = work.order, work.added, work.found
    word, counted = work.turn, work.counted
    out = np.int64(0)
    for k in range(n):
        sectors = np.int64(added[np.uintp(k)]) & ((np.int64(1) << above) - 1)
        before = np.int64(found[np.uintp(2 * k)])
        hit = np.int64(found[np.uintp(2 * k + 1)] != 0)
        missing = sectors & ~(before & -hit)
        word[np.uintp(k)] = (bits(sectors) << ASKED_BIT) + bits(missing)
        out += bits((before & (hit - 1)) >> above)
    for k in range(n, n + COUNT_COPIES):
        order[np.uintp(k)] = word[np.uintp(k)] = 0
    for k in range(0, n, COUNT_COPIES):
        for copy in range(COUNT_COPIES):
            p = np.uintp((order[np.uintp(k + copy)] >> STREAM_BIT) & MOST_STREAMS)
            counted[p * np.uintp(COUNT_COPIES) + np.uintp(copy)] += word[np.uintp(k + copy)]
    return out


@noinline
def _run_slow_path(l2: L2Shard, n: Int) -> None:
    """Run the batch through a cache of any kind, and log what it sends to DRAM."""
    order, log = l2.work.order, l2.log
    shard_shift = l2.missed.length.shape[0] - 1
    g = shape_of(l2.cache.geometry, 0)
    out = np.int64(0)
    for k in range(n):
        request = order[k]
        row = l2.streams.rows[np.uintp((request >> STREAM_BIT) & MOST_STREAMS)]
        sectors = (request >> SECTOR_BIT) & SECTORS
        line = (request >> (LINE_BIT + shard_shift)) * g.split
        if row.flags & PAST_L2:
            p, count = np.uintp((request >> STREAM_BIT) & MOST_STREAMS), bits(sectors)
            l2.counts.asked[p] += count
            l2.counts.misses[p] += count
            if row.kind != LOAD:
                out += count
            if log.request.shape[0]:
                _note(log, g, line, sectors, l2.number, shard_shift, l2.work.turn[k])
        else:
            kind = np.int64(READ if row.kind == LOAD else l2.write)
            if row.flags & EVICTED_FIRST:
                kind |= EVICT_FIRST
            inside = priority_in(l2.window, request >> LINE_BIT)
            if inside:
                kind = (kind & ~np.int64(EVICT_FIRST | KEEP)) | inside
            doublings = (np.int64(row.flags) >> L2_GROUP) & MOST_PREFETCHED
            if doublings and row.kind == LOAD:
                kind |= np.int64(1) << (doublings + FETCH_GROUP)
            out += _access_lines(l2, g, request, line, sectors, kind, l2.work.turn[k])
    l2.counts.written[0] += out


@inlined
def _access_lines(
    l2: L2Shard, g: Shape, request: Int, line: Int, sectors: Int, kind: Int, number: Int
) -> Int:
    """Access the lines of the cache, from ``line`` on, that the request's line consists of. Returns
    the number of evicted dirty sectors. ``number`` is the round for the log."""
    counts, log = l2.counts, l2.log
    p = np.uintp((request >> STREAM_BIT) & MOST_STREAMS)
    own = l2.per_line // g.split
    whole = (np.int64(1) << own) - 1
    shards = l2.missed.length.shape[0] - 1
    group = kind >> FETCH_GROUP
    kind = (kind & ((1 << FETCH_GROUP) - 1)) | (min(group, own) << FETCH_GROUP)
    shift, out = np.int64(0), np.int64(0)
    while sectors:
        wanted = sectors & whole
        if wanted:
            present = True
            if kind & BYPASS:
                present = is_held(l2.cache, g, line)
            missing, taken, lost, victim = access_line(l2.cache, g, 0, line, wanted, kind)
            if missing and group > own:
                out += _fetch_neighbours(l2, g, p, line, group // own, kind, number)
            if l2.streams.rows[p].kind == ATOMIC:
                # Unlike a store, an atomic reads the old value.
                taken = missing
            passed = np.int64(0)
            if kind & WRITE_THROUGH or (kind & BYPASS and not present):
                passed = wanted
            out += bits(lost) + bits(passed)
            counts.asked[p] += bits(wanted)
            counts.misses[p] += bits(missing)
            counts.overfetch[p] += bits(taken) - bits(missing)
            if log.request.shape[0]:
                if taken | passed:
                    kept = (taken | passed) << shift
                    _note(log, g, line, kept, l2.number, shards, number)
                if lost:
                    above = (victim % g.split) * own
                    _note(log, g, victim, lost << above, l2.number, shards, number)
        sectors >>= own
        shift += own
        line += 1
    return out


@noinline
def _fetch_neighbours(
    l2: L2Shard, g: Shape, p: Int, line: Int, lines: Int, kind: Int, number: Int
) -> Int:
    """Fetch the missing sectors of the other lines of the aligned group of ``lines`` that a read of
    stream ``p`` fetches together. Returns the number of dirty sectors that are evicted for them.
    ``line`` is the line that missed. If groups are longer than a line of line requests, there is
    only one shard."""
    log = l2.log
    own = l2.per_line // g.split
    whole = (np.int64(1) << own) - 1
    out = np.int64(0)
    first = line - line % lines
    for other in range(first, first + lines):
        absent = whole & ~held_of(l2.cache, g, other)
        if other == line or not absent:
            continue
        _, taken, lost, victim = access_line(l2.cache, g, 0, other, absent, kind)
        out += bits(lost)
        l2.counts.overfetch[p] += bits(taken)
        if log.request.shape[0]:
            _note(log, g, other, taken << ((other % g.split) * own), l2.number, 0, number)
            if lost:
                above = (victim % g.split) * own
                _note(log, g, victim, lost << above, l2.number, 0, number)
    return out


@noinline
def _note(
    log: Log, g: Shape, line: Int, sectors: Int, shard: Int, shard_shift: Int, number: Int
) -> None:
    """Log sectors of the request's line that line ``line`` of the cache belongs to."""
    at = log.length[0]
    if at < log.request.shape[0]:
        whole = (line // g.split << shard_shift) | shard
        log.request[at] = (whole << LINE_BIT) | (sectors << SECTOR_BIT)
        log.round[at] = number
        log.length[0] = at + 1
