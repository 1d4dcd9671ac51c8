"""Ties a case's arguments to the kernel's parameters, and checks that they fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from placewise.errors import CaseError
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.make_case import describe, is_positional
from placewise.kernel.cases.values import POINTER
from placewise.kernel.launch import (
    Argument,
    ArrayArgument,
    ScalarArgument,
    SurfaceArgument,
    TextureArgument,
)
from placewise.kernel.source import Parameter, SourceView


def bind_names(case: Case, view: SourceView) -> Case:
    """The case with its arguments as :func:`bind_parameters` names them."""
    return bind_parameters(case, view.parameters)


def bind_parameters(case: Case, parameters: Sequence[Parameter]) -> Case:
    """The case with its arguments in parameter order under the parameters' names.

    Raises CaseError located at the argument where one is missing, too many, or of another kind or
    element type than its parameter.
    """
    arguments = case.inputs.arguments
    if any(is_positional(a.name) for a in arguments):
        pairs = _by_position(case, parameters)
    else:
        pairs = _by_name(case, parameters)
    bound = tuple(_bound(i, p, a) for i, (p, a) in enumerate(pairs, start=1))
    return replace(case, inputs=replace(case.inputs, arguments=bound))


def _by_position(case: Case, parameters: Sequence[Parameter]) -> list[tuple[Parameter, Argument]]:
    arguments = case.inputs.arguments
    if len(arguments) < len(parameters):
        raise CaseError(
            f"{_count(len(arguments))} for {len(parameters)} parameters; missing: "
            + ", ".join(_declared(p) for p in parameters[len(arguments) :]),
            where=f"{case.name}: arguments",
            hint=_signature(case, parameters),
        )
    if len(arguments) > len(parameters):
        extra = ", ".join(f"{describe(a.name)} ({_kind(a)})" for a in arguments[len(parameters) :])
        raise CaseError(
            f"{_count(len(arguments))} for {len(parameters)} parameters; too many: {extra}",
            where=f"{case.name}: arguments",
            hint=_signature(case, parameters),
        )
    return list(zip(parameters, arguments, strict=True))


def _by_name(case: Case, parameters: Sequence[Parameter]) -> list[tuple[Parameter, Argument]]:
    given = {a.name: a for a in case.inputs.arguments}
    missing = [p for p in parameters if p.name not in given]
    known = {p.name for p in parameters}
    extra = [name for name in given if name not in known]
    if missing or extra:
        faults = []
        if missing:
            faults.append("missing: " + ", ".join(_declared(p) for p in missing))
        if extra:
            faults.append("not a parameter: " + ", ".join(extra))
        raise CaseError(
            "; ".join(faults),
            where=f"{case.name}: arguments",
            hint=_signature(case, parameters),
        )
    return [(p, given[p.name]) for p in parameters]


def _bound(number: int, parameter: Parameter, argument: Argument) -> Argument:
    where = f"argument {number} ('{parameter.name}')"
    if isinstance(argument, TextureArgument | SurfaceArgument):
        return replace(argument, name=parameter.name)
    if parameter.is_pointer and _is_pointer(argument):
        return replace(argument, name=parameter.name)
    if parameter.is_pointer != isinstance(argument, ArrayArgument):
        wanted = "an array" if parameter.is_pointer else "a scalar"
        raise CaseError(
            f"the kernel expects {wanted} ({_declared(parameter)}), got {_kind(argument)}",
            where=where,
        )
    if isinstance(argument, ArrayArgument):
        _check_elements(parameter, argument, where)
    else:
        _check_scalar(parameter, argument, where)
    return replace(argument, name=parameter.name)


def _is_pointer(argument: Argument) -> bool:
    """Whether a value is the address of an element of another array, or null."""
    return isinstance(argument, ScalarArgument) and argument.value.dtype == POINTER


def _check_elements(parameter: Parameter, argument: ArrayArgument, where: str) -> None:
    dtype = argument.data.dtype
    if parameter.element_dtype is not None:
        wanted = np.dtype(parameter.element_dtype)
        if not _same_bits(wanted, dtype):
            raise CaseError(
                f"the kernel expects {wanted} elements, the array has {dtype}",
                where=where,
                hint=f"convert with .astype(np.{wanted})",
            )
    elif parameter.element_type.endswith("*") and dtype.itemsize != POINTER.itemsize:
        raise CaseError(
            f"the kernel expects a table of pointers ({_declared(parameter)}), the array has "
            f"{dtype}",
            where=where,
            hint="pass a list of PointerTo(array)",
        )
    # Structs and vector types: an element may be one structured item or several plain ones.
    elif parameter.element_bytes and argument.data.nbytes % parameter.element_bytes:
        raise CaseError(
            f"the array's {argument.data.nbytes} bytes are not a whole number of "
            f"{parameter.element_type} elements of {parameter.element_bytes} bytes",
            where=where,
        )
    _check_fields(parameter, dtype, where)


def _check_scalar(parameter: Parameter, argument: ScalarArgument, where: str) -> None:
    dtype = argument.value.dtype
    if parameter.element_dtype is not None:
        wanted = np.dtype(parameter.element_dtype)
        if not _same_bits(wanted, dtype):
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
            hint="np.dtype([...], align=True) pads as C does" if dtype.names else None,
        )
    _check_fields(parameter, dtype, where)


def _check_fields(parameter: Parameter, dtype: np.dtype[np.generic], where: str) -> None:
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
                hint="np.dtype([...], align=True) pads as C does",
            )


def _same_bits(wanted: np.dtype[np.generic], given: np.dtype[np.generic]) -> bool:
    """Equal types, or integers that differ in sign alone; bool stands for a one-byte integer."""
    if wanted == given:
        return True
    whole = "iub"
    return wanted.itemsize == given.itemsize and wanted.kind in whole and given.kind in whole


def _kind(argument: Argument) -> str:
    if isinstance(argument, ScalarArgument):
        return f"a scalar of type {argument.value.dtype}"
    return f"an array of {argument.data.dtype}, shape {argument.data.shape}"


def _count(arguments: int) -> str:
    return f"{arguments} argument" + ("s" if arguments != 1 else "")


def _declared(parameter: Parameter) -> str:
    space = "" if parameter.type_text.endswith(("*", "&")) else " "
    return f"{parameter.type_text}{space}{parameter.name}"


def _signature(case: Case, parameters: Sequence[Parameter]) -> str:
    return f"{case.kernel}({', '.join(_declared(p) for p in parameters)})"
