"""Forms of accesses: what is alike in all accesses of an instruction that lie on a line.

Nearly all accesses of most kernels have the lanes, the stride and the array of the one before by
the same instruction, and only start elsewhere. Their ranges of bytes are worked out once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.cache import Int, aligned
from placewise.memory.simulate.eights import (
    ADDENDS,
    EIGHTS,
    HOW,
    JOINS,
    KEPT,
    PARTS_BIT,
    SECTORS_BIT,
    TAIL,
    TWO,
    WHO,
    WORDS,
    keep_forms,
    lay_eight,
    like_before,
    place_eight,
    place_one,
)
from placewise.memory.simulate.lanes import apart, bits, highest, inlined, lowest
from placewise.memory.simulate.parts import LAST, Cut, follows

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
        ("spare", np.int64, 4),
    ]
)
"""An access of an instruction. The first eight words are as :func:`eights.lay_eight` takes them:
the array's first address with flags, lane 16's address from lane 0's, the record's words of site
and stride and of row and mask (no record has 0), where one or two ranges of bytes start from lane
0's address on, a part of the array's first line without sectors, bytes from the first to the last
of each range (the second's from bit 32 on). Then the pair of instruction and array, and how many
lanes.

At last of accesses whose lanes each have an offset of their own: the array's first address with
flags, or NO_ARRAY; a part; the pair; bytes of a lane."""
NO_ARRAY = -1
MOST_COUNTED = 1 << 18
"""Accesses after which what is counted with eights is to be added to the counts of pairs."""
_LOW = np.uint64(0x7F7F7F7F7F7F7F7F)


def new_forms(sites: int) -> NDArray[Any]:
    """(sites,) FORM without any, each on lines of the processor's cache of its own."""
    forms = aligned(sites * FORM.itemsize // 8, np.int64).view(FORM)
    forms["far"] = NO_ARRAY
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
def _settle_one(form: Any, pairs: NDArray[Any], made: NDArray[np.int64], at: Int) -> None:
    """Add the count at ``made[at]`` to the pair's row."""
    found = made[at]
    row = pairs[np.uintp(form.pair)]
    count = found & ((1 << SECTORS_BIT) - 1)
    row.requests += count
    row.lanes += count * form.lanes
    row.sectors += (found >> SECTORS_BIT) & ((1 << (PARTS_BIT - SECTORS_BIT)) - 1)
    row.parts += found >> PARTS_BIT
    made[at] = 0


@apart
def settle(forms: NDArray[Any], pairs: NDArray[Any], made: NDArray[np.int64], kept: Int) -> None:
    """Add what was counted with the eight at ``made[kept:]`` to its pairs' rows."""
    for k in range(kept, kept + 8):
        if made[k]:
            _settle_one(forms[np.uintp(made[k + HOW] & 0xFFFFFFFF)], pairs, made, k)


@apart
def settle_all(forms: NDArray[Any], pairs: NDArray[Any], made: NDArray[np.int64]) -> None:
    """The same with all eights."""
    for k in range(EIGHTS):
        settle(forms, pairs, made, np.int64(KEPT + WORDS * k))


@apart
def _settle_site(
    site: Int, forms: NDArray[Any], pairs: NDArray[Any], made: NDArray[np.int64]
) -> None:
    """The same for an instruction in all eights."""
    for k in range(EIGHTS):
        kept = KEPT + WORDS * k
        for at in range(kept, kept + 8):
            if made[at + HOW] & 0xFFFFFFFF == site:
                _settle_one(forms[np.uintp(site)], pairs, made, at)


@apart
def _tell(site: Int, forms: NDArray[Any], made: NDArray[np.int64]) -> None:
    """Tell all eights an instruction's new form."""
    form = forms[np.uintp(site)]
    for k in range(EIGHTS):
        kept = KEPT + WORDS * k
        for at in range(kept, kept + 8):
            if made[at + HOW] & 0xFFFFFFFF == site:
                made[at + 8], made[at + 16] = form.start, form.delta
                made[at + WHO] = form.who if form.how == made[at + HOW] else np.int64(0)
                made[at + 40], made[at + 48] = form.low, form.low2
                made[at + 56], made[at + 64] = form.head, form.extents


@inlined
def take_formed(
    records: Any,
    at: Int,
    stop: Int,
    laid: Int,
    eight: Any,
    kept: Int,
    forms: NDArray[Any],
    pairs: NDArray[Any],
    made: NDArray[np.int64],
    part: NDArray[np.int64],
    n: Int,
    begun: Int,
    room: Int,
    shifts: tuple[int, int, int, int],
) -> tuple[Int, Int, Int, Any, Int]:
    """Add the parts of accesses from ``at`` on, up to the first without a form, to the ``n`` there
    are, of which the warp's start at ``begun``, while there are no more than ``room``. ``eight`` is
    what :func:`lay_eight` found from number ``laid`` on by the forms at ``made[kept:]``. The first
    access not taken, how many parts there are now, and the same again. ``pairs`` are PAIR rows."""
    while at < stop:
        k = at - laid
        if k >= 8:
            record = records[np.uintp(at)]
            if forms[np.uintp(record.site)].who != who_of(record) or n > room:
                break
            kept = KEPT + WORDS * (np.int64(record.site) & (EIGHTS - 1))
            if at + 8 > records.shape[0]:
                eight = _last_eight(records, at, kept, forms, pairs, made, shifts)
            else:
                if not like_before(records, at, made, kept):
                    settle(forms, pairs, made, kept)
                    keep_forms(records, at, forms, made, kept)
                eight = lay_eight(records, at, made, kept, shifts)
            laid, k = at, np.int64(0)
            some = (eight & _LOW) + _LOW
            if at + 8 <= stop and some & ~_LOW == ~_LOW:
                if eight >> 7 & 1 and n > begun:
                    part[np.uintp(n - 1)] &= ~LAST
                n = place_eight(made, kept, part, n, eight)
                at += 8
                continue
        parts = np.int64((eight >> np.uint64(8 * k)) & np.uint64(255))
        if not parts:
            break
        if parts >> 7 and n > begun:
            part[np.uintp(n - 1)] &= ~LAST
        place_one(made, k, part, n)
        n += parts & 127
        made[np.uintp(kept + k)] += made[np.uintp(ADDENDS + k)]
        at += 1
    return at, n, laid, eight, kept


@apart
def _last_eight(
    records: Any,
    at: Int,
    kept: Int,
    forms: NDArray[Any],
    pairs: NDArray[Any],
    made: NDArray[np.int64],
    shifts: tuple[int, int, int, int],
) -> Any:
    """:func:`lay_eight` of fewer, which have no more behind them."""
    k = np.int64(TAIL)
    for i in range(at, records.shape[0]):
        record = records[np.uintp(i)]
        made[k], made[k + 1] = record.base, record.upper
        made[k + 2], made[k + 3] = how_of(record), who_of(record)
        k += 4
    made[k:KEPT] = 0
    settle(forms, pairs, made, kept)
    keep_forms(made, np.int64(TAIL // 4), forms, made, kept)
    return lay_eight(made, np.int64(TAIL // 4), made, kept, shifts)


@apart
def _make_form(
    record: Any, form: Any, width: Int, pair: Int, head: Int, joins: Int, start: Int, cut: Cut
) -> None:
    """Make an access of ``width`` bytes a lane to the array at ``start`` the form of its
    instruction, if it is one or two ranges shorter than a line that have no line in common."""
    mask, stride = np.int64(record.mask), np.int64(record.stride)
    line_bytes = np.int64(1) << cut.line_shift
    form.who = 0
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
    form.low, form.low2, form.head = low, low2, head
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
