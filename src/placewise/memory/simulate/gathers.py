"""Parts of accesses whose lanes each have an offset of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.cache import Int
from placewise.memory.simulate.lanes import (
    apart,
    bits,
    changes16,
    falls16,
    field16,
    inlined,
    lay_apart8,
    lowest,
)
from placewise.memory.simulate.parts import LAST, LINE_BIT, MARKS, SECTOR_BIT, Cut


@inlined
def _gather_rising(
    offsets: Any,
    row: Int,
    lanes: Int,
    width: Int,
    head: Int,
    part: NDArray[np.int64],
    n: Int,
    line_shift: Int,
    sector_shift: Int,
) -> tuple[Int, Int]:
    """Add the parts of ``lanes`` lanes whose offsets start at ``row``, if no lane's line is below
    that of the lane before; how many parts there are now, -1 where that is not so, and how many
    sectors were added. Offsets are int32, lines have four sectors."""
    starts = changes16(offsets, row, line_shift)
    falls = falls16(offsets, row, line_shift)
    even = field16(offsets, row, 0, width - 1, 0)
    a = field16(offsets, row, sector_shift, 3, 0)
    b = field16(offsets, row, sector_shift, 3, 1)
    c = field16(offsets, row, sector_shift, 3, 2)
    d = field16(offsets, row, sector_shift, 3, 3)
    if lanes > 16:
        starts |= changes16(offsets, row + 16, line_shift) << 16
        falls |= falls16(offsets, row + 16, line_shift) << 16
        even |= field16(offsets, row + 16, 0, width - 1, 0) << 16
        a |= field16(offsets, row + 16, sector_shift, 3, 0) << 16
        b |= field16(offsets, row + 16, sector_shift, 3, 1) << 16
        c |= field16(offsets, row + 16, sector_shift, 3, 2) << 16
        d |= field16(offsets, row + 16, sector_shift, 3, 3) << 16
    end = np.int64(1) << lanes
    # The word before the first lane's is of another access.
    if (falls & ~np.int64(1) | ~even) & (end - 1):
        return np.int64(-1), np.int64(0)
    starts = (starts & (end - 1)) | 1 | end
    asked = np.int64(0)
    while starts != end:
        first = starts & -starts
        lane = lowest(starts)
        starts ^= first
        # The lanes up to the next start.
        same = (starts & -starts) - first
        sectors = np.int64(a & same != 0) | (np.int64(b & same != 0) << 1)
        sectors |= (np.int64(c & same != 0) << 2) | (np.int64(d & same != 0) << 3)
        line = np.int64(offsets[np.uintp(row + lane)]) >> line_shift
        part[np.uintp(n)] = head + (line << LINE_BIT) + (sectors << SECTOR_BIT)
        asked += bits(sectors)
        n += 1
    return n, asked


@inlined
def few_gathered(
    offsets: Any,
    row: Int,
    lanes: Int,
    width: Int,
    head: Int,
    part: NDArray[np.int64],
    n: Int,
    cut: Cut,
) -> bool:
    """Add a part for each of ``lanes`` lanes whose offsets start at ``row``, the last with LAST, if
    they are few and none shares its line with another: what most gathers are of warps that diverge.
    """
    if lanes > 8 or row + 8 > offsets.shape[0] or offsets.itemsize != 4:
        return False
    shifts = cut.line_shift, cut.sector_shift, np.int64(LINE_BIT), np.int64(SECTOR_BIT)
    return not lay_apart8(offsets, row, lanes, width, part, n, head, shifts)


@apart
def add_gathered(
    offsets: Any,
    row: Int,
    lanes: Int,
    width: Int,
    head: Int,
    part: NDArray[np.int64],
    marks: NDArray[np.int64],
    n: Int,
    line_shift: Int,
    sector_shift: Int,
) -> tuple[Int, Int]:
    """Add the parts of an access of ``lanes`` lanes whose offsets start at ``row``, in the order of
    lanes, the last with LAST; how many parts there are now, -1 where a lane's bytes are of two
    sectors, and how many sectors were added."""
    whole = row > 0 and row + 32 <= offsets.shape[0] and offsets.itemsize == 4
    if whole and line_shift - sector_shift == 2:
        end, asked = _gather_rising(
            offsets, row, lanes, width, head, part, n, line_shift, sector_shift
        )
        if end >= 0:
            part[np.uintp(end - 1)] |= LAST
            return end, asked
    n, asked = _gather(offsets, row, lanes, width, head, part, marks, n, line_shift, sector_shift)
    if n >= 0:
        part[np.uintp(n - 1)] |= LAST
    return n, asked


@apart
def _gather(
    offsets: Any,
    row: Int,
    lanes: Int,
    width: Int,
    head: Int,
    part: NDArray[np.int64],
    marks: NDArray[np.int64],
    n: Int,
    line_shift: Int,
    sector_shift: Int,
) -> tuple[Int, Int]:
    """The same for all offsets, without LAST."""
    begun = n
    serial = marks[MARKS] + 1
    marks[MARKS] = serial
    per_shift = line_shift - sector_shift
    within = (np.int64(1) << per_shift) - 1
    first_line = head >> LINE_BIT
    last = np.int64(-1)
    asked = np.int64(0)
    for k in range(row, row + lanes):
        place = np.int64(offsets[np.uintp(k)])
        sector = place >> sector_shift
        if (place + width - 1) >> sector_shift != sector:
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
