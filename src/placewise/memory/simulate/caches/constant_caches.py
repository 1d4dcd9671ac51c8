"""The caches of constant memory of each SM: the constant L1, and the L1.5 after it.

A warp's load asks for its lines one after the other, and for each line as often as it has different
addresses there (these requests are counted elsewhere); only the first request for a line can miss.
A missing line is fetched whole from the next level; the last level fetches from L2. If several SMs
share the last level (a cluster's L1.5), they are assumed to run in step, as for machine code: one
of them fetches for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.cache import READ, Caches, access_line, new_caches
from placewise.memory.simulate.caches.geometry import Int, shape_of
from placewise.memory.simulate.caches.hierarchy import CacheGeometry
from placewise.memory.simulate.caches.miss_queue import Missed, emit_miss
from placewise.memory.simulate.requests.line_requests import (
    LINE_BIT,
    MOST_STREAMS,
    SECTOR_BIT,
    SECTORS,
    STREAM_BIT,
)
from placewise.memory.simulate.simd.jit_helpers import bits, noinline


class ConstantCaches(NamedTuple):
    """State and counts of all levels, nearest first; there are no levels where nothing is
    simulated."""

    caches: Caches
    """One cache for each level, with an instance for each SM."""
    sectors: NDArray[np.int64]
    """(levels,) number of sectors in a line."""
    window: NDArray[np.int64]
    """(2,) number of sectors in the longest line of these levels and of requests (the window);
    number of SMs that share the last level."""
    asked: NDArray[np.int64]
    missed: NDArray[np.int64]
    """(SMs, levels, streams) each: number of lines asked for, and of those that missed."""


def new_constant_caches(
    levels: Sequence[CacheGeometry], sms: int, line_bytes: int, sector_bytes: int, streams: int
) -> ConstantCaches:
    """Empty caches, for requests of ``line_bytes`` in sectors of ``sector_bytes``."""
    longest = max((level.line_bytes for level in levels), default=line_bytes)
    sharing = -(-sms // (levels[-1].memory.detail.partitions or sms)) if levels else 1
    counts = np.zeros((2, sms, len(levels), streams if levels else 0), np.int64)
    return ConstantCaches(
        new_caches([g.geometry(sms, g.line_bytes, g.sector_bytes) for g in levels]),
        np.array([g.line_bytes // sector_bytes for g in levels], np.int64),
        np.array([max(longest, line_bytes) // sector_bytes, sharing], np.int64),
        *counts,
    )


@noinline
def _misses(c: ConstantCaches, sm: Int, stream: Int, line: Int, sectors: Int, per_line: Int) -> Int:
    """Ask an SM's caches for sectors of a request's line, which has ``per_line``.

    Returns the sectors to ask L2 for, as bits of the window that the line lies in: an aligned range
    as long as the longest line.
    """
    window = c.window[0]
    first = line * per_line & ~(window - 1)
    wanted = sectors << (line * per_line - first)
    for level in range(c.sectors.shape[0]):
        g = shape_of(c.caches.geometry, level)
        own = c.sectors[level]
        whole = (np.int64(1) << own) - 1
        missing = np.int64(0)
        at = np.int64(0)
        while at < window:
            if (wanted >> at) & whole:
                absent, _, _, _ = access_line(c.caches, g, sm, (first + at) // own, 1, READ)
                c.asked[sm, level, stream] += 1
                c.missed[sm, level, stream] += absent
                missing |= (whole & -absent) << at
            at += own
        wanted = missing
    return wanted if sm % c.window[1] == 0 else np.int64(0)


@noinline
def read_constant(
    c: ConstantCaches,
    sm: Int,
    request: Int,
    per_line: Int,
    overfetch: NDArray[np.int64],
    missed: Missed,
    out: NDArray[np.int64],
) -> None:
    """Run a line request through an SM's caches of constant memory. ``out`` is where
    :func:`emit_miss` writes. All missing sectors are added to ``overfetch`` (streams,), because the
    request asks none of the SM's other caches for them."""
    p = np.uintp((request >> STREAM_BIT) & MOST_STREAMS)
    line = request >> LINE_BIT
    missing = _misses(c, sm, p, line, (request >> SECTOR_BIT) & SECTORS, per_line)
    overfetch[p] += bits(missing)
    line &= ~(c.window[0] // per_line - 1)
    rest = request & ((np.int64(1) << SECTOR_BIT) - 1)
    while missing:
        sectors = missing & ((np.int64(1) << per_line) - 1)
        whole = rest | (line << LINE_BIT) | (sectors << SECTOR_BIT)
        emit_miss(whole, np.int64(0), sectors, missed, out)
        missing >>= per_line
        line += 1
