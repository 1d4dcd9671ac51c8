"""A fast path for repeated accesses: most accesses of an instruction have the same active lanes,
stride and array as its previous access, and only start at another address.

The template of an instruction keeps the ranges of bytes of its last access, relative to the start
of that access, so that they are calculated only once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.executor.device_memory.address_space import WINDOW_SHIFT
from placewise.memory.simulate.caches.cache import aligned
from placewise.memory.simulate.caches.geometry import Int
from placewise.memory.simulate.requests.line_requests import (
    LAST,
    LINE_BIT,
    SECTOR_BIT,
    Buffer,
    Sizes,
)
from placewise.memory.simulate.requests.split_access import follows
from placewise.memory.simulate.simd.jit_helpers import bits, highest, inlined, lowest, noinline

TEMPLATE = np.dtype(
    [
        ("start", np.int64),
        ("delta", np.int64),
        ("site_stride", np.int64),
        ("row_mask", np.int64),
        ("low", np.int64),
        ("low2", np.int64),
        ("head", np.int64),
        ("extents", np.int64),
        ("stream", np.int32),
        ("lanes", np.int32),
        ("count", np.int64),
        ("spare", np.int64, 6),
    ]
)
"""``start`` is the array's first address with the flags JOINS_BURST and TWO, ``delta`` lane 16's
address minus lane 0's; ``site_stride`` and ``row_mask`` are the record's fields (NO_TEMPLATE where
there is no template). ``low`` and ``low2`` are where one or two ranges of bytes start, relative to
lane 0's address; ``extents`` the bytes from the first to the last of each range, the second's from
bit 32 on. ``head`` is a line request for address 0 without sectors, ``stream`` the access stream,
``lanes`` the number of active lanes. ``count`` counts accesses by the template: accesses, sectors
from SECTORS_BIT on, line requests from REQUESTS_BIT on. ``spare`` fills two cache lines."""
SECTORS_BIT, REQUESTS_BIT = 20, 42
JOINS_BURST, TWO = 1, 2
"""Flags of a template: the access belongs to the same burst as the previous one; it has two
ranges."""
NO_TEMPLATE = (1 << 32) - 2
"""Row and mask that mean “no template”; no record has this row."""
MOST_COUNTED = 1 << 18
"""Number of accesses after which the counts of templates must be added to their streams' before
they overflow."""


def new_templates(sites: int) -> NDArray[Any]:
    """(sites,) TEMPLATE; no instruction has a template yet."""
    templates = aligned(sites * TEMPLATE.itemsize // 8, np.int64).view(TEMPLATE)
    templates["row_mask"] = NO_TEMPLATE
    return templates


@inlined
def site_and_stride(record: Any) -> Int:
    """A record's site and stride, in one word."""
    return np.int64(record.site) | (np.int64(record.stride) << 32)


@inlined
def row_and_mask(record: Any) -> Int:
    """A record's row and mask, in one word."""
    return (np.int64(record.row) & 0xFFFFFFFF) | (np.int64(record.mask) << 32)


@inlined
def _flush_one(template: Any, streams: NDArray[Any]) -> None:
    """Add a template's counts to those of its access stream, and set them to zero."""
    row = streams[np.uintp(template.stream)]
    count = template.count & ((1 << SECTORS_BIT) - 1)
    row.accesses += count
    row.lanes += count * template.lanes
    row.sectors += (template.count >> SECTORS_BIT) & ((1 << (REQUESTS_BIT - SECTORS_BIT)) - 1)
    row.lines += template.count >> REQUESTS_BIT
    template.count = 0


@noinline
def flush_counts(templates: NDArray[Any], streams: NDArray[Any]) -> None:
    """Add all templates' counts to those of their access streams, and set them to zero; ``streams``
    are STREAM rows."""
    for site in range(templates.shape[0]):
        template = templates[np.uintp(site)]
        if template.count:
            _flush_one(template, streams)


@inlined
def _place_range(
    low: Int, extent: Int, head: Int, last: Int, request: NDArray[np.int64], n: Int, sizes: Sizes
) -> tuple[Int, Int]:
    """Write the one or two line requests of a range of bytes that starts at address ``low`` to
    ``request[n:]``; add ``last`` to the last one. Returns how many line requests there are then,
    and how many sectors were added."""
    per_line = sizes.line_shift - sizes.sector_shift
    first = low & ((np.int64(1) << sizes.line_shift) - 1)
    end = first + extent
    crosses = end >> sizes.line_shift
    first, end = first >> sizes.sector_shift, end >> sizes.sector_shift
    sectors = (np.int64(2) << end) - (np.int64(1) << first)
    own = sectors & ((np.int64(1) << (np.int64(1) << per_line)) - 1)
    next_line = sectors >> (np.int64(1) << per_line)
    head += (low >> sizes.line_shift) << LINE_BIT
    # No branch: if the range lies in one line, the second request is overwritten later.
    request[np.uintp(n)] = head + (own << SECTOR_BIT) + (last & ~crosses)
    request[np.uintp(n + 1)] = head + (next_line << SECTOR_BIT) + ((1 << LINE_BIT) + last)
    return n + 1 + crosses, end - first + 1


@inlined
def take_templated(
    records: Any,
    at: Int,
    stop: Int,
    templates: NDArray[Any],
    buffer: Buffer,
    n: Int,
    limit: Int,
    sizes: Sizes,
) -> tuple[Int, Int]:
    """Add the line requests of records ``at`` to ``stop`` to the ``n`` in the buffer. Stops at the
    first record that differs from the template of its instruction, or when there are more than
    ``limit`` line requests.

    Returns the first record that was not processed, and how many line requests there are then. The
    record ``at`` may continue the previous burst; if that burst belongs to another warp, the caller
    must end it."""
    request = buffer.request
    while at < stop and n <= limit:
        record = records[np.uintp(at)]
        template = templates[np.uintp(record.site)]
        start, low = template.start, record.base + template.low
        if template.row_mask != row_and_mask(record):
            break
        if template.site_stride != site_and_stride(record):
            break
        if record.upper - record.base != template.delta or (low ^ start) >> WINDOW_SHIFT:
            break
        if start & JOINS_BURST and n:
            request[np.uintp(n - 1)] &= ~LAST
        before, extent, asked = n, template.extents & 0xFFFFFFFF, np.int64(0)
        last = np.int64(0 if start & TWO else LAST)
        n, asked = _place_range(low, extent, template.head, last, request, n, sizes)
        if start & TWO:
            low, extent, last = record.base + template.low2, template.extents >> 32, np.int64(LAST)
            n, more = _place_range(low, extent, template.head, last, request, n, sizes)
            asked += more
        template.count += (asked << SECTORS_BIT) + ((n - before) << REQUESTS_BIT) + 1
        at += 1
    return at, n


@noinline
def new_template(
    record: Any,
    template: Any,
    streams: NDArray[Any],
    stream: Int,
    joins: bool,
    start: Int,
    sizes: Sizes,
) -> None:
    """Make an access the template of its instruction, if it is one or two ranges of bytes that are
    shorter than a line and have no line in common. The array starts at address ``start``.
    ``streams`` are STREAM rows, ``stream`` is the number of the access's stream. ``joins`` says
    whether the access belongs to the same burst as the previous one."""
    _flush_one(template, streams)
    width, head = np.int64(streams[np.uintp(stream)].lane_bytes), streams[np.uintp(stream)].head
    mask, stride = np.int64(record.mask), np.int64(record.stride)
    line_bytes = np.int64(1) << sizes.line_shift
    template.row_mask = NO_TEMPLATE
    if stride < 0 or stride > (1 << sizes.sector_shift):
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
        separate = low2 - high >= line_bytes or low - high2 >= line_bytes
        inside = low2 >= low and high2 <= high
        if not separate and not inside:
            return
        two = np.int64(TWO if separate else 0)
    if high - low >= line_bytes or high2 - low2 >= line_bytes:
        return
    template.start = start | two | (JOINS_BURST if joins else 0)
    template.delta = delta
    template.site_stride, template.row_mask = site_and_stride(record), row_and_mask(record)
    template.low, template.low2 = low, low2
    template.head = head - ((start >> sizes.line_shift) << LINE_BIT)
    template.extents = (high - low) | ((high2 - low2) << 32)
    template.stream, template.lanes = stream, bits(mask)
