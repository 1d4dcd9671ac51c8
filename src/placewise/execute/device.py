"""The memory a launch sees: arrays, textures, constants and parameters, each in its window."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError, UnsupportedError
from placewise.execute.layout import FIRST_WINDOW, WINDOWS, address
from placewise.execute.lower_ptx.program import module_variables, parameter_offsets
from placewise.kernel.launch import (
    Argument,
    ArrayArgument,
    Inputs,
    ScalarArgument,
    TextureArgument,
)
from placewise.kernel.ptx.module import Module, Variable

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Region:
    """Memory behind one window."""

    window: int
    name: str
    data: Bytes
    array: int
    """Index among the run's arrays."""
    writable: bool


@dataclass(frozen=True, eq=False)
class Device:
    """Everything that the windows and the parameter buffer hold."""

    regions: tuple[Region, ...]
    arrays: tuple[str, ...]
    """Names that the trace's ``array`` column indexes."""
    parameters: Bytes
    texture_channels: dict[int, int]
    """32-bit channels of a texture's elements, by offset of its parameter."""

    def region_near(self, where: int) -> tuple[Region, int] | None:
        """The region nearest to a generic address, and the byte offset in it (may be negative)."""
        best: tuple[int, Region, int] | None = None
        for region in self.regions:
            offset = where - address(region.window)
            distance = max(-offset, offset - region.data.size, 0)
            if best is None or distance < best[0]:
                best = (distance, region, offset)
        return (best[1], best[2]) if best else None


def build_device(module: Module, entry: str, inputs: Inputs) -> Device:
    """Copy the inputs into device memory, checked against the kernel's parameters.

    Raises CaseError, located by parameter or constant, where they do not fit.
    """
    parameters = module.functions[entry].parameters
    _check_count(parameters, inputs.arguments)
    variables = module_variables(module)
    constants = _match_constants(variables, inputs)
    regions: list[Region] = []
    names = [a.name for a in inputs.arguments if not isinstance(a, ScalarArgument)]
    first_argument = FIRST_WINDOW + len(variables)
    if first_argument + len(names) > WINDOWS:
        raise UnsupportedError(f"more than {WINDOWS} arrays and module variables")
    arguments = len(names)
    for n, variable in enumerate(variables):
        given = constants.get(variable.name)
        content = given[1] if given else _initial(variable, variables)
        name = given[0] if given else _plain_name(variable.name)
        region = Region(
            FIRST_WINDOW + n, name, _aligned(content), arguments + n, variable.space != "const"
        )
        regions.append(region)
        names.append(name)
    offsets, size = parameter_offsets(parameters)
    buffer: Bytes = np.zeros(max(size, 1), np.uint8)
    channels: dict[int, int] = {}
    array = 0
    for n, (argument, parameter, offset) in enumerate(
        zip(inputs.arguments, parameters, offsets, strict=True)
    ):
        where = f"parameter {n + 1} '{argument.name}'"
        if isinstance(argument, ScalarArgument):
            value = _scalar_bytes(argument, parameter, where)
        else:
            if parameter.size != 8:
                raise CaseError(
                    "an array is passed, but the kernel takes a value of "
                    f"{parameter.size} bytes here",
                    where=where,
                )
            window = first_argument + array
            writable = isinstance(argument, ArrayArgument)
            content = _aligned(_raw(argument.data))
            regions.append(Region(window, argument.name, content, array, writable))
            array += 1
            value = np.array([address(window)], np.int64).view(np.uint8)
            if isinstance(argument, TextureArgument):
                channels[offset] = _channels(argument, where)
        buffer[offset : offset + value.size] = value
    return Device(tuple(regions), tuple(names), buffer, channels)


def _check_count(parameters: tuple[Variable, ...], arguments: tuple[Argument, ...]) -> None:
    if len(parameters) != len(arguments):
        given = ", ".join(a.name for a in arguments) or "none"
        raise CaseError(
            f"the kernel has {len(parameters)} parameters, but {len(arguments)} arguments are "
            "given",
            where="arguments",
            hint=f"given: {given}",
        )


def _raw(data: NDArray[np.generic]) -> Bytes:
    """The bytes of an array, without a copy where it is contiguous."""
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)


def _aligned(content: Bytes) -> Bytes:
    """A copy at a multiple of 64 bytes, so that vector loads do not straddle cache lines."""
    room = np.empty(content.size + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + content.size]
    copy[:] = content
    return copy


def _scalar_bytes(argument: ScalarArgument, parameter: Variable, where: str) -> Bytes:
    value = np.asarray(argument.value)
    if value.nbytes != parameter.size:
        raise CaseError(
            f"{value.dtype} has {value.nbytes} bytes, but the kernel takes {parameter.size} here",
            where=where,
            hint="pass a NumPy scalar of the kernel's type, such as numpy.int32(n)"
            if parameter.size in (1, 2, 4, 8)
            else "pass a structured NumPy scalar with the struct's layout",
        )
    return np.frombuffer(value.tobytes(), np.uint8)


def _channels(argument: TextureArgument, where: str) -> int:
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


def _plain_name(symbol: str) -> str:
    """A variable's name in the source, from its mangled name (its last component)."""
    if not symbol.startswith("_Z"):
        return symbol
    found = symbol
    position = 0
    while match := re.search(r"(\d+)", symbol[position:]):
        start = position + match.end()
        end = start + int(match[1])
        if end > len(symbol):
            break
        found = symbol[start:end]
        position = end
    return found


def _match_constants(
    variables: tuple[Variable, ...], inputs: Inputs
) -> dict[str, tuple[str, Bytes]]:
    """Content given for module variables, by PTX name."""
    matched: dict[str, tuple[str, Bytes]] = {}
    for name, data in inputs.constants:
        where = f"constant '{name}'"
        fits = [v for v in variables if name in (v.name, _plain_name(v.name))]
        if not fits:
            known = ", ".join(_plain_name(v.name) for v in variables if v.space == "const")
            raise CaseError(
                "the kernel's module has no such variable",
                where=where,
                hint=f"it has: {known}" if known else "it has no __constant__ variables",
            )
        content = _raw(data)
        if content.size != fits[0].size:
            raise CaseError(
                f"{data.dtype} of shape {data.shape} has {content.size} bytes, but the variable "
                f"has {fits[0].size}",
                where=where,
            )
        matched[fits[0].name] = (name, content)
    return matched


def _initial(variable: Variable, variables: tuple[Variable, ...]) -> Bytes:
    content = np.zeros(variable.size, np.uint8)
    if variable.initial:
        content[:] = np.frombuffer(variable.initial, np.uint8)
    numbers = {v.name: n for n, v in enumerate(variables)}
    for offset, symbol, addend in variable.relocations:
        if symbol not in numbers:
            raise UnsupportedError(f"an initial value that is the address of '{symbol}'")
        value = address(FIRST_WINDOW + numbers[symbol]) + addend
        content[offset : offset + 8] = np.array([value], np.int64).view(np.uint8)
    return content
