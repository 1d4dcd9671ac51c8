"""The line requests of one warp access, whatever its lanes' addresses."""

from __future__ import annotations

from typing import Any

import numpy as np

from placewise.memory.simulate.caches.cache import Int
from placewise.memory.simulate.requests.line_requests import (
    LAST,
    LINE_BIT,
    MARKS,
    SECTOR_BIT,
    SECTORS,
    Buffer,
    Cut,
    lane_parts,
    ranges,
)
from placewise.memory.simulate.simd.jit_helpers import bits, inlined


@inlined
def add_parts(
    record: Any, start: Int, frame: Int, row: Any, offsets: Any, buffer: Buffer, n: Int, cut: Cut
) -> tuple[Int, Int]:
    """Add the line requests of an access of stream ``row`` (PAIR) to the ``n`` there are. Returns
    how many there are then, and how many sectors were added. ``start`` is the array's first
    address; ``frame`` as in :func:`lane_parts`."""
    begun, width = n, np.int64(row.lane_bytes)
    n = np.int64(-1)
    if frame < 0:
        if record.row >= 0:
            lanes = bits(np.int64(record.mask))
            n, asked = _gather(offsets, record.row, lanes, width, row.head, buffer, begun, cut)
            if n >= 0:
                buffer.part[np.uintp(n - 1)] |= LAST
                return n, asked
        else:
            n = ranges(record, start, width, buffer.part, begun, row.head, cut)
    if n < 0:
        n = lane_parts(record, start, offsets, width, row.head, frame, buffer, begun, cut)
    asked = np.int64(0)
    for k in range(begun, n):
        asked += bits((buffer.part[np.uintp(k)] >> SECTOR_BIT) & SECTORS)
    buffer.part[np.uintp(n - 1)] |= LAST
    return n, asked


@inlined
def _gather(
    offsets: Any, row: Int, lanes: Int, width: Int, head: Int, buffer: Buffer, n: Int, cut: Cut
) -> tuple[Int, Int]:
    """Add the line requests of a gather, whose ``lanes`` active lanes have the offsets from number
    ``row`` on, in the order of lanes and without LAST. Returns how many there are then, -1 where a
    lane's bytes lie in two sectors, and how many sectors were added. ``head`` is a line request
    for the array's first line without sectors."""
    part, marks = buffer.part, buffer.marks
    begun = n
    serial = marks[MARKS] + 1
    marks[MARKS] = serial
    per_shift = cut.line_shift - cut.sector_shift
    within = (np.int64(1) << per_shift) - 1
    first_line = head >> LINE_BIT
    last = np.int64(-1)
    asked = np.int64(0)
    for k in range(row, row + lanes):
        place = np.int64(offsets[np.uintp(k)])
        sector = place >> cut.sector_shift
        if (place + width - 1) >> cut.sector_shift != sector:
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
                if part[np.uintp(at)] >> LINE_BIT != line:
                    at = begun
                    while at < n and part[np.uintp(at)] >> LINE_BIT != line:
                        at += 1
            else:
                marks[mark] = (serial << 8) | (n - begun)
            if at == n:
                part[np.uintp(n)] = head + ((sector >> per_shift) << LINE_BIT)
                n += 1
            last = line if at == n - 1 else np.int64(-1)
        before = part[np.uintp(at)]
        part[np.uintp(at)] = before | bit
        asked += np.int64(before & bit == 0)
    return n, asked
