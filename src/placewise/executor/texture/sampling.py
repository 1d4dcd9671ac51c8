"""Texture reads, compiled: coordinates of a warp to texels, and texels to values.

The formulas are those of the CUDA C++ Programming Guide, section "Texture Fetching": nearest-point
sampling takes texel ``floor(x)``; linear filtering weighs the texels around ``x - 0.5`` by its
fraction, kept in 9-bit fixed point with 8 bits of fraction. The guide does not say how that
fraction is rounded, nor the sum: here the fraction is rounded to the nearest, and the sum is made
in double precision and rounded once.

The data of a texture is laid out in row-major order; a GPU's CUDA arrays have an order of their
own, which NVIDIA does not publish.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import carray, njit, types

from placewise.compiled_code import compiled_callback
from placewise.executor.texture.texture_request import GATHER, INTEGER_COORDINATES, TEXELS
from placewise.executor.texture.texture_words import (
    ADDRESS,
    ADDRESS_MODE,
    BORDER,
    CHANNELS,
    DEPTH,
    FORMAT,
    FORMAT_KIND,
    LAYER_BYTES,
    LAYERS,
    LINEAR_FILTER,
    NORMALIZED_COORDINATES,
    NORMALIZED_READ,
    SHAPE,
    SHAPES,
    SLICE_BYTES,
    STRIDES,
    WIDTH,
    WORDS,
)

_BORDER, _WRAP, _MIRROR = ADDRESS_MODE["border"], ADDRESS_MODE["wrap"], ADDRESS_MODE["mirror"]
_SIGNED, _FLOAT = FORMAT_KIND["i"], FORMAT_KIND["f"]
_1D, _2D, _3D, _A1D, _A2D, _CUBE, _ACUBE, _LINEAR = range(len(SHAPES))
_FAR = float(1 << 40)
"""Coordinates are cut to this magnitude, so that they fit an integer."""


CALL = types.int64(
    types.voidptr,
    types.voidptr,
    types.voidptr,
    types.uint32,
    types.int64,
    types.voidptr,
    types.voidptr,
    types.voidptr,
)
"""How generated code calls what reads or writes a texture's texels for a warp."""


@njit(error_model="numpy")
def _addressed(index: int, extent: int, mode: int) -> int:
    """The texel that stands for ``index``, or -1 where the border does."""
    if 0 <= index < extent:
        return index
    if mode == _BORDER:
        return -1
    if mode == _WRAP:
        return index % extent
    if mode == _MIRROR:
        index %= 2 * extent
        return index if index < extent else 2 * extent - 1 - index
    return 0 if index < 0 else extent - 1


@njit(error_model="numpy")
def _half(bits: int) -> float:
    """The number that 16 bits of half precision stand for."""
    exponent = (bits >> 10) & 31
    fraction = bits & 1023
    sign = -1.0 if bits >> 15 else 1.0
    if exponent == 31:
        return sign * math.inf if fraction == 0 else math.nan
    if exponent == 0:
        return sign * math.ldexp(float(fraction), -24)
    return sign * math.ldexp(float(1024 + fraction), exponent - 25)


@njit(error_model="numpy")
def _integer(words: Any, data: Any, offset: int) -> Any:
    """A channel's bits, extended to 32 as its type says; ``data`` are views of 1, 2 and 4 bytes."""
    size = words[FORMAT] & 15
    if size == 4:
        value = np.int64(data[2][offset >> 2])
    elif size == 2:
        value = np.int64(data[1][offset >> 1])
    else:
        value = np.int64(data[0][offset])
    if words[FORMAT] & _SIGNED and value >> (8 * size - 1):
        value -= np.int64(1) << (8 * size)
    return value


@njit(error_model="numpy")
def _real(words: Any, data: Any, offset: int) -> Any:
    """A channel as the floating-point number that the texture returns."""
    size = words[FORMAT] & 15
    if words[FORMAT] & _FLOAT:
        if size == 2:
            return _half(_integer(words, data, offset))
        return np.float64(data[3][offset >> 2])
    value = float(_integer(words, data, offset))
    if words[FORMAT] & _SIGNED:
        return max(value / (127.0 if size == 1 else 32767.0), -1.0)
    return value / (255.0 if size == 1 else 65535.0)


@njit(error_model="numpy")
def _face(at: Any) -> int:
    """The face that a direction meets; replaces the direction by the place on it, 0 to 1.

    CUDA C++ Programming Guide, table "Cubemap Fetch".
    """
    x, y, z = at[0], at[1], at[2]
    ax, ay, az = abs(x), abs(y), abs(z)
    if ax >= ay and ax >= az:
        face, m, s, t = (0, ax, -z, -y) if x >= 0 else (1, ax, z, -y)
    elif ay >= az:
        face, m, s, t = (2, ay, x, z) if y >= 0 else (3, ay, x, -z)
    else:
        face, m, s, t = (4, az, x, -y) if z >= 0 else (5, az, -x, -y)
    if m > 0:
        s /= m
        t /= m
    at[0] = (s + 1.0) / 2.0
    at[1] = (t + 1.0) / 2.0
    return face


@njit(error_model="numpy")
def _texel_place(words: Any, axis: int, coordinate: float, exact: bool, linear: bool) -> float:
    """Texels from the first one's edge (its centre if ``linear``) to the sample, along an axis."""
    if exact:
        return coordinate + (0.0 if linear else 0.5)
    if words[NORMALIZED_COORDINATES]:
        coordinate *= words[WIDTH + axis]
    if linear:
        coordinate -= 0.5
    if not coordinate > -_FAR:  # NaN too
        coordinate = -_FAR if coordinate <= -_FAR else 0.0
    return min(coordinate, _FAR)


# Compiled by Numba as one callback: calls in the loop over lanes would cost more than they say.
@compiled_callback(CALL, nopython=True, error_model="numpy")
def read_texture(
    words_at: Any,
    data_at: Any,
    coordinates_at: Any,
    mask: int,
    request: int,
    values_at: Any,
    offsets_at: Any,
    masks_at: Any,
) -> int:
    """Read a texture for the lanes in ``mask``.

    Words of the texture; its data; (4, 32) coordinates as 32-bit words; the request. Out go (4, 32)
    32-bit values, the (TEXELS, 32) byte offsets of the texels, and TEXELS masks of the lanes that
    touch each. Returns the number of texels a lane may touch, or -1 if the texture has another
    shape than the instruction.
    """
    words = carray(words_at, (WORDS,), np.int64)
    size = words[LAYERS] * words[LAYER_BYTES]
    if words[SHAPE] == _CUBE:
        size *= 6
    elif words[SHAPE] == _3D:
        size *= words[DEPTH]
    data = (
        carray(data_at, (size,), np.uint8),
        carray(data_at, (size >> 1,), np.uint16),
        carray(data_at, (size >> 2,), np.uint32),
        carray(data_at, (size >> 2,), np.float32),
    )
    reals = carray(coordinates_at, (4, 32), np.float32)
    integers = carray(coordinates_at, (4, 32), np.int32)
    results = carray(values_at, (4, 32), np.uint32)
    real_results = carray(values_at, (4, 32), np.float32)
    border = carray(words_at, (2 * WORDS,), np.float32)
    offsets = carray(offsets_at, (TEXELS, 32), np.int64)
    masks = carray(masks_at, (TEXELS,), np.uint32)

    shape = request & 15
    exact = request & INTEGER_COORDINATES != 0
    gather = request // GATHER
    if shape != words[SHAPE] and not (shape == _1D and words[SHAPE] == _LINEAR and exact):
        return -1
    layered = shape in (_A1D, _A2D, _ACUBE)
    first = 1 if layered else 0
    cube = shape in (_CUBE, _ACUBE)
    axes = 3 if shape == _3D else 1 if shape in (_1D, _A1D) else 2
    linear = gather > 0 or (words[LINEAR_FILTER] != 0 and not exact)
    as_real = (
        words[LINEAR_FILTER] != 0 or words[NORMALIZED_READ] != 0 or words[FORMAT] == _FLOAT + 2
    )
    corners = 1 << axes if linear else 1
    channels = words[CHANNELS]
    step = words[FORMAT] & 15
    for k in range(corners):
        masks[k] = 0
    at = np.zeros(3, np.float64)
    # Of the lower and the upper texel along each axis: bytes, or -1 for the border, and weight.
    bytes_ = np.zeros((3, 2), np.int64)
    weights = np.zeros((3, 2), np.float64)
    total = np.zeros(4, np.float64)
    for lane in range(32):
        if not mask >> lane & 1:
            continue
        base = np.int64(0)
        if layered:
            layer = np.int64(integers[0, lane])
            base = min(max(layer, 0), words[LAYERS] - 1) * words[LAYER_BYTES]
        for axis in range(3 if cube else axes):
            given = integers[first + axis, lane] if exact else reals[first + axis, lane]
            at[axis] = given
        if cube:
            base += _face(at) * words[SLICE_BYTES]
        for axis in range(axes):
            place = _texel_place(words, axis, at[axis], exact, linear)
            low = math.floor(place)
            part = math.floor((place - low) * 256.0 + 0.5) / 256.0
            weights[axis, 0], weights[axis, 1] = 1.0 - part, part
            mode = 0 if cube else words[ADDRESS + axis]
            if words[SHAPE] == _LINEAR:
                mode = _BORDER
            stride = words[STRIDES[axis]]
            for upper in range(2 if linear else 1):
                index = _addressed(np.int64(low) + upper, words[WIDTH + axis], mode)
                bytes_[axis, upper] = index * stride if index >= 0 else -1
        for channel in range(4):
            total[channel] = 0.0
            results[channel, lane] = 0
        for k in range(corners):
            weight = 1.0
            offset = base
            inside = True
            for axis in range(axes):
                upper = k >> axis & 1
                weight *= weights[axis, upper]
                offset += bytes_[axis, upper]
                inside = inside and bytes_[axis, upper] >= 0
            if inside:
                offsets[k, lane] = offset
                masks[k] |= np.uint32(1) << np.uint32(lane)
            for channel in range(channels):
                if gather > 0 and channel != gather - 1:
                    continue
                # The four texels of a gather go counter-clockwise from the lower left
                # (PTX ISA, tld4).
                slot = channel if gather == 0 else (3, 2, 0, 1)[k]
                if inside:
                    where = offset + channel * step
                    if as_real:
                        value = _real(words, data, where)
                    else:
                        results[slot, lane] = np.uint32(_integer(words, data, where) & 0xFFFFFFFF)
                        continue
                else:
                    value = 0.0
                    if words[SHAPE] != _LINEAR:
                        value = float(border[2 * (BORDER + channel)])
                    if not as_real:
                        real_results[slot, lane] = np.float32(value)
                        if words[FORMAT] & _FLOAT == 0:
                            results[slot, lane] = np.uint32(np.int64(value) & 0xFFFFFFFF)
                        continue
                if gather > 0 or not linear:
                    real_results[slot, lane] = np.float32(value)
                elif weight != 0.0:
                    total[channel] += weight * value
        if linear and gather == 0:
            for channel in range(channels):
                real_results[channel, lane] = np.float32(total[channel])
    return corners
