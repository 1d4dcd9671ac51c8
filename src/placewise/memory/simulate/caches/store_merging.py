"""Merging of consecutive stores that fill parts of the same sectors.

On its way from L1 to L2 a store waits for a moment, and one of the same warp that comes directly
after it and writes to the same sector joins it. Recorded L2 writes show it on Turing: blocks four
threads wide, whose stores fill half a sector each, write fewer sectors where the stores of
neighbouring halves are neighbours in the machine code, and no fewer where another store lies
between. Not every such pair is merged, since stores of other warps come between; the share that is
merged is a figure of the machine file (``merged_stores``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.requests.line_requests import (
    LINE_BIT,
    MOST_STREAMS,
    SECTOR_BIT,
    SECTORS,
    STREAM_BIT,
    Buffer,
)
from placewise.memory.simulate.simd.jit_helpers import entry


@entry
def count_neighbours(
    buffer: Buffer,
    is_store: NDArray[np.bool_],
    left_out: NDArray[np.bool_],
    shared: NDArray[np.int64],
) -> None:
    """Add to ``shared`` (streams,) the sectors of stores that the access just before, a store of
    the same warp by another instruction, wrote, too. ``is_store`` (streams,) marks stores,
    ``left_out`` (streams,) accesses on another path, such as those of constant memory."""
    request, segments = buffer.request, buffer.used[1]
    begin = np.int64(0)
    for segment in range(segments):
        end = buffer.segment[segment + 1, 2] if segment + 1 < segments else buffer.used[0]
        first = last = begin
        before = -1
        at = begin
        while at < end:
            stream = (request[at] >> STREAM_BIT) & MOST_STREAMS
            start = at
            while at < end and (request[at] >> STREAM_BIT) & MOST_STREAMS == stream:
                at += 1
            if left_out[stream]:
                continue
            if before >= 0 and before != stream and is_store[stream] and is_store[before]:
                for k in range(start, at):
                    for j in range(first, last):
                        if request[k] >> LINE_BIT == request[j] >> LINE_BIT:
                            both = (request[k] & request[j]) >> SECTOR_BIT & SECTORS
                            while both:
                                both &= both - 1
                                shared[stream] += 1
            first, last, before = start, at, stream
        begin = end
