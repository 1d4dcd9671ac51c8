"""From warp accesses to requests: the lines and sectors that each asks its first cache for.

A request is cut into parts, a line's sectors each. Lanes on a line without gaps, as nearly all
accesses of most kernels have them, are ranges of sectors: their parts follow from both ends. Other
lanes are looked at one by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.cache import Int
from placewise.memory.simulate.lanes import apart, bits, equal16, highest, inlined, lowest
from placewise.memory.simulate.patterns import Patterns, count_pattern

MOST_PARTS = 128
"""Lines that one warp access can touch: four words of local memory for each lane."""
LINE_BIT, SECTOR_BIT, PAIR_BIT, LAST = 32, 16, 1, 1
"""A part is a word: the line number from bit 32 on, then its sectors, from bit 1 on the number of
the pair of instruction and array, and in bit 0 whether it is the last part of its burst."""
SECTORS = (1 << LINE_BIT - SECTOR_BIT) - 1
MOST_PAIRS = (1 << SECTOR_BIT - PAIR_BIT) - 1
MOST_LINES = 1 << 31

LOAD, STORE, ATOMIC = 0, 1, 2
NOWHERE, LOCAL = -1, -2
"""Routes of accesses that no cache of this path sees (shared memory, parameters), and of local
memory, whose addresses are made here."""
ROUTED, IN_LOCAL, COUNTED, JOINS = 1, 2, 4, 8
"""Flags of a pair: it goes to a cache; it is of local memory; its transactions follow from a
serialization condition; it issues in a burst with the access before."""
REQUESTS, LANES, SECTORS_ASKED, PARTS = range(4)
"""Columns of :attr:`Pairs.stats`."""
BLOCK, WARP, PHASE, FULL = range(4)
"""Words of the state between calls: block, warp and phase in work; why the last call ended."""
DONE, WAVE_ENDS, NO_ROOM, NO_PATTERN, NO_PAIR = range(5)
"""What FULL says: nothing is left; the next record is of another wave; the buffer, the table of
patterns or that of pairs is full."""


class Pairs(NamedTuple):
    """Pairs of memory instruction and array, numbered in the order in which they are first seen."""

    number: NDArray[np.int32]
    """(sites, arrays + 1) by array number + 1; -1 before the pair is seen."""
    site: NDArray[np.int32]
    """(pairs,)"""
    array: NDArray[np.int32]
    """(pairs,)"""
    flags: NDArray[np.int32]
    """(pairs,)"""
    first_line: NDArray[np.int64]
    """(pairs,) line that the array starts at."""
    lane_bytes: NDArray[np.int64]
    """(pairs,)"""
    cache: NDArray[np.int32]
    """(pairs,) first cache of the pair's loads."""
    kind: NDArray[np.int32]
    """(pairs,) LOAD, STORE or ATOMIC."""
    stats: NDArray[np.int64]
    """(pairs, 4) warp accesses, active lanes, sectors asked of the first cache, and lines."""
    used: NDArray[np.int64]
    """(1,) pairs."""


def new_pairs(sites: int, arrays: int) -> Pairs:
    """No pairs yet, of so many instructions and arrays."""
    most = min(MOST_PAIRS, max(1, sites) * (arrays + 1))
    return Pairs(
        np.full((max(1, sites), arrays + 1), -1, np.int32),
        *(np.zeros(most, np.int32) for _ in range(3)),
        *(np.zeros(most, np.int64) for _ in range(2)),
        *(np.zeros(most, np.int32) for _ in range(2)),
        np.zeros((most, 4), np.int64),
        np.zeros(1, np.int64),
    )


class Sites(NamedTuple):
    """What is fixed for each memory instruction."""

    route: NDArray[np.int8]
    """(sites, arrays + 1) by array number + 1: first cache, NOWHERE or LOCAL."""
    counted: NDArray[np.bool_]
    """(sites, arrays + 1) whether a serialization condition says what an access takes."""
    array_line: NDArray[np.int64]
    """(arrays + 1,) line that each array starts at, by array number + 1."""
    lane_bytes: NDArray[np.int32]
    kind: NDArray[np.int32]
    """LOAD, STORE or ATOMIC."""
    waits: NDArray[np.bool_]
    """Whether the warp waits before it; else it issues in a burst with the access before."""


class Cut(NamedTuple):
    """Sizes that requests are cut by, and where the launch's warps run."""

    line_shift: int
    sector_shift: int
    """Base-two logarithms of the bytes of a line and of a sector."""
    period: int
    """Shift in bytes under which a pattern keeps its transactions."""
    sms: int
    resident: int
    """Blocks that an SM holds at a time."""
    warps: int
    """Of a block."""
    local_cache: int
    """Cache that local memory goes through first."""
    local_line: int
    """Line where local memory starts."""
    frame_words: int
    """4-byte words of local memory of a thread."""


class Buffer(NamedTuple):
    """Requests of one wave, and where each warp's lie."""

    part: NDArray[np.int64]
    """(capacity,)"""
    segment: NDArray[np.int64]
    """(segments, 3) the warp's seat, phase, first part: accesses of one warp between barriers.
    Seats are numbered by SM, block on the SM, and warp."""
    seen: NDArray[np.bool_]
    """(SMs * resident,) blocks of the wave that have had an access."""
    used: NDArray[np.int64]
    """(2,) parts, segments."""
    lines: NDArray[np.int32]
    sectors: NDArray[np.int64]
    """Room for the lines of one access, and for the sectors of each."""


def new_buffer(blocks: int) -> Buffer:
    """A small one, for waves of so many blocks."""
    return Buffer(
        np.empty(1 << 20, np.int64),
        np.empty((1 << 14, 3), np.int64),
        np.zeros(blocks, np.bool_),
        np.zeros(2, np.int64),
        np.empty(MOST_PARTS + 16, np.int32),
        np.empty(MOST_PARTS, np.int64),
    )


@apart
def _new_pair(pairs: Pairs, sites: Sites, cut: Cut, site: Int, array: Int) -> Int:
    """Number a pair; -1 where there is no room."""
    p = pairs.used[0]
    if p == pairs.site.shape[0]:
        return np.int64(-1)
    pairs.used[0] = p + 1
    route = sites.route[site, array + 1]
    flags = 0 if route == NOWHERE else ROUTED
    if route == LOCAL:
        flags |= IN_LOCAL
    if sites.counted[site, array + 1]:
        flags |= COUNTED
    if not sites.waits[site]:
        flags |= JOINS
    pairs.number[site, array + 1] = p
    pairs.site[p] = site
    pairs.array[p] = array
    pairs.flags[p] = flags
    pairs.first_line[p] = sites.array_line[array + 1]
    pairs.lane_bytes[p] = sites.lane_bytes[site]
    pairs.cache[p] = cut.local_cache if route == LOCAL else max(route, 0)
    pairs.kind[p] = sites.kind[site]
    return p


@inlined
def _run(mask: Int) -> bool:
    """Whether the ones of a mask follow one another."""
    filled = mask | (mask - 1)
    return bool(filled & (filled + 1) == 0)


@inlined
def _add_range(
    part: NDArray[np.int64], begun: Int, n: Int, head: Int, low: Int, high: Int, cut: Cut
) -> Int:
    """Add the parts of bytes ``low`` to ``high``; those from ``begun`` to ``n`` are of the same
    request. ``head`` is a part of the array's first line without sectors."""
    first, last = low >> cut.sector_shift, high >> cut.sector_shift
    per_shift = cut.line_shift - cut.sector_shift
    whole = np.int64(1) << per_shift
    line, end = first >> per_shift, last >> per_shift
    start = first & (whole - 1)
    before = n
    while line <= end:
        upto = (last & (whole - 1)) if line == end else whole - 1
        sectors = (np.int64(2) << upto) - (np.int64(1) << start)
        at = begun
        while at < before and part[at] >> LINE_BIT != (head >> LINE_BIT) + line:
            at += 1
        if at == before:
            part[n] = head + (line << LINE_BIT) + (sectors << SECTOR_BIT)
            n += 1
        else:
            part[at] |= sectors << SECTOR_BIT
        start = np.int64(0)
        line += 1
    return n


@inlined
def _add_bytes(
    lines: NDArray[np.int32],
    sectors: NDArray[np.int64],
    n: Int,
    low: Int,
    high: Int,
    cut: Cut,
) -> Int:
    """Add bytes ``low`` to ``high`` to ``n`` lines with the sectors asked of each; how many now."""
    per_shift = cut.line_shift - cut.sector_shift
    sector, end = low >> cut.sector_shift, high >> cut.sector_shift
    while sector <= end:
        line = sector >> per_shift
        bit = np.int64(1) << (sector & ((np.int64(1) << per_shift) - 1))
        at = n - 1
        if n == 0 or lines[at] != line:
            at = np.int64(0)
            found = np.int64(0)
            while at < n:
                found = equal16(lines, at, np.int32(line))
                if n - at < 16:
                    found &= (np.int64(1) << (n - at)) - 1
                if found:
                    break
                at += 16
            if found:
                at += lowest(found)
            else:
                at = n
                lines[at] = line
                sectors[at] = 0
                n += 1
        sectors[at] |= bit
        sector += 1
    return n


@apart
def _lane_parts(
    record: Any,
    offsets: Any,
    mask: Int,
    width: Int,
    lines: NDArray[np.int32],
    sectors: NDArray[np.int64],
    cut: Cut,
) -> Int:
    """Lines of an access, lane by lane, in order of first touch."""
    n = np.int64(0)
    row = np.int64(record.row)
    if row >= 0:
        for k in range(row, row + bits(mask)):
            address = np.int64(offsets[k])
            n = _add_bytes(lines, sectors, n, address, address + width - 1, cut)
        return n
    while mask:
        lane = lowest(mask)
        mask &= mask - 1
        start = record.base if lane < 16 else record.upper
        address = start + np.int64(record.stride) * (lane & 15)
        n = _add_bytes(lines, sectors, n, address, address + width - 1, cut)
    return n


@apart
def _local_parts(
    record: Any,
    offsets: Any,
    mask: Int,
    width: Int,
    frame: Int,
    lines: NDArray[np.int32],
    sectors: NDArray[np.int64],
    cut: Cut,
) -> Int:
    """Lines of a local access from the start of local memory; the warp's frame is at ``frame``.

    Local memory is interleaved so that consecutive lanes' words are adjacent (CUDA C++ Programming
    Guide, "Local Memory").
    """
    n = np.int64(0)
    row = np.int64(record.row)
    while mask:
        lane = lowest(mask)
        mask &= mask - 1
        if row >= 0:
            place = np.int64(offsets[row])
            row += 1
        else:
            place = record.base if lane < 16 else record.upper
            place += np.int64(record.stride) * (lane & 15)
        for word in range(place >> 2, ((place + width - 1) >> 2) + 1):
            address = (frame + word * 32 + lane) * 4
            n = _add_bytes(lines, sectors, n, address, address + 3, cut)
    return n


@inlined
def _ranges(
    record: Any, mask: Int, width: Int, part: NDArray[np.int64], n: Int, head: Int, cut: Cut
) -> Int:
    """Add the parts of an access that is one or two ranges; -1 where it is not."""
    stride = np.int64(record.stride)
    if record.row >= 0 or stride < 0 or stride > (1 << cut.sector_shift):
        return np.int64(-1)
    base, upper = record.base, record.upper
    if (upper == base + 16 * stride) and _run(mask):
        low = base + stride * lowest(mask)
        high = base + stride * highest(mask) + width - 1
        return _add_range(part, n, n, head, low, high, cut)
    lower, higher = mask & 0xFFFF, mask >> 16
    if stride and not (_run(lower) and _run(higher)):
        return np.int64(-1)
    begun = n
    if lower:
        low = base + stride * lowest(lower)
        high = base + stride * highest(lower) + width - 1
        n = _add_range(part, begun, n, head, low, high, cut)
    if higher:
        low = upper + stride * lowest(higher)
        high = upper + stride * highest(higher) + width - 1
        n = _add_range(part, begun, n, head, low, high, cut)
    return n


@apart
def collect(
    records: Any,
    start: int,
    offsets: Any,
    first_block: int,
    sites: Sites,
    pairs: Pairs,
    cut: Cut,
    patterns: Patterns,
    buffer: Buffer,
    state: NDArray[np.int64],
    left: NDArray[np.int64],
) -> tuple[Int, Int]:
    """Add the requests of records from ``start`` on to ``buffer``.

    ``records`` and ``offsets`` are those of a trace; ``first_block`` is the wave's first.
    ``state`` (4,) goes on from call to call and says why this one ended. ``left`` (records,)
    receives the records whose transactions cannot be told from a pattern. Returns the first record
    that was not taken, and how many there are in ``left``.
    """
    lines, sectors = buffer.lines, buffer.sectors
    part, stats, flags_of = buffer.part, pairs.stats, pairs.flags
    n, n_segment, n_left = buffer.used[0], buffer.used[1], np.int64(0)
    room = part.shape[0] - MOST_PARTS
    last_block, last_warp, last_phase = state[BLOCK], state[WARP], state[PHASE]
    end_block = first_block + cut.sms * cut.resident
    period_mask = cut.period - 1 if cut.period & (cut.period - 1) == 0 else -1
    seen_block, place = np.int64(-1), np.int64(0)
    why = DONE
    i = start
    while i < records.shape[0]:
        record = records[i]
        mask = np.int64(record.mask)
        if mask == 0:
            i += 1
            continue
        block = np.int64(record.block)
        if block >= end_block or block < first_block:
            why = WAVE_ENDS
            break
        if block != seen_block:
            seen_block = block
            place = (block - first_block) % cut.sms * cut.resident
            place += (block - first_block) // cut.sms
            buffer.seen[place] = True
        p = np.int64(pairs.number[record.site, record.array + 1])
        if p < 0:
            p = _new_pair(pairs, sites, cut, record.site, record.array)
            if p < 0:
                why = NO_PAIR
                break
        flags = flags_of[p]
        if n > room or n_segment == buffer.segment.shape[0]:
            why = NO_ROOM
            break
        if flags & COUNTED:
            base = record.base
            if record.row >= 0:
                left[n_left] = i
                n_left += 1
            else:
                shift = base & period_mask if period_mask >= 0 else base % cut.period
                if not count_pattern(
                    patterns, p, shift, record.upper - base, np.int64(record.stride), mask
                ):
                    why = NO_PATTERN
                    break
        if flags & ROUTED:
            if block != last_block or record.warp != last_warp or record.phase != last_phase:
                last_block, last_warp = block, np.int64(record.warp)
                last_phase = np.int64(record.phase)
                buffer.segment[n_segment, 0] = place * cut.warps + last_warp
                buffer.segment[n_segment, 1] = last_phase
                buffer.segment[n_segment, 2] = n
                n_segment += 1
            elif flags & JOINS and n:
                part[n - 1] &= ~LAST
            begun = n
            width = pairs.lane_bytes[p]
            head = (pairs.first_line[p] << LINE_BIT) | (p << PAIR_BIT)
            if not flags & IN_LOCAL:
                n = _ranges(record, mask, width, part, n, head, cut)
            if flags & IN_LOCAL or n < 0:
                if flags & IN_LOCAL:
                    head = (np.int64(cut.local_line) << LINE_BIT) | (p << PAIR_BIT)
                    seat = buffer.segment[n_segment - 1, 0]
                    frame = seat * cut.frame_words * 32
                    count = _local_parts(record, offsets, mask, width, frame, lines, sectors, cut)
                else:
                    count = _lane_parts(record, offsets, mask, width, lines, sectors, cut)
                n = begun
                for k in range(count):
                    part[n] = head + (np.int64(lines[k]) << LINE_BIT) + (sectors[k] << SECTOR_BIT)
                    n += 1
            asked = np.int64(0)
            for k in range(begun, n):
                asked += bits((part[k] >> SECTOR_BIT) & SECTORS)
            stats[p, SECTORS_ASKED] += asked
            stats[p, PARTS] += n - begun
            part[n - 1] |= LAST
        stats[p, REQUESTS] += 1
        stats[p, LANES] += bits(mask)
        i += 1
    state[BLOCK], state[WARP], state[PHASE], state[FULL] = last_block, last_warp, last_phase, why
    buffer.used[0], buffer.used[1] = n, n_segment
    return i, n_left
