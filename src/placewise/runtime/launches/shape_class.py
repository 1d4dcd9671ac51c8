"""Classes of launches: one choice is made for all launches of a class."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Collection

from placewise.disk_cache import key_of
from placewise.kernel.launch import Launch
from placewise.machine import Machine
from placewise.runtime.launches.call import Call
from placewise.runtime.launches.values import ArrayValue, Scalar, Value


def type_signature(call: Call) -> tuple[str, ...]:
    """Types and numbers of dimensions of the arguments, which a compiled kernel depends on."""
    return tuple(_type(value) for value in call.values)


def class_key(signature: tuple[str, ...], call: Call, deciding: Collection[int]) -> str:
    """Key of the class of a launch. It is made from grid, block, shared memory, shapes and types of
    the arrays, types of the scalars, and values of the ``deciding`` scalars (argument numbers from
    0)."""
    parts: list[object] = [_shape(call.launch), signature]
    for number, value in enumerate(call.values):
        if isinstance(value, ArrayValue):
            parts.append(value.shape)
        elif number in deciding:
            parts.append(bits(value))
    return json.dumps(parts)


def describe_class(call: Call, deciding: Collection[int]) -> str:
    """A class of launches in words, for reports."""
    grid, block = (" × ".join(map(str, _trimmed(d))) for d in (call.launch.grid, call.launch.block))
    arguments = [
        " × ".join(map(str, v.shape)) if isinstance(v, ArrayValue) else str(v)
        for n, v in enumerate(call.values)
        if isinstance(v, ArrayValue) or n in deciding
    ]
    return f"grid {grid}, block {block}; {', '.join(arguments)}"


def disk_key(identity: str, machine: Machine, arch: str, key: str, settings: str) -> str:
    """Name of a choice on disk. It depends on the kernel's source and options, the machine, the
    class, the demand on a choice, and the version of Placewise."""
    version = importlib.metadata.version("placewise")
    return key_of(version, identity, machine.digest, arch, key, settings)


def bits(value: Scalar) -> str:
    """A scalar's type and value; the same text for the same bits."""
    raw = value.tobytes().hex() if hasattr(value, "tobytes") else repr(value)
    return f"{_type(value)}:{raw}"


def _type(value: Value) -> str:
    if isinstance(value, ArrayValue):
        return f"{value.dtype.str}[{len(value.shape)}]"
    return str(value.dtype) if hasattr(value, "dtype") else type(value).__name__


def _shape(launch: Launch) -> tuple[object, ...]:
    grid, block = (tuple(int(n) for n in dims) for dims in (launch.grid, launch.block))
    return grid, block, int(launch.shared_bytes)


def _trimmed(dims: tuple[int, int, int]) -> tuple[int, ...]:
    x, y, z = dims
    return (x, y, z) if z > 1 else (x, y) if y > 1 else (x,)
