"""Joins separate arrays into one array of structs, from which every layout can be written."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.cases.case import Case
from placewise.kernel.launch import Argument, ArrayArgument, Inputs, ScalarArgument
from placewise.kernel.source import SourceView
from placewise.kernel.view.followed_arrays import ElementUse
from placewise.kernel.view.separate_arrays import SeparateArrays
from placewise.kernel.view.written_out.pieces import unique_name
from placewise.rewriter.text import EditedText, Render


@dataclass(frozen=True, eq=False)
class JoinedArrays:
    """A case in which some arrays are the fields of one array of structs."""

    case: Case
    fields: tuple[str, ...]
    """Names of the fields."""
    arrays: tuple[str, ...]
    """The case's array that each field was."""
    struct: str
    """The struct of pointers that they were members of; empty: they were parameters."""
    type_name: str
    parameter: str
    """Name of the array of structs."""

    @property
    def shown(self) -> tuple[str, ...]:
        """The arrays as the source named them."""
        return tuple(f"{self.struct}.{f}" if self.struct else f for f in self.fields)


def join_arrays(case: Case, view: SourceView, found: SeparateArrays) -> JoinedArrays:
    """The case with the arrays ``found`` as fields of one struct, in their order.

    The struct is declared above the functions that use it; the array of structs takes the place of
    the first of the arrays among the parameters, or stands behind the struct of pointers, whose
    pointers to the arrays are null then. Functions that get such an array get the array of structs.
    """
    taken = set(re.findall(r"[A-Za-z_]\w*", case.source))
    type_name, parameter = unique_name("Joined", taken), unique_name("joined", taken)
    declared = {p.name: p for p in view.parameters}
    text = EditedText(case.source.encode())
    for start, end in found.roots:
        text.replace(start, end, parameter)
    for use in found.uses:
        text.replace(use.start, use.end, partial(_field_text, use), is_outer=True)
    for pointer in found.retyped:
        kind = f"{'const ' if pointer.is_constant else ''}{type_name} *"
        text.replace(pointer.start, pointer.end, kind)
    members = "".join(f"    {t} {f};\n" for f, t in zip(found.fields, found.types, strict=True))
    text.insert(found.above, f"struct {type_name} {{\n{members}}};\n\n")
    whole = f"{'const ' if found.is_constant else ''}{type_name} *{parameter}"
    for end in found.received:
        text.insert(end, f", {whole}")
    for end in found.handed:
        text.insert(end, f", {parameter}")
    if found.struct:
        text.insert(declared[found.struct].end, f", {whole}")
    else:
        first, *others = found.fields
        text.replace(declared[first].start, declared[first].end, whole)
        order = [p.name for p in view.parameters]
        for name in others:
            # With the comma in front of it: the first array stands before it.
            before = declared[order[order.index(name) - 1]]
            text.replace(before.end, declared[name].end, "")
    inputs = _inputs(case, found, parameter)
    return JoinedArrays(
        replace(case, source=text.finish(), inputs=inputs), found.fields, found.arrays,
        found.struct, type_name, parameter,
    )  # fmt: skip


def separated(
    joined: JoinedArrays, outputs: dict[str, NDArray[np.generic]]
) -> dict[str, NDArray[np.generic]]:
    """Outputs of a run of the joined case, with the fields as separate arrays again."""
    apart = {name: data for name, data in outputs.items() if name != joined.parameter}
    whole = next(a for a in joined.case.inputs.arrays if a.name == joined.parameter)
    typed = outputs[joined.parameter].reshape(-1).view(np.uint8).view(whole.data.dtype)
    pairs = zip(joined.arrays, joined.fields, strict=True)
    return apart | {array: np.ascontiguousarray(typed[field]) for array, field in pairs}


def _field_text(use: ElementUse, render: Render) -> str:
    pointer = render(*use.pointer)
    handle = pointer if use.is_enclosed else f"({pointer})"
    address = "&" if use.is_address else ""
    if use.index is None:
        return f"{address}{handle}->{use.field}"
    return f"{address}{handle}[{render(*use.index)}].{use.field}"


def _inputs(case: Case, found: SeparateArrays, parameter: str) -> Inputs:
    """The inputs with one array of structs in place of the arrays ``found``."""
    old = {a.name: a for a in (*case.inputs.arrays, *case.inputs.buffers)}
    given = [old[name] for name in found.arrays]
    parts = zip(found.fields, given, strict=True)
    dtype = np.dtype([(field, array.data.dtype) for field, array in parts], align=True)
    structs = np.zeros(given[0].data.size, dtype)
    for field, array in zip(found.fields, given, strict=True):
        structs[field] = array.data.reshape(-1)
    whole = ArrayArgument(parameter, structs, uninitialised=all(a.uninitialised for a in given))
    made: list[Argument] = []
    for argument in case.inputs.arguments:
        if argument.name == found.struct and isinstance(argument, ScalarArgument):
            kept = tuple(p for p in argument.pointers if p.array not in found.arrays)
            made += [replace(argument, pointers=kept), whole]
        elif argument.name == found.arrays[0]:
            made.append(whole)
        elif argument.name not in found.arrays:
            made.append(argument)
    buffers = tuple(b for b in case.inputs.buffers if b.name not in found.arrays)
    return replace(case.inputs, arguments=tuple(made), buffers=buffers)
