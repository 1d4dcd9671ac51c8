"""Compiled loops over warp accesses: what tells the requests of one access from those of another.

Arrays ``mask`` (n, 32) and ``offset`` (n, 32) are the active lanes of n accesses and their bytes
from the start of a window.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from placewise.compiled_code import compiled

SECTOR_BYTES = 32
LINE_BYTES = 128
"""Bytes of an L1 line (one tag) on every architecture whose machine code holds a schedule."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Multiplication by an odd number with many bits set spreads the bits of a number."""
_SHIFT = np.uint64(31)
_LANE_WEIGHTS = np.random.default_rng(0).integers(1, 1 << 62, 32) | 1
"""Odd numbers of 62 bits: sums of lanes times these, modulo 2^64, tell apart where lanes are."""
_LARGEST = np.iinfo(np.int64).max
"""Taken here: in a compiled loop ``np.iinfo`` would import SciPy at each start."""
_MASK = types.Array(types.boolean, 2, "C", readonly=True)
_OFFSET = types.Array(types.int64, 2, "C", readonly=True)


@compiled(types.int64(_MASK, _OFFSET, types.Array(types.uint64, 1, "C")))
def sectors_of_requests(
    mask: NDArray[np.bool_], offset: NDArray[np.int64], key: NDArray[np.uint64]
) -> int:
    """Number of sectors of all requests together. Adds to ``key`` (n,) a number that tells the sets
    of sectors apart: a sum over them, which mixes bits of each."""
    total = 0
    own = np.empty(32, np.int64)
    for n in range(mask.shape[0]):
        count = 0
        for lane in range(32):
            if not mask[n, lane]:
                continue
            sector = offset[n, lane] // SECTOR_BYTES
            known = count > 0 and own[count - 1] == sector
            for at in range(count):
                known = known or own[at] == sector
            if not known:
                own[count] = sector
                count += 1
                mixed = np.uint64(sector) * _ODD
                key[n] += (mixed ^ mixed >> _SHIFT) * _ODD
        total += count
    return total


@compiled(types.void(_MASK, _OFFSET, types.Array(types.int64, 1, "C")))
def shapes_of_requests(
    mask: NDArray[np.bool_], offset: NDArray[np.int64], key: NDArray[np.int64]
) -> None:
    """Set ``key`` (n,) to a number that tells the accesses apart but for a move of all lanes by
    whole lines."""
    for n in range(mask.shape[0]):
        least = _LARGEST
        for lane in range(32):
            if mask[n, lane]:
                least = min(least, offset[n, lane])
        start = least // LINE_BYTES * LINE_BYTES
        total = 0
        for lane in range(32):
            place = offset[n, lane] - start if mask[n, lane] else -1
            total += place * _LANE_WEIGHTS[lane]
        key[n] = total
