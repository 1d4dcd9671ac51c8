"""What an argument can be beside a NumPy array or scalar: pointers, structs that hold them, memory
that nobody has written yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from placewise.errors import CaseError
from placewise.kernel.launch import StoredPointer

POINTER = np.dtype(np.uint64)
"""NumPy type that holds a device address."""


@dataclass(frozen=True)
class PointerTo:
    """The address of an element of another array of the launch: an argument or a buffer, by name.

    As an argument, a second pointer into the same array; in a list with others (or None for null),
    a table of pointers; as a field of a :class:`Struct`, a member.
    """

    array: str
    element: int = 0


@dataclass(frozen=True, eq=False)
class Struct:
    """A struct by value; a list of equal ones is an array of structs.

    ``dtype`` is a structured type with the layout of the C struct: ``np.dtype([...], align=True)``
    pads as C does. Pointers are fields of type ``u8``, set with :class:`PointerTo` or None.
    """

    dtype: DTypeLike
    values: Mapping[str, Any] = field(default_factory=dict)
    """Value of each field; a field that is left out is zero."""


@dataclass(frozen=True)
class Uninitialised:
    """Memory as ``cudaMalloc`` leaves it."""

    shape: int | tuple[int, ...]
    dtype: DTypeLike

    def placeholder(self) -> NDArray[Any]:
        """An array of that shape and type, whose content does not count."""
        return np.zeros(self.shape, self.dtype)


def pointer_table(
    entries: Sequence[PointerTo | None],
) -> tuple[NDArray[np.generic], tuple[StoredPointer, ...]]:
    """(entries,) addresses, still null, and what belongs there."""
    size = POINTER.itemsize
    stored = tuple(
        StoredPointer(n * size, entry.array, entry.element)
        for n, entry in enumerate(entries)
        if entry is not None
    )
    return np.zeros(len(entries), POINTER), stored


def struct_array(
    structs: Sequence[Struct], where: str
) -> tuple[NDArray[np.generic], tuple[StoredPointer, ...]]:
    """(structs,) records, and the pointers in them.

    Raises CaseError located at ``where`` for unlike types, unknown fields, values that do not fit.
    """
    dtype = _structured(structs[0].dtype, where)
    offsets = {name: int(at) for name, (_, at, *_) in dict(dtype.fields or {}).items()}
    records: NDArray[Any] = np.zeros(len(structs), dtype)
    stored: list[StoredPointer] = []
    for n, struct in enumerate(structs):
        if _structured(struct.dtype, where) != dtype:
            raise CaseError("the structs of one array have several types", where=where)
        for name, value in struct.values.items():
            if name not in offsets:
                known = ", ".join(offsets)
                raise CaseError(
                    f"the struct has no field '{name}'", where=where, hint=f"it has: {known}"
                )
            if isinstance(value, PointerTo | None):
                _require_pointer(dtype[name], name, where)
                if value is not None:
                    at = n * dtype.itemsize + offsets[name]
                    stored.append(StoredPointer(at, value.array, value.element))
                continue
            try:
                records[name][n] = value
            except (TypeError, ValueError, OverflowError) as error:
                raise CaseError(f"field '{name}': {error}", where=where) from error
    return records, tuple(stored)


def _structured(dtype: DTypeLike, where: str) -> np.dtype[Any]:
    try:
        found = np.dtype(dtype)
    except TypeError as error:
        raise CaseError(f"{dtype!r} is no type: {error}", where=where) from error
    if found.names is None:
        raise CaseError(
            f"a struct needs a structured type, not {found}",
            where=where,
            hint='np.dtype([("n", "i4"), ("data", "u8")], align=True)',
        )
    return found


def _require_pointer(dtype: np.dtype[Any], name: str, where: str) -> None:
    if dtype.kind not in "ui" or dtype.itemsize != POINTER.itemsize:
        raise CaseError(
            f"field '{name}' is a {dtype}, a pointer takes 8 bytes", where=where, hint='use "u8"'
        )
