"""From warp accesses to requests: the lines and sectors that each asks its first cache for.

Most accesses of a kernel follow few patterns: lane addresses on a line, the same lanes active, the
same place within a line. A pattern is worked out once, found again through a hash table, and
counted; its transactions in banked memories follow from the counts at the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from placewise.memory.simulate.cache import Int, bits

KEY = 5
"""Words of a key: site, lane 0's place in the period, lane 16 from lane 0, stride, mask."""
MOST_PARTS = 64
"""Lines that one warp access can touch: two for each lane."""
SECTOR_BITS = 20
"""Lower bits of a part, for its sectors; the line number lies above."""

LOAD, STORE, ATOMIC = 0, 1, 2
LAST = 1
"""Lowest bit of a part's tag: the last part of its burst. The kind follows in two bits, then the
site."""


class Patterns(NamedTuple):
    """A hash table of patterns, open addressing."""

    keys: NDArray[np.int64]
    """(slots, KEY)"""
    seen: NDArray[np.int64]
    """(slots,) accesses; 0 for a free slot."""
    first: NDArray[np.int64]
    """(slots,) first of the pattern's parts."""
    parts: NDArray[np.int32]
    """(slots,) number of parts."""
    line: NDArray[np.int64]
    """(pool,) lines of parts, from the line of lane 0."""
    sectors: NDArray[np.uint32]
    """(pool,)"""
    total: NDArray[np.int64]
    """(slots,) sectors of all parts."""
    used: NDArray[np.int64]
    """(2,) patterns, parts of the pool."""


def new_patterns(slots: int) -> Patterns:
    """An empty table of at most 3/4 ``slots`` patterns, ``slots`` a power of two."""
    return Patterns(
        np.zeros((slots, KEY), np.int64),
        np.zeros(slots, np.int64),
        np.zeros(slots, np.int64),
        np.zeros(slots, np.int32),
        np.zeros(slots * 8, np.int64),
        np.zeros(slots * 8, np.uint32),
        np.zeros(slots, np.int64),
        np.zeros(2, np.int64),
    )


@njit(cache=True, nogil=True, inline="always")
def _shift_of(size: Int) -> Int:
    """Base-two logarithm; -1 where it is no whole number. Division takes ten times as long."""
    shift = np.int64(0)
    while (size >> shift) > 1:
        shift += 1
    if (np.int64(1) << shift) != size:
        shift = np.int64(-1)
    return shift


@njit(cache=True, nogil=True)
def parts_of(
    addresses: NDArray[np.int64],
    mask: Int,
    lane_bytes: Int,
    line_bytes: Int,
    sector_bytes: Int,
    lines: NDArray[np.int64],
    sectors: NDArray[np.uint32],
) -> Int:
    """Distinct lines of a warp access with the sectors it needs of each, in order of first touch.

    ``addresses`` (32,) bytes; the results go to ``lines`` and ``sectors`` (MOST_PARTS,). Returns
    their number.
    """
    n = 0
    sector_shift, line_shift = _shift_of(sector_bytes), _shift_of(line_bytes)
    per_line = line_bytes // sector_bytes
    for lane in range(32):
        if not (mask >> lane) & 1:
            continue
        if line_shift >= 0:
            sector = addresses[lane] >> sector_shift
            end = (addresses[lane] + lane_bytes - 1) >> sector_shift
        else:
            sector = addresses[lane] // sector_bytes
            end = (addresses[lane] + lane_bytes - 1) // sector_bytes
        while sector <= end:
            if line_shift >= 0:
                line = sector >> (line_shift - sector_shift)
            else:
                line = sector // per_line
            bit = np.uint32(1) << np.uint32(sector - line * per_line)
            at = n - 1
            while at >= 0 and lines[at] != line:
                at -= 1
            if at < 0:
                lines[n] = line
                sectors[n] = bit
                n += 1
            else:
                sectors[at] |= bit
            sector += 1
    return n


@njit(cache=True, nogil=True)
def _slot(patterns: Patterns, site: Int, place: Int, upper: Int, stride: Int, mask: Int) -> Int:
    """Slot of a key: where it is, or the free one where it belongs."""
    keys = patterns.keys
    size = keys.shape[0]
    mixed = np.uint64(place) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(mask)
    mixed ^= np.uint64(upper) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= (np.uint64(stride) << np.uint64(20)) ^ (np.uint64(site) << np.uint64(7))
    mixed *= np.uint64(0xFF51AFD7ED558CCD)
    at = np.int64(mixed >> np.uint64(40)) & (size - 1)
    while patterns.seen[at] and not (
        keys[at, 0] == site
        and keys[at, 1] == place
        and keys[at, 2] == upper
        and keys[at, 3] == stride
        and keys[at, 4] == mask
    ):
        at = (at + 1) & (size - 1)
    return at


@njit(cache=True, nogil=True)
def _add(
    patterns: Patterns,
    at: Int,
    site: Int,
    place: Int,
    upper: Int,
    stride: Int,
    mask: Int,
    lane_bytes: Int,
    line_bytes: Int,
    sector_bytes: Int,
    scratch: NDArray[np.int64],
    lines: NDArray[np.int64],
    sectors: NDArray[np.uint32],
) -> bool:
    """Work a pattern out and keep it at slot ``at``; False where the table is full."""
    if patterns.used[0] * 4 >= patterns.keys.shape[0] * 3:
        return False
    start = patterns.used[1]
    if start + MOST_PARTS > patterns.line.shape[0]:
        return False
    for lane in range(16):
        scratch[lane] = place + stride * lane
        scratch[lane + 16] = place + upper + stride * lane
    n = parts_of(scratch, mask, lane_bytes, line_bytes, sector_bytes, lines, sectors)
    patterns.total[at] = 0
    for i in range(n):
        patterns.line[start + i] = lines[i]
        patterns.sectors[start + i] = sectors[i]
        patterns.total[at] += bits(np.int64(sectors[i]))
    patterns.keys[at, 0] = site
    patterns.keys[at, 1] = place
    patterns.keys[at, 2] = upper
    patterns.keys[at, 3] = stride
    patterns.keys[at, 4] = mask
    patterns.first[at] = start
    patterns.parts[at] = n
    patterns.used[0] += 1
    patterns.used[1] = start + n
    return True


class Columns(NamedTuple):
    """The columns of a trace chunk that requests are made of."""

    site: NDArray[np.int32]
    block: NDArray[np.int32]
    warp: NDArray[np.int32]
    phase: NDArray[np.int32]
    mask: NDArray[np.uint32]
    array: NDArray[np.int32]
    base: NDArray[np.int64]
    upper: NDArray[np.int64]
    stride: NDArray[np.int32]
    row: NDArray[np.int32]
    offsets: NDArray[np.int32] | NDArray[np.int64]


class Sites(NamedTuple):
    """What is fixed for each memory instruction, and what is counted of it."""

    route: NDArray[np.int8]
    """(sites, arrays + 1) by array number + 1: COUNTED, or the cache that comes first."""
    lane_bytes: NDArray[np.int32]
    kind: NDArray[np.int32]
    """LOAD, STORE or ATOMIC."""
    waits: NDArray[np.bool_]
    """Whether the warp waits before it; else it issues in a burst with the access before."""
    requests: NDArray[np.int64]
    lanes: NDArray[np.int64]
    """Active lanes of all requests."""
    sectors: NDArray[np.int64]
    parts: NDArray[np.int64]
    """Lines of all requests."""


COUNTED, LOCAL = -1, -2
"""Routes of accesses that no cache of this path sees (shared memory, constants), and of local
memory, whose addresses are made here."""


class Geometry(NamedTuple):
    """Sizes that requests are cut by, and where the launch's warps run."""

    line_bytes: int
    sector_bytes: int
    period: int
    """Shift in bytes under which a pattern keeps its transactions; a multiple of the line."""
    sms: int
    resident: int
    """Blocks that an SM holds at a time."""
    warps: int
    """Of a block."""
    frame_words: int
    """4-byte words of local memory of a thread."""
    local_cache: int
    """Cache that local memory goes through first."""
    local_line: int
    """Line where local memory starts."""


class Buffer(NamedTuple):
    """Requests of one wave, as parts (a line's sectors each), and where each warp's lie."""

    part: NDArray[np.int64]
    """(capacity,) line << SECTOR_BITS | sectors."""
    tag: NDArray[np.int32]
    """(capacity,) site << 8 | first cache << 3 | kind << 1 | LAST."""
    segment: NDArray[np.int64]
    """(segments, 4) block, warp, phase, first part: accesses of one warp between barriers."""
    used: NDArray[np.int64]
    """(2,) parts, segments."""


@njit(cache=True, nogil=True)
def _local_parts(
    scratch: NDArray[np.int64],
    mask: Int,
    lane_bytes: Int,
    first_line: Int,
    lines: NDArray[np.int64],
    sectors: NDArray[np.uint32],
) -> Int:
    """Lines of a local access: a word of 32 lanes fills one line of 128 bytes.

    Local memory is interleaved so that consecutive lanes' words are adjacent (CUDA C++ Programming
    Guide, "Local Memory").
    """
    n = 0
    for lane in range(32):
        if not (mask >> lane) & 1:
            continue
        bit = np.uint32(1) << np.uint32(lane >> 3)
        word = scratch[lane] >> 2
        end = (scratch[lane] + lane_bytes - 1) >> 2
        while word <= end:
            at = n - 1
            while at >= 0 and lines[at] != first_line + word:
                at -= 1
            if at < 0:
                if n == MOST_PARTS:
                    return n
                lines[n] = first_line + word
                sectors[n] = bit
                n += 1
            else:
                sectors[at] |= bit
            word += 1
    return n


@njit(cache=True, nogil=True)
def collect(
    c: Columns,
    start: Int,
    stop: Int,
    sites: Sites,
    array_line: NDArray[np.int64],
    geometry: Geometry,
    patterns: Patterns,
    buffer: Buffer,
    last: NDArray[np.int64],
    left: NDArray[np.int64],
) -> Int:
    """Add the requests of records ``start`` to ``stop`` of a chunk to ``buffer``.

    ``array_line`` (arrays + 1,) is the line that each array starts at, by array number + 1; every
    array starts at a multiple of the period. ``last`` (3,) holds block, warp and phase of the
    segment in work. ``left`` (records,) receives the records whose transactions in banked memories
    cannot be told from a pattern; returns their number. ``buffer`` must have room for
    ``MOST_PARTS`` parts and one segment of every record.
    """
    lines = np.empty(MOST_PARTS, np.int64)
    sectors = np.empty(MOST_PARTS, np.uint32)
    scratch = np.empty(32, np.int64)
    n_left = 0
    n_part, n_segment = buffer.used[0], buffer.used[1]
    for i in range(start, stop):
        mask = np.int64(c.mask[i])
        if mask == 0:
            continue
        site = np.int64(c.site[i])
        route = np.int64(sites.route[site, c.array[i] + 1])
        sites.requests[site] += 1
        sites.lanes[site] += bits(mask)
        base, stride = c.base[i], np.int64(c.stride[i])
        offset = c.upper[i] - base
        regular = c.row[i] < 0
        slot = np.int64(-1)
        place = base % geometry.period
        if regular and route != LOCAL:
            slot = _slot(patterns, site, place, offset, stride, mask)
            if patterns.seen[slot] == 0 and not _add(
                patterns,
                slot,
                site,
                place,
                offset,
                stride,
                mask,
                sites.lane_bytes[site],
                geometry.line_bytes,
                geometry.sector_bytes,
                scratch,
                lines,
                sectors,
            ):
                slot = np.int64(-1)
            else:
                patterns.seen[slot] += 1
        if route == COUNTED:
            if slot < 0:
                left[n_left] = i
                n_left += 1
            continue
        if c.block[i] != last[0] or c.warp[i] != last[1] or c.phase[i] != last[2]:
            last[0], last[1], last[2] = c.block[i], c.warp[i], c.phase[i]
            for k in range(3):
                buffer.segment[n_segment, k] = last[k]
            buffer.segment[n_segment, 3] = n_part
            n_segment += 1
        elif not sites.waits[site] and n_part:
            buffer.tag[n_part - 1] &= ~LAST
        tag = (site << 8) | (route << 3) | (np.int64(sites.kind[site]) << 1)
        if slot >= 0:
            first, count = patterns.first[slot], np.int64(patterns.parts[slot])
            line = array_line[c.array[i] + 1] + (base - place) // geometry.line_bytes
            for k in range(first, first + count):
                buffer.part[n_part] = ((line + patterns.line[k]) << SECTOR_BITS) | np.int64(
                    patterns.sectors[k]
                )
                buffer.tag[n_part] = tag
                n_part += 1
            sites.sectors[site] += patterns.total[slot]
        else:
            at = np.int64(c.row[i])
            for lane in range(32):
                if regular:
                    scratch[lane] = base + stride * (lane & 15) + (offset if lane >= 16 else 0)
                elif (mask >> lane) & 1:
                    scratch[lane] = c.offsets[at]
                    at += 1
            if route == LOCAL:
                tag = (site << 8) | (geometry.local_cache << 3) | (tag & 7)
                sm = c.block[i] % geometry.sms
                seat = (c.block[i] // geometry.sms) % geometry.resident
                seat = (sm * geometry.resident + seat) * geometry.warps + c.warp[i]
                line = geometry.local_line + seat * geometry.frame_words
                count = _local_parts(scratch, mask, sites.lane_bytes[site], line, lines, sectors)
                line = np.int64(0)
            else:
                line = array_line[c.array[i] + 1]
                count = parts_of(
                    scratch, mask, sites.lane_bytes[site], geometry.line_bytes,
                    geometry.sector_bytes, lines, sectors,
                )  # fmt: skip
            for k in range(count):
                buffer.part[n_part] = ((line + lines[k]) << SECTOR_BITS) | np.int64(sectors[k])
                buffer.tag[n_part] = tag
                n_part += 1
                sites.sectors[site] += bits(np.int64(sectors[k]))
        sites.parts[site] += count
        buffer.tag[n_part - 1] |= LAST
    buffer.used[0], buffer.used[1] = n_part, n_segment
    return n_left
