"""Atomics, one lane after another, for the few kernels in which they decide a path."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from placewise.errors import UnsupportedError
from placewise.execute.ir import Access
from placewise.execute.sketch.operations import Lanes
from placewise.execute.sketch.storage import Storage

MOST_LANES = 4096
"""Updated at a time: beyond, a sketch would be no quick look."""


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


_OPERATIONS: Mapping[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "umin": min,
    "umax": max,
    "inc": lambda old, x: 0 if old >= x else old + 1,
    "dec": lambda old, x: x if old == 0 or old > x else old - 1,
}
_ON_SIGNED = {"smin": min, "smax": max}


def _updated(operation: str, old: int, x: int, bits: int) -> int:
    if operation == "exch":
        return x
    if operation in _ON_SIGNED:
        return _ON_SIGNED[operation](_signed(old, bits), _signed(x, bits))
    return _OPERATIONS[operation](old, x)


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
    known = {*_OPERATIONS, *_ON_SIGNED, "exch", "cas"}
    if access.count != 1 or access.operation not in known:
        raise UnsupportedError(f"'{access.opcode}' decides a path or an address")
    if int(mask.sum()) > MOST_LANES:
        raise UnsupportedError(f"too many lanes of '{access.opcode}' decide a path")
    given = [np.broadcast_to(v, mask.shape) for v in values]
    old = np.zeros(mask.shape, f"u{access.bits // 8}")
    limit = (1 << access.bits) - 1
    for warp, lane in zip(*np.nonzero(mask), strict=True):
        only = np.zeros_like(mask)
        only[warp, lane] = True
        before = int(storage.load(access.space, address, only, access.bits, 1)[0][warp, lane])
        first = int(given[0][warp, lane])
        if access.operation == "cas":
            after = int(given[1][warp, lane]) if before == first else before
        else:
            after = _updated(access.operation, before, first, access.bits) & limit
        old[warp, lane] = before
        storage.store(
            access.space, address, only, access.bits, [np.full(mask.shape, after, old.dtype)]
        )
    return old
