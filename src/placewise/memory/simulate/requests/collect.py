"""Splits the warp accesses of a trace into line requests: the lines and sectors that each access
requests from its first cache.

Each record of a trace adds line requests to the wave's buffer, or is counted for a memory without
cache lines (shared memory), or both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.executor.device_memory.address_space import WINDOW_SHIFT
from placewise.memory.simulate.caches.geometry import Int
from placewise.memory.simulate.requests.bank_patterns import Patterns, count_pattern, keep_odd
from placewise.memory.simulate.requests.filtered_reads import join_requests
from placewise.memory.simulate.requests.line_requests import (
    LAST,
    MADE_AT_ONCE,
    MOST_REQUESTS,
    OFFSET,
    Buffer,
    Sizes,
)
from placewise.memory.simulate.requests.split_access import Access, add_requests
from placewise.memory.simulate.requests.streams import (
    CACHED,
    CONSTANT,
    COUNTED,
    FILTERED,
    IN_BURST,
    IN_LOCAL,
    Sites,
    Streams,
    new_stream,
)
from placewise.memory.simulate.requests.templates import (
    MOST_COUNTED,
    flush_counts,
    new_template,
    row_and_mask,
    take_templated,
)
from placewise.memory.simulate.simd.jit_helpers import bits, inlined, lowest, noinline

FIRST_BLOCK, SKIPPED, AT, REASON, SLOT, PHASE, NEXT_BLOCK = range(7)
"""Words of the state that is kept between calls: the wave's first block, whether its accesses are
skipped, the first record not processed, why the call ended there, SM slot and phase of the last
segment, and the block that ended the wave."""
TEXELS_LEFT, READ_STREAM, READ_BEGIN, READ_END, LANES_SEEN, LANES_SEEN_AT = range(7, 13)
"""Further words. For a filtered texture read: the number of its records still to come, its stream,
its first line request, and the end of its line requests. For the last access that had several
records: its lanes, and the last of its records."""
STATE_WORDS = 13
DONE, WAVE_ENDS, NO_ROOM, NO_PATTERN, NO_STREAM = range(5)
"""Why a call ended: no record is left; the next record belongs to another wave; the buffer is full;
the table of patterns is full; the table of streams is full."""


class Trace(NamedTuple):
    """Records as the executor passes them (:class:`placewise.executor.trace.Taker`)."""

    records: Any
    """TRACE_RECORD of each warp access."""
    runs: Any
    """TRACE_RUN of each stretch of records by one warp in one phase."""
    offsets: Any
    """Offsets of gathers' lanes in their arrays, in bytes."""


class Collector(NamedTuple):
    """The data that :func:`collect` reads and writes."""

    sites: Sites
    streams: Streams
    patterns: Patterns
    buffer: Buffer
    state: NDArray[np.int64]
    """(STATE_WORDS,)"""
    sizes: Sizes


@noinline
def collect(trace: Trace, to: Collector) -> Int:
    """Process a trace's records from number ``state[AT]`` on.

    Returns DONE, or why not all records were processed; the caller then makes room and passes the
    same records again."""
    streams, buffer, state, sizes = to.streams, to.buffer, to.state, to.sizes
    count, number = np.int64(trace.records.shape[0]), np.int64(0)
    reason = np.int64(DONE)
    block, place = np.int64(-1), np.int64(0)
    state[TEXELS_LEFT], state[LANES_SEEN_AT] = 0, -1
    flushed = state[AT]
    while state[AT] < count and reason == DONE:
        at = state[AT]
        if at - flushed >= MOST_COUNTED:
            flush_counts(streams.templates, streams.rows)
            flushed = at
        while number + 1 < trace.runs.shape[0] and trace.runs[number + 1].first <= at:
            number += 1
        run = trace.runs[number]
        last = number + 1 == trace.runs.shape[0]
        stop = count if last else np.int64(trace.runs[number + 1].first)
        if run.block != block:
            local = np.int64(run.block) - state[FIRST_BLOCK]
            if local < 0 or local >= sizes.sms * sizes.resident:
                reason = np.int64(WAVE_ENDS)
                state[NEXT_BLOCK] = run.block
                break
            block = np.int64(run.block)
            place = buffer.place[np.uintp(local)]
            buffer.seen[place] |= state[SKIPPED] == 0
        if state[SKIPPED]:
            state[AT] = stop
            continue
        if buffer.used[1] == buffer.segment.shape[0]:
            reason = np.int64(NO_ROOM)
            break
        slot, stop = place * sizes.warps + run.warp, min(stop, flushed + MOST_COUNTED)
        reason = _take_run(trace, to, np.int64(run.first), stop, slot, np.int64(run.phase))
    flush_counts(streams.templates, streams.rows)
    n = buffer.used[0]
    if n:
        # The access that would continue the burst may belong to another wave.
        buffer.request[np.uintp(n - 1)] |= LAST
    if reason == DONE:
        state[AT] = 0
    state[REASON] = reason
    return reason


@noinline
def _take_run(trace: Trace, to: Collector, first: Int, stop: Int, slot: Int, phase: Int) -> Int:
    """Process the records from ``state[AT]`` to ``stop`` of the run that starts at record
    ``first``. Returns DONE, or why not all were processed."""
    buffer, state = to.buffer, to.state
    at, n = state[AT], buffer.used[0]
    fresh = state[SLOT] != slot or state[PHASE] != phase
    limit = buffer.request.shape[0] - MOST_REQUESTS - MADE_AT_ONCE
    reason = np.int64(DONE)
    while at < stop:
        record = trace.records[np.uintp(at)]
        template = to.streams.templates[np.uintp(record.site)]
        if template.row_mask == row_and_mask(record):
            begun = n
            at, n = take_templated(
                trace.records, at, stop, to.streams.templates, buffer, n, limit, to.sizes
            )
            if n != begun:
                if fresh:
                    fresh = False
                    _new_segment(to, slot, phase, begun)
                continue
        if record.mask:
            if n > limit:
                reason = np.int64(NO_ROOM)
                break
            reason, n = _take_access(trace, at, to, n, at > first, slot, phase)
            if reason != DONE:
                break
            fresh = state[SLOT] != slot or state[PHASE] != phase
        at += 1
    state[AT], buffer.used[0] = at, n
    return reason


@inlined
def _take_access(
    trace: Trace, at: Int, to: Collector, n: Int, has_previous: bool, slot: Int, phase: Int
) -> tuple[Int, Int]:
    """Process record ``at``, of any kind. Returns DONE, or why it was not processed, and how many
    line requests the buffer then has. ``has_previous`` says whether the previous record belongs to
    the same run."""
    streams, state = to.streams, to.state
    record = trace.records[np.uintp(at)]
    mask = np.int64(record.mask)
    where = record.base if mask & 1 else _first_lane(record, mask)
    start = where & ~OFFSET
    array = np.int64(to.sites.windows[np.uintp(where >> WINDOW_SHIFT)])
    p = np.int64(streams.number[np.uintp(record.site), np.uintp(array + 1)])
    if p < 0:
        p = new_stream(streams, to.sites, to.sizes, record.site, array)
        if p < 0:
            return np.int64(NO_STREAM), n
    others = np.int64(0)
    if has_previous and trace.records[np.uintp(at - 1)].site == record.site:
        others = _lanes_elsewhere(trace.records[np.uintp(at - 1)], start, mask, state, at)
    row = streams.rows[np.uintp(p)]
    flags = np.int64(row.flags)
    if flags & COUNTED and not _count(record, start, p, trace.offsets, to):
        return np.int64(NO_PATTERN), n
    fresh = state[SLOT] != slot or state[PHASE] != phase
    goes_on = not fresh and flags >> FILTERED != 0 and _is_same_read(state, p, n)
    if flags & CACHED:
        if fresh:
            _new_segment(to, slot, phase, n)
        elif others or (flags & IN_BURST and not goes_on):
            to.buffer.request[np.uintp(n - 1)] &= ~LAST
        frame = slot * to.sizes.frame_words * 32 if flags & IN_LOCAL else np.int64(-1)
        access = Access(record, start, np.int64(row.lane_bytes), row.head, frame)
        n = _request_lines(access, trace.offsets, p, goes_on, to, n)
        plain = flags & (CACHED | COUNTED | IN_LOCAL) == CACHED and not flags >> FILTERED
        if plain and row.cache != CONSTANT and not others and record.row < 0:
            template = streams.templates[np.uintp(record.site)]
            joins = flags & IN_BURST != 0
            new_template(record, template, streams.rows, p, joins, start, to.sizes)
    if not goes_on:
        row.accesses += others == 0
        row.lanes += bits(mask)
    return np.int64(DONE), n


@inlined
def _is_same_read(state: NDArray[np.int64], p: Int, n: Int) -> bool:
    """Whether an access of stream ``p`` is a further texel of the previous access, a filtered read
    whose line requests are the last of the ``n`` in the buffer."""
    return bool(state[TEXELS_LEFT] > 0 and state[READ_STREAM] == p and state[READ_END] == n)


@inlined
def _request_lines(
    access: Access, offsets: Any, p: Int, goes_on: bool, to: Collector, n: Int
) -> Int:
    """Add the line requests of an access of stream ``p`` to the ``n`` in the buffer. Returns how
    many there are then. ``goes_on`` says whether the access is a further texel of the previous
    read."""
    row, state, begun = to.streams.rows[np.uintp(p)], to.state, n
    filtered = np.int64(row.flags) >> FILTERED
    n, asked = add_requests(access, offsets, to.buffer, n, to.sizes)
    if filtered:
        if goes_on:
            n, asked = join_requests(to.buffer.request, state[READ_BEGIN], begun, n)
        else:
            state[READ_STREAM], state[READ_BEGIN] = p, begun
            state[TEXELS_LEFT] = np.int64(1) << filtered
        state[READ_END] = n
        state[TEXELS_LEFT] -= 1
    if row.cache != CONSTANT:
        row.sectors += asked
        row.lines += n - begun
    return n


@inlined
def _first_lane(record: Any, mask: Int) -> Int:
    """Address of the first active lane; inactive lanes before it may have addresses outside the
    array."""
    lane = lowest(mask)
    address = record.base if lane < 16 or record.row >= 0 else record.upper
    return address + np.int64(record.stride) * (lane & 15)


@noinline
def _lanes_elsewhere(before: Any, start: Int, mask: Int, state: NDArray[np.int64], at: Int) -> Int:
    """Number of lanes that the access of record ``at`` has in other arrays. An access to several
    arrays has a record for each; ``before`` is the previous record of the same instruction."""
    lanes = np.int64(before.mask)
    known = lanes | (state[LANES_SEEN] if state[LANES_SEEN_AT] == at - 1 else 0)
    if known & mask or lanes == 0 or _first_lane(before, lanes) & ~OFFSET == start:
        return np.int64(0)
    state[LANES_SEEN], state[LANES_SEEN_AT] = known | mask, at
    return known


@inlined
def _new_segment(to: Collector, slot: Int, phase: Int, n: Int) -> None:
    """Start a segment at line request ``n``, of the warp in an SM slot."""
    buffer, segment = to.buffer, np.uintp(to.buffer.used[1])
    to.state[SLOT], to.state[PHASE] = slot, phase
    buffer.segment[segment, 0] = slot
    buffer.segment[segment, 1] = phase
    buffer.segment[segment, 2] = n
    # The access after the warp's last one may have been expected to continue its burst.
    if n:
        buffer.request[np.uintp(n - 1)] |= LAST
    buffer.used[1] += 1


@inlined
def _count(record: Any, start: Int, p: Int, offsets: Any, to: Collector) -> bool:
    """Count an access by its pattern; returns False if there is no room."""
    mask, period = np.int64(record.mask), np.int64(to.sizes.period)
    if record.row >= 0:
        return bool(keep_odd(to.patterns, p, mask, np.int64(record.row), offsets))
    base = record.base - start
    shift = base & (period - 1) if period & (period - 1) == 0 else base % period
    upper, stride = record.upper - record.base, np.int64(record.stride)
    return bool(count_pattern(to.patterns, p, shift, upper, stride, mask))
