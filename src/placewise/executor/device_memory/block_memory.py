"""Memory of the blocks that a worker holds at the same time: a single one, unless blocks wait for
each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placewise.executor.device_memory import address_space

RESIDENT_BYTES = 1 << 30
"""Most bytes for blocks held at the same time; what no block uses is never touched."""

_ALIGN = 64


class BlockMemory:
    """Shared and local memory, waiting warps' registers, and barriers of ``blocks`` blocks."""

    def __init__(
        self, *, blocks: int, warps: int, shared_bytes: int, local_bytes: int, frame_bytes: int
    ) -> None:
        sizes = [
            -(-size // _ALIGN) * _ALIGN
            for size in (
                max(shared_bytes, 1),
                warps * 32 * local_bytes,
                warps * frame_bytes,
                4 * warps,
                address_space.WAIT_ROWS * 4 * warps,
                address_space.BARRIER_ROWS * 8 * address_space.BARRIERS,
            )
        ]
        each = sum(sizes)
        self.places = max(1, min(blocks, address_space.RESIDENT_BLOCKS, RESIDENT_BYTES // each))
        self._room = np.zeros(self.places * each + _ALIGN, np.uint8)
        start = self._room.ctypes.data
        start += -start % _ALIGN
        offsets = np.concatenate([[0], np.cumsum(sizes[:-1])])
        first = start + each * np.arange(self.places, dtype=np.int64)
        self.rows: NDArray[np.int64] = np.zeros(
            (self.places, address_space.RESIDENT_WORDS), np.int64
        )
        """A row for each block: :data:`address_space.RESIDENT_POINTERS`,
        :data:`address_space.RESIDENT_VALUES`, then the block's number plus one."""
        self.rows[:, : len(address_space.RESIDENT_POINTERS)] = first[:, None] + offsets[None, :]
