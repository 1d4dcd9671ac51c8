"""Arguments of one launch, checked against the kernel's parameters, as the bytes it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError, UnsupportedError
from placewise.execute.lower_ptx.program import parameter_offsets
from placewise.kernel.launch import TextureArgument
from placewise.kernel.ptx.module import Variable

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Passed:
    """One argument, resolved: a generic address, or the bytes of a value."""

    name: str
    address: int | None = None
    value: np.generic | None = None
    channels: int = 0
    """32-bit channels of a texture's elements, 0 for what is no texture."""


def parameter_bytes(
    parameters: tuple[Variable, ...], passed: Sequence[Passed]
) -> tuple[Bytes, dict[int, int]]:
    """The parameter buffer, and the channels of textures by the offset of their parameter.

    Raises CaseError, located by parameter, where the arguments do not fit.
    """
    if len(parameters) != len(passed):
        given = ", ".join(a.name for a in passed) or "none"
        raise CaseError(
            f"the kernel has {len(parameters)} parameters, but {len(passed)} arguments are given",
            where="arguments",
            hint=f"given: {given}",
        )
    offsets, size = parameter_offsets(parameters)
    buffer: Bytes = np.zeros(max(size, 1), np.uint8)
    channels: dict[int, int] = {}
    for n, (argument, parameter, offset) in enumerate(
        zip(passed, parameters, offsets, strict=True)
    ):
        where = f"parameter {n + 1} '{argument.name}'"
        if argument.address is not None:
            if parameter.size != 8:
                raise CaseError(
                    "an array is passed, but the kernel takes a value of "
                    f"{parameter.size} bytes here",
                    where=where,
                )
            buffer[offset : offset + 8].view(np.int64)[0] = argument.address
            if argument.channels:
                channels[offset] = argument.channels
        else:
            buffer[offset : offset + parameter.size] = _value_bytes(argument, parameter, where)
    return buffer, channels


def _value_bytes(argument: Passed, parameter: Variable, where: str) -> Bytes:
    value = np.asarray(argument.value)
    if value.nbytes != parameter.size:
        raise CaseError(
            f"{value.dtype} has {value.nbytes} bytes, but the kernel takes {parameter.size} here",
            where=where,
            hint="pass a NumPy scalar of the kernel's type, such as numpy.int32(n)"
            if parameter.size in (1, 2, 4, 8)
            else "pass a structured NumPy scalar with the struct's layout "
            "(numpy.dtype(..., align=True) pads as C does)",
        )
    return np.frombuffer(value.tobytes(), np.uint8)


def texture_channels(argument: TextureArgument, where: str) -> int:
    """32-bit channels of a texel, from the element type."""
    dtype = argument.data.dtype
    sizes = [field[0].itemsize for field in dtype.fields.values()] if dtype.fields else []
    if sizes:
        if set(sizes) == {4} and len(sizes) in (1, 2, 4):
            return len(sizes)
    elif dtype.itemsize == 4:
        shape = argument.data.shape
        return shape[1] if len(shape) == 2 and shape[1] in (2, 4) else 1
    elif dtype.itemsize == 8:
        # Doubles and 64-bit integers are read as pairs of 32-bit words.
        return 2
    raise UnsupportedError(
        f"a texture of {dtype} elements is not covered",
        where=where,
        hint="elements of one, two or four 32-bit channels are",
    )
