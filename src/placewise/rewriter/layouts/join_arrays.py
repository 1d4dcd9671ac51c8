"""Joins separate arrays into one array of structs, from which every layout can be written."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.cases.case import Case
from placewise.kernel.launch import Argument, ArrayArgument
from placewise.kernel.source import SourceView
from placewise.kernel.view.separate_arrays import ElementUse, SeparateArrays
from placewise.rewriter.text import EditedText, Render


@dataclass(frozen=True, eq=False)
class JoinedArrays:
    """A case in which some arrays are the fields of one array of structs."""

    case: Case
    arrays: tuple[str, ...]
    """Names of the separate arrays, which are now the names of the fields."""
    type_name: str
    parameter: str
    """Name of the array of structs."""


def join_arrays(case: Case, view: SourceView, found: SeparateArrays) -> JoinedArrays:
    """The case with the arrays ``found`` as fields of one struct, in their order.

    The struct is declared above the kernel; the array of structs takes the place of the first of
    the arrays among the parameters.
    """
    taken = set(re.findall(r"[A-Za-z_]\w*", case.source))
    type_name, parameter = _fresh("Joined", taken), _fresh("joined", taken)
    declared = {p.name: p for p in view.parameters}
    text = EditedText(case.source.encode())
    for use in found.uses:
        text.replace(use.start, use.end, partial(_field_text, use, parameter))
    members = "".join(f"    {declared[a].element_type} {a};\n" for a in found.arrays)
    text.insert(found.above, f"struct {type_name} {{\n{members}}};\n\n")
    constant = all(declared[a].type_text.startswith("const ") for a in found.arrays)
    first, *others = found.arrays
    whole = f"{'const ' if constant else ''}{type_name} *{parameter}"
    text.replace(declared[first].start, declared[first].end, whole)
    order = [p.name for p in view.parameters]
    for name in others:
        # The comma before it is removed, too; there is one, since the first array precedes it.
        before = declared[order[order.index(name) - 1]]
        text.replace(before.end, declared[name].end, "")
    arguments = _arguments(case, found.arrays, parameter)
    inputs = replace(case.inputs, arguments=arguments)
    return JoinedArrays(
        replace(case, source=text.finish(), inputs=inputs), found.arrays, type_name, parameter
    )


def separated(
    joined: JoinedArrays, outputs: dict[str, NDArray[np.generic]]
) -> dict[str, NDArray[np.generic]]:
    """Outputs of a run of the joined case, with the fields as separate arrays again."""
    apart = {name: data for name, data in outputs.items() if name != joined.parameter}
    structs = outputs[joined.parameter].reshape(-1)
    dtype = _struct_type(joined.case, joined.parameter)
    typed = structs.view(np.uint8).view(dtype)
    return apart | {name: np.ascontiguousarray(typed[name]) for name in joined.arrays}


def _struct_type(case: Case, parameter: str) -> np.dtype[np.generic]:
    return next(a.data.dtype for a in case.inputs.arrays if a.name == parameter)


def _field_text(use: ElementUse, parameter: str, render: Render) -> str:
    return f"{parameter}[{render(*use.index)}].{use.array}"


def _fresh(word: str, taken: set[str]) -> str:
    number, name = 1, word
    while name in taken:
        number += 1
        name = f"{word}{number}"
    return name


def _arguments(case: Case, arrays: tuple[str, ...], parameter: str) -> tuple[Argument, ...]:
    """The arguments with one array of structs in place of the first of ``arrays``."""
    given = {a.name: a for a in case.inputs.arrays if a.name in arrays}
    dtype = np.dtype([(name, given[name].data.dtype) for name in arrays], align=True)
    structs = np.zeros(given[arrays[0]].data.size, dtype)
    for name in arrays:
        structs[name] = given[name].data.reshape(-1)
    unset = all(given[name].uninitialised for name in arrays)
    made: list[Argument] = []
    for argument in case.inputs.arguments:
        if argument.name == arrays[0]:
            made.append(ArrayArgument(parameter, structs, uninitialised=unset))
        elif argument.name not in arrays:
            made.append(argument)
    return tuple(made)
