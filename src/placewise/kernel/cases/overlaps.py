"""Arguments that share memory on the host share it on the device, too.

``k(a, a)``, or ``k(a, a[10:])``, is one array with two pointers into it. Where the kernel writes
one of them, copies of their own would compute something else than the caller's launch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.cases.values import POINTER
from placewise.kernel.launch import ArrayArgument, Inputs, ScalarArgument, StoredPointer


def keep_overlaps(
    inputs: Inputs, is_written: Callable[[str], bool]
) -> tuple[Inputs, tuple[str, ...]]:
    """``inputs`` with pointers in place of arrays that lie inside another argument's memory, where
    ``is_written`` says that the kernel may write one of the two; and notes on them.

    Arrays that overlap in part, or begin inside an element, keep memory of their own: the notes
    say so. ``inputs`` have the parameters' names.
    """
    arrays = [a for a in inputs.arrays if a.data.nbytes and not a.uninitialised and not a.pointers]
    kept: list[ArrayArgument] = []
    pointers: dict[str, ScalarArgument] = {}
    notes: list[str] = []
    for array in sorted(arrays, key=lambda a: -a.data.nbytes):
        for holder in kept:
            if not _overlap(array.data, holder.data):
                continue
            if not (is_written(array.name) or is_written(holder.name)):
                continue
            element = _element(array.data, holder.data)
            if element is None:
                notes.append(
                    f"'{holder.name}' and '{array.name}' share a part of their memory, and the "
                    "kernel writes there: each is copied to an array of its own; pass arrays that "
                    "lie inside one another, or PointerTo"
                )
                continue
            stored = (StoredPointer(0, holder.name, element),)
            pointers[array.name] = ScalarArgument(array.name, POINTER.type(0), stored)
            where = f"'{holder.name}'" + (f" from element {element} on" if element else "")
            notes.append(
                f"'{array.name}' is the memory of {where}, as passed; the kernel writes there, so "
                "that neither can move"
            )
            break
        else:
            kept.append(array)
    if not pointers:
        return inputs, tuple(notes)
    arguments = tuple(pointers.get(a.name, a) for a in inputs.arguments)
    return replace(inputs, arguments=arguments), tuple(notes)


def _overlap(one: NDArray[np.generic], two: NDArray[np.generic]) -> bool:
    (start, end), (first, last) = _bytes(one), _bytes(two)
    return start < last and first < end


def _element(inner: NDArray[np.generic], outer: NDArray[np.generic]) -> int | None:
    """Element of ``outer`` at which ``inner``, which lies inside it, begins; None where it does
    not."""
    (start, end), (first, last) = _bytes(inner), _bytes(outer)
    element, rest = divmod(start - first, outer.itemsize)
    return element if first <= start and end <= last and not rest else None


def _bytes(data: NDArray[np.generic]) -> tuple[int, int]:
    """First and last address of a contiguous array's memory, the last one behind it."""
    start = int(data.__array_interface__["data"][0])
    return start, start + data.nbytes
