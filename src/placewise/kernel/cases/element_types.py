"""Whether the NumPy type of an array or value is that of a kernel's parameter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.kernel.cases.values import POINTER
from placewise.kernel.source import Parameter, Scalar

_WHOLE = "iub"
_MOST_PLACES = 4096
"""Most numbers of a structured type that are compared with those of the kernel's type."""
_OF_NUMBERS = re.compile(
    r"^u?(char|short|int|long|longlong|float|double)[1-4]$|^__half2$|\bcomplex<.*>$"
)
"""CUDA's vectors and complex numbers; other structs may be given as bytes."""
_PADS = "np.dtype([...], align=True) pads as C does"


def check_elements(parameter: Parameter, data: NDArray[np.generic], where: str) -> None:
    """Raises CaseError located at ``where`` if ``data`` are no elements of a pointer parameter."""
    dtype = data.dtype
    if parameter.element_dtype is not None:
        wanted = np.dtype(parameter.element_dtype)
        if not same_bits(wanted, dtype):
            raise CaseError(
                f"the kernel expects {wanted} elements, the array has {dtype}",
                where=where,
                hint=f"convert with .astype(np.{wanted})",
            )
    elif parameter.element_type.endswith("*") and dtype.itemsize != POINTER.itemsize:
        raise CaseError(
            f"the kernel expects a table of pointers ({declared(parameter)}), the array has "
            f"{dtype}",
            where=where,
            hint="pass a list of PointerTo(array)",
        )
    # Structs and vector types: an element may be one structured item or several plain ones.
    elif parameter.element_bytes and data.nbytes % parameter.element_bytes:
        raise CaseError(
            f"the array's {data.nbytes} bytes are not a whole number of "
            f"{parameter.element_type} elements of {parameter.element_bytes} bytes",
            where=where,
        )
    _check_fields(parameter, dtype, where)
    _check_numbers(parameter, dtype, where)


def check_value(parameter: Parameter, dtype: np.dtype[Any], where: str) -> None:
    """Raises CaseError located at ``where`` if a value of type ``dtype`` is none of a parameter
    that is passed by value."""
    if parameter.element_dtype is not None:
        wanted = np.dtype(parameter.element_dtype)
        if not same_bits(wanted, dtype):
            raise CaseError(
                f"the kernel expects a {wanted}, got a {dtype}",
                where=where,
                hint=f"pass np.{wanted}(...)",
            )
    elif parameter.element_bytes and dtype.itemsize != parameter.element_bytes:
        raise CaseError(
            f"the kernel expects a {parameter.element_type} of {parameter.element_bytes} bytes, "
            f"got {dtype.itemsize} bytes ({dtype})",
            where=where,
            hint=_PADS if dtype.names else None,
        )
    _check_fields(parameter, dtype, where)
    _check_numbers(parameter, dtype, where)


def same_bits(wanted: np.dtype[Any], given: np.dtype[Any]) -> bool:
    """Equal types, or integers that differ in sign alone; bool stands for a one-byte integer."""
    if wanted == given:
        return True
    return wanted.itemsize == given.itemsize and wanted.kind in _WHOLE and given.kind in _WHOLE


def declared(parameter: Parameter) -> str:
    """A parameter as a source declares it."""
    space = "" if parameter.type_text.endswith(("*", "&")) else " "
    return f"{parameter.type_text}{space}{parameter.name}"


def _check_fields(parameter: Parameter, dtype: np.dtype[Any], where: str) -> None:
    """Fields of a structured type lie where the struct's members do: those of the same name, or
    all in their order where no name is the same."""
    given = {name: int(at) for name, (_, at, *_) in (dtype.fields or {}).items()}
    members = {f.name: f.offset for f in parameter.fields}
    if not given or not members:
        return
    pairs = [(name, members[name], at) for name, at in given.items() if name in members]
    if not pairs and len(given) == len(members):
        pairs = [
            (name, wanted, at)
            for (name, wanted), at in zip(members.items(), given.values(), strict=True)
        ]
    for name, wanted, at in pairs:
        if wanted != at:
            raise CaseError(
                f"member '{name}' of {parameter.element_type} is at byte {wanted}, the type has "
                f"it at byte {at}",
                where=where,
                hint=_PADS,
            )


def _check_numbers(parameter: Parameter, dtype: np.dtype[Any], where: str) -> None:
    """The numbers of vectors, complex types and structs are of the kernel's types."""
    scalars = parameter.scalars
    if parameter.element_dtype is not None or not scalars or parameter.element_type.endswith("*"):
        return
    if dtype.names is not None:
        _check_members(parameter, dtype, where)
        return
    kinds = {s.dtype for s in scalars}
    has_name = _OF_NUMBERS.search(parameter.element_type) is not None
    is_raw = dtype.kind == "V" or (dtype.itemsize == 1 and not has_name)
    if is_raw or "" in kinds:
        return
    plain = _parts(dtype)[0][1]
    if not any(same_bits(np.dtype(kind), plain) for kind in kinds):
        shown = " and ".join(sorted(kinds))
        each = f"{len(scalars)} {shown}" if len(kinds) == 1 else shown
        name = parameter.element_type
        raise CaseError(
            f"the kernel expects {name} elements ({each} each), the array has {dtype}"
            if parameter.is_pointer
            else f"the kernel expects a {name} ({each}), got a {dtype}",
            where=where,
            hint=_conversion(dtype, scalars),
        )


def _conversion(dtype: np.dtype[Any], scalars: Sequence[Scalar]) -> str:
    """What to do with an array of another type."""
    wanted = np.dtype(scalars[0].dtype)
    if any(s.dtype != wanted.name for s in scalars):
        return f"pass a structured array with the struct's layout; {_PADS}"
    complex_ = {"float32": "complex64", "float64": "complex128"}.get(wanted.name)
    to = complex_ if dtype.kind == "c" and complex_ and len(scalars) % 2 == 0 else wanted.name
    whole = wanted.kind in _WHOLE and dtype.kind in _WHOLE
    return f"convert with .astype(np.{to})" + (
        f", or keep the bits with .view(np.{to})" if whole else ""
    )


def _check_members(parameter: Parameter, dtype: np.dtype[Any], where: str) -> None:
    """Every number of a structured type is what the kernel has at that place. Bytes and raw data
    stand for anything."""
    size = parameter.element_bytes
    given = _numbers(dtype, "", 0)
    repeats = size // gcd(size, dtype.itemsize) if size and dtype.itemsize else 1
    for name, at, kind in (g for g, _ in zip(given, range(_MOST_PLACES), strict=False)):
        if kind.itemsize == 1 or kind.kind not in "iufb":
            continue
        for n in range(repeats):
            place = (n * dtype.itemsize + at) % size if size else at
            other = _unlike(parameter.scalars, place, kind)
            if other is not None:
                raise CaseError(
                    f"member '{name}' is {kind}, but {parameter.element_type} has {other.dtype} "
                    f"at byte {other.offset}",
                    where=where,
                    hint=f"give the member the type '{np.dtype(other.dtype).str[1:]}'",
                )


def _unlike(scalars: Sequence[Scalar], at: int, kind: np.dtype[Any]) -> Scalar | None:
    """The first of ``scalars`` that shares a byte with a number at ``at`` and is not such a one."""
    for scalar in scalars:
        apart = at + kind.itemsize <= scalar.offset or scalar.offset + scalar.bytes <= at
        if scalar.dtype and not apart:
            fits = scalar.offset == at and same_bits(np.dtype(scalar.dtype), kind)
            if not fits:
                return scalar
    return None


def _numbers(dtype: np.dtype[Any], name: str, at: int) -> Iterator[tuple[str, int, np.dtype[Any]]]:
    """(name, byte, type) of every number in a type; both parts of a complex one."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        for n in range(int(np.prod(shape, dtype=np.int64))):
            yield from _numbers(base, name, at + n * base.itemsize)
    elif dtype.names is not None:
        for field in dtype.names:
            inner, offset = dict(dtype.fields or {})[field][:2]
            yield from _numbers(inner, f"{name}.{field}" if name else field, at + int(offset))
    else:
        for offset, part in _parts(dtype):
            yield name, at + offset, part


def _parts(dtype: np.dtype[Any]) -> tuple[tuple[int, np.dtype[Any]], ...]:
    """A plain type as (byte, type): a complex one as its two parts."""
    if dtype.kind != "c":
        return ((0, dtype),)
    part = np.dtype(f"f{dtype.itemsize // 2}")
    return (0, part), (part.itemsize, part)
