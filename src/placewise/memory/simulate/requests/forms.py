"""Forms of accesses: what is alike in all accesses of an instruction that lie on a line.

Nearly all accesses of most kernels have the lanes, the stride and the array of the one before by
the same instruction, and only start elsewhere. Their ranges of bytes are worked out once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.execute.device_memory.address_space import WINDOW_SHIFT
from placewise.memory.simulate.caches.cache import Int, aligned
from placewise.memory.simulate.requests.parts import LAST, LINE_BIT, SECTOR_BIT, Cut, follows
from placewise.memory.simulate.requests.simd_batches import (
    EIGHTS,
    HOW,
    JOINS,
    NOBODY,
    ONE_EACH,
    PARTS_BIT,
    ROOM_WORDS,
    SECTORS_BIT,
    START,
    TWO,
    UNLIKE,
    WHO,
    WORDS,
    keep_forms,
    match_eight,
    place_several,
    place_single,
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
        ("far", np.int64),
        ("far_head", np.int64),
        ("far_pair", np.int32),
        ("far_width", np.int32),
        ("count", np.int64),
        ("spare", np.int64, 3),
    ]
)
"""An access of an instruction. The first eight words are as :mod:`eights` has them: the array's
first address with flags, lane 16's address from lane 0's, the record's words of site and stride and
of row and mask (NOBODY where there is none), where one or two ranges of bytes start from lane 0's
address on, a part of the line of address 0, which there is not, without sectors, bytes from the
first to the last of each range (the second's from bit 32 on). Then the pair of instruction and
array, and how many lanes.

Then of accesses whose lanes each have an offset of their own: the array's first address with
flags, or NO_ARRAY; a part; the pair; bytes of a lane. At last what was counted of accesses of the
form one by one."""
NO_ARRAY = -1
MOST_COUNTED = 1 << 18
"""Accesses after which what is counted with forms is to be added to the counts of pairs."""
PAUSE = 32
"""Accesses that are taken one by one where one of eight has not its form."""


def new_forms(sites: int) -> NDArray[Any]:
    """(sites,) FORM without any, each on lines of the processor's cache of its own."""
    forms = aligned(sites * FORM.itemsize // 8, np.int64).view(FORM)
    forms["far"], forms["who"] = NO_ARRAY, NOBODY
    return forms


def new_made() -> NDArray[np.int64]:
    """(ROOM_WORDS,) room of :mod:`placewise.memory.simulate.requests.simd_batches`."""
    made = aligned(ROOM_WORDS, np.int64)
    for kept in range(0, EIGHTS * WORDS, WORDS):
        made[kept + WHO : kept + WHO + 8] = NOBODY
    return made


@inlined
def how_of(record: Any) -> Int:
    """A record's site and stride as one word."""
    return np.int64(record.site) | (np.int64(record.stride) << 32)


@inlined
def who_of(record: Any) -> Int:
    """A record's row and mask as one word."""
    return (np.int64(record.row) & 0xFFFFFFFF) | (np.int64(record.mask) << 32)


@inlined
def _settle_one(form: Any, pairs: NDArray[Any], found: Int) -> None:
    """Add what was counted to the pair's row."""
    row = pairs[np.uintp(form.pair)]
    count = found & ((1 << SECTORS_BIT) - 1)
    row.requests += count
    row.lanes += count * form.lanes
    row.sectors += (found >> SECTORS_BIT) & ((1 << (PARTS_BIT - SECTORS_BIT)) - 1)
    row.parts += found >> PARTS_BIT


@apart
def settle(forms: NDArray[Any], pairs: NDArray[Any], made: NDArray[np.int64], kept: Int) -> None:
    """Add what was counted with the eight at ``made[kept:]`` to its pairs' rows."""
    for k in range(kept, kept + 8):
        if made[k]:
            _settle_one(forms[np.uintp(made[k + HOW] & 0xFFFFFFFF)], pairs, made[k])
            made[k] = 0


@apart
def settle_all(forms: NDArray[Any], pairs: NDArray[Any], made: NDArray[np.int64]) -> None:
    """The same with all eights and forms."""
    for k in range(EIGHTS):
        settle(forms, pairs, made, np.int64(WORDS * k))
    for site in range(forms.shape[0]):
        form = forms[np.uintp(site)]
        if form.count:
            _settle_one(form, pairs, form.count)
            form.count = 0


@apart
def _settle_site(
    site: Int, forms: NDArray[Any], pairs: NDArray[Any], made: NDArray[np.int64]
) -> None:
    """The same for an instruction."""
    form = forms[np.uintp(site)]
    _settle_one(form, pairs, form.count)
    form.count = 0
    for k in range(EIGHTS):
        kept = WORDS * k
        for at in range(kept, kept + 8):
            if made[at + HOW] & 0xFFFFFFFF == site:
                _settle_one(form, pairs, made[at])
                made[at] = 0


@apart
def _tell(site: Int, forms: NDArray[Any], made: NDArray[np.int64]) -> None:
    """Tell all eights an instruction's new form."""
    form = forms[np.uintp(site)]
    for k in range(EIGHTS):
        kept = WORDS * k
        for at in range(kept, kept + 8):
            if made[at + HOW] & 0xFFFFFFFF == site:
                made[at + START], made[at + 16] = form.start, form.delta
                made[at + WHO] = form.who if form.how == made[at + HOW] else np.int64(NOBODY)
                made[at + 40], made[at + 48] = form.low, form.low2
                made[at + 56], made[at + 64] = form.head, form.extents


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
    single: Int,
    forms: NDArray[Any],
    pairs: NDArray[Any],
    made: NDArray[np.int64],
    part: NDArray[np.int64],
    n: Int,
    begun: Int,
    room: Int,
    cut: Cut,
) -> tuple[Int, Int, Int]:
    """Add the parts of accesses from ``at`` on, up to the first without a form, to the ``n`` there
    are, of which the warp's start at ``begun``, while there are no more than ``room``. Those before
    number ``single`` are taken one by one. The first access not taken, how many parts there are
    now, and that number. ``pairs`` are PAIR rows."""
    shifts = cut.line_shift, cut.sector_shift
    while at < stop and n <= room:
        record = records[np.uintp(at)]
        if at >= single and at + 8 <= stop:
            kept = np.int64(WORDS) * (np.int64(record.site) & (EIGHTS - 1))
            found = match_eight(records, at, made, kept)
            if found == UNLIKE:
                settle(forms, pairs, made, kept)
                keep_forms(records, at, made, kept, forms)
                continue
            if found:
                before = n
                if found == ONE_EACH:
                    n = place_single(records, at, made, kept, part, n, shifts)
                else:
                    n = place_several(records, at, made, kept, part, n, shifts)
                if made[kept + START] & JOINS and before > begun:
                    part[np.uintp(before - 1)] &= ~LAST
                at += 8
                continue
            single = at + PAUSE
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
    return at, n, single


@apart
def _make_form(
    record: Any, form: Any, width: Int, pair: Int, head: Int, joins: Int, start: Int, cut: Cut
) -> None:
    """Make an access of ``width`` bytes a lane to the array at ``start`` the form of its
    instruction, if it is one or two ranges shorter than a line that have no line in common."""
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


@apart
def new_form(
    record: Any,
    forms: NDArray[Any],
    pairs: NDArray[Any],
    made: NDArray[np.int64],
    width: Int,
    pair: Int,
    joins: Int,
    start: Int,
    cut: Cut,
) -> None:
    """Make an access of ``width`` bytes a lane to the array at ``start`` the form of its
    instruction, if it can be one."""
    site = np.int64(record.site)
    form = forms[np.uintp(site)]
    _settle_site(site, forms, pairs, made)
    _make_form(record, form, width, pair, pairs[np.uintp(pair)].head, joins, start, cut)
    _tell(site, forms, made)
