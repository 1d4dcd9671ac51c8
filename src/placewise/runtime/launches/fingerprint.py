"""What two launches must have in common for the second to repeat the first."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np


def fingerprint(
    grid: Any, block: Any, shared_bytes: Any, stream: int, arguments: Sequence[Any]
) -> Hashable | None:
    """A value that is equal for launches with the same shape on the same stream, whose arrays have
    the same places in a GPU's memory, shapes and types, and whose numbers have the same types and
    bits.

    None where an argument is an array in the host's memory, or nothing that is known here. An
    array's place says enough: whatever object holds it, the launch does the same.
    """
    parts: list[Hashable] = [_dims(grid), _dims(block), shared_bytes, stream]
    for argument in arguments:
        if isinstance(argument, np.generic):
            parts += [argument.dtype.char, argument.tobytes()]
        elif isinstance(argument, float):
            # Zero and minus zero are equal, but not the same.
            parts += ["float", argument.hex()]
        elif isinstance(argument, int):
            parts += [type(argument).__name__, argument]
        else:
            place = _place(argument)
            if place is None:
                return None
            parts += place
    made = tuple(parts)
    try:
        hash(made)
    except TypeError:
        return None
    return made


def _place(array: Any) -> tuple[Hashable, ...] | None:
    """Address, shape, type and strides of an array on a GPU; None for anything else."""
    address = getattr(getattr(array, "data", None), "ptr", None)
    if address is not None:
        # CuPy's arrays make the interface anew each time it is asked for.
        return address, array.shape, array.dtype, array.strides
    interface = getattr(array, "__cuda_array_interface__", None)
    if not isinstance(interface, dict):
        return None
    strides = interface.get("strides")
    return (
        *(interface["data"][0], interface["shape"], interface["typestr"]),
        strides if strides is None else tuple(strides),
    )


def _dims(dims: Any) -> Hashable:
    return tuple(dims) if isinstance(dims, list) else dims
