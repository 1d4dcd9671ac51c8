"""Forms of accesses: what is alike in all accesses of an instruction that lie on a line.

Nearly all accesses of most kernels have the lanes, the stride and the array of the one before by
the same instruction, and only start elsewhere. Their ranges of bytes are worked out once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.cache import Int
from placewise.memory.simulate.lanes import apart, bits, highest, inlined, lowest
from placewise.memory.simulate.parts import LAST, OFFSET, Cut, add_short, follows

FORM = np.dtype(
    [
        ("mask", np.uint32),
        ("stride", np.int32),
        ("delta", np.int64),
        ("start", np.int64),
        ("lane", np.int64),
        ("low", np.int64),
        ("high", np.int64),
        ("low2", np.int64),
        ("high2", np.int64),
        ("pair", np.int32),
        ("ranges", np.int32),
        ("lanes", np.int32),
        ("joins", np.int32),
    ]
)
"""An access of an instruction: active lanes, stride, lane 16's address and the first active lane's
from lane 0's, the array's first address, first and last bytes of one or two ranges from lane 0's
address on, the pair of instruction and array, how many ranges (0: there is no form), how many
lanes, whether it issues in a burst with the access before."""


@inlined
def has_form(record: Any, form: Any) -> bool:
    """Whether an access has a form."""
    same = (record.upper - record.base) ^ form.delta
    same |= ((record.base + form.lane) & ~OFFSET) ^ form.start
    same |= np.int64(record.mask ^ form.mask) | np.int64(record.stride ^ form.stride)
    same |= np.int64(form.ranges == 0)
    return bool(same == 0 and record.row < 0)


@apart
def take_formed(
    records: Any,
    at: Int,
    stop: Int,
    pairs: NDArray[Any],
    forms: NDArray[Any],
    part: NDArray[np.int64],
    n: Int,
    begun: Int,
    room: Int,
    cut: Cut,
) -> tuple[Int, Int]:
    """Add the parts of accesses from ``at`` on, up to the first without a form, to the ``n`` there
    are, of which the warp's start at ``begun``; the first access not taken, and how many parts
    there are now. ``pairs`` are PAIR rows. There is room while parts are no more than ``room``."""
    while at < stop and n <= room:
        record = records[np.uintp(at)]
        form = forms[np.uintp(record.site)]
        if not has_form(record, form):
            break
        row = pairs[np.uintp(form.pair)]
        if form.joins and n > begun:
            part[np.uintp(n - 1)] &= ~LAST
        before, head, base = n, row.head, record.base - form.start
        ends = np.int64(form.ranges == 1)
        n, asked = add_short(part, n, head, base + form.low, base + form.high, ends * LAST, cut)
        if not ends:
            n, more = add_short(part, n, head, base + form.low2, base + form.high2, LAST, cut)
            asked += more
        row.requests += 1
        row.lanes += form.lanes
        row.sectors += asked
        row.parts += n - before
        at += 1
    return at, n


@apart
def new_form(
    record: Any, form: Any, width: Int, pair: Int, joins: Int, start: Int, cut: Cut
) -> None:
    """Make an access of ``width`` bytes a lane to the array at ``start`` the form of its
    instruction, if it is one or two ranges shorter than a line that have no line in common."""
    mask, stride = np.int64(record.mask), np.int64(record.stride)
    line_bytes = np.int64(1) << cut.line_shift
    form.ranges = 0
    if record.row >= 0 or stride < 0 or stride > (1 << cut.sector_shift):
        return
    delta = record.upper - record.base
    lower, higher = mask & 0xFFFF, mask >> 16
    whole = delta == 16 * stride and follows(mask)
    if not whole and stride and not (follows(lower) and follows(higher)):
        return
    extent = width - 1
    low = low2 = stride * lowest(lower) if lower else delta + stride * lowest(higher)
    high = high2 = (stride * highest(lower) if lower else delta + stride * highest(higher)) + extent
    ranges = 1
    if whole:
        low, high = stride * lowest(mask), stride * highest(mask) + extent
    elif lower and higher:
        low2 = delta + stride * lowest(higher)
        high2 = delta + stride * highest(higher) + extent
        apart_ = low2 - high >= line_bytes or low - high2 >= line_bytes
        inside = low2 >= low and high2 <= high
        if not apart_ and not inside:
            return
        ranges = 2 if apart_ else 1
    if high - low >= line_bytes or high2 - low2 >= line_bytes:
        return
    form.mask, form.stride, form.delta, form.start = mask, stride, delta, start
    form.lane = stride * lowest(mask) if lower else delta + stride * lowest(higher)
    form.low, form.high, form.low2, form.high2 = low, high, low2, high2
    form.pair, form.ranges, form.lanes, form.joins = pair, ranges, bits(mask), joins
