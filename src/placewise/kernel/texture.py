"""Texture and surface objects: their memory, its texels, and how a texture is sampled.

Names and rules are those of the CUDA C++ Programming Guide, sections "Texture and Surface Memory"
and "Texture Fetching".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError

AddressMode = Literal["clamp", "border", "wrap", "mirror"]
"""What a coordinate outside of the texture reads; wrap and mirror need normalized coordinates."""

Geometry = Literal[
    "linear", "pitch", "1d", "2d", "3d", "layered-1d", "layered-2d", "cube", "layered-cube"
]
"""Linear memory (of one dimension, or rows of a pitch), or the shape of a CUDA array."""

DIMENSIONS: dict[str, int] = {
    "linear": 1,
    "pitch": 2,
    "1d": 1,
    "2d": 2,
    "3d": 3,
    "layered-1d": 2,
    "layered-2d": 3,
    "cube": 3,
    "layered-cube": 4,
}
"""Axes of the data, slowest first: layers, faces, depth, height, width as far as there are such."""

_LIMITS: dict[str, tuple[int, ...]] = {
    "linear": (1 << 28,),
    "pitch": (65000, 131072),
    "1d": (131072,),
    "2d": (65536, 131072),
    "3d": (16384, 16384, 16384),
    "layered-1d": (2048, 32768),
    "layered-2d": (2048, 32768, 32768),
    "cube": (6, 32768, 32768),
    "layered-cube": (2046 // 6, 6, 32768, 32768),
}
"""Largest extents, in the order of the axes: CUDA C++ Programming Guide, "Technical Specifications
per Compute Capability", 7.5 and later."""

_CHANNELS = ("u1", "i1", "f2", "u2", "i2", "f4", "u4", "i4")


@dataclass(frozen=True)
class Sampler:
    """How a texture is read (``cudaTextureDesc``)."""

    address: tuple[AddressMode, AddressMode, AddressMode] = ("clamp", "clamp", "clamp")
    """Along x, y and z. Memory reads through ``tex1Dfetch`` give 0 outside, whatever this is."""
    filter: Literal["point", "linear"] = "point"
    read: Literal["element", "normalized"] = "element"
    """``normalized`` turns integers of 8 and 16 bits into floats in [0, 1] or [-1, 1]."""
    normalized: bool = False
    """Coordinates run from 0 to 1 instead of to the extent."""
    border: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """Value of each channel outside, in address mode ``border``."""


@dataclass(frozen=True)
class Texels:
    """The memory of a texture or surface."""

    channel: str
    """NumPy code of a channel: u1 i1 u2 i2 u4 i4 f2 f4."""
    channels: int
    """Channels of a texel: 1, 2 or 4."""
    extent: tuple[int, ...]
    """Extents along the axes of :data:`DIMENSIONS`, slowest first."""
    row_bytes: int
    """Bytes from one row to the next."""

    @property
    def bytes(self) -> int:
        """Bytes of one texel."""
        return int(self.channel[1]) * self.channels


@dataclass(frozen=True, eq=False)
class TextureArgument:
    """A ``cudaTextureObject_t``.

    ``data`` has the axes of ``geometry`` (see :data:`DIMENSIONS`), and one more of length 1, 2 or 4
    where texels have several channels and their type is not structured. In linear memory a 64-bit
    number is a texel of two 32-bit channels. Rows of ``pitch`` memory may be longer than the
    ``width`` texels that the texture shows.
    """

    name: str
    data: NDArray[np.generic]
    geometry: Geometry = "linear"
    sampler: Sampler = Sampler()
    width: int | None = None


@dataclass(frozen=True, eq=False)
class SurfaceArgument:
    """A ``cudaSurfaceObject_t`` over a CUDA array; ``data`` as for :class:`TextureArgument`."""

    name: str
    data: NDArray[np.generic]
    geometry: Geometry = "2d"


def texels_of(argument: TextureArgument | SurfaceArgument, where: str) -> Texels:
    """The texels of an argument.

    Raises CaseError located at ``where`` for elements or shapes that no texture has.
    """
    geometry = argument.geometry
    if geometry not in get_args(Geometry):
        raise CaseError(
            f"no geometry is called '{geometry}'",
            where=where,
            hint=f"one of: {', '.join(get_args(Geometry))}",
        )
    if isinstance(argument, SurfaceArgument) and geometry in ("linear", "pitch"):
        raise CaseError(
            "a surface needs a CUDA array, not linear memory",
            where=where,
            hint="geometry is 1d, 2d, 3d, layered-1d, layered-2d, cube or layered-cube",
        )
    data = argument.data
    channel, channels = _channel(data.dtype, where)
    shape = data.shape
    axes = DIMENSIONS[geometry]
    if channels == 1 and data.dtype.fields is None:
        if len(shape) == axes + 1 and shape[-1] in (1, 2, 4):
            channels = shape[-1]
            shape = shape[:-1]
        elif geometry == "linear":
            shape = (data.size,)
    elif geometry == "linear":
        shape = (data.size,)
    if len(shape) != axes:
        raise CaseError(
            f"data of shape {data.shape} for a {geometry} texture, which has {axes} "
            + ("axis" if axes == 1 else "axes"),
            where=where,
            hint="slowest axis first; one more of length 1, 2 or 4 for the channels of a texel",
        )
    _check_extent(geometry, shape, where)
    texel = int(channel[1]) * channels
    row_bytes = shape[-1] * texel
    width = argument.width if isinstance(argument, TextureArgument) else None
    if width is not None:
        if geometry != "pitch" or not 0 < width <= shape[-1]:
            raise CaseError(
                f"a width of {width} texels for a {geometry} texture whose rows hold {shape[-1]}",
                where=where,
                hint="width shortens the rows of pitch memory",
            )
        shape = (*shape[:-1], width)
    if isinstance(argument, TextureArgument):
        _check_sampler(argument.sampler, channel, where)
    return Texels(channel, channels, shape, row_bytes)


def _channel(dtype: np.dtype[np.generic], where: str) -> tuple[str, int]:
    """Channel type and number of channels of one array element."""
    if dtype.fields:
        kinds = {field[0].str[1:] for field in dtype.fields.values()}
        packed = sum(field[0].itemsize for field in dtype.fields.values()) == dtype.itemsize
        if len(kinds) == 1 and packed and len(dtype.fields) in (1, 2, 4):
            kind = kinds.pop()
            if kind in _CHANNELS:
                return kind, len(dtype.fields)
    elif dtype == np.complex64:
        return "f4", 2
    elif dtype.kind in "iuf" and dtype.itemsize == 8:
        # No texel has 64-bit channels; programs read these as int2.
        return "i4", 2
    elif dtype.kind == "b":
        return "u1", 1
    elif dtype.str[1:] in _CHANNELS:
        return dtype.str[1:], 1
    raise CaseError(
        f"no texel has elements of type {dtype}",
        where=where,
        hint="1, 2 or 4 channels of 8-, 16- or 32-bit integers, half or float",
    )


def _check_extent(geometry: str, shape: tuple[int, ...], where: str) -> None:
    if 0 in shape:
        raise CaseError(f"an empty {geometry} texture {shape}", where=where)
    if geometry in ("cube", "layered-cube") and (shape[-3] != 6 or shape[-1] != shape[-2]):
        raise CaseError(
            f"a {geometry} map of shape {shape} does not have 6 square faces", where=where
        )
    for extent, limit in zip(shape, _LIMITS[geometry], strict=True):
        if extent > limit:
            raise CaseError(
                f"a {geometry} texture of shape {shape} exceeds the hardware's "
                f"{' × '.join(str(n) for n in _LIMITS[geometry])}",
                where=where,
            )


def _check_sampler(sampler: Sampler, channel: str, where: str) -> None:
    small = channel[0] in "ui" and channel[1] in "12"
    if sampler.read == "normalized" and channel[0] in "ui" and not small:
        raise CaseError(
            "32-bit integers cannot be read as normalized floats",
            where=where,
            hint="read = element, or 8- or 16-bit channels",
        )
    if sampler.filter == "linear" and channel[0] in "ui" and sampler.read == "element":
        raise CaseError(
            "linear filtering of integers",
            where=where,
            hint="only textures that return floats are filtered: read them as normalized floats",
        )
    if not all(math.isfinite(value) for value in sampler.border):
        raise CaseError("a border colour that is not finite", where=where)
