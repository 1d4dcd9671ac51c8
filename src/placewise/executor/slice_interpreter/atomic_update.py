"""Atomics in lane order, for kernels in which an atomic's result decides a path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.errors import UnsupportedError
from placewise.executor.ir.nodes import Access
from placewise.executor.slice_interpreter.operations import Lanes
from placewise.executor.slice_interpreter.storage import Storage

MOST_LANES = 16384
"""Most lanes that may update one address by one atomic; more are refused as too slow."""

_Words = NDArray[Any]


def _signed(word: _Words) -> _Words:
    return word.view(f"i{word.itemsize}")


_OPERATIONS: Mapping[str, Callable[[_Words, _Words, _Words], _Words]] = {
    "add": lambda old, x, _: old + x,
    "and": lambda old, x, _: old & x,
    "or": lambda old, x, _: old | x,
    "xor": lambda old, x, _: old ^ x,
    "umin": lambda old, x, _: np.minimum(old, x),
    "umax": lambda old, x, _: np.maximum(old, x),
    "smin": lambda old, x, _: np.where(_signed(old) < _signed(x), old, x),
    "smax": lambda old, x, _: np.where(_signed(old) > _signed(x), old, x),
    "inc": lambda old, x, _: np.where(old >= x, 0, old + 1).astype(old.dtype),
    "dec": lambda old, x, _: np.where((old == 0) | (old > x), x, old - 1).astype(old.dtype),
    "exch": lambda _, x, __: x,
    "cas": lambda old, x, new: np.where(old == x, new, old),
}
"""New value from old value, first and second operand, all unsigned words, by operation."""


def update(
    storage: Storage,
    access: Access,
    address: Lanes,
    mask: NDArray[np.bool_],
    values: Sequence[Lanes],
) -> Lanes:
    """Old values ((warps, 32)) of an atomic by the lanes of ``mask``, lowest warp and lane first.

    Raises UnsupportedError for an operation on floating-point numbers or several elements.
    """
    operation = _OPERATIONS.get(access.operation)
    if access.count != 1 or operation is None:
        raise UnsupportedError(f"the result of '{access.opcode}' decides a path or an address")
    if int(mask.sum()) > MOST_LANES:
        raise UnsupportedError(
            f"the result of '{access.opcode}' decides a path or an address, and more than "
            f"{MOST_LANES} lanes update one place"
        )
    dtype = np.dtype(f"u{access.bits // 8}")
    given = [np.broadcast_to(np.asarray(v).astype(dtype), mask.shape) for v in values]
    result = np.zeros(mask.shape, dtype)
    for memory, here, index in storage.writable(access.space, address, mask, dtype):
        inside = np.flatnonzero(index < len(memory))
        place = index[inside]
        first, second = (v[here][inside] for v in (given[0], given[-1]))
        old = np.zeros(len(index), dtype)
        for turn in _turns(place):
            now = memory[place[turn]]
            old[inside[turn]] = now
            memory[place[turn]] = operation(now, first[turn], second[turn])
        result[here] = old
    return result


def _turns(place: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Indices into ``place`` in rounds: each value's first occurrence, its second, and so on."""
    if not len(place):
        return []
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(place)))
    turn = np.arange(len(place)) - np.repeat(starts, sizes)
    by_turn = np.argsort(turn, kind="stable")
    return np.split(order[by_turn], np.cumsum(np.bincount(turn))[:-1])
