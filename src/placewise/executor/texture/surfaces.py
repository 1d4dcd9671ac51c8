"""Surface reads and writes, compiled: byte coordinates of a warp to memory.

CUDA C++ Programming Guide, section "Surface Functions", and PTX ISA, ``suld`` and ``sust``: x
counts bytes, y and z texels; what lies outside traps, is moved to the nearest place inside (clamp),
or reads as zero and is not written (zero).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray

from placewise.compiled_code import compiled_callback
from placewise.executor.texture.sampling import CALL
from placewise.executor.texture.texture_request import (
    BOUNDARY,
    BOUNDARY_STEP,
    BYTES_STEP,
    COUNT_STEP,
    WRITE,
)
from placewise.executor.texture.texture_words import (
    DEPTH,
    HEIGHT,
    LAYER_BYTES,
    LAYERS,
    ROW_BYTES,
    SHAPE,
    SHAPES,
    SLICE_BYTES,
    TEXEL_BYTES,
    WIDTH,
    WORDS,
)

MISALIGNED = 64
"""Added to the lane that :func:`access_surface` complains of."""

_1D, _2D, _3D, _A1D, _A2D, _CUBE, _ACUBE, _LINEAR = range(len(SHAPES))
_TRAP, _CLAMP, _ZERO = range(len(BOUNDARY))


# Compiled by Numba as one callback, with one branch for each surface shape.
@compiled_callback(CALL, nopython=True)
def access_surface(
    words_at: Any,
    data_at: Any,
    coordinates_at: Any,
    mask: int,
    request: int,
    values_at: Any,
    offsets_at: Any,
    mask_at: Any,
) -> int:
    """Read or write a surface for the lanes in ``mask``, lowest first.

    Words of the surface; its data; (4, 32) 32-bit coordinates; the request; (elements, 32) values,
    read or written. Out go 32 byte offsets and a mask of the lanes that touch the surface. Returns
    0, -1 if the surface has another shape than the instruction, or 1 plus the first lane that is
    outside (:data:`MISALIGNED` more where x is no multiple of the access's size).
    """
    words = carray(words_at, (WORDS,), np.int64)
    shape = request & 15
    boundary = request // BOUNDARY_STEP & 3
    write = request & WRITE != 0
    element = request // BYTES_STEP & 63
    count = request // COUNT_STEP
    layers, layer_bytes = words[LAYERS], words[LAYER_BYTES]
    own = words[SHAPE]
    if own in (_CUBE, _ACUBE):
        # A cube map's faces are layers to a surface.
        layers, layer_bytes, own = 6 * layers, words[SLICE_BYTES], _A2D
    if shape != own:
        return -1
    size = layers * layer_bytes
    if own == _3D:
        size *= words[DEPTH]
    data = carray(data_at, (size,), np.uint8)
    coordinates = carray(coordinates_at, (4, 32), np.int32)
    values = carray(values_at, (count, 32, element), np.uint8)
    offsets = carray(offsets_at, (32,), np.int64)
    touched = carray(mask_at, (1,), np.uint32)
    touched[0] = 0
    layered = shape in (_A1D, _A2D)
    first = 1 if layered else 0
    bytes_ = element * count
    for lane in range(32):
        if not mask >> lane & 1:
            continue
        layer: Any = np.int64(coordinates[0, lane]) if layered else np.int64(0)
        x: Any = np.int64(coordinates[first, lane])
        y: Any = np.int64(0) if shape in (_1D, _A1D) else np.int64(coordinates[first + 1, lane])
        z: Any = np.int64(coordinates[2, lane]) if shape == _3D else np.int64(0)
        if x % bytes_ != 0:
            return 1 + lane + MISALIGNED
        last = words[WIDTH] * words[TEXEL_BYTES] - bytes_
        inside = (
            0 <= x <= last
            and 0 <= y < words[HEIGHT]
            and 0 <= z < words[DEPTH]
            and 0 <= layer < layers
        )
        if not inside:
            if boundary == _TRAP or last < 0:
                return 1 + lane
            if boundary == _ZERO:
                if not write:
                    for k in range(count):
                        for n in range(element):
                            values[k, lane, n] = 0
                continue
            x = min(max(x, 0), last)
            y = min(max(y, 0), words[HEIGHT] - 1)
            z = min(max(z, 0), words[DEPTH] - 1)
            layer = min(max(layer, 0), layers - 1)
        at = layer * layer_bytes + z * words[SLICE_BYTES] + y * words[ROW_BYTES] + x
        offsets[lane] = at
        touched[0] |= np.uint32(1) << np.uint32(lane)
        for k in range(count):
            for n in range(element):
                if write:
                    data[at + k * element + n] = values[k, lane, n]
                else:
                    values[k, lane, n] = data[at + k * element + n]
    return 0
