"""From warp accesses to requests: the lines and sectors that each asks its first cache for.

Each record of a trace becomes the parts of a request in the wave's buffer, or is counted for a
memory that keeps no lines, or both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.executor.device_memory.address_space import WINDOW_SHIFT
from placewise.memory.simulate.caches.cache import Int
from placewise.memory.simulate.requests.bank_patterns import Patterns, count_pattern, keep_odd
from placewise.memory.simulate.requests.filtered_reads import join_parts
from placewise.memory.simulate.requests.line_requests import (
    ASIDE,
    LAST,
    LINE_BIT,
    MADE_AT_ONCE,
    MOST_PAIRS,
    MOST_PARTS,
    OFFSET,
    PAIR_BIT,
    Buffer,
    Cut,
)
from placewise.memory.simulate.requests.split_access import add_parts
from placewise.memory.simulate.requests.templates import (
    MOST_COUNTED,
    new_form,
    new_forms,
    settle_all,
    take_formed,
    who_of,
)
from placewise.memory.simulate.simd.jit_helpers import apart, bits, inlined, lowest

LOAD, STORE, ATOMIC = 0, 1, 2
NOWHERE, LOCAL, CONSTANT, LOCAL_LAST = -1, -2, -3, -4
"""Routes of accesses that no cache of this path sees (shared memory, parameters), of local
memory, whose addresses are made here, of loads that go through caches of constant memory, and of
the last load of what is in local memory, whose lines are driven out before others."""
EVICT_FIRST = 32
"""Added to a first cache's number: lines that the access brings in are driven out before others."""
PAST_LAST = 64
"""Added likewise: the cache of the die is not on the access's way."""
DOUBLINGS = 8
"""From this bit of a route on: base-two logarithm of the records of one access, where a filtered
read has a record for each texel."""
ROUTED, IN_LOCAL, COUNTED, IN_BURST, LEAVES_FIRST, LEAVES_OUT_LAST = 1, 2, 4, 8, 16, 32
"""Flags of a pair: it goes to a cache; it is of local memory; its transactions follow from a
serialization condition; it issues in a burst with the access before; its lines are driven out
before others; the cache of the die is not asked."""
FILTERED = 6
"""From this bit of a pair's flags on: what the route has from DOUBLINGS on."""
FIRST_BLOCK, LEFT_OUT, AT, WHY, SEAT, PHASE, NEXT_BLOCK = range(7)
"""Words of the state between calls: the wave's first block, whether its accesses are left out, the
first record that was not taken, why the call ended there, seat of the warp and phase in work, and
the block that ended the wave."""
READING, BEGINS, ENDS, LEFT, SPREAD, SPREAD_AT = range(7, 13)
"""Words of what is rarely in work, so that a call's own variables are few. Of a filtered read: its
pair, its first part, where its parts end, records that are to come. Of the last access that had
several records: its lanes, and the last of the records."""
STATE_WORDS = 13
DONE, WAVE_ENDS, NO_ROOM, NO_PATTERN, NO_PAIR = range(5)
"""Why a call ended: nothing is left; the next record is of another wave; the buffer, the table of
patterns or that of pairs is full."""

PAIR = np.dtype(
    [
        ("head", np.int64),
        ("requests", np.int64),
        ("lanes", np.int64),
        ("sectors", np.int64),
        ("parts", np.int64),
        ("lane_bytes", np.int32),
        ("flags", np.int32),
        ("site", np.int32),
        ("array", np.int32),
        ("cache", np.int32),
        ("kind", np.int32),
    ]
)
"""A memory instruction and an array that it accesses: a part of the array's first line without
sectors; warp accesses, active lanes, sectors asked of the first cache and lines so far; bytes of a
lane; flags; instruction and array; first cache, or CONSTANT; LOAD, STORE or ATOMIC."""


class Pairs(NamedTuple):
    """Pairs of memory instruction and array, numbered in the order in which they are first seen."""

    number: NDArray[np.int32]
    """(sites, arrays + 1) by array number + 1; -1 before the pair is seen."""
    rows: NDArray[Any]
    """(pairs,) PAIR."""
    used: NDArray[np.int64]
    """(1,) pairs."""
    forms: NDArray[Any]
    """(sites,) FORM of the last access of each instruction that has one."""


def new_pairs(sites: int, arrays: int) -> Pairs:
    """No pairs yet, of so many instructions and arrays."""
    most = min(MOST_PAIRS, max(1, sites) * (arrays + 1))
    return Pairs(
        np.full((max(1, sites), arrays + 1), -1, np.int32),
        np.zeros(most, PAIR),
        np.zeros(1, np.int64),
        new_forms(max(1, sites)),
    )


class Sites(NamedTuple):
    """What is fixed for each memory instruction."""

    route: NDArray[np.int16]
    """(sites, arrays + 1) by array number + 1: first cache, NOWHERE, LOCAL, LOCAL_LAST or
    CONSTANT; with EVICT_FIRST, PAST_LAST and DOUBLINGS."""
    counted: NDArray[np.bool_]
    """(sites, arrays + 1) whether a serialization condition says what an access takes."""
    array_line: NDArray[np.int64]
    """(arrays + 1,) line that each array starts at, by array number + 1."""
    lane_bytes: NDArray[np.int32]
    kind: NDArray[np.int32]
    """LOAD, STORE or ATOMIC."""
    waits: NDArray[np.bool_]
    """Whether the warp waits before it; else it issues in a burst with the access before."""
    windows: NDArray[np.int32]
    """Array of each window of addresses, or -1."""


@apart
def _new_pair(pairs: Pairs, sites: Sites, cut: Cut, site: Int, array: Int) -> Int:
    """Number a pair; -1 where there is no room."""
    p = pairs.used[0]
    if p == pairs.rows.shape[0]:
        return np.int64(-1)
    pairs.used[0] = p + 1
    pairs.number[site, array + 1] = p
    route = sites.route[site, array + 1]
    flags = 0 if route == NOWHERE else ROUTED
    line = sites.array_line[array + 1]
    cache = np.int64(route if route == CONSTANT else max(route, 0) & (EVICT_FIRST - 1))
    if route > 0:
        flags |= (route >> DOUBLINGS) << FILTERED
        if route & EVICT_FIRST:
            flags |= LEAVES_FIRST
        if route & PAST_LAST:
            flags |= LEAVES_OUT_LAST
    if route == LOCAL_LAST:
        flags |= LEAVES_FIRST
    if route in (LOCAL, LOCAL_LAST):
        flags |= IN_LOCAL
        line = np.int64(cut.local_line)
        cache = np.int64(cut.local_cache & (EVICT_FIRST - 1))
        if cut.local_cache & PAST_LAST:
            flags |= LEAVES_OUT_LAST
    if sites.counted[site, array + 1]:
        flags |= COUNTED
    if not sites.waits[site]:
        flags |= IN_BURST
    row = pairs.rows[p]
    aside = cache != 0 or sites.kind[site] != LOAD
    row.head = (line << LINE_BIT) | (p << PAIR_BIT) | (ASIDE if aside else 0)
    row.lane_bytes = sites.lane_bytes[site]
    row.flags = flags
    row.site = site
    row.array = array
    row.cache = cache
    row.kind = sites.kind[site]
    return p


@inlined
def _first_lane(record: Any, mask: Int) -> Int:
    """Address of the first active lane: those before it may lie outside the array."""
    lane = lowest(mask)
    address = record.base if lane < 16 or record.row >= 0 else record.upper
    return address + np.int64(record.stride) * (lane & 15)


@apart
def collect(
    records: Any,
    runs: Any,
    offsets: Any,
    sites: Sites,
    pairs: Pairs,
    cut: Cut,
    patterns: Patterns,
    buffer: Buffer,
    state: NDArray[np.int64],
) -> Int:
    """Add the requests of a trace's records to ``buffer``, from number ``state[AT]`` on.

    ``records``, ``runs`` and ``offsets`` are as the executor hands them over
    (:class:`placewise.executor.trace.Taker`). Returns DONE, or why not all was taken; then the same
    records are to come again.
    """
    part, rows = buffer.part, pairs.rows
    n, n_segment = buffer.used[0], buffer.used[1]
    room = part.shape[0] - MOST_PARTS - MADE_AT_ONCE
    last_seat, last_phase = state[SEAT], state[PHASE]
    first_block = state[FIRST_BLOCK]
    period_mask = np.int64(cut.period - 1) if cut.period & (cut.period - 1) == 0 else np.int64(-1)
    at, count = state[AT], np.int64(records.shape[0])
    why = np.int64(DONE)
    number = np.int64(0)
    block, place = np.int64(-1), np.int64(0)
    state[LEFT], state[SPREAD_AT] = 0, -1
    settled = at
    while at < count:
        if at - settled >= MOST_COUNTED:
            settle_all(pairs.forms, rows)
            settled = at
        while number + 1 < runs.shape[0] and runs[number + 1].first <= at:
            number += 1
        run = runs[number]
        stop = np.int64(runs[number + 1].first) if number + 1 < runs.shape[0] else count
        if run.block != block:
            local = np.int64(run.block) - first_block
            if local < 0 or local >= cut.sms * cut.resident:
                why = np.int64(WAVE_ENDS)
                state[NEXT_BLOCK] = run.block
                break
            block = np.int64(run.block)
            place = buffer.place[np.uintp(local)]
            buffer.seen[place] |= state[LEFT_OUT] == 0
        if state[LEFT_OUT]:
            at = stop
            continue
        seat, phase = place * cut.warps + run.warp, np.int64(run.phase)
        fresh = seat != last_seat or phase != last_phase
        stop = min(stop, settled + MOST_COUNTED)
        if n_segment == buffer.segment.shape[0]:
            why = np.int64(NO_ROOM)
            break
        while at < stop:
            record = records[np.uintp(at)]
            form = pairs.forms[np.uintp(record.site)]
            if form.who == who_of(record):
                begun = n
                first = n if fresh else np.int64(0)
                at, n = take_formed(records, at, stop, pairs.forms, part, n, first, room, cut)
                if n != begun:
                    if fresh:
                        fresh = False
                        last_seat, last_phase = seat, phase
                        n_segment = _new_segment(buffer, n_segment, seat, phase, begun)
                    continue
            mask = np.int64(record.mask)
            if mask == 0:
                at += 1
                continue
            if n > room:
                why = np.int64(NO_ROOM)
                break
            where = record.base if mask & 1 else _first_lane(record, mask)
            start = where & ~OFFSET
            array = np.int64(sites.windows[np.uintp(where >> WINDOW_SHIFT)])
            p = np.int64(pairs.number[np.uintp(record.site), np.uintp(array + 1)])
            if p < 0:
                p = _new_pair(pairs, sites, cut, record.site, array)
                if p < 0:
                    why = np.int64(NO_PAIR)
                    break
            others = np.int64(0)
            if at > np.int64(run.first) and records[np.uintp(at - 1)].site == record.site:
                others = _lanes_elsewhere(records[np.uintp(at - 1)], start, mask, state, at)
            row = rows[np.uintp(p)]
            flags = np.int64(row.flags)
            filtered = flags >> FILTERED
            alone = flags & (ROUTED | COUNTED | IN_LOCAL) == ROUTED and row.cache != CONSTANT
            alone = alone and not filtered
            if flags & COUNTED and not _count(
                record, start, p, mask, offsets, patterns, period_mask, cut
            ):
                why = np.int64(NO_PATTERN)
                break
            goes_on = False
            if filtered:
                goes_on = state[LEFT] > 0 and state[READING] == p and state[ENDS] == n and not fresh
            if flags & ROUTED:
                if fresh:
                    fresh = False
                    last_seat, last_phase = seat, phase
                    n_segment = _new_segment(buffer, n_segment, seat, phase, n)
                elif others or (flags & IN_BURST and not goes_on):
                    part[np.uintp(n - 1)] &= ~LAST
                begun = n
                frame = seat * cut.frame_words * 32 if flags & IN_LOCAL else np.int64(-1)
                n, asked = add_parts(record, start, frame, row, offsets, buffer, n, cut)
                if filtered:
                    if goes_on:
                        n, asked = join_parts(part, state[BEGINS], begun, n)
                    else:
                        state[READING], state[BEGINS] = p, begun
                        state[LEFT] = np.int64(1) << filtered
                    state[ENDS] = n
                    state[LEFT] -= 1
                if alone and not others and record.row < 0:
                    joins = flags & IN_BURST != 0
                    new_form(record, form, rows, p, joins, start, cut)
                if row.cache != CONSTANT:
                    row.sectors += asked
                    row.parts += n - begun
            if not goes_on:
                row.requests += others == 0
                row.lanes += bits(mask)
            at += 1
        if why != DONE:
            break
    settle_all(pairs.forms, rows)
    if n:
        # The access that would go on with the burst may be of another wave.
        part[np.uintp(n - 1)] |= LAST
    state[AT] = at if why != DONE else 0
    state[WHY], state[SEAT], state[PHASE] = why, last_seat, last_phase
    buffer.used[0], buffer.used[1] = n, n_segment
    return why


@apart
def _lanes_elsewhere(before: Any, start: Int, mask: Int, state: NDArray[np.int64], at: Int) -> Int:
    """Lanes that the access of record ``at`` has in other arrays, by the record before it, of the
    same instruction: an access to several arrays has a record for each."""
    lanes = np.int64(before.mask)
    known = lanes | (state[SPREAD] if state[SPREAD_AT] == at - 1 else 0)
    if known & mask or lanes == 0 or _first_lane(before, lanes) & ~OFFSET == start:
        return np.int64(0)
    state[SPREAD], state[SPREAD_AT] = known | mask, at
    return known


@inlined
def _new_segment(buffer: Buffer, n_segment: Int, seat: Int, phase: Int, n: Int) -> Int:
    """Start a segment at part ``n``; how many there are now."""
    segment = np.uintp(n_segment)
    buffer.segment[segment, 0] = seat
    buffer.segment[segment, 1] = phase
    buffer.segment[segment, 2] = n
    # The access after a warp's last may have been taken to go on with its burst.
    if n:
        buffer.part[np.uintp(n - 1)] |= LAST
    return n_segment + 1


@inlined
def _count(
    record: Any,
    start: Int,
    p: Int,
    mask: Int,
    offsets: Any,
    patterns: Patterns,
    period_mask: Int,
    cut: Cut,
) -> bool:
    """Count an access by its pattern; False where there is no room."""
    if record.row >= 0:
        return bool(keep_odd(patterns, p, mask, np.int64(record.row), offsets))
    base = record.base - start
    shift = base & period_mask if period_mask >= 0 else base % cut.period
    upper = record.upper - record.base
    return bool(count_pattern(patterns, p, shift, upper, np.int64(record.stride), mask))
