"""Forms of accesses: what is alike in all accesses of an instruction that lie on a line.

Nearly all accesses of most kernels have the lanes, the stride and the array of the one before by
the same instruction, and only start elsewhere. Their ranges of bytes are worked out once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.executor.device_memory.address_space import WINDOW_SHIFT
from placewise.memory.simulate.caches.cache import Int, aligned
from placewise.memory.simulate.requests.line_requests import (
    LAST,
    LINE_BIT,
    SECTOR_BIT,
    Cut,
    follows,
)
from placewise.memory.simulate.simd.jit_helpers import apart, bits, highest, inlined, lowest

FORM = np.dtype(
    [
        ("start", np.int64),
        ("delta", np.int64),
        ("how", np.int64),
        ("who", np.int64),
        ("low", np.int64),
        ("low2", np.int64),
        ("head", np.int64),
        ("extents", np.int64),
        ("pair", np.int32),
        ("lanes", np.int32),
        ("count", np.int64),
        ("spare", np.int64, 6),
    ]
)
"""The form of an instruction's last access whose lanes' addresses lie on a line.

``start`` is the array's first address with the flags JOINS and TWO, ``delta`` lane 16's address
from lane 0's, ``how`` the record's words of site and stride, ``who`` those of row and mask (NOBODY
where there is no form). ``low`` and ``low2`` are where one or two ranges of bytes start, from lane
0's address on; ``extents`` the bytes from the first to the last of each range, the second's from
bit 32 on. ``head`` is a line request for address 0 without sectors, ``pair`` the access stream
(instruction and array), ``lanes`` the number of active lanes, and ``count`` what was counted of
accesses of this form: accesses, sectors from SECTORS_BIT on, line requests from PARTS_BIT on.

``spare`` fills two lines of the processor's cache."""
SECTORS_BIT, PARTS_BIT = 20, 42
JOINS, TWO = 1, 2
"""Flags of a form, in bits of the array's address that are 0: it issues in a burst with the access
before; it has two ranges."""
NOBODY = (1 << 32) - 2
"""Row and mask where there is no form; no record has this row."""
MOST_COUNTED = 1 << 18
"""Accesses after which what is counted with forms is added to the access streams' counts."""


def new_forms(sites: int) -> NDArray[Any]:
    """(sites,) FORM without any, each on lines of the processor's cache of its own."""
    forms = aligned(sites * FORM.itemsize // 8, np.int64).view(FORM)
    forms["who"] = NOBODY
    return forms


@inlined
def how_of(record: Any) -> Int:
    """A record's site and stride as one word."""
    return np.int64(record.site) | (np.int64(record.stride) << 32)


@inlined
def who_of(record: Any) -> Int:
    """A record's row and mask as one word."""
    return (np.int64(record.row) & 0xFFFFFFFF) | (np.int64(record.mask) << 32)


@inlined
def _settle_one(form: Any, pairs: NDArray[Any]) -> None:
    """Move a form's counts to its access stream."""
    row = pairs[np.uintp(form.pair)]
    count = form.count & ((1 << SECTORS_BIT) - 1)
    row.requests += count
    row.lanes += count * form.lanes
    row.sectors += (form.count >> SECTORS_BIT) & ((1 << (PARTS_BIT - SECTORS_BIT)) - 1)
    row.parts += form.count >> PARTS_BIT
    form.count = 0


@apart
def settle_all(forms: NDArray[Any], pairs: NDArray[Any]) -> None:
    """Move all forms' counts to their access streams; ``pairs`` are PAIR rows."""
    for site in range(forms.shape[0]):
        form = forms[np.uintp(site)]
        if form.count:
            _settle_one(form, pairs)


@inlined
def _place_range(
    low: Int, extent: Int, head: Int, last: Int, part: NDArray[np.int64], n: Int, cut: Cut
) -> tuple[Int, Int]:
    """Put the parts of a range of bytes from address ``low`` on to ``part[n:]``, with ``last`` in
    the last of them. How many parts there are then, and how many sectors they have."""
    per_line = cut.line_shift - cut.sector_shift
    first = low & ((np.int64(1) << cut.line_shift) - 1)
    end = first + extent
    crosses = end >> cut.line_shift
    first, end = first >> cut.sector_shift, end >> cut.sector_shift
    sectors = (np.int64(2) << end) - (np.int64(1) << first)
    own = sectors & ((np.int64(1) << (np.int64(1) << per_line)) - 1)
    beyond = sectors >> (np.int64(1) << per_line)
    head += (low >> cut.line_shift) << LINE_BIT
    part[np.uintp(n)] = head + (own << SECTOR_BIT) + (last & ~crosses)
    part[np.uintp(n + 1)] = head + (beyond << SECTOR_BIT) + ((1 << LINE_BIT) + last)
    return n + 1 + crosses, end - first + 1


@inlined
def take_formed(
    records: Any,
    at: Int,
    stop: Int,
    forms: NDArray[Any],
    part: NDArray[np.int64],
    n: Int,
    begun: Int,
    room: Int,
    cut: Cut,
) -> tuple[Int, Int]:
    """Add the line requests of records ``at`` to ``stop``, up to the first that has not the form
    of its instruction, to the ``n`` in ``part``, while these are no more than ``room``. The warp's
    line requests start at ``begun``. Returns the first record not taken, and how many line
    requests there are then."""
    while at < stop and n <= room:
        record = records[np.uintp(at)]
        form = forms[np.uintp(record.site)]
        start, low = form.start, record.base + form.low
        if form.who != who_of(record) or form.how != how_of(record):
            break
        if record.upper - record.base != form.delta or (low ^ start) >> WINDOW_SHIFT:
            break
        if start & JOINS and n > begun:
            part[np.uintp(n - 1)] &= ~LAST
        before, extent = n, form.extents & 0xFFFFFFFF
        if start & TWO:
            n, asked = _place_range(low, extent, form.head, np.int64(0), part, n, cut)
            low = record.base + form.low2
            n, more = _place_range(low, form.extents >> 32, form.head, np.int64(LAST), part, n, cut)
            asked += more
        else:
            n, asked = _place_range(low, extent, form.head, np.int64(LAST), part, n, cut)
        form.count += (asked << SECTORS_BIT) + ((n - before) << PARTS_BIT) + 1
        at += 1
    return at, n


@apart
def new_form(
    record: Any,
    form: Any,
    pairs: NDArray[Any],
    pair: Int,
    joins: bool,
    start: Int,
    cut: Cut,
) -> None:
    """Make an access to the array at ``start`` the form of its instruction, if it is one or two
    ranges of bytes, each shorter than a line, that have no line in common. ``pairs`` are PAIR
    rows, ``pair`` is the access's; ``joins``: it issues in a burst with the access before."""
    _settle_one(form, pairs)
    width, head = np.int64(pairs[np.uintp(pair)].lane_bytes), pairs[np.uintp(pair)].head
    mask, stride = np.int64(record.mask), np.int64(record.stride)
    line_bytes = np.int64(1) << cut.line_shift
    form.who = NOBODY
    if stride < 0 or stride > (1 << cut.sector_shift):
        return
    delta = record.upper - record.base
    lower, higher = mask & 0xFFFF, mask >> 16
    whole = delta == 16 * stride and follows(mask)
    if not whole and stride and not (follows(lower) and follows(higher)):
        return
    extent = width - 1
    low = low2 = stride * lowest(lower) if lower else delta + stride * lowest(higher)
    high = high2 = (stride * highest(lower) if lower else delta + stride * highest(higher)) + extent
    two = np.int64(0)
    if whole:
        low, high = stride * lowest(mask), stride * highest(mask) + extent
    elif lower and higher:
        low2 = delta + stride * lowest(higher)
        high2 = delta + stride * highest(higher) + extent
        apart_ = low2 - high >= line_bytes or low - high2 >= line_bytes
        inside = low2 >= low and high2 <= high
        if not apart_ and not inside:
            return
        two = np.int64(TWO if apart_ else 0)
    if high - low >= line_bytes or high2 - low2 >= line_bytes:
        return
    form.start = start | two | (JOINS if joins else 0)
    form.delta = delta
    form.how, form.who = how_of(record), who_of(record)
    form.low, form.low2 = low, low2
    form.head = head - ((start >> cut.line_shift) << LINE_BIT)
    form.extents = (high - low) | ((high2 - low2) << 32)
    form.pair, form.lanes = pair, bits(mask)
