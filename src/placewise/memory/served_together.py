"""Transactions in memories whose serialization condition compares threads beyond a warp.

A condition's scope says "whether the condition is about two accesses by threads in a warp or a
thread block or a grid" (Chen et al. 2017, section 2). An access of a block is what its warps do in
one instruction for the same, the n-th, time; an access of a grid is that of all its blocks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.source import Tile
from placewise.machine.machine import Machine, Memory, standard_memory
from placewise.memory.reuse.record import turns
from placewise.memory.reuse.stream import TAGS, ArrayStream
from placewise.memory.transactions import in_tile, one_by_one
from placewise.space import Way

MOST_ACCESSES = 1 << 17
"""Warp accesses that are evaluated at most. Of more, whole accesses of blocks are chosen at random
until there are as many, and stand for all."""


def beyond_warps(machine: Machine, memory: Memory) -> bool:
    """Whether a memory serves accesses of blocks or grids. Shared memory does not, though the paper
    writes ``block`` there: hardware serves the instruction of each warp by itself."""
    if memory.condition.scope == "warp":
        return False
    return memory.name != standard_memory(machine, Way.KERNEL_BUFFER)


def together_transactions(
    stream: ArrayStream, memory: Memory, tile: Tile | None = None, element_bytes: int = 0
) -> NDArray[np.float64]:
    """(TAGS,) transactions that all accesses of ``stream`` take in a memory that serves blocks or
    grids; with ``tile`` in a tile of each block. One access's are divided among its warps.

    Raises MachineError where the condition's shape is not that of distinct keys in a group.
    """
    assert stream.block is not None
    assert stream.warp is not None
    warps = int(stream.warp.max(initial=0)) + 1
    sites = int(stream.site.max(initial=0)) + 1
    block = stream.block.astype(np.int64)
    turn = turns((block * warps + stream.warp) * sites + stream.site)
    part = np.zeros_like(block) if memory.condition.scope == "grid" else block
    _, access = np.unique(np.stack([part, stream.site, turn], axis=1), axis=0, return_inverse=True)
    access = access.reshape(-1)
    kept, scale = _thinned(access)
    access = np.unique(access[kept], return_inverse=True)[1].reshape(-1)
    addresses, _ = one_by_one(stream, kept, 1.0)
    if tile is not None:
        addresses = in_tile(addresses, tile, element_bytes)
    counted = np.zeros(int(access.max(initial=-1)) + 1, np.int64)
    for width in np.unique(stream.lane_bytes[kept]).tolist():
        mine = stream.lane_bytes[kept] == width
        counted += memory.condition.together(
            addresses[mine],
            stream.mask[kept][mine],
            access[mine],
            len(counted),
            element_bytes=width,
            block_bytes=memory.block_bytes,
            banks=memory.banks,
        )
    each = counted[access] / np.bincount(access)[access]
    by_tag: NDArray[np.float64] = np.zeros(TAGS)
    np.add.at(by_tag, stream.tag[kept], each * scale)
    return by_tag


def _thinned(access: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
    """Places of the accesses that are evaluated, and how many each stands for."""
    n = len(access)
    if n <= MOST_ACCESSES:
        return np.arange(n), 1.0
    sizes = np.bincount(access)
    order = np.random.default_rng(0).permutation(len(sizes))
    taken = max(1, int(np.searchsorted(np.cumsum(sizes[order]), MOST_ACCESSES, side="right")))
    kept = np.flatnonzero(np.isin(access, order[:taken]))
    return kept, n / len(kept)
