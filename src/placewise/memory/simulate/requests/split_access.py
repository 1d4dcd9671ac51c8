"""Splits one warp access into line requests, for any addresses of its lanes.

In nearly all accesses the lanes' addresses have a constant stride and leave no gaps. Such an access
is a range of bytes, whose lines and sectors follow from its two ends. In other accesses each lane
is processed separately.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.geometry import Int
from placewise.memory.simulate.requests.line_requests import (
    LAST,
    LINE_BIT,
    MARKS,
    SECTOR_BIT,
    SECTORS,
    Buffer,
    Sizes,
)
from placewise.memory.simulate.simd.jit_helpers import (
    bits,
    equal16,
    highest,
    inlined,
    lowest,
    noinline,
)


class Access(NamedTuple):
    """One warp access."""

    record: Any
    """TRACE_RECORD."""
    start: Int
    """First address of the array."""
    width: Int
    """Bytes that each lane accesses."""
    head: Int
    """A line request for the array's first line without sectors."""
    frame: Int
    """First word of the warp's local memory; -1 for an access to an array."""


@inlined
def add_requests(
    access: Access, offsets: Any, buffer: Buffer, n: Int, sizes: Sizes
) -> tuple[Int, Int]:
    """Add the line requests of an access to the ``n`` in the buffer. Returns how many there are
    then, and how many sectors were added."""
    begun = n
    n = np.int64(-1)
    if access.frame < 0:
        if access.record.row >= 0:
            n, asked = _gather(access, offsets, buffer, begun, sizes)
            if n >= 0:
                buffer.request[np.uintp(n - 1)] |= LAST
                return n, asked
        else:
            n = _ranges(access, buffer.request, begun, sizes)
    if n < 0:
        n = _lane_by_lane(access, offsets, buffer, begun, sizes)
    asked = np.int64(0)
    for k in range(begun, n):
        asked += bits((buffer.request[np.uintp(k)] >> SECTOR_BIT) & SECTORS)
    buffer.request[np.uintp(n - 1)] |= LAST
    return n, asked


@inlined
def _gather(access: Access, offsets: Any, buffer: Buffer, n: Int, sizes: Sizes) -> tuple[Int, Int]:
    """Add the line requests of a gather, in the order of lanes and without LAST. The offsets of its
    active lanes start in ``offsets`` at the record's row. Returns how many line requests there are
    then (-1 if the bytes of a lane lie in two sectors), and how many sectors were added."""
    request, marks = buffer.request, buffer.marks
    begun, head = n, access.head
    serial = marks[MARKS] + 1
    marks[MARKS] = serial
    per_shift = sizes.line_shift - sizes.sector_shift
    within = (np.int64(1) << per_shift) - 1
    first_line = head >> LINE_BIT
    last = np.int64(-1)
    asked = np.int64(0)
    row = np.int64(access.record.row)
    for k in range(row, row + bits(np.int64(access.record.mask))):
        place = np.int64(offsets[np.uintp(k)])
        sector = place >> sizes.sector_shift
        if (place + access.width - 1) >> sizes.sector_shift != sector:
            return np.int64(-1), asked
        line = first_line + (sector >> per_shift)
        bit = np.int64(1) << (SECTOR_BIT + (sector & within))
        at = n - 1
        if line != last:
            mark = np.uintp(line & (MARKS - 1))
            found = marks[mark]
            at = n
            if found >> 8 == serial:
                at = begun + (found & 0xFF)
                if request[np.uintp(at)] >> LINE_BIT != line:
                    at = begun
                    while at < n and request[np.uintp(at)] >> LINE_BIT != line:
                        at += 1
            else:
                marks[mark] = (serial << 8) | (n - begun)
            if at == n:
                request[np.uintp(n)] = head + ((sector >> per_shift) << LINE_BIT)
                n += 1
            last = line if at == n - 1 else np.int64(-1)
        before = request[np.uintp(at)]
        request[np.uintp(at)] = before | bit
        asked += np.int64(before & bit == 0)
    return n, asked


@inlined
def follows(mask: Int) -> bool:
    """Whether the bits that are set in a mask are consecutive."""
    filled = mask | (mask - 1)
    return bool(filled & (filled + 1) == 0)


@inlined
def _ranges(access: Access, request: NDArray[np.int64], n: Int, sizes: Sizes) -> Int:
    """Add the line requests of an access that is one or two ranges of bytes. Returns how many there
    are then, or -1 if the access is something else."""
    record, start = access.record, access.start
    mask, stride = np.int64(record.mask), np.int64(record.stride)
    if stride < 0 or stride > (1 << sizes.sector_shift):
        return np.int64(-1)
    base, upper = record.base - start, record.upper - start
    if (upper == base + 16 * stride) and follows(mask):
        low = base + stride * lowest(mask)
        high = base + stride * highest(mask) + access.width - 1
        return _add_range(request, n, n, access.head, low, high, sizes)
    return _two_ranges(access, request, n, sizes)


@noinline
def _two_ranges(access: Access, request: NDArray[np.int64], n: Int, sizes: Sizes) -> Int:
    """Add the line requests of an access whose lanes 0 to 15 are one range and lanes 16 to 31
    another. Returns how many there are then, or -1 if the lanes are not such ranges."""
    record, start = access.record, access.start
    mask, stride = np.int64(record.mask), np.int64(record.stride)
    lower, higher = mask & 0xFFFF, mask >> 16
    if stride and not (follows(lower) and follows(higher)):
        return np.int64(-1)
    begun = n
    if lower:
        low = record.base - start + stride * lowest(lower)
        high = record.base - start + stride * highest(lower) + access.width - 1
        n = _add_range(request, begun, n, access.head, low, high, sizes)
    if higher:
        low = record.upper - start + stride * lowest(higher)
        high = record.upper - start + stride * highest(higher) + access.width - 1
        n = _add_range(request, begun, n, access.head, low, high, sizes)
    return n


@inlined
def _add_range(
    request: NDArray[np.int64], begun: Int, n: Int, head: Int, low: Int, high: Int, sizes: Sizes
) -> Int:
    """Add the line requests of bytes ``low`` to ``high`` of the array. Returns how many there are
    then. Those from ``begun`` to ``n`` belong to the same access."""
    first, last = low >> sizes.sector_shift, high >> sizes.sector_shift
    per_shift = sizes.line_shift - sizes.sector_shift
    whole = np.int64(1) << per_shift
    line, end = first >> per_shift, last >> per_shift
    start = first & (whole - 1)
    before = n
    while line <= end:
        upto = (last & (whole - 1)) if line == end else whole - 1
        sectors = (np.int64(2) << upto) - (np.int64(1) << start)
        at = begun
        while at < before and request[at] >> LINE_BIT != (head >> LINE_BIT) + line:
            at += 1
        if at == before:
            request[n] = head + (line << LINE_BIT) + (sectors << SECTOR_BIT)
            n += 1
        else:
            request[at] |= sectors << SECTOR_BIT
        start = np.int64(0)
        line += 1
    return n


@noinline
def _lane_by_lane(access: Access, offsets: Any, buffer: Buffer, n: Int, sizes: Sizes) -> Int:
    """Add the line requests of any access, in the order in which lanes first touch the lines.
    Returns how many there are then.

    In local memory the words of consecutive lanes are next to each other (CUDA C++ Programming
    Guide, "Local Memory").
    """
    record, width, frame = access.record, access.width, access.frame
    count = np.int64(0)
    mask, row, stride = np.int64(record.mask), np.int64(record.row), np.int64(record.stride)
    while mask:
        lane = lowest(mask)
        mask &= mask - 1
        if row >= 0:
            place = np.int64(offsets[np.uintp(row)])
            row += 1
        else:
            place = (record.base if lane < 16 else record.upper) - access.start
            place += stride * (lane & 15)
        if frame < 0:
            count = _add_bytes(buffer, count, place, place + width - 1, sizes)
        else:
            for word in range(place >> 2, ((place + width - 1) >> 2) + 1):
                address = (frame + word * 32 + lane) * 4
                count = _add_bytes(buffer, count, address, address + 3, sizes)
    for k in range(count):
        line, sectors = np.int64(buffer.lines[k]), buffer.sectors[k]
        buffer.request[np.uintp(n + k)] = access.head + (line << LINE_BIT) + (sectors << SECTOR_BIT)
    return n + count


@noinline
def _add_bytes(buffer: Buffer, n: Int, low: Int, high: Int, sizes: Sizes) -> Int:
    """Add bytes ``low`` to ``high`` to the ``n`` lines in the buffer's temporary room. Returns how
    many lines there are then."""
    lines, sectors = buffer.lines, buffer.sectors
    per_shift = sizes.line_shift - sizes.sector_shift
    sector, end = low >> sizes.sector_shift, high >> sizes.sector_shift
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
