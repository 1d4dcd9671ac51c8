"""Arrays of structs in another layout: the copies that are made before and after a launch.

A layout has one array for each group of fields (:mod:`placewise.space.layout`). Such an array is
called a piece; the bytes of one field in it are called a stripe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.rewriter.layouts import Relaid
from placewise.runtime.launches.values import as_bytes
from placewise.space.layout import group_bytes, shape_of

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Stripe:
    """One field of all elements. Element i's bytes begin at ``at + i * step`` in the array, and at
    ``to + i // lanes * row + i % lanes * width`` in the piece."""

    width: int
    """Bytes of the field."""
    at: int
    step: int
    to: int
    row: int
    lanes: int


@dataclass(frozen=True)
class Piece:
    """A parameter that holds some fields of an array of structs."""

    argument: int
    """Number of the array among the original's arguments, from 0."""
    elements: int
    size: int
    """Bytes of the piece."""
    stripes: tuple[Stripe, ...]


def pieces_of(relaid: Relaid, numbers: Mapping[str, int]) -> dict[str, Piece]:
    """The pieces of a rewritten kernel, by the names of its parameters. ``numbers`` has the
    original's argument numbers by name."""
    record = relaid.arrays.record
    declared = record.declared.groups[0]
    whole = shape_of(record, declared)
    places = dict(zip(declared.fields, whole.offsets, strict=True))
    found = {}
    for array, elements in relaid.elements:
        for number, group in enumerate(relaid.layout.groups):
            shape = shape_of(record, group)
            stripes = tuple(
                Stripe(
                    width=record.field(name).size_bytes,
                    at=places[name],
                    step=whole.size_bytes,
                    to=offset,
                    row=shape.size_bytes,
                    lanes=group.lanes,
                )
                for name, offset in zip(group.fields, shape.offsets, strict=True)
            )
            size = group_bytes(record, group, elements)
            name = relaid.names.parameter(array, number)
            found[name] = Piece(numbers[array], elements, size, stripes)
    return found


def cut(array: NDArray[np.generic], piece: Piece) -> Bytes:
    """Content of ``piece``, of shape (size,), copied from ``array``. Bytes that belong to no field
    are 0."""
    made = np.zeros(piece.size, np.uint8)
    flat = as_bytes(array)
    for stripe in piece.stripes:
        here, there = _places(stripe, piece.elements)
        made[there] = flat[here]
    return made


def put_back(array: NDArray[np.generic], piece: Piece, content: Bytes) -> None:
    """Write the fields of a piece back to ``array``, in place; its other bytes do not change."""
    flat = as_bytes(array)
    for stripe in piece.stripes:
        here, there = _places(stripe, piece.elements)
        flat[here] = content[there]


def _places(stripe: Stripe, elements: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of a field's bytes in the array and in the piece, shape (elements, width)."""
    each, byte = np.arange(elements)[:, None], np.arange(stripe.width)[None]
    there = stripe.to + each // stripe.lanes * stripe.row + each % stripe.lanes * stripe.width
    return stripe.at + each * stripe.step + byte, there + byte


def piece_document(piece: Piece) -> dict[str, Any]:
    """A piece as JSON types."""
    stripes = [[s.width, s.at, s.step, s.to, s.row, s.lanes] for s in piece.stripes]
    return {
        "piece": piece.argument,
        "elements": piece.elements,
        "size": piece.size,
        "stripes": stripes,
    }


def piece_from_document(document: Mapping[str, Any]) -> Piece:
    """The piece in a document of :func:`piece_document`; raises KeyError, TypeError or ValueError
    for any other document."""
    stripes = tuple(Stripe(*numbers) for numbers in document["stripes"])
    return Piece(document["piece"], document["elements"], document["size"], stripes)
