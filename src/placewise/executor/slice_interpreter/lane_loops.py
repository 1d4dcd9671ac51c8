"""Compiled loops over the lanes of w warps, for what NumPy does in several passes or lane by lane.

Masks are (w, 32) and true for active lanes. Arrays that are only read may have any strides, so that
a value that is the same in all lanes can be broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from placewise.compiled_code import compiled
from placewise.executor.device_memory.address_space import WINDOW_SHIFT

_SHIFT = np.uint64(WINDOW_SHIFT)
_INSIDE = np.uint64((1 << WINDOW_SHIFT) - 1)
ANY_WINDOW = (1 << 64) - 1
"""Stands for a window where the memory is known without looking at the address."""
_ANY = np.uint64(ANY_WINDOW)

_MASK = types.Array(types.boolean, 2, "C", readonly=True)
_PLACES = types.Array(types.int32, 2, "C")
_FLAGS = types.Array(types.boolean, 1, "C")
_COUNTS = types.Array(types.int64, 1, "A")
_BYTES = types.Array(types.uint8, 1, "C", readonly=True)


def _read(element: types.Type, axes: int) -> types.Array:
    return types.Array(element, axes, "A", readonly=True)


@compiled(types.void(_MASK, _read(types.int64, 1), _FLAGS, _COUNTS, _COUNTS))
def count_active(
    mask: NDArray[np.bool_],
    block_of_warp: NDArray[np.int64],
    took_part: NDArray[np.bool_],
    warps: NDArray[np.int64],
    threads: NDArray[np.int64],
) -> None:
    """Set ``took_part`` (w,) for the warps with active lanes; add to ``warps`` and ``threads`` (b,)
    how many of each are active in each block."""
    for warp in range(mask.shape[0]):
        lanes = 0
        for lane in range(32):
            lanes += mask[warp, lane]
        took_part[warp] = lanes > 0
        if lanes:
            warps[block_of_warp[warp]] += 1
            threads[block_of_warp[warp]] += lanes


@compiled(types.void(_PLACES, _MASK, _read(types.boolean, 2), types.int32, types.int32))
def branch(
    at: NDArray[np.int32],
    mask: NDArray[np.bool_],
    taken: NDArray[np.bool_],
    target: int,
    other: int,
) -> None:
    """Set ``at`` (w, 32) of the active lanes to ``target`` where ``taken`` (w, 32), else to
    ``other``."""
    for warp in range(mask.shape[0]):
        for lane in range(32):
            to = target if taken[warp, lane] else other
            at[warp, lane] = to if mask[warp, lane] else at[warp, lane]


# Compiled loops take arrays, not a dataclass of them: one parameter for each.
@njit
def _load(
    memory: NDArray[Any],
    window: int,
    mask: NDArray[np.bool_],
    address: NDArray[np.uint64],
    start: NDArray[np.int64],
    base: int,
    size: int,
    number: int,
    found: NDArray[Any],
) -> int:
    elsewhere = 0
    for warp in range(mask.shape[0]):
        for lane in range(32):
            if mask[warp, lane]:
                if window != _ANY and address[warp, lane] >> _SHIFT != window:
                    elsewhere += 1
                    continue
                inside = np.int64(address[warp, lane] & _INSIDE) - base
                index = (start[warp, lane] + inside) // memory.itemsize + number
                if 0 <= inside < size and index < memory.size:
                    found[warp, lane] = memory[index]
    return elsewhere


# One parameter for each property of the lanes' memory and of the element.
@compiled(
    types.int64(
        _BYTES, types.uint64, _MASK, _read(types.uint64, 2), _read(types.int64, 2), types.int64,
        types.int64, types.int64, types.int64, types.Array(types.uint8, 2, "C"),
    )
)  # fmt: skip
def load(
    memory: NDArray[np.uint8],
    window: int,
    mask: NDArray[np.bool_],
    address: NDArray[np.uint64],
    start: NDArray[np.int64],
    base: int,
    size: int,
    width: int,
    number: int,
    found: NDArray[np.uint8],
) -> int:
    """Load element ``number`` of those of ``width`` bytes (1, 2, 4 or 8) at the address (w, 32) of
    each active lane that lies in ``window`` or, with :data:`ANY_WINDOW`, of each; returns how many
    lie elsewhere.

    The offset within the window, less ``base``, is one from the lane's ``start`` (w, 32) in
    ``memory``, and below ``size``. ``found`` (w, 32 * width) gets the bytes, and keeps what it
    holds for lanes out of bounds.
    """
    whole = memory[: memory.size // width * width]
    place = (address, start, base, size, number)
    if width == 1:
        return int(_load(whole, window, mask, *place, found))
    if width == 2:
        return int(_load(whole.view(np.uint16), window, mask, *place, found.view(np.uint16)))
    if width == 4:
        return int(_load(whole.view(np.uint32), window, mask, *place, found.view(np.uint32)))
    return int(_load(whole.view(np.uint64), window, mask, *place, found.view(np.uint64)))
