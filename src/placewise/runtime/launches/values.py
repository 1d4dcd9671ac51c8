"""A launch's arguments in one form, whatever library they are from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.executor.translate import parsed
from placewise.kernel.kernel import Kernel
from placewise.kernel.passing import NumbaScalar
from placewise.runtime.launches.doubt import DoubtError

_WHOLE = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
"""Types for a Python int, by the size of the parameter in bytes."""


@dataclass(frozen=True, eq=False)
class ArrayValue:
    """An array argument, in the host's memory or a GPU's."""

    thing: Any
    """The object that the user passed."""
    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    on_device: bool
    contiguous: bool
    """Whether the array is in C order without gaps."""

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return math.prod(self.shape) * self.dtype.itemsize


Scalar = np.generic | bool | int | float | complex
Value = ArrayValue | Scalar


def read_value(thing: Any) -> Value:
    """The value of an argument. Raises DoubtError for an object that is neither an array nor a
    number."""
    if isinstance(thing, np.ndarray):
        address = int(thing.__array_interface__["data"][0])
        own = thing.flags.c_contiguous
        return ArrayValue(thing, address, thing.shape, thing.dtype, False, own)
    if isinstance(thing, np.generic | bool | int | float | complex):
        return thing
    interface = getattr(thing, "__cuda_array_interface__", None)
    if not isinstance(interface, dict):
        raise DoubtError(
            f"an argument is a {type(thing).__name__}, which is neither an array nor a number"
        )
    shape = tuple(int(n) for n in interface["shape"])
    dtype = np.dtype(interface["typestr"])
    strides = interface.get("strides")
    packed = tuple(dtype.itemsize * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    own = strides is None or tuple(strides) == packed
    return ArrayValue(thing, int(interface["data"][0]), shape, dtype, True, own)


def typed_scalar(value: Scalar, kernel: Kernel, number: int) -> np.generic:
    """A scalar in the type of parameter ``number`` (from 0) of ``kernel``.

    NumPy scalars have a type already. CuPy and cuda.core pass Python numbers as 64 bits, of which
    an integer parameter takes the low ones. Raises CaseError where the number does not fit.
    """
    where = f"argument {number + 1}"
    if kernel.passing is not None:
        how = kernel.passing[number]
        if isinstance(how, NumbaScalar):
            made: np.generic = np.dtype(how.dtype).type(value)
            return made
        raise CaseError(f"a {type(value).__name__}, but the kernel takes an array", where=where)
    if isinstance(value, np.generic):
        return value
    parameters = parsed(kernel).parameters
    if number >= len(parameters):
        raise CaseError(
            f"the kernel takes {len(parameters)} arguments, but more are given", where="arguments"
        )
    size, kind = parameters[number].size, parameters[number].type
    if isinstance(value, bool) and size == 1:
        return np.bool_(value)
    if isinstance(value, int) and not kind.startswith("f") and size in _WHOLE:
        return _low_bits(value, size)
    if isinstance(value, float) and size == 8:
        return np.float64(value)
    if isinstance(value, complex) and not isinstance(value, float) and size == 16:
        return np.complex128(value)
    raise CaseError(
        f"a Python {type(value).__name__} does not fit a parameter of {size} bytes",
        where=where,
        hint="pass a NumPy scalar of the parameter's type, such as numpy.float32(x)",
    )


def _low_bits(value: int, size: int) -> np.generic:
    low = value & ((1 << 8 * size) - 1)
    made: np.generic = np.frombuffer(low.to_bytes(size, "little"), _WHOLE[size])[0]
    return made


def as_bytes(array: NDArray[np.generic]) -> NDArray[np.uint8]:
    """The bytes of a contiguous array, without a copy. It is needed because NumPy's copies and
    assignments of structs leave out padding."""
    return array.reshape(-1).view(np.uint8)


def copied(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """A copy of a contiguous array, including padding of structs."""
    made: NDArray[np.generic] = as_bytes(array).copy().view(array.dtype).reshape(array.shape)
    return made


def overlaps(values: Sequence[Value]) -> tuple[tuple[int, int], ...]:
    """Pairs of array arguments (by number, from 0) that share memory."""
    arrays = [(n, v) for n, v in enumerate(values) if isinstance(v, ArrayValue) and v.nbytes]
    return tuple(
        (m, n)
        for at, (m, one) in enumerate(arrays)
        for n, other in arrays[at + 1 :]
        if one.address < other.address + other.nbytes and other.address < one.address + one.nbytes
    )
