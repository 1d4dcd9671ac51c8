"""Access streams: the accesses of one memory instruction to one array, and how they are routed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.geometry import Int
from placewise.memory.simulate.requests.line_requests import (
    LINE_BIT,
    MOST_STREAMS,
    SLOW_PATH,
    STREAM_BIT,
    Sizes,
)
from placewise.memory.simulate.requests.templates import new_templates
from placewise.memory.simulate.simd.jit_helpers import noinline

LOAD, STORE, ATOMIC = 0, 1, 2

UNCACHED, LOCAL, CONSTANT, LOCAL_LAST = -1, -2, -3, -4
"""Routes that are not the number of a first cache: accesses that go through no simulated cache
(shared memory, kernel parameters), local memory, loads through the caches of constant memory, and
the last load of a word of local memory, whose line L2 evicts first."""
ROUTE_EVICTS_FIRST = 32
"""Added to a first cache's number: lines that the access brings into the cache are evicted
first."""
ROUTE_PAST_L2 = 64
"""Added to a first cache's number: the access bypasses L2."""
ROUTE_NOT_ALLOCATED = 128
"""Added to a first cache's number: the access brings no line into that cache."""
ROUTE_KEPT = 256
"""Added to a first cache's number: lines that the access uses in this cache are evicted last."""
PREFETCHED, MOST_PREFETCHED = 9, 7
"""The bits of a route from ``PREFETCHED`` on hold the base-two logarithm of the number of sectors
that L2 fetches together; ``MOST_PREFETCHED`` is the largest such logarithm."""
DOUBLINGS = 12
"""The bits of a route from this one on hold the base-two logarithm of the number of records of one
access. A filtered texture read has a record for each texel."""

CACHED, IN_LOCAL, COUNTED, IN_BURST, EVICTED_FIRST, PAST_L2, NOT_ALLOCATED, KEPT = (
    1 << n for n in range(8)
)
"""Flags of a stream: it goes through a cache; it accesses local memory; a serialization condition
gives its transactions; it belongs to the same burst as the previous access; its lines are evicted
first (those of local memory only from L2); it bypasses L2; it brings no line into its first cache;
its lines are evicted last from its first cache."""
L2_GROUP, FILTERED = 8, 11
"""The bits of a stream's flags from ``L2_GROUP`` on hold the route's value at PREFETCHED; those
from ``FILTERED`` on, the value at DOUBLINGS."""

STREAM = np.dtype(
    [
        ("head", np.int64),
        ("accesses", np.int64),
        ("lanes", np.int64),
        ("sectors", np.int64),
        ("lines", np.int64),
        ("lane_bytes", np.int32),
        ("flags", np.int32),
        ("site", np.int32),
        ("array", np.int32),
        ("cache", np.int32),
        ("kind", np.int32),
    ]
)
"""``head`` is a line request for the array's first line without sectors. ``accesses`` (of warps),
``lanes`` (active), ``sectors`` and ``lines`` (requested from the first cache) are counts so far.
``lane_bytes`` is the number of bytes that a lane accesses; ``site`` and ``array`` are the numbers
of the instruction and the array; ``cache`` is the first cache, or CONSTANT; ``kind`` is LOAD, STORE
or ATOMIC."""


class Streams(NamedTuple):
    """Access streams, numbered in the order of their first accesses."""

    number: NDArray[np.int32]
    """(sites, arrays + 1) number of the stream, by array number + 1; -1 before its first access."""
    rows: NDArray[Any]
    """(streams,) STREAM."""
    used: NDArray[np.int64]
    """(1,) number of streams so far."""
    templates: NDArray[Any]
    """(sites,) TEMPLATE of each instruction."""


def new_streams(sites: int, arrays: int) -> Streams:
    """An empty table of streams, with room for those of ``sites`` instructions and ``arrays``
    arrays."""
    most = min(MOST_STREAMS, max(1, sites) * (arrays + 1))
    return Streams(
        np.full((max(1, sites), arrays + 1), -1, np.int32),
        np.zeros(most, STREAM),
        np.zeros(1, np.int64),
        new_templates(max(1, sites)),
    )


class Sites(NamedTuple):
    """The constant facts of each memory instruction."""

    route: NDArray[np.int16]
    """(sites, arrays + 1) route, by array number + 1: the first cache, plus ROUTE_… values and the
    bits of PREFETCHED and DOUBLINGS; or UNCACHED, LOCAL, LOCAL_LAST or CONSTANT."""
    counted: NDArray[np.bool_]
    """(sites, arrays + 1) whether a serialization condition gives the transactions."""
    array_line: NDArray[np.int64]
    """(arrays + 1,) first line of each array, by array number + 1."""
    lane_bytes: NDArray[np.int32]
    kind: NDArray[np.int32]
    """(sites,) LOAD, STORE or ATOMIC."""
    waits: NDArray[np.bool_]
    """(sites,) whether the warp waits before the instruction; else it belongs to the same burst as
    the previous one."""
    windows: NDArray[np.int32]
    """Array number of each window of addresses, or -1."""


@noinline
def new_stream(streams: Streams, sites: Sites, sizes: Sizes, site: Int, array: Int) -> Int:
    """Add a stream and return its number; -1 if there is no room for it."""
    p = streams.used[0]
    if p == streams.rows.shape[0]:
        return np.int64(-1)
    streams.used[0] = p + 1
    streams.number[site, array + 1] = p
    route = sites.route[site, array + 1]
    flags = 0 if route == UNCACHED else CACHED
    line = sites.array_line[array + 1]
    cache = np.int64(route if route == CONSTANT else max(route, 0) & (ROUTE_EVICTS_FIRST - 1))
    if route > 0:
        flags |= (route >> DOUBLINGS) << FILTERED
        if route & ROUTE_EVICTS_FIRST:
            flags |= EVICTED_FIRST
        if route & ROUTE_PAST_L2:
            flags |= PAST_L2
        if route & ROUTE_NOT_ALLOCATED:
            flags |= NOT_ALLOCATED
        if route & ROUTE_KEPT:
            flags |= KEPT
        flags |= ((route >> PREFETCHED) & MOST_PREFETCHED) << L2_GROUP
    if route == LOCAL_LAST:
        flags |= EVICTED_FIRST
    if route in (LOCAL, LOCAL_LAST):
        flags |= IN_LOCAL
        line = np.int64(sizes.local_line)
        cache = np.int64(sizes.local_cache & (ROUTE_EVICTS_FIRST - 1))
        if sizes.local_cache & ROUTE_PAST_L2:
            flags |= PAST_L2
    if sites.counted[site, array + 1]:
        flags |= COUNTED
    if not sites.waits[site]:
        flags |= IN_BURST
    row = streams.rows[p]
    slow = cache != 0 or sites.kind[site] != LOAD or flags & NOT_ALLOCATED
    row.head = (line << LINE_BIT) | (p << STREAM_BIT) | (SLOW_PATH if slow else 0)
    row.lane_bytes = sites.lane_bytes[site]
    row.flags = flags
    row.site = site
    row.array = array
    row.cache = cache
    row.kind = sites.kind[site]
    return p
