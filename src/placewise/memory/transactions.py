"""Counts the transactions of an array's accesses in each memory, with the machine's serialization
conditions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.source import Tile
from placewise.machine.condition import SerialCondition
from placewise.machine.machine import Machine, Memory
from placewise.machine.msl.expression import WORD_BYTES
from placewise.machine.msl.tree import Binary, Expression, Floor, Number, Unary
from placewise.memory.reuse.stream import TAGS, ArrayStream

_LANES = np.arange(32, dtype=np.int64)
_ROWS_AT_ONCE = 1 << 14
_LARGEST_PERIOD = 1 << 20
_ARRAY_ALIGNMENT = 256
"""Device allocations start at multiples of this many bytes (CUDA C++ Programming Guide, "Size and
Alignment Requirement"), so an offset in an array can be used as an address."""

IRREGULAR_ROWS = 1 << 18
"""Most irregular accesses that are evaluated. If there are more, this many are chosen at random and
stand for all: the relative standard error of a mean is below 0.2 % if the standard deviation is at
most the mean."""

LANE_SIZES = (16, 8, 4, 2, 1)
"""Numbers of bytes that a lane can access with one instruction."""


@dataclass(frozen=True, eq=False)
class Patterns:
    """The different access patterns of a stream, and how often each occurs."""

    addresses: NDArray[np.int64]
    """(patterns, 32) in bytes, not negative."""
    mask: NDArray[np.uint32]
    """(patterns,) active lanes."""
    lane_bytes: NDArray[np.int32]
    """(patterns,) bytes that each lane accesses."""
    weight: NDArray[np.float64]
    """(patterns, TAGS) accesses of each tag that follow the pattern."""


def _numbers(expression: Expression) -> list[int]:
    """The literal numbers in a condition."""
    match expression:
        case Number(value):
            return [value]
        case Floor(operand) | Unary(_, operand):
            return _numbers(operand)
        case Binary(_, left, right):
            return _numbers(left) + _numbers(right)
        case _:
            return []


def address_period(machine: Machine) -> int | None:
    """Period in bytes: every condition of the machine gives the same transactions for addresses
    that are shifted by it.

    Conditions compare the addresses of two threads by blocks, banks, words and literal numbers. The
    period is a common multiple of all these, so a shift by it does not change the comparison. None
    if the period is too long to be useful.
    """
    period = _ARRAY_ALIGNMENT
    for memory in machine.memories:
        literals = [abs(n) * WORD_BYTES for n in _numbers(memory.condition.expression) if n]
        factors = [memory.block_bytes or 1, (memory.banks or 1) * WORD_BYTES, *literals]
        period = math.lcm(period, *factors)
    return period if period <= _LARGEST_PERIOD else None


def _thinned(at: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
    """At most IRREGULAR_ROWS of the accesses ``at``, and the number of accesses that each stands
    for."""
    if len(at) <= IRREGULAR_ROWS:
        return at, 1.0
    drawn = np.random.default_rng(0).choice(len(at), IRREGULAR_ROWS, replace=False)
    return at[np.sort(drawn)], len(at) / IRREGULAR_ROWS


def one_by_one(
    stream: ArrayStream, at: NDArray[np.int64], scale: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """(n, 32) addresses and (n, TAGS) weights of the accesses ``at``; each is a separate
    pattern."""
    irregular = stream.row[at] >= 0
    if irregular.all():
        # The usual case; addresses of many accesses take long to write twice.
        addresses = stream.offsets[stream.row[at]].astype(np.int64)
    else:
        addresses = stream.base[at, None] + stream.stride[at, None].astype(np.int64) * _LANES
        addresses[irregular] = stream.offsets[stream.row[at[irregular]]]
    weight = np.zeros((len(at), TAGS))
    weight[np.arange(len(at)), stream.tag[at]] = scale
    return addresses, weight


def patterns(stream: ArrayStream, period: int | None) -> Patterns:
    """Patterns of a stream. Affine accesses whose addresses differ by a multiple of ``period``
    bytes have the same pattern."""
    affine = np.flatnonzero(stream.row < 0)
    irregular, scale = _thinned(np.flatnonzero(stream.row >= 0))
    base = stream.base[affine] % period if period else stream.base[affine]
    regular, weight, first = _grouped(stream, affine, base)
    # A shift by whole periods makes all addresses positive, even with a negative stride.
    unit = period or _ARRAY_ALIGNMENT
    regular += unit * -(np.minimum(regular.min(axis=1, initial=0), 0) // unit)[:, None]
    single, single_weight = one_by_one(stream, irregular, scale)
    at = np.concatenate([first, irregular])
    return Patterns(
        _stacked(regular, single),
        stream.mask[at],
        stream.lane_bytes[at],
        np.concatenate([weight, single_weight]),
    )


def _stacked(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of both, without a copy where one has none."""
    filled = [part for part in (one, other) if len(part)]
    return np.concatenate(filled) if len(filled) > 1 else (filled or [one])[0]


def _grouped(
    stream: ArrayStream, affine: NDArray[np.int64], base: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Patterns of the accesses ``affine``, of which those that are alike with ``base`` as the first
    lane's address are one: (n, 32) addresses, (n, TAGS) weights, (n,) one access of each."""
    code = base - base.min(initial=0)
    for key in (stream.mask[affine], stream.stride[affine], stream.lane_bytes[affine]):
        values = np.unique(key)
        code = code * max(1, len(values)) + np.searchsorted(values, key)
    code = code * TAGS + stream.tag[affine]
    # The codes stay below 2**63 even for long arrays: base < 2**31, and few masks, strides and
    # sizes.
    _, one, counts = np.unique(code, return_index=True, return_counts=True)
    first = affine[one]
    addresses = base[one, None] + stream.stride[first, None].astype(np.int64) * _LANES
    weight = np.zeros((len(first), TAGS))
    weight[np.arange(len(first)), stream.tag[first]] = counts
    return addresses, weight, first


def tile_patterns(stream: ArrayStream, tile: Tile, element_bytes: int) -> Patterns:
    """Patterns of a stream whose array is staged: each block has a tile of it in shared memory.

    An element's place in the tile is its index minus a constant of the block if the tile has one
    row, else ``(index // pitch) * width + index % pitch`` minus a constant. The constant shifts all
    lanes by the same amount and is left out.
    """
    at, scale = _thinned(np.arange(len(stream)))
    affine, irregular = at[stream.row[at] < 0], at[stream.row[at] >= 0]
    regular, weight, first = _grouped(stream, affine, stream.base[affine])
    single, single_weight = one_by_one(stream, irregular, scale)
    kept = np.concatenate([first, irregular])
    return Patterns(
        in_tile(_stacked(regular, single), tile, element_bytes),
        stream.mask[kept],
        stream.lane_bytes[kept],
        np.concatenate([weight * scale, single_weight]),
    )


def in_tile(addresses: NDArray[np.int64], tile: Tile, element_bytes: int) -> NDArray[np.int64]:
    """Bytes in an array as bytes in a block's tile, less a constant of the block."""
    if tile.pitch <= 0 or tile.whole:
        return addresses
    found = np.empty_like(addresses)
    # A few rows at a time, which stay in the processor's caches.
    for start in range(0, len(addresses), _ROWS_AT_ONCE // 8):
        some = slice(start, start + _ROWS_AT_ONCE // 8)
        index, within = np.divmod(np.maximum(addresses[some], 0), element_bytes)
        row, column = np.divmod(index, tile.pitch)
        found[some] = (row * tile.width + column) * element_bytes + within
    return found


def evaluate(
    condition: SerialCondition,
    addresses: NDArray[np.int64],
    mask: NDArray[np.uint32],
    lane_bytes: NDArray[np.int32],
    *,
    block_bytes: int | None,
    banks: int | None,
) -> NDArray[np.int64]:
    """(n,) transactions of warp accesses of different widths."""
    result = np.zeros(len(addresses), np.int64)
    for width in np.unique(lane_bytes).tolist():
        rows = np.flatnonzero(lane_bytes == width)
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            some = rows[start : start + _ROWS_AT_ONCE]
            result[some] = condition.transactions(
                addresses[some],
                mask[some],
                element_bytes=width,
                block_bytes=block_bytes,
                banks=banks,
            )
    return result


def count_transactions(found: Patterns, memory: Memory) -> NDArray[np.float64]:
    """(TAGS,) transactions of all accesses of the patterns together in ``memory``."""
    each = evaluate(
        memory.condition,
        found.addresses,
        found.mask,
        found.lane_bytes,
        block_bytes=memory.block_bytes,
        banks=memory.banks,
    )
    counted: NDArray[np.float64] = each @ found.weight
    return counted


def fill_addresses(tile: Tile, element_bytes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Addresses that a block's threads access when they fill its tile; consecutive threads copy
    consecutive elements.

    Returns ``(source, target)``, both (accesses, 32) in bytes: in the array (relative to the tile's
    first element) and in the tile. Lanes of the last access may be past the end of the tile;
    :func:`fill_masks` says which are active.
    """
    element = np.arange(-(-tile.elements // 32) * 32, dtype=np.int64).reshape(-1, 32)
    source = element
    if tile.pitch > 0 and not tile.whole:
        source = (element // tile.width) * tile.pitch + element % tile.width
    return source * element_bytes, element * element_bytes


def fill_masks(tile: Tile) -> NDArray[np.uint32]:
    """(accesses,) the active lanes of the accesses that fill a tile."""
    masks = np.full(-(-tile.elements // 32), 0xFFFFFFFF, np.uint32)
    if tile.elements % 32:
        masks[-1] = (1 << (tile.elements % 32)) - 1
    return masks


def fill_transactions(tile: Tile, element_bytes: int, memory: Memory, *, in_tile: bool) -> int:
    """Transactions in ``memory`` of filling one block's tile once: of its stores to the tile
    (``in_tile``), or of its loads from the array. Elements that are wider than a lane can access
    are copied in the widest pieces that divide them."""
    source, target = fill_addresses(tile, element_bytes)
    lane = next(size for size in LANE_SIZES if element_bytes % size == 0)
    masks = fill_masks(tile)
    total = 0
    for piece in range(element_bytes // lane):
        addresses = (target if in_tile else source) + piece * lane
        total += int(
            evaluate(
                memory.condition,
                addresses,
                masks,
                np.full(len(masks), lane, np.int32),
                block_bytes=memory.block_bytes,
                banks=memory.banks,
            ).sum()
        )
    return total
