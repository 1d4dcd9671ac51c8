"""Requests that SMs send to L2, in order: runs them through address translation, counts them by L2
slice, and records their lines.

The order is by round, within a round by SM."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.last_level.slices import Slices, spread
from placewise.memory.simulate.caches.miss_queue import Missed
from placewise.memory.simulate.caches.tlb import Tlbs, translate
from placewise.memory.simulate.requests.line_requests import LINE_BIT, MOST_STREAMS, STREAM_BIT
from placewise.memory.simulate.requests.streams import PAST_L2, Streams
from placewise.memory.simulate.simd.jit_helpers import entry


class Arrived(NamedTuple):
    """Record of the first lines that L2 is asked for, in order."""

    line: NDArray[np.int64]
    """(capacity,) line numbers; capacity is 0 where no record is wanted."""
    used: NDArray[np.int64]
    """(1,) number of lines recorded so far."""


def new_arrived(lines: int) -> Arrived:
    """An empty record with room for ``lines`` lines."""
    return Arrived(np.empty(lines, np.int64), np.zeros(1, np.int64))


@entry
def run_arrivals(
    missed: Missed,
    streams: Streams,
    tlbs: Tlbs,
    slices: Slices,
    arrived: Arrived,
    at: NDArray[np.int64],
) -> None:
    """Run all requests of a wave that missed the SMs' caches through address translation, count
    them by slice, and record their lines. ``at`` (shards * SMs,) is scratch."""
    request, end, length = missed.request, missed.end, missed.length
    shards, sms = length.shape
    size = request.shape[0] // shards
    left = np.int64(0)
    for shard in range(shards):
        for sm in range(sms):
            at[shard * sms + sm] = missed.first[shard, sm]
            left += length[shard, sm]
    round_ = np.int64(0)
    while left:
        for sm in range(sms):
            for shard in range(shards):
                k = shard * sms + sm
                i = at[k]
                first = missed.first[shard, sm]
                if i == first + length[shard, sm]:
                    continue
                stop = first + end[shard * size + missed.first_round[sm] + round_]
                while i < stop:
                    translate(tlbs, sm, request[i])
                    spread(slices, sm, request[i], streams)
                    p = np.uintp((request[i] >> STREAM_BIT) & MOST_STREAMS)
                    asks = not streams.rows[p].flags & PAST_L2
                    if asks and arrived.used[0] < arrived.line.shape[0]:
                        arrived.line[arrived.used[0]] = request[i] >> LINE_BIT
                        arrived.used[0] += 1
                    i += 1
                left -= i - at[k]
                at[k] = i
        round_ += 1
