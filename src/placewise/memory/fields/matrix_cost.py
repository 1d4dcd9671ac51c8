"""Sectors that recorded accesses to a matrix would move if it were stored in another order."""

from __future__ import annotations

import numpy as np

from placewise.memory.fields.record import SECTOR, FieldAccesses
from placewise.space.array_order import ArrayOrder, Extents, position, row_major
from placewise.space.array_order import indices_at as indices_of


def matrix_sectors(
    accesses: FieldAccesses, array: int, extents: Extents, order: ArrayOrder, element_bytes: int
) -> int:
    """32-byte sectors of all accesses to an array (a position in ``accesses.arrays``), whose
    elements were recorded row by row, if it is stored in ``order``."""
    number = np.repeat(np.arange(len(accesses.site)), np.diff(accesses.first))
    mine = accesses.array[number] == array
    indices = indices_of(extents, row_major(extents), accesses.element[mine])
    start = position(extents, order, indices) * element_bytes
    steps = np.arange(0, max(element_bytes, 1), min(element_bytes, SECTOR))
    sectors = (start[:, None] + steps) // SECTOR
    rows = np.stack([np.repeat(number[mine], len(steps)), sectors.reshape(-1)], axis=1)
    return len(np.unique(rows, axis=0))
