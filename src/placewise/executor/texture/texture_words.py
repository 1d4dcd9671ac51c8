"""What compiled code knows of a texture or surface: a row of 64-bit words."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.texture import SurfaceArgument, Texels, TextureArgument

WIDTH, HEIGHT, DEPTH = 0, 1, 2
"""Texels along x, y, z; 1 along axes that it does not have."""
LAYERS = 3
"""Layers, each of them with six faces in a layered cube map; 1 if there are none."""
ROW_BYTES, SLICE_BYTES, LAYER_BYTES = 4, 5, 6
"""Bytes from one row, slice (or face) and layer to the next."""
TEXEL_BYTES, CHANNELS = 7, 8
STRIDES = (TEXEL_BYTES, ROW_BYTES, SLICE_BYTES)
"""Words that hold the bytes from one texel to the next along x, y and z."""
FORMAT = 9
"""Bytes of a channel plus :data:`FORMAT_KIND` of its type."""
NORMALIZED_READ, LINEAR_FILTER, NORMALIZED_COORDINATES = 10, 11, 12
ADDRESS = 13
"""Address modes along x, y and z, as in :data:`ADDRESS_MODE`."""
BORDER = 16
"""Bits of four single-precision numbers."""
SHAPE = 20
"""Number of the shape: its position in :data:`SHAPES`."""
WORDS = 21

FORMAT_KIND = {"u": 0, "i": 16, "f": 32}
ADDRESS_MODE = {"clamp": 0, "border": 1, "wrap": 2, "mirror": 3}

SHAPES = ("1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "linear")
"""The shapes that instructions name, as in PTX, and linear memory of one dimension."""

_SHAPE_OF = {
    "linear": "linear",
    "pitch": "2d",
    "1d": "1d",
    "2d": "2d",
    "3d": "3d",
    "layered-1d": "a1d",
    "layered-2d": "a2d",
    "cube": "cube",
    "layered-cube": "acube",
}


@dataclass(frozen=True)
class TexelRead:
    """What is known of a texture before a kernel runs, to make its reads fast."""

    words: int
    """32-bit words of a texel where reads are plain loads of linear memory, else 0."""
    bytes: int
    """Bytes of a texel."""


def texel_read(argument: TextureArgument | SurfaceArgument, texels: Texels) -> TexelRead:
    """How an object's texels are read."""
    plain = argument.geometry == "linear" and texels.channel[1] == "4"
    return TexelRead(texels.channels if plain else 0, texels.bytes)


def texture_words(argument: TextureArgument | SurfaceArgument, texels: Texels) -> NDArray[np.int64]:
    """(WORDS,) of a texture or surface whose data lies at the start of its window."""
    shape = _SHAPE_OF[argument.geometry]
    extent = texels.extent
    words = np.zeros(WORDS, np.int64)
    words[[WIDTH, HEIGHT, DEPTH, LAYERS]] = 1
    words[WIDTH] = extent[-1]
    if shape in ("2d", "3d", "a2d", "cube", "acube"):
        words[HEIGHT] = extent[-2]
    if shape == "3d":
        words[DEPTH] = extent[0]
    elif shape in ("a1d", "a2d", "acube"):
        words[LAYERS] = extent[0]
    words[ROW_BYTES] = texels.row_bytes
    words[SLICE_BYTES] = texels.row_bytes * words[HEIGHT]
    words[LAYER_BYTES] = words[SLICE_BYTES] * (6 if shape == "acube" else 1)
    words[TEXEL_BYTES] = texels.bytes
    words[CHANNELS] = texels.channels
    words[FORMAT] = int(texels.channel[1]) + FORMAT_KIND[texels.channel[0]]
    words[SHAPE] = SHAPES.index(shape)
    if isinstance(argument, TextureArgument):
        sampler = argument.sampler
        words[NORMALIZED_READ] = sampler.read == "normalized" and texels.channel[0] in "ui"
        words[LINEAR_FILTER] = sampler.filter == "linear" and shape != "linear"
        words[NORMALIZED_COORDINATES] = sampler.normalized or shape in ("cube", "acube")
        for axis, mode in enumerate(sampler.address):
            # Without normalized coordinates the runtime switches wrap and mirror to clamp.
            plain = mode in ("wrap", "mirror") and not sampler.normalized
            words[ADDRESS + axis] = ADDRESS_MODE["clamp" if plain else mode]
        for channel, value in enumerate(sampler.border):
            words[BORDER + channel] = struct.unpack("<I", struct.pack("<f", value))[0]
    return words
