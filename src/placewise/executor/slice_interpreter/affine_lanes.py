"""Compiled loop over warp accesses: which active lanes each has, and whether their places have one
stride."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from placewise.compiled_code import compiled

HALF = 16
"""Lanes of half a warp."""


def _column(element: types.Type, axes: int = 1) -> types.Array:
    return types.Array(element, axes, "C")


def _rows(element: types.Type) -> types.Array:
    return types.Array(element, 2, "C", readonly=True)


# One parameter for each column.
@compiled(
    types.void(
        _rows(types.boolean), _rows(types.int64), _column(types.uint32), _column(types.int64),
        _column(types.int64), _column(types.int64), _column(types.boolean),
    )
)  # fmt: skip
def describe_lanes(
    mask: NDArray[np.bool_],
    offset: NDArray[np.int64],
    bits: NDArray[np.uint32],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    stride: NDArray[Any],
    affine: NDArray[np.bool_],
) -> None:
    """For each of n accesses, from its active lanes ``mask`` (n, 32) and their bytes ``offset``
    (n, 32), set (n,) columns:

    ``bits`` are the active lanes. ``affine`` holds for full warps whose two halves have one stride
    of less than 2^31 bytes; then ``first`` and ``second`` are the offsets of the halves' first
    lanes. Else both are that of the first active lane, and the stride is 0: what other lanes hold
    may be no address at all.
    """
    for n in range(mask.shape[0]):
        active, lowest = np.uint32(0), 0
        for lane in range(31, -1, -1):
            if mask[n, lane]:
                active |= np.uint32(1) << np.uint32(lane)
                lowest = lane
        step = offset[n, 1] - offset[n, 0]
        same = active == np.uint32(0xFFFFFFFF) and -(1 << 31) < step < 1 << 31
        for lane in range(1, 32):
            same = same and (lane == HALF or offset[n, lane] - offset[n, lane - 1] == step)
        bits[n], affine[n] = active, same
        first[n] = offset[n, 0 if same else lowest]
        second[n] = offset[n, HALF if same else lowest]
        stride[n] = step if same else 0
