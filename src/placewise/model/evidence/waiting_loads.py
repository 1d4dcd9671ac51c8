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

SECTOR_BYTES = 32
_EXECUTIONS = 64
"""Executions of one instruction, by one block, that are looked at."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Multiplication by an odd number with many bits set spreads the bits of a number."""
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
    chosen = blocks[len(blocks) // 2]
    found = []
    for access in accesses:
        rows = (block_of_warp[access.warps] == chosen) & access.mask.any(axis=1)
        if rows.any():
            found.append(access.of(rows))
            if len(found) == _EXECUTIONS:
                break
    return found


def _reuse(accesses: list[Accesses]) -> Reuse:
    warps = np.concatenate([a.warps for a in accesses])
    step = np.repeat(np.arange(len(accesses)), [len(a.warps) for a in accesses])
    mask = np.concatenate([a.mask for a in accesses])
    sector = np.concatenate([a.offset for a in accesses]) // SECTOR_BYTES
    far = np.iinfo(np.int64).max
    ordered = np.sort(np.where(mask, sector, far), axis=1)
    different = (np.diff(ordered, axis=1, prepend=-1) != 0) & (ordered != far)
    # Requests are told apart by a sum over their sectors, which mixes bits of each.
    mixed = ordered.astype(np.uint64) * _ODD
    mixed = (mixed ^ mixed >> np.uint64(31)) * _ODD
    key = np.where(different, mixed, np.uint64(0)).sum(axis=1, dtype=np.uint64)
    key += np.concatenate([a.window for a in accesses]).astype(np.uint64)
    at_once = np.unique(np.stack([step.astype(np.uint64), key]), axis=1).shape[1]
    of_warps = np.unique(np.stack([warps.astype(np.uint64), key]), axis=1).shape[1]
    return Reuse(
        float(different.sum() / len(mask)),
        1.0 - of_warps / len(key),
        len(key) / at_once,
    )
