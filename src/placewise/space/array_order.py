"""Orders of a flattened array's dimensions: which of them neighbours in memory step along.

A kernel that reads ``a[row * columns + column]`` sees a matrix in one flat array. An
:class:`ArrayOrder` says in what order its dimensions are stored, the outermost first, and how many
elements a stored line (along the innermost dimension) takes. ``(0, 1)`` is row by row, as C has it;
``(1, 0)`` is column by column (transposed).

All functions are pure. ``extents`` are the sizes of the dimensions in the kernel's own order, such
as ``(rows, columns)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError

Extents = tuple[int, ...]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class ArrayOrder:
    """How the dimensions of an array lie in memory."""

    order: tuple[int, ...]
    """Numbers of the dimensions, from the outermost to the innermost."""
    pitch: int
    """Elements from one line along the innermost dimension to the next: its extent, or more."""


def row_major(extents: Extents, pitch: int | None = None) -> ArrayOrder:
    """The order of C, the last dimension innermost; with padded lines where ``pitch`` says so."""
    return ArrayOrder(tuple(range(len(extents))), extents[-1] if pitch is None else pitch)


def transposed(extents: Extents, pitch: int | None = None) -> ArrayOrder:
    """The last dimension outermost, the others as they are: column by column for a matrix."""
    order = (len(extents) - 1, *range(len(extents) - 1))
    return ArrayOrder(order, extents[order[-1]] if pitch is None else pitch)


def check_order(extents: Extents, layout: ArrayOrder) -> None:
    """Raise CaseError unless ``layout`` names each dimension of ``extents`` once and its lines hold
    what lies in them."""
    if sorted(layout.order) != list(range(len(extents))):
        raise CaseError(f"order {layout.order} is none of {len(extents)} dimensions")
    if layout.pitch < extents[layout.order[-1]]:
        raise CaseError(f"lines of {layout.pitch} elements do not hold {extents[layout.order[-1]]}")


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """The order that takes what ``order`` made back to what it was."""
    return tuple(int(n) for n in np.argsort(np.asarray(order)))


def compose(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    """The order of an array that was stored in order ``first``, then seen as an array of that shape
    and stored in order ``second``."""
    return tuple(first[n] for n in second)


def stored_elements(extents: Extents, layout: ArrayOrder) -> int:
    """Elements of memory that the array takes, padding included."""
    lines = 1
    for dimension in layout.order[:-1]:
        lines *= extents[dimension]
    return lines * layout.pitch


def strides(extents: Extents, layout: ArrayOrder) -> tuple[int, ...]:
    """Elements of memory from one index to the next, for each dimension of ``extents``."""
    found = [0] * len(extents)
    step = 1
    for position, dimension in enumerate(reversed(layout.order)):
        found[dimension] = step
        step *= layout.pitch if position == 0 else extents[dimension]
    return tuple(found)


def position(extents: Extents, layout: ArrayOrder, indices: Numbers) -> Numbers:
    """Element of memory, shape (n,), of each index tuple; ``indices`` has shape (dimensions, n)."""
    steps = np.array(strides(extents, layout), np.int64)
    found: Numbers = (indices * steps[:, None]).sum(axis=0)
    return found


def indices_at(extents: Extents, layout: ArrayOrder, positions: Numbers) -> Numbers:
    """Inverse of :func:`position`: index tuples, shape (dimensions, n); -1 in padding."""
    found = np.zeros((len(extents), len(positions)), np.int64)
    lines, found[layout.order[-1]] = np.divmod(positions, layout.pitch)
    for dimension in reversed(layout.order[:-1]):
        lines, found[dimension] = np.divmod(lines, extents[dimension])
    found[:, found[layout.order[-1]] >= extents[layout.order[-1]]] = -1
    return found


def reorder(
    extents: Extents, source: ArrayOrder, target: ArrayOrder, data: NDArray[np.generic]
) -> NDArray[np.generic]:
    """The elements of flat ``data``, stored in order ``source``, in order ``target``, flat; padding
    is zero."""
    made = np.zeros(stored_elements(extents, target), data.dtype)
    indices = np.indices(extents).reshape(len(extents), -1)
    made[position(extents, target, indices)] = data[position(extents, source, indices)]
    return made
