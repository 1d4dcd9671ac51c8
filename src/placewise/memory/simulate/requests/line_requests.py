"""Line requests: each is a cache line and the sectors of it that a warp access requests, in one
word.

Also the buffer for the line requests of a wave, and the sizes of lines and sectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.executor.device_memory.address_space import WINDOW_SHIFT

LINE_BIT, SECTOR_BIT, STREAM_BIT, SLOW_PATH, LAST = 32, 16, 2, 2, 1
"""A line request is an int64: the line number from bit 32 on, its sectors from bit 16 on, the
number of the access stream (instruction and array) from bit 2 on, in bit 1 whether it is anything
but a read of the SM's first cache, and in bit 0 whether it is the last of its burst."""
SECTORS = (1 << LINE_BIT - SECTOR_BIT) - 1
MOST_STREAMS = (1 << SECTOR_BIT - STREAM_BIT) - 1
MOST_LINES = 1 << 31
MOST_REQUESTS = 128
"""Most lines that one warp access can touch: four words of local memory for each lane."""
MADE_AT_ONCE = 36
"""Number of line requests that may be written without checking again whether there is room."""
BUFFER_REQUESTS = 1 << 26
"""Most line requests that are kept (8 bytes each); a wave with more is simulated in pieces of whole
blocks."""
MARKS = 256
"""Entries of the hash table of the lines of one access: so many that two lines rarely have the same
entry."""
OFFSET = (1 << WINDOW_SHIFT) - 1
"""The bits of an address that are the offset in its array."""


class Sizes(NamedTuple):
    """Sizes of lines and sectors, and numbers that say where the launch's blocks are on the SMs."""

    line_shift: int
    sector_shift: int
    """Base-two logarithms of the bytes of a line and of a sector."""
    period: int
    """Bytes: an access whose addresses are shifted by a multiple of this takes the same number of
    transactions."""
    sms: int
    resident: int
    """Blocks that an SM holds at a time."""
    warps: int
    """Warps of a block."""
    local_cache: int
    """Number of the first cache of local memory, plus ROUTE_PAST_L2 if it bypasses L2."""
    local_line: int
    """First line of local memory."""
    frame_words: int
    """4-byte words of local memory of a thread."""


def check_lines(sizes: Sizes) -> None:
    """Raise CaseError if the arrays have more lines than a line request has numbers for."""
    local = sizes.sms * sizes.resident * sizes.warps * sizes.frame_words * 128
    if sizes.local_line + (local >> sizes.line_shift) >= MOST_LINES:
        raise CaseError(
            "the arrays have more lines than can be simulated",
            hint="lines are numbered in 31 bits",
        )


class Buffer(NamedTuple):
    """Line requests of one wave, and where those of each warp are."""

    request: NDArray[np.int64]
    """(capacity,)"""
    segment: NDArray[np.int64]
    """(segments, 3) SM slot of the warp, phase, first line request. A segment holds the accesses of
    one warp between barriers. Slots are numbered by SM, block on the SM, and warp."""
    seen: NDArray[np.bool_]
    """(SMs * resident,) whether the block of the wave has had an access."""
    used: NDArray[np.int64]
    """(2,) number of line requests and of segments."""
    lines: NDArray[np.int32]
    sectors: NDArray[np.int64]
    """Temporary room for the lines of one access, and for the sectors of each."""
    marks: NDArray[np.int64]
    """(MARKS + 1,) hash table of the lines of the current gather, by the lowest bits of their
    numbers; the last word is the number of the gather."""
    place: NDArray[np.int64]
    """(SMs * resident,) place on the SMs of each block of the wave
    (:func:`placewise.memory.simulate.schedule.block_to_sm.block_slots`)."""


_spare: list[NDArray[np.int64]] = []
"""At most one array of line requests that is no longer used."""


def new_buffer(blocks: int, requests: int = BUFFER_REQUESTS) -> Buffer:
    """A buffer for waves of ``blocks`` blocks and ``requests`` line requests. The operating system
    provides memory only when it is written to, so the whole capacity is reserved from the start."""
    size = requests + MOST_REQUESTS + MADE_AT_ONCE
    spare = _spare.pop() if _spare else None
    return Buffer(
        spare if spare is not None and len(spare) == size else np.empty(size, np.int64),
        np.empty((1 << 14, 3), np.int64),
        np.zeros(blocks, np.bool_),
        np.zeros(2, np.int64),
        np.empty(MOST_REQUESTS + 16, np.int32),
        np.empty(MOST_REQUESTS, np.int64),
        np.zeros(MARKS + 1, np.int64),
        np.zeros(blocks, np.int64),
    )


def without_requests(buffer: Buffer) -> Buffer:
    """The buffer without its line requests, whose memory is kept for the next buffer: getting new
    memory from the operating system would take a tenth of the time of a wave of millions of
    accesses."""
    _spare[:] = [buffer.request]
    return buffer._replace(request=np.empty(0, np.int64))


def larger(buffer: Buffer) -> Buffer:
    """The buffer with room for twice as many segments."""
    used = int(buffer.used[1])
    segment = np.empty((2 * len(buffer.segment), 3), np.int64)
    segment[:used] = buffer.segment[:used]
    return buffer._replace(segment=segment)
