"""Arguments of one launch, checked against the kernel's parameters, as the bytes it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.executor.lowering.module_variables import parameter_offsets
from placewise.executor.texture.texture_words import TexelRead
from placewise.kernel.ptx.module import Variable

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Passed:
    """One argument, resolved: a generic address, or the bytes of a value."""

    name: str
    address: int | None = None
    value: np.generic | None = None
    texture: TexelRead | None = None


def parameter_bytes(
    parameters: tuple[Variable, ...], passed: Sequence[Passed]
) -> tuple[Bytes, dict[int, TexelRead]]:
    """The parameter buffer, and what is known of textures by the offset of their parameter.

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
    textures: dict[int, TexelRead] = {}
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
            if argument.texture is not None:
                textures[offset] = argument.texture
        else:
            buffer[offset : offset + parameter.size] = _value_bytes(argument, parameter, where)
    return buffer, textures


def type_name(dtype: np.dtype[np.generic]) -> str:
    """A type in a message."""
    return f"a struct of {', '.join(dtype.names)}" if dtype.names else str(dtype)


def _value_bytes(argument: Passed, parameter: Variable, where: str) -> Bytes:
    value = np.asarray(argument.value)
    if value.nbytes != parameter.size:
        raise CaseError(
            f"{type_name(value.dtype)} has {value.nbytes} bytes, but the kernel takes "
            f"{parameter.size} here",
            where=where,
            hint="pass a NumPy scalar of the kernel's type, such as numpy.int32(n)"
            if parameter.size in (1, 2, 4, 8)
            else "pass a structured NumPy scalar with the struct's layout "
            "(numpy.dtype(..., align=True) pads as C does)",
        )
    # Newer PTX declares parameters as untyped bits (.b32), which any type fits; 16 bits may be a
    # half.
    kinds = {"f": "f", "u": "iub", "s": "iub"}.get(parameter.type[:1])
    if kinds and parameter.size > 2 and value.dtype.kind not in kinds:
        wanted = "a floating-point number" if kinds == "f" else "an integer or an array"
        raise CaseError(
            f"{type_name(value.dtype)} is passed, but the kernel takes {wanted} here "
            f"(.{parameter.type})",
            where=where,
        )
    return np.frombuffer(value.tobytes(), np.uint8)
