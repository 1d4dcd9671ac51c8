"""The queue of line requests that miss the SMs' caches, on their way to L2."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.geometry import Int
from placewise.memory.simulate.requests.line_requests import LINE_BIT, SECTOR_BIT
from placewise.memory.simulate.simd.jit_helpers import inlined


class Missed(NamedTuple):
    """Line requests that the SMs' caches send to L2, by L2 shard and SM, in the order of rounds.

    The requests of SMs that one thread simulates are stored next to one another, so that little
    memory is used if most requests hit. A shard is the part of L2's sets that one thread
    simulates."""

    request: NDArray[np.int64]
    """(shards * requests,)"""
    end: NDArray[np.int32]
    """(shards * requests,) number of an SM's requests that belong to each round or an earlier
    one."""
    first: NDArray[np.int64]
    length: NDArray[np.int64]
    """(shards, SMs) each: index of an SM's first request, and the number of its requests."""
    first_round: NDArray[np.int64]
    rounds: NDArray[np.int64]
    """(SMs,) each: index of an SM's first round in a shard of ``end``, and the number of its
    rounds."""


@inlined
def emit_miss(request: Int, held: Int, wanted: Int, missed: Missed, out: NDArray[np.int64]) -> None:
    """Queue a line request without its sectors ``held``, if ``wanted`` is not 0. The lowest bit of
    its line number chooses the shard; ``out`` (shards,) is the index of each shard's next
    request."""
    shard = np.uintp((request >> LINE_BIT) & np.int64(missed.length.shape[0] - 1))
    to = out[shard]
    missed.request[np.uintp(to)] = request & ~(held << SECTOR_BIT)
    out[shard] = to + np.int64(wanted != 0)
