"""A launch's inputs in device memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from placewise.errors import CaseError
from placewise.executor.device_memory.device import Bytes
from placewise.executor.device_memory.device_array import DeviceArray
from placewise.executor.device_memory.device_memory import DeviceMemory
from placewise.executor.device_memory.module_memory import find_variable, plain_name
from placewise.executor.lowering.module_variables import module_variables, named_symbols
from placewise.executor.runtime.resolve import DeviceArgument
from placewise.executor.translate import parsed
from placewise.kernel.kernel import Kernel
from placewise.kernel.launch import (
    ArrayArgument,
    Inputs,
    ScalarArgument,
    StoredPointer,
    SurfaceArgument,
    TextureArgument,
)
from placewise.kernel.ptx.module import Variable
from placewise.kernel.view import constants_of


def fill(
    memory: DeviceMemory, kernel: Kernel, inputs: Inputs, *, borrow: bool = False
) -> list[DeviceArgument]:
    """Copy arrays, textures and constants to ``memory``, and store the pointers among them. With
    ``borrow`` arrays without pointers are not copied (:meth:`.DeviceMemory.upload`).

    Returns the arguments of the launch. Raises CaseError, located by argument or constant, for a
    pointer to nothing that is there, and what does not fit the kernel's variables.
    """
    arguments: list[DeviceArgument] = []
    arrays: dict[str, DeviceArray] = {}
    for a in inputs.arguments:
        if isinstance(a, TextureArgument | SurfaceArgument):
            memory.texture(a)
        if isinstance(a, ArrayArgument):
            arrays[a.name] = _array(memory, a, borrow=borrow)
            arguments.append(arrays[a.name])
        else:
            arguments.append(a)
    arrays |= {b.name: _array(memory, b, borrow=borrow) for b in inputs.buffers}
    for name, data in inputs.constants:
        # As bytes: NumPy's copy of structs leaves out what lies between the members.
        content = np.ascontiguousarray(data).reshape(-1).view(np.uint8).copy()
        own = [p for holder, p in inputs.constant_pointers if holder == name]
        _store(content, own, arrays, f"constant '{name}'")
        memory.store(kernel, name, content, 0, data)
    for n, argument in enumerate(inputs.arguments):
        if isinstance(argument, ScalarArgument) and argument.pointers:
            where = f"argument '{argument.name}'"
            value = np.array([argument.value])
            _store(value.view(np.uint8), argument.pointers, arrays, where)
            arguments[n] = replace(argument, value=value[0], pointers=())
    for holder in (*inputs.arrays, *inputs.buffers):
        where = f"argument '{holder.name}'"
        _store(arrays[holder.name].region.data, holder.pointers, arrays, where)
    return arguments


def constant_notes(kernel: Kernel, inputs: Inputs) -> tuple[str, ...]:
    """Notes on the constants of a launch that ``inputs`` do not fill: those that are given fewer
    bytes than the kernel's variable has, as by a smaller ``cudaMemcpyToSymbol``, and those that
    the kernel reads and that neither ``inputs`` nor the source sets."""
    variables = module_variables(parsed(kernel))
    found, given = [], set()
    for name, data in inputs.constants:
        try:
            variable = find_variable(name, variables, "")
        except CaseError:
            # What does not exist is an error where the launch is filled.
            continue
        given.add(variable.name)
        if data.nbytes < variable.size:
            found.append(
                f"constant '{name}' is given {data.nbytes:,} of its {variable.size:,} bytes: the "
                "others stay as the source initialises them"
            )
    for name in _never_set(kernel, [v for v in variables if v.name not in given]):
        found.append(
            f"constant '{name}' is never set: it is all zeros; give constants={{'{name}': …}} (in "
            "a case file [[constants]])"
        )
    return tuple(found)


def _never_set(kernel: Kernel, variables: list[Variable]) -> list[str]:
    """Names of those ``variables`` in constant memory that the kernel reads, and that its source
    gives no value. PTX has no zeros, so the source must say whether it gives those."""
    empty = [v for v in variables if v.space == "const" and v.initial is None]
    read = named_symbols(parsed(kernel)) if empty else frozenset()
    names = [plain_name(v.name) for v in empty if v.name in read]
    declared = {c.name: c.initialised for c in constants_of(kernel)} if names else {}
    return [name for name in names if not declared.get(name, bool(declared))]


def _array(memory: DeviceMemory, argument: ArrayArgument, *, borrow: bool) -> DeviceArray:
    if argument.uninitialised:
        return memory.alloc(argument.name, argument.data.shape, argument.data.dtype)
    return memory.upload(argument.name, argument.data, borrow=borrow and not argument.pointers)


def _store(
    content: Bytes, pointers: Iterable[StoredPointer], arrays: Mapping[str, DeviceArray], where: str
) -> None:
    """Write addresses into the bytes of what holds them."""
    for pointer in pointers:
        target = arrays.get(pointer.array)
        if target is None:
            raise CaseError(
                f"a pointer to '{pointer.array}', which is no array of this launch",
                where=where,
                hint=f"arrays: {', '.join(arrays)}" if arrays else "it has no arrays",
            )
        if not 0 <= pointer.element <= target.size:
            raise CaseError(
                f"a pointer to element {pointer.element} of '{pointer.array}', which has "
                f"{target.size}",
                where=where,
            )
        if not 0 <= pointer.at <= content.size - 8:
            raise CaseError(
                f"a pointer at byte {pointer.at} does not fit {content.size} bytes", where=where
            )
        address = int(target.address) + pointer.element * target.dtype.itemsize
        content[pointer.at : pointer.at + 8].view(np.uint64)[0] = address
