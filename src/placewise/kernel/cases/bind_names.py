"""Ties a case's arguments to the kernel's parameters, and checks that they fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from placewise.errors import CaseError
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.element_types import check_elements, check_value, declared
from placewise.kernel.cases.make_case import describe, is_positional
from placewise.kernel.cases.values import POINTER
from placewise.kernel.launch import (
    Argument,
    ArrayArgument,
    ScalarArgument,
    SurfaceArgument,
    TextureArgument,
)
from placewise.kernel.source import DeclaredConstant, Parameter, SourceView


def bind_names(case: Case, view: SourceView) -> Case:
    """The case with its arguments as :func:`bind_parameters` names them."""
    return bind_parameters(case, view.parameters)


def bind_parameters(
    case: Case, parameters: Sequence[Parameter], constants: Sequence[DeclaredConstant] = ()
) -> Case:
    """The case with its arguments in parameter order under the parameters' names.

    Raises CaseError located at the argument where one is missing, too many, or of another kind or
    element type than its parameter; and at the constant where one is of another type than that of
    ``constants``, which the source declares.
    """
    arguments = case.inputs.arguments
    if any(is_positional(a.name) for a in arguments):
        pairs = _by_position(case, parameters)
    else:
        pairs = _by_name(case, parameters)
    bound = tuple(_bound(i, p, a) for i, (p, a) in enumerate(pairs, start=1))
    for name, data in case.inputs.constants:
        check_constant(constants, name, data)
    return replace(case, inputs=replace(case.inputs, arguments=bound))


def check_constant(
    declared: Sequence[DeclaredConstant], name: str, data: NDArray[np.generic]
) -> None:
    """Raises CaseError located at the constant ``name`` if ``data`` are no elements of the one
    variable of ``declared`` that is called so."""
    plain = name.rsplit("::", 1)[-1]
    fits = [c.elements for c in declared if c.name == plain]
    if len(fits) == 1 and fits[0] is not None:
        check_elements(fits[0], data, f"constant '{name}'")


def _by_position(case: Case, parameters: Sequence[Parameter]) -> list[tuple[Parameter, Argument]]:
    arguments = case.inputs.arguments
    if len(arguments) < len(parameters):
        raise CaseError(
            f"{_count(len(arguments))} for {len(parameters)} parameters; missing: "
            + ", ".join(declared(p) for p in parameters[len(arguments) :]),
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
            faults.append("missing: " + ", ".join(declared(p) for p in missing))
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
            f"the kernel expects {wanted} ({declared(parameter)}), got {_kind(argument)}",
            where=where,
        )
    if isinstance(argument, ArrayArgument):
        check_elements(parameter, argument.data, where)
    else:
        check_value(parameter, argument.value.dtype, where)
    return replace(argument, name=parameter.name)


def _is_pointer(argument: Argument) -> bool:
    """Whether a value is the address of an element of another array, or null."""
    return isinstance(argument, ScalarArgument) and argument.value.dtype == POINTER


def _kind(argument: Argument) -> str:
    if isinstance(argument, ScalarArgument):
        return f"a scalar of type {argument.value.dtype}"
    return f"an array of {argument.data.dtype}, shape {argument.data.shape}"


def _count(arguments: int) -> str:
    return f"{arguments} argument" + ("s" if arguments != 1 else "")


def _signature(case: Case, parameters: Sequence[Parameter]) -> str:
    return f"{case.kernel}({', '.join(declared(p) for p in parameters)})"
