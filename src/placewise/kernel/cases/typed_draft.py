"""A drafted kernel with the types of its parameters as the compiler's front end reads them."""

from __future__ import annotations

from dataclasses import replace

from placewise.errors import PlacewiseError
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.drafted_case import DraftedArgument, DraftedKernel
from placewise.kernel.source import Parameter
from placewise.kernel.view import IncludedKernelError, inline_kernel_file, parameters_of


def typed_draft(drafted: DraftedKernel, case: Case) -> DraftedKernel:
    """``drafted`` with the types of numbers that ``case``, a case made of it, has in truth: names
    that templates, macros and headers give to types are resolved. It is left as it is where the
    source cannot be read, or has other parameters."""
    try:
        try:
            parameters = parameters_of(case)
        except IncludedKernelError:
            parameters = parameters_of(inline_kernel_file(case)[0])
    except PlacewiseError:
        return drafted
    if len(parameters) != len(drafted.arguments):
        return drafted
    pairs = zip(drafted.arguments, parameters, strict=True)
    return replace(drafted, arguments=tuple(_typed(*pair) for pair in pairs))


def _typed(argument: DraftedArgument, parameter: Parameter) -> DraftedArgument:
    if parameter.element_dtype is None:
        return argument
    return replace(
        argument,
        name=parameter.name or argument.name,
        dtype=parameter.element_dtype,
        width=1,
        is_array=parameter.is_pointer,
        unknown="",
        members=(),
    )
