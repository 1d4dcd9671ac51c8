"""Handles of device memory: what a program holds instead of pointers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.executor.device_memory.device import Region


class Owner(Protocol):
    """The memory that an array belongs to."""

    def is_live(self, region: Region) -> bool:
        """False once the array was freed."""


@dataclass(frozen=True, eq=False)
class DeviceArray:
    """An array in device memory. Pass it to launches, or store its :attr:`address`."""

    owner: Owner
    region: Region
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def name(self) -> str:
        return self.region.name

    @property
    def size(self) -> int:
        """Elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return self.region.data.size

    @property
    def address(self) -> np.uint64:
        """Device address of the first element, the same for as long as the array lives.

        It can be stored in other arrays, in structs and in constants.
        """
        self._require_live()
        return np.uint64(self.region.address)

    def at(self, *index: int) -> DevicePointer:
        """Pointer to element ``index``, such as ``&a[i]``; with fewer indices than dimensions, to
        the start of a row. One past the end is allowed. Raises CaseError beyond that."""
        if not 1 <= len(index) <= max(1, len(self.shape)):
            raise CaseError(
                f"{len(index)} indices for {len(self.shape)} dimensions", where=self._where()
            )
        element = 0
        for axis, i in enumerate(index):
            element += int(i) * int(np.prod(self.shape[axis + 1 :], dtype=np.int64))
        if not 0 <= element <= self.size:
            raise CaseError(
                f"index {index} lies outside of shape {self.shape}", where=self._where()
            )
        return DevicePointer(self, element * self.dtype.itemsize)

    def view(self) -> NDArray[Any]:
        """The memory itself, as later launches will see and change it, without a copy."""
        self._require_live()
        return self.region.data.view(self.dtype).reshape(self.shape)

    def download(self) -> NDArray[Any]:
        """A copy of the present content."""
        return self.view().copy()

    def write(self, data: object, start: int = 0) -> None:
        """Copy ``data`` (elements of the array's type, any shape) over the elements from the flat
        index ``start`` on. Raises CaseError where type or size does not fit."""
        given = isinstance(data, np.ndarray | np.generic)
        source = np.asarray(data) if given else np.asarray(data, dtype=self.dtype)
        if source.dtype != self.dtype:
            raise CaseError(
                f"{source.dtype} elements for an array of {self.dtype}",
                where=self._where(),
                hint=f"convert with .astype(np.{self.dtype})" if not self.dtype.names else None,
            )
        flat = self.view().reshape(-1)
        if start < 0 or start + source.size > flat.size:
            raise CaseError(
                f"{source.size} elements from index {start} on, but the array has {flat.size}",
                where=self._where(),
            )
        flat[start : start + source.size] = source.reshape(-1)
        size = self.dtype.itemsize
        self._define(start * size, (start + source.size) * size)

    def fill(self, value: object) -> None:
        """Set every element to ``value``. Raises CaseError where it is no value of their type."""
        elements = self.view()
        given = np.asarray(value)
        if given.dtype.kind == "f" and self.dtype.kind in "iu" and np.any(given % 1):
            raise CaseError(f"{value!r} is no {self.dtype}", where=self._where())
        try:
            elements[...] = value
        except (TypeError, ValueError, OverflowError) as error:
            message = f"{value!r} does not fit its elements of {self.dtype}"
            raise CaseError(message, where=self._where()) from error
        self._define(0, self.nbytes)

    def _define(self, start: int, end: int) -> None:
        if self.region.defined is not None:
            self.region.defined[start:end] = 1

    def _where(self) -> str:
        return f"array '{self.name}'"

    def _require_live(self) -> None:
        if not self.owner.is_live(self.region):
            raise CaseError("the array was freed", where=self._where())


@dataclass(frozen=True, eq=False)
class DevicePointer:
    """A pointer into an array, ``offset`` bytes from its start."""

    array: DeviceArray
    offset: int

    @property
    def address(self) -> np.uint64:
        """Device address it points to."""
        return np.uint64(int(self.array.address) + self.offset)
