"""What a launch's arguments are: addresses and values, one for each parameter of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.executor.device_memory.device_array import DeviceArray, DevicePointer, Owner
from placewise.executor.device_memory.device_texture import DeviceTexture
from placewise.executor.runtime.arguments import Passed, type_name
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import ScalarArgument, SurfaceArgument, TextureArgument
from placewise.kernel.passing import NumbaArray, NumbaScalar, Passing

DeviceArgument = (
    DeviceArray
    | DevicePointer
    | DeviceTexture
    | np.generic
    | NDArray[Any]
    | ScalarArgument
    | TextureArgument
    | SurfaceArgument
    | bool
    | int
    | float
    | complex
    | None
)
"""What a launch takes: arrays and pointers into them, NumPy scalars and structs, None for null.
Python numbers go to kernels of Numba alone, which have definite types for them."""


class Memory(Owner, Protocol):
    """Where the arrays must be."""

    def texture(self, argument: TextureArgument | SurfaceArgument) -> DeviceTexture:
        """The object that is passed for an argument."""


def resolve(memory: Memory, kernel: Kernel, arguments: Sequence[DeviceArgument]) -> list[Passed]:
    """One entry for each parameter of ``kernel``; raises CaseError located by argument."""
    if kernel.passing is None:
        return [_passed(memory, n, a) for n, a in enumerate(arguments, start=1)]
    if len(kernel.passing) != len(arguments):
        raise CaseError(
            f"the kernel takes {len(kernel.passing)} arguments, but {len(arguments)} are given",
            where="arguments",
        )
    found: list[Passed] = []
    for n, (how, argument) in enumerate(zip(kernel.passing, arguments, strict=True), start=1):
        found += _expanded(memory, n, argument, how)
    return found


def written_through(memory: Memory, argument: DeviceArgument) -> DeviceArray | None:
    """The array that a kernel may write to through an argument."""
    match argument:
        case DeviceArray():
            return argument
        case DevicePointer():
            return argument.array
        case SurfaceArgument():
            return memory.texture(argument).array
        case DeviceTexture(argument=SurfaceArgument()):
            return argument.array
        case _:
            return None


def _passed(memory: Memory, number: int, argument: DeviceArgument) -> Passed:
    match argument:
        case None:
            return Passed("null", 0)
        case DeviceArray() | DevicePointer():
            array = argument.array if isinstance(argument, DevicePointer) else argument
            if array.owner is not memory:
                raise CaseError(
                    f"array '{array.name}' belongs to another DeviceMemory",
                    where=f"argument {number}",
                )
            return Passed(array.name, int(argument.address))
        case ScalarArgument(name, value):
            return Passed(name, value=value)
        case TextureArgument() | SurfaceArgument():
            texture = memory.texture(argument)
            return Passed(argument.name, int(texture.address), texture=texture.read)
        case DeviceTexture():
            if argument.owner is not memory:
                raise CaseError(
                    f"texture '{argument.name}' belongs to another DeviceMemory",
                    where=f"argument {number}",
                )
            return Passed(argument.name, int(argument.address), texture=argument.read)
        case np.generic():
            return Passed(type_name(argument.dtype), value=argument)
        case np.ndarray() if argument.ndim == 0:
            return Passed(type_name(argument.dtype), value=argument.reshape(1)[0])
        case _:
            raise CaseError(
                f"expected a DeviceArray, a pointer into one or a NumPy scalar, not "
                f"{type(argument).__name__}",
                where=f"argument {number}",
                hint="upload the array to the memory first"
                if isinstance(argument, np.ndarray)
                else "NumPy scalars such as numpy.int32(n) have a definite size",
            )


def _expanded(memory: Memory, number: int, argument: DeviceArgument, how: Passing) -> list[Passed]:
    """The parameters that Numba makes of one argument."""
    match how:
        case NumbaArray():
            return _numba_array(memory, number, argument, how)
        case NumbaScalar():
            return _numba_scalar(number, argument, how)


def _numba_array(
    memory: Memory, number: int, argument: DeviceArgument, how: NumbaArray
) -> list[Passed]:
    if not isinstance(argument, DeviceArray):
        raise CaseError(
            f"the kernel was compiled for an array of {how.dtype}, not {_kind(argument)}",
            where=f"argument {number}",
        )
    if str(argument.dtype) != how.dtype or len(argument.shape) != how.dimensions:
        raise CaseError(
            f"array '{argument.name}' has {len(argument.shape)} dimensions of {argument.dtype}, "
            f"but the kernel was compiled for {how.dimensions} of {how.dtype}",
            where=f"argument {number}",
            hint="compile it for these arguments",
        )
    strides = [argument.dtype.itemsize]
    for extent in reversed(argument.shape[1:]):
        strides.insert(0, strides[0] * extent)
    sizes = (argument.size, argument.dtype.itemsize)
    return [
        Passed(f"{argument.name}.meminfo", 0),
        Passed(f"{argument.name}.parent", 0),
        *(_word(argument, size) for size in sizes),
        _passed(memory, number, argument),
        *(_word(argument, size) for size in (*argument.shape, *strides)),
    ]


def _word(array: DeviceArray, value: int) -> Passed:
    return Passed(f"{array.name}.shape", value=np.int64(value))


def _numba_scalar(number: int, argument: DeviceArgument, how: NumbaScalar) -> list[Passed]:
    given = argument.value if isinstance(argument, ScalarArgument) else argument
    name = argument.name if isinstance(argument, ScalarArgument) else how.dtype
    if not isinstance(given, np.generic | bool | int | float | complex):
        raise CaseError(
            f"the kernel was compiled for a {how.dtype}, not {_kind(argument)}",
            where=f"argument {number}",
        )
    dtype = np.dtype(how.dtype)
    kinds = "biufc"
    given_kind = np.asarray(given).dtype.kind
    if given_kind not in kinds or kinds.index(given_kind) > max(
        kinds.index(dtype.kind), kinds.index("u")
    ):
        raise CaseError(
            f"the kernel was compiled for a {how.dtype}, {given!r} does not fit",
            where=f"argument {number}",
        )
    try:
        value = dtype.type(given)
    except OverflowError:
        raise CaseError(
            f"{given!r} does not fit the {how.dtype} that the kernel was compiled for",
            where=f"argument {number}",
        ) from None
    if dtype.kind == "c":
        return [Passed(name, value=value.real), Passed(name, value=value.imag)]
    return [Passed(name, value=value)]


def _kind(argument: DeviceArgument) -> str:
    if isinstance(argument, DeviceArray | DevicePointer):
        return "an array" if isinstance(argument, DeviceArray) else "a pointer"
    return f"a {type(argument).__name__}"
