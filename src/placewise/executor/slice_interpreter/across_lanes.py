"""Warp-wide operations (shuffle, vote, match, reduce) on (warps, 32) arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from placewise.executor.ir.nodes import Node
from placewise.executor.slice_interpreter.operations import DTYPES, Lanes

Mask = NDArray[np.bool_]
_LANE = np.arange(32)[None, :]
_BIT = np.uint32(1) << np.arange(32, dtype=np.uint32)[None, :]


def _bits(lanes: Mask) -> NDArray[np.uint32]:
    """(warps, 1) masks of the lanes that are set."""
    bits: NDArray[np.uint32] = np.where(lanes, _BIT, np.uint32(0)).sum(
        axis=1, keepdims=True, dtype=np.uint32
    )
    return bits


def _members(mask: Mask, members: tuple[Lanes, ...]) -> Mask:
    if not members:
        return mask
    named: Mask = (np.broadcast_to(members[0], mask.shape) & _BIT) != 0
    # A lane that is not named takes part in nothing; the first active lane's word names them.
    first = np.argmax(mask, axis=1)
    word = np.broadcast_to(members[0], mask.shape)[np.arange(len(mask)), first][:, None]
    same: Mask = (word & _BIT) != 0
    return mask & (same | named)


def _shuffle(n: Node, mask: Mask, value: Lanes, lane: Lanes, clamp: Lanes) -> list[Lanes]:
    """Shuffle: value, and whether it came from a lane in range (PTX ISA, shfl.sync)."""
    given = np.broadcast_to(value, mask.shape)
    b = np.broadcast_to(lane, mask.shape).astype(np.int64) & 31
    c = np.broadcast_to(clamp, mask.shape).astype(np.int64)
    segment, limit = c >> 8 & 31, c & 31
    least = _LANE & segment
    most = least | limit & (segment ^ 31)
    source = {
        "up": _LANE - b,
        "down": _LANE + b,
        "bfly": _LANE ^ b,
        "idx": least | b & (segment ^ 31),
    }[str(n.attr)]
    fine = source >= most if n.attr == "up" else source <= most
    index = np.where(fine, source, _LANE) & 31
    return [np.take_along_axis(given, index, axis=1), fine]


def _vote(n: Node, mask: Mask, predicate: Lanes, *members: Lanes) -> Lanes:
    among = _members(mask, members)
    holds = among & np.broadcast_to(predicate, mask.shape)
    if n.attr == "ballot":
        return _bits(holds)
    some = holds.any(axis=1, keepdims=True)
    every = (holds == among).all(axis=1, keepdims=True)
    return {"any": some, "all": every, "uni": every | ~some}[str(n.attr)]


def _match(n: Node, mask: Mask, value: Lanes, *members: Lanes) -> list[Lanes]:
    among = _members(mask, members)
    given = np.broadcast_to(value, mask.shape)
    equal = (given[:, :, None] == given[:, None, :]) & among[:, None, :] & among[:, :, None]
    found = np.where(equal, _BIT[:, None, :], np.uint32(0)).sum(axis=2, dtype=np.uint32)
    if n.attr == "any":
        return [found]
    group = np.broadcast_to(_bits(among), mask.shape)
    every = found == group
    return [np.where(every, group, np.uint32(0)), every]


_REDUCE: Mapping[str, tuple[Callable[..., Lanes], int, bool]] = {
    "add": (np.add.reduce, 0, False),
    "or": (np.bitwise_or.reduce, 0, False),
    "xor": (np.bitwise_xor.reduce, 0, False),
    "and": (np.bitwise_and.reduce, 0xFFFFFFFF, False),
    "umax": (np.maximum.reduce, 0, False),
    "umin": (np.minimum.reduce, 0xFFFFFFFF, False),
    "smax": (np.maximum.reduce, -(1 << 31), True),
    "smin": (np.minimum.reduce, (1 << 31) - 1, True),
}
"""(function, neutral element, whether values are signed) by reduction."""


def _reduce(n: Node, mask: Mask, value: Lanes, *members: Lanes) -> Lanes:
    among = _members(mask, members)
    function, identity, signed = _REDUCE[str(n.attr)]
    dtype = np.int32 if signed else np.uint32
    given = np.broadcast_to(np.asarray(value).view(dtype), mask.shape)
    taken = np.where(among, given, dtype(identity))
    return np.asarray(function(taken, axis=1, keepdims=True, dtype=dtype)).view(np.uint32)


def _first(_: Node, mask: Mask, value: Lanes) -> Lanes:
    given = np.broadcast_to(value, mask.shape)
    return np.take_along_axis(given, np.argmax(mask, axis=1)[:, None], axis=1)


def _active(n: Node, mask: Mask) -> Lanes:
    return _bits(mask).astype(DTYPES[n.type])


ACROSS: Mapping[str, Callable[..., Lanes]] = {
    "shuffle": _shuffle,
    "vote": _vote,
    "match": _match,
    "reduce": _reduce,
    "first": _first,
    "activemask": _active,
}
