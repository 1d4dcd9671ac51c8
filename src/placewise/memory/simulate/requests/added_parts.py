"""One access's parts, whatever its lanes' addresses: added behind those that a buffer has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.cache import Int
from placewise.memory.simulate.requests.forms import JOINS
from placewise.memory.simulate.requests.gathers import count_gather, gather, lay_lanes
from placewise.memory.simulate.requests.parts import (
    LAST,
    OFFSET,
    SECTOR_BIT,
    SECTORS,
    Buffer,
    Cut,
    lane_parts,
    ranges,
)
from placewise.memory.simulate.simd.jit_helpers import apart, bits, inlined


@inlined
def add_parts(
    record: Any, start: Int, frame: Int, row: Any, offsets: Any, buffer: Buffer, n: Int, cut: Cut
) -> tuple[Int, Int]:
    """Add the parts of an access without a form; how many there are now, and how many sectors were
    added. ``frame`` as in :func:`lane_parts`."""
    begun, width = n, np.int64(row.lane_bytes)
    if frame < 0 and record.row >= 0:
        lanes = bits(np.int64(record.mask))
        n, asked = _gather_any(offsets, record, start, lanes, width, row.head, buffer, n, cut)
        return n, asked
    n = np.int64(-1)
    if frame < 0:
        n = ranges(record, start, width, buffer.part, begun, row.head, cut)
    if n < 0:
        n = lane_parts(record, start, offsets, width, row.head, frame, buffer, begun, cut)
    return n, _end_parts(buffer.part, begun, n)


@inlined
def _end_parts(part: NDArray[np.int64], begun: Int, n: Int) -> Int:
    """Mark the last of an access's parts; how many sectors they have."""
    asked = np.int64(0)
    for k in range(begun, n):
        asked += bits((part[np.uintp(k)] >> SECTOR_BIT) & SECTORS)
    part[np.uintp(n - 1)] |= LAST
    return asked


@inlined
def add_gather(
    record: Any,
    offsets: Any,
    form: Any,
    pairs: NDArray[Any],
    buffer: Buffer,
    n: Int,
    begun: Int,
    cut: Cut,
) -> Int:
    """:func:`placewise.memory.simulate.requests.gathers.take_gathers` for one access, whatever its
    lanes' addresses; how many parts there are then."""
    part = buffer.part
    if form.far & JOINS and n > begun:
        part[np.uintp(n - 1)] &= ~LAST
    lanes, first = bits(np.int64(record.mask)), np.int64(record.row)
    width, head = np.int64(form.far_width), form.far_head
    found = lay_lanes(offsets, first, lanes, width, head, part, n, cut)
    end, asked = n + (found & 0xFFFFFFFF), found >> 32
    if found < 0:
        start = form.far & ~np.int64(OFFSET)
        end, asked = _gather_any(offsets, record, start, lanes, width, head, buffer, n, cut)
    count_gather(form, pairs, lanes, asked, end - n)
    return end


@apart
def _gather_any(
    offsets: Any,
    record: Any,
    start: Int,
    lanes: Int,
    width: Int,
    head: Int,
    buffer: Buffer,
    begun: Int,
    cut: Cut,
) -> tuple[Int, Int]:
    """The same of any such access."""
    n, asked = gather(
        offsets, np.int64(record.row), lanes, width, head, buffer.part, buffer.marks, begun,
        cut.line_shift, cut.sector_shift,
    )  # fmt: skip
    if n >= 0:
        buffer.part[np.uintp(n - 1)] |= LAST
        return n, asked
    n = lane_parts(record, start, offsets, width, head, np.int64(-1), buffer, begun, cut)
    return n, _end_parts(buffer.part, begun, n)
