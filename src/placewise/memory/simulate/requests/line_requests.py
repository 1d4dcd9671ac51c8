"""Requests as parts: a line's sectors each.

Lanes on a line without gaps, as nearly all accesses of most kernels have them, are ranges of
sectors: their parts follow from both ends. Other lanes are looked at one by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.executor.device_memory.address_space import WINDOW_SHIFT
from placewise.memory.simulate.caches.cache import Int
from placewise.memory.simulate.simd.jit_helpers import apart, equal16, highest, inlined, lowest

MOST_PARTS = 128
"""Lines that one warp access can touch: four words of local memory for each lane."""
LINE_BIT, SECTOR_BIT, PAIR_BIT, ASIDE, LAST = 32, 16, 2, 2, 1
"""A part is a word: the line number from bit 32 on, then its sectors, from bit 2 on the number of
the pair of instruction and array, in bit 1 whether it is not a read of the first of the SM's
caches, and in bit 0 whether it is the last part of its burst."""
SECTORS = (1 << LINE_BIT - SECTOR_BIT) - 1
MOST_PAIRS = (1 << SECTOR_BIT - PAIR_BIT) - 1
MOST_LINES = 1 << 31
PARTS_AT_ONCE = 1 << 26
"""Parts kept at most (8 bytes each): a wave that has more is run in pieces, block by block."""
MARKS = 256
"""Places by which lines of an access are found again: so many that two lines rarely share one."""
MADE_AT_ONCE = 36
"""Parts that may be written at once without looking whether there is room."""
OFFSET = (1 << WINDOW_SHIFT) - 1
"""Bits of an address that are the offset in its array."""


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
    """Cache that local memory goes through first, with PAST_LAST of requests."""
    local_line: int
    """Line where local memory starts."""
    frame_words: int
    """4-byte words of local memory of a thread."""


def check_lines(cut: Cut) -> None:
    """Raises CaseError where a launch's arrays have more lines than a part has numbers for."""
    local = cut.sms * cut.resident * cut.warps * cut.frame_words * 128
    if cut.local_line + (local >> cut.line_shift) >= MOST_LINES:
        raise CaseError(
            "the arrays have more lines than can be simulated",
            hint="lines are numbered in 31 bits",
        )


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
    marks: NDArray[np.int64]
    """(MARKS + 1,) where lines of the present access lie, by the lowest bits of their numbers; the
    last word numbers the accesses."""
    place: NDArray[np.int64]
    """(SMs * resident,) where each block of the wave runs
    (:func:`placewise.memory.simulate.schedule.block_to_sm.seats`)."""


_spare: list[NDArray[np.int64]] = []
"""Room for parts that nobody uses any more, one at most."""


def new_buffer(blocks: int, parts: int = PARTS_AT_ONCE) -> Buffer:
    """For waves of so many blocks and, with the room that an access needs, so many parts. Memory
    that is never written to is none, so that there can be room for all from the start."""
    size = parts + MOST_PARTS + MADE_AT_ONCE
    spare = _spare.pop() if _spare else None
    return Buffer(
        spare if spare is not None and len(spare) == size else np.empty(size, np.int64),
        np.empty((1 << 14, 3), np.int64),
        np.zeros(blocks, np.bool_),
        np.zeros(2, np.int64),
        np.empty(MOST_PARTS + 16, np.int32),
        np.empty(MOST_PARTS, np.int64),
        np.zeros(MARKS + 1, np.int64),
        np.zeros(blocks, np.int64),
    )


def without_parts(buffer: Buffer) -> Buffer:
    """The buffer without its parts, whose room the next buffer has: for a wave of millions of
    accesses a tenth of the time would go into having memory anew."""
    _spare[:] = [buffer.part]
    return buffer._replace(part=np.empty(0, np.int64))


def larger(buffer: Buffer) -> Buffer:
    """The buffer with room for twice the segments."""
    used = int(buffer.used[1])
    segment = np.empty((2 * len(buffer.segment), 3), np.int64)
    segment[:used] = buffer.segment[:used]
    return buffer._replace(segment=segment)


@inlined
def follows(mask: Int) -> bool:
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
def lane_parts(
    record: Any,
    start: Int,
    offsets: Any,
    width: Int,
    head: Int,
    frame: Int,
    buffer: Buffer,
    n: Int,
    cut: Cut,
) -> Int:
    """Add the parts of an access, lane by lane, in order of first touch. ``start`` is where the
    array starts, ``frame`` that of the warp in local memory, -1 for an access to an array.

    Local memory is interleaved so that consecutive lanes' words are adjacent (CUDA C++ Programming
    Guide, "Local Memory").
    """
    lines, sectors = buffer.lines, buffer.sectors
    count = np.int64(0)
    mask, row, stride = np.int64(record.mask), np.int64(record.row), np.int64(record.stride)
    while mask:
        lane = lowest(mask)
        mask &= mask - 1
        if row >= 0:
            place = np.int64(offsets[np.uintp(row)])
            row += 1
        else:
            place = (record.base if lane < 16 else record.upper) - start
            place += stride * (lane & 15)
        if frame < 0:
            count = _add_bytes(lines, sectors, count, place, place + width - 1, cut)
        else:
            for word in range(place >> 2, ((place + width - 1) >> 2) + 1):
                address = (frame + word * 32 + lane) * 4
                count = _add_bytes(lines, sectors, count, address, address + 3, cut)
    for k in range(count):
        part = head + (np.int64(lines[k]) << LINE_BIT) + (sectors[k] << SECTOR_BIT)
        buffer.part[np.uintp(n + k)] = part
    return n + count


@inlined
def ranges(
    record: Any, start: Int, width: Int, part: NDArray[np.int64], n: Int, head: Int, cut: Cut
) -> Int:
    """Add the parts of an access to the array at ``start`` that is one or two ranges; -1 where it
    is not."""
    mask, stride = np.int64(record.mask), np.int64(record.stride)
    if record.row >= 0 or stride < 0 or stride > (1 << cut.sector_shift):
        return np.int64(-1)
    base, upper = record.base - start, record.upper - start
    if (upper == base + 16 * stride) and follows(mask):
        low = base + stride * lowest(mask)
        high = base + stride * highest(mask) + width - 1
        return _add_range(part, n, n, head, low, high, cut)
    return _two_ranges(mask, stride, base, upper, width, part, n, head, cut)


@apart
def _two_ranges(
    mask: Int,
    stride: Int,
    base: Int,
    upper: Int,
    width: Int,
    part: NDArray[np.int64],
    n: Int,
    head: Int,
    cut: Cut,
) -> Int:
    lower, higher = mask & 0xFFFF, mask >> 16
    if stride and not (follows(lower) and follows(higher)):
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
