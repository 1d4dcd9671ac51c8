"""A drafted kernel with the types of its parameters as the compiler's front end reads them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from placewise.errors import PlacewiseError
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.drafts.drafted_case import DraftedArgument, DraftedKernel
from placewise.kernel.cases.drafts.drafted_types import DraftedMember
from placewise.kernel.source import Parameter
from placewise.kernel.view import IncludedKernelError, inline_kernel_file, parameters_of

WORD_BYTES = 4
MOST_WORDS = 256
"""Most numbers in an element of an unknown type that is drafted."""


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
        known = argument.members or argument.width > 1
        return argument if known else _of_words(argument, parameter)
    return replace(
        argument,
        name=parameter.name or argument.name,
        dtype=parameter.element_dtype,
        width=1,
        is_array=parameter.is_pointer,
        unknown="",
        members=(),
    )


def _of_words(argument: DraftedArgument, parameter: Parameter) -> DraftedArgument:
    """``argument``, of a type whose members have no names in the draft, as its numbers where all
    are alike; else as numbers of four bytes, or bytes, that are as large."""
    dtype, words = argument.dtype, parameter.element_bytes // WORD_BYTES
    kinds = {s.dtype for s in parameter.scalars}
    if len(kinds) == 1 and "" not in kinds:
        dtype, words = kinds.pop(), len(parameter.scalars)
    elif words * WORD_BYTES != parameter.element_bytes or (kinds and dtype not in kinds):
        dtype, words = "uint8", parameter.element_bytes
    if words < 2 or words > MOST_WORDS:
        return argument
    if parameter.is_pointer:
        return replace(argument, dtype=dtype, width=words)
    if dtype == "uint8":
        return argument
    return replace(argument, members=_members(parameter, words))


def _members(parameter: Parameter, words: int) -> tuple[DraftedMember, ...]:
    """Members of a struct by value: its numbers where they are known and lie as C packs them, else
    words of four bytes."""
    numbers = [(f"word{n}", s.dtype) for n, s in enumerate(parameter.scalars) if s.dtype]
    if numbers and len(numbers) == len(parameter.scalars):
        packed = np.dtype(numbers, align=True)
        offsets = [packed.fields[name][1] for name, _ in numbers] if packed.fields else []
        if packed.itemsize == parameter.element_bytes and offsets == [
            s.offset for s in parameter.scalars
        ]:
            return tuple(DraftedMember(name, dtype, 0) for name, dtype in numbers)
    return tuple(DraftedMember(f"word{n}", "int32", 0) for n in range(words))
