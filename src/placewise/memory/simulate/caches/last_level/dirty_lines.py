"""Which lines of L2 are dirty, where L2 writes back early so that only a part of it ever is.

When a store would make more lines of a set dirty than ``most_dirty`` of its ways, one of those that
were not stored to for longest is written to DRAM. It stays in L2, clean, and becomes dirty again
with the next store to it. Reads are taken not to write back dirty lines (an RTX 2080 Ti was
recorded to keep half of L2 dirty however much was read). So a cache of that many ways which sees
nothing but stores holds just the dirty lines. Its policy is ``aged``, the usual one of L2. Whether
GPUs count lines or sectors is not known, as the recorded kernels fill their lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.cache import WRITE_BACK, Caches, access, new_caches
from placewise.memory.simulate.caches.geometry import Geometry, Int
from placewise.memory.simulate.requests.line_requests import (
    MOST_STREAMS,
    SECTOR_BIT,
    SECTORS,
    STREAM_BIT,
)
from placewise.memory.simulate.requests.streams import PAST_L2, Streams
from placewise.memory.simulate.simd.jit_helpers import bits, noinline


class DirtyLines(NamedTuple):
    """The dirty lines of one L2 shard."""

    counted: bool
    """False where L2 writes back only what it evicts; then nothing is recorded here."""
    lines: Caches
    dirtied: NDArray[np.int64]
    """(1,) number of sectors that became dirty; a sector counts again each time that it does, and
    each store past L2."""


def new_dirty_lines(l2: Geometry, most_dirty: float | None, per_line: int) -> DirtyLines:
    """No dirty lines, of an L2 shard of geometry ``l2``. ``most_dirty`` is the share of its ways
    that may be dirty, None where there is no such limit; ``per_line`` is the number of sectors in
    a line of line requests."""
    if most_dirty is None:
        shape = Geometry(1, 1, 1)
    else:
        ways = max(1, round(l2.ways * most_dirty))
        shape = Geometry(1, l2.sets, ways, "aged", hashed=l2.hashed, split=l2.split)
    caches = new_caches([shape], line_sectors=per_line)
    return DirtyLines(most_dirty is not None, caches, np.zeros(1, np.int64))


@noinline
def note_stores(
    dirty: DirtyLines,
    streams: Streams,
    stored: NDArray[np.bool_],
    order: NDArray[np.int64],
    n: Int,
    shift: Int,
    per_line: Int,
) -> None:
    """Make the sectors dirty that the first ``n`` line requests of ``order`` store to. ``stored``
    (streams,) says which streams store, and ``shift`` is the bit from which on a request has the
    number of its line within the shard."""
    total = np.int64(0)
    for k in range(n):
        request = order[np.uintp(k)]
        p = np.uintp((request >> STREAM_BIT) & MOST_STREAMS)
        if stored[p]:
            sectors = (request >> SECTOR_BIT) & SECTORS
            newly_dirty = sectors
            if not streams.rows[p].flags & PAST_L2:
                newly_dirty, _, _ = access(
                    dirty.lines, 0, 0, request >> shift, sectors, per_line, WRITE_BACK
                )
            total += bits(newly_dirty)
    dirty.dirtied[0] += total
