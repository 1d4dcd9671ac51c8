"""What an instruction asks of a texture or surface, as the number that compiled code is told."""

from __future__ import annotations

from placewise.executor.ir.nodes import Access
from placewise.executor.texture.texture_words import SHAPES

TEXELS = 8
"""Most texels that one texture read touches."""

INTEGER_COORDINATES = 16
"""Added to a texture request, which begins as the number of the instruction's shape, if the
coordinates are integers."""
GATHER = 32
"""Times one plus the number of the channel, added to a texture request that gathers a channel."""

BOUNDARY = ("trap", "clamp", "zero")
"""Boundary modes of surfaces, in the order of their numbers."""
BOUNDARY_STEP = 16
"""Times the number of the boundary mode, added to a surface request, which begins as the shape's
number."""
WRITE = 64
"""Added to a surface request that writes."""
BYTES_STEP = 128
"""Times the bytes of an element, added to a surface request."""
COUNT_STEP = BYTES_STEP * 64
"""Times the number of elements per lane, added to a surface request."""


def texture_request(operation: str) -> int:
    """Request word of ``SHAPE.COORDINATES[.CHANNEL]``: a sample at f32 or s32 coordinates, or a
    gather of one channel."""
    shape, coordinates, *channel = operation.split(".")
    request = SHAPES.index(shape)
    if coordinates == "s32":
        request += INTEGER_COORDINATES
    if channel:
        request += GATHER * (1 + "rgba".index(channel[0]))
    return request


def surface_request(access: Access) -> int:
    """Request word of an access whose operation is ``SHAPE.BOUNDARY``."""
    shape, boundary = access.operation.split(".")
    return (
        SHAPES.index(shape)
        + BOUNDARY_STEP * BOUNDARY.index(boundary)
        + (WRITE if access.kind == "store" else 0)
        + BYTES_STEP * (access.bits // 8)
        + COUNT_STEP * access.count
    )
