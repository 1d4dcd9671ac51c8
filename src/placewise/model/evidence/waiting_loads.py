"""How often a load waits for the next cache, where a part of the sectors that it asks for miss.

A sector that misses holds up its whole request. How many requests that are depends on how misses
are spread over them, which the hit rate of sectors does not tell:

- A thread that walks along a row of its own finds its next elements in the sectors that its warp
  fetched before. Then all sectors of one request miss, and none of the next few.
- Warps of a block that load the same sectors at the same time fetch them once, but all of them wait
  until they are there.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.executor.slice_interpreter import Accesses, SlicedTrace
from placewise.memory.reuse.record import turns
from placewise.model.evidence.request_loops import sectors_of_requests

_EXECUTIONS = 64
"""Executions of one instruction, by one block, that are looked at."""
_FEWEST_ROUNDS = 2.0
_EARLY, _MOST = 1.5, 0.9
"""A warp comes back to its sectors if so large a share of its first requests for them is among the
first requests of all, of which this many times as many are looked at as it has sectors."""
_ODD = np.uint64(0xC2B2AE3D27D4EB4F)
"""Multiples of an odd number with many bits set are spread over all numbers of 64 bits."""
THROUGH_L1 = ("global", "local", "generic", "texture")
"""Spaces that are accessed through L1."""


class Reuse(NamedTuple):
    """What requests of one load have in common, in one block."""

    sectors: float
    """Sectors of a request."""
    again: float
    """Share of requests for the same sectors as an earlier request of the same warp."""
    warps: float
    """Warps that ask for the same sectors at the same time."""
    comes_back: bool = False
    """Whether a warp asks for all its sectors once before it asks for most of them again."""

    def waiting(self, missing: float) -> float:
        """Share of requests that wait for the next cache, where on the average ``missing`` sectors
        of a request miss the nearest one."""
        rate = missing / max(1.0, self.sectors)
        different = 1.0 - self.again
        # Sectors miss in requests for other sectors than before, as long as the cache keeps them.
        own = min(different, missing)
        if rate > different:
            own += min(self.again, (rate - different) * self.sectors)
        return min(1.0, max(own, min(different, rate * self.warps)))


def reuse_of_loads(sliced: SlicedTrace, traced: NDArray[np.bool_]) -> dict[int, Reuse]:
    """By offset of each load through L1 or constant caches, what its requests in one of the
    ``traced`` (blocks,) blocks have in common."""
    steps: dict[int, list[Accesses]] = defaultdict(list)
    for access in sliced.accesses:
        site = sliced.sites[access.site]
        if site.kind == "load" and site.space in (*THROUGH_L1, "constant"):
            steps[site.ptx_line].append(access)
    found = {}
    for place, accesses in steps.items():
        own = _of_one_block(accesses, sliced.block_of_warp, traced)
        if own:
            found[place] = _reuse(own)
    return found


def _of_one_block(
    accesses: list[Accesses], block_of_warp: NDArray[np.int64], traced: NDArray[np.bool_]
) -> list[Accesses]:
    """The first executions by a traced block in the middle of those that execute it."""
    blocks = np.unique(block_of_warp[accesses[0].warps])
    blocks = blocks[traced[blocks]]
    if not len(blocks):
        return []
    # The warps of a block are adjacent.
    chosen = block_of_warp == blocks[len(blocks) // 2]
    first = int(chosen.argmax())
    last = first + int(np.count_nonzero(chosen))
    found = []
    for access in accesses:
        own = np.logical_and(access.warps >= first, access.warps < last)
        if not own.any():
            continue
        part = access.of(own)
        part = part.of(np.any(part.mask, axis=1))
        if len(part.warps):
            found.append(part)
            if len(found) == _EXECUTIONS:
                break
    return found


def _reuse(accesses: list[Accesses]) -> Reuse:
    warps = np.concatenate([a.warps for a in accesses]).astype(np.uint64)
    sizes = [len(a.warps) for a in accesses]
    step = np.repeat(np.arange(len(accesses), dtype=np.uint64), sizes)
    mask = np.concatenate([a.mask for a in accesses])
    offset = np.concatenate([a.offset for a in accesses])
    key = np.concatenate([a.window for a in accesses]).astype(np.uint64)
    sectors = sectors_of_requests(mask, offset, key)
    at_once = len(np.unique(key + _ODD * step))
    _, first = np.unique(key + _ODD * warps, return_index=True)
    return Reuse(
        sectors / len(mask),
        1.0 - len(first) / len(key),
        len(key) / at_once,
        _comes_back(warps, first),
    )


def _comes_back(warps: NDArray[np.uint64], first: NDArray[np.int64]) -> bool:
    """Whether the requests at the places ``first``, each a warp's first one for its sectors, come
    before the further ones. ``warps`` (n,) make the requests, in this order."""
    rounds = len(warps) / len(first)
    if rounds < _FEWEST_ROUNDS:
        return False
    turn = turns(warps.astype(np.int64))
    # Of m requests of a warp the first m / rounds are first ones, or they are spread over all.
    _, place, count = np.unique(warps, return_inverse=True, return_counts=True)
    return bool(np.mean(turn[first] < _EARLY * count[place[first]] / rounds) >= _MOST)
