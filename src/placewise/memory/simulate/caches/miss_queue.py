"""What the SMs' caches miss, queued for L2."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.geometry import Int
from placewise.memory.simulate.requests.line_requests import LINE_BIT, SECTOR_BIT
from placewise.memory.simulate.simd.jit_helpers import inlined


class Missed(NamedTuple):
    """Line requests that the SMs' caches send to L2, by L2 shard and SM, in the order of rounds.

    The requests of SMs that one thread simulates lie next to one another, which keeps the memory
    in use small where caches find most lines. A shard is the part of L2's sets that one thread
    simulates."""

    request: NDArray[np.int64]
    """(shards * requests,)"""
    end: NDArray[np.int32]
    """(shards * requests,) how many of an SM's requests belong to each round and those before."""
    first: NDArray[np.int64]
    length: NDArray[np.int64]
    """(shards, SMs) where an SM's requests start, and how many they are."""
    first_round: NDArray[np.int64]
    rounds: NDArray[np.int64]
    """(SMs,) where an SM's rounds start in a shard of ``end``, and how many they are."""


@inlined
def emit_miss(request: Int, held: Int, wanted: Int, missed: Missed, out: NDArray[np.int64]) -> None:
    """Queue a line request without its sectors ``held``, if ``wanted`` is not 0. The lowest bit of
    its line number chooses the shard; ``out`` (shards,) is where each shard's next request goes."""
    shard = np.uintp((request >> LINE_BIT) & np.int64(missed.length.shape[0] - 1))
    to = out[shard]
    missed.request[np.uintp(to)] = request & ~(held << SECTOR_BIT)
    out[shard] = to + np.int64(wanted != 0)
