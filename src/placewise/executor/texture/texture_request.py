"""What an instruction asks of a texture or surface, as the number that compiled code is told."""

from __future__ import annotations

from placewise.executor.ir.nodes import Access
from placewise.executor.texture.texture_words import SHAPES

TEXELS = 8
"""Most texels that one texture read touches."""

INTEGER_COORDINATES = 16
"""A texture request is the number of the instruction's shape, plus this if so …"""
GATHER = 32
"""… plus this times one plus the channel that a gather reads."""

BOUNDARY = ("trap", "clamp", "zero")
BOUNDARY_STEP = 16
"""A surface request is the shape's number, plus this times the boundary mode's …"""
WRITE = 64
BYTES_STEP = 128
"""… plus this times the bytes of an element …"""
COUNT_STEP = BYTES_STEP * 64
"""… plus this times the number of elements per lane."""


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
