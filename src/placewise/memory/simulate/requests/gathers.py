"""Parts of accesses whose lanes each have an offset of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.cache import Int
from placewise.memory.simulate.requests.forms import JOINS
from placewise.memory.simulate.requests.monotone_gather_simd import (
    lay_apart8,
    lay_apart16,
    lay_rising,
    lay_rising16,
)
from placewise.memory.simulate.requests.parts import LAST, LINE_BIT, MARKS, OFFSET, SECTOR_BIT, Cut
from placewise.memory.simulate.simd.jit_helpers import apart, bits, inlined


@apart
def take_gathers(
    records: Any,
    at: Int,
    stop: Int,
    offsets: Any,
    forms: NDArray[Any],
    pairs: NDArray[Any],
    part: NDArray[np.int64],
    n: Int,
    begun: Int,
    room: Int,
    cut: Cut,
) -> tuple[Int, Int]:
    """Add the parts of the accesses from ``at`` up to ``stop`` whose lanes each have an offset of
    their own, up to the first whose form is of another array or that vectors cannot take; the first
    access not taken, and how many parts there are then. Those before ``begun`` are of another
    warp. ``pairs`` are PAIR rows."""
    while at < stop:
        record = records[np.uintp(at)]
        form = forms[np.uintp(record.site)]
        first, lanes = np.int64(record.row), bits(np.int64(record.mask))
        other = (form.far ^ record.base) & ~np.int64(OFFSET)
        if other or first < 0 or n > room or not lanes:
            break
        width, head = np.int64(form.far_width), form.far_head
        found = lay_lanes(offsets, first, lanes, width, head, part, n, cut)
        if found < 0:
            break
        if form.far & JOINS and n > begun:
            part[np.uintp(n - 1)] &= ~LAST
        parts = found & 0xFFFFFFFF
        count_gather(form, pairs, lanes, found >> 32, parts)
        n += parts
        at += 1
    return at, n


@inlined
def count_gather(form: Any, pairs: NDArray[Any], lanes: Int, sectors: Int, parts: Int) -> None:
    """Count such an access with its pair of instruction and array."""
    row = pairs[np.uintp(form.far_pair)]
    row.requests += 1
    row.lanes += lanes
    row.sectors += sectors
    row.parts += parts


@apart
def _lay_many(
    offsets: Any,
    row: Int,
    lanes: Int,
    width: Int,
    head: Int,
    part: NDArray[np.int64],
    n: Int,
    cut: Cut,
) -> Int:
    """:func:`lay_lanes` where the lanes rise or, 16 at most, are on lines of their own. A function
    that is called: what it needs would crowd a loop's own variables out of the registers."""
    shifts = cut.line_shift, cut.sector_shift
    wide = np.int64(16) if lanes <= 16 else np.int64(32)
    if cut.line_shift - cut.sector_shift != 2 or row + wide > offsets.shape[0]:
        return np.int64(-1)
    if lanes > 16:
        return lay_rising(offsets, row, lanes, width, part, n, head, shifts)
    found = lay_rising16(offsets, row, lanes, width, part, n, head, shifts)
    if found < 0 and lanes > 8:
        found = lay_apart16(offsets, row, lanes, width, part, n, head, shifts)
    return found


@inlined
def lay_lanes(
    offsets: Any,
    row: Int,
    lanes: Int,
    width: Int,
    head: Int,
    part: NDArray[np.int64],
    n: Int,
    cut: Cut,
) -> Int:
    """Write the parts of an access of ``lanes`` lanes whose offsets start at ``row``, the last with
    LAST, if they are few and on lines of their own, as in most gathers of warps that diverge, or
    rise. How many parts, plus 2^32 times how many sectors; -1 where that is not so."""
    shifts = cut.line_shift, cut.sector_shift
    found = np.int64(-1)
    if offsets.itemsize != 4:
        return found
    if lanes <= 8 and row + 8 <= offsets.shape[0]:
        found = lay_apart8(offsets, row, lanes, width, part, n, head, shifts)
    if found < 0:
        found = _lay_many(offsets, row, lanes, width, head, part, n, cut)
    return found


@apart
def gather(
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
    """Add the parts of any such access, in the order of lanes, without LAST; how many parts there
    are now, -1 where a lane's bytes are of two sectors, and how many sectors were added."""
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
