"""Rewrites a kernel for another layout of its arrays of structs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from placewise.errors import UnsupportedError
from placewise.kernel.cases.case import Case
from placewise.kernel.launch import Argument, ArrayArgument
from placewise.kernel.source import Parameter, SourceView
from placewise.kernel.struct_uses import StructArrays, StructUse, UseKind
from placewise.rewriter.body import body_indentation
from placewise.rewriter.draft import require_cuda
from placewise.rewriter.layouts.accessors import element_type, layout_declarations
from placewise.rewriter.layouts.names import LayoutNames, is_struct, layout_names
from placewise.rewriter.text import EditedText, Render, with_line_ends_of
from placewise.space.layout import (
    Field,
    Layout,
    Record,
    check_layout,
    convert,
    group_bytes,
    shape_of,
)


@dataclass(frozen=True, eq=False)
class Relaid:
    """A kernel whose arrays of one struct type have another layout."""

    case: Case
    """The rewritten source, with an argument for each group in place of each array."""
    arrays: StructArrays
    layout: Layout
    names: LayoutNames
    elements: tuple[tuple[str, int], ...]
    """(array, number of its elements) for each array with the new layout."""

    @property
    def struct_bytes(self) -> int:
        """Size of the struct as declared."""
        record = self.arrays.record
        return shape_of(record, record.declared.groups[0]).size_bytes


@dataclass(frozen=True, eq=False)
class KernelArrays:
    """A kernel with its arrays of one struct type."""

    case: Case
    """A launch of the kernel, its arguments named after the parameters."""
    view: SourceView
    arrays: StructArrays


def rewrite_layout(case: Case, view: SourceView, arrays: StructArrays, layout: Layout) -> Relaid:
    """The case with all its ``arrays`` in ``layout``; its arguments must have their parameters'
    names.

    Raises UnsupportedError where the source uses the arrays in a way that cannot be rewritten, and
    CaseError where the layout does not fit the struct.
    """
    return rewrite_together([KernelArrays(case, view, arrays)], layout)[0]


def rewrite_together(kernels: Sequence[KernelArrays], layout: Layout) -> tuple[Relaid, ...]:
    """Kernels of one source, with all their arrays of one struct type in ``layout``: the answers
    have the same source, in which functions that several of them call are written once. A kernel
    may be there more than once, with other arguments.

    Raises UnsupportedError where a kernel does with them what cannot be written for another
    layout, and CaseError where the layout does not fit the struct.
    """
    for kernel in kernels:
        _check_kernel(kernel, kernels[0])
    arrays = _all_uses(kernels)
    check_layout(arrays.record, layout)
    source = kernels[0].case.source
    text = EditedText(source.encode())
    taken = set(re.findall(r"[A-Za-z_]\w*", source))
    names = layout_names(arrays.type_name, layout, taken)
    for use in arrays.uses:
        text.replace(use.start, use.end, partial(_use_text, use, names))
    for variable in arrays.retyped:
        text.replace(variable.start, variable.end, f"{names.type_name} ")
    constant = all(
        p.type_text.startswith("const ") for k in kernels for p in _parameters(k.view, k.arrays)
    )
    definitions = {k.view.signature_start: k for k in kernels}
    for kernel in definitions.values():
        used = replace(arrays, parameters=kernel.arrays.parameters)
        _edit_parameters(text, kernel.view, used, layout, names, constant=constant)
    lines = layout_declarations(arrays, layout, names, constant=constant)
    text.insert(arrays.above, "\n".join(lines) + "\n\n")
    finished = with_line_ends_of(source, text.finish())
    return tuple(_relaid(kernel, finished, layout, names) for kernel in kernels)


def _check_kernel(kernel: KernelArrays, first: KernelArrays) -> None:
    """Raise UnsupportedError unless the kernel can be written for another layout, beside the first
    one."""
    case, arrays = kernel.case, kernel.arrays
    require_cuda(case)
    if arrays.obstacle is not None:
        raise UnsupportedError(
            f"{arrays.type_name} cannot have another layout: {arrays.obstacle}",
            where=case.filename,
        )
    if case.source != first.case.source or arrays.record != first.arrays.record:
        raise UnsupportedError(
            f"{case.kernel} has another source, or another {arrays.type_name}, than "
            f"{first.case.kernel}",
            where=case.filename,
        )


def _all_uses(kernels: Sequence[KernelArrays]) -> StructArrays:
    """The uses of all kernels, each place in the source once."""
    first, *others = (k.arrays for k in kernels)
    if not others:
        return first
    uses = {(u.start, u.end, u.kind): u for k in kernels for u in k.arrays.uses}
    retyped = {v.start: v for k in kernels for v in k.arrays.retyped}
    return replace(
        first,
        uses=tuple(sorted(uses.values(), key=lambda u: (u.start, -u.end))),
        retyped=tuple(sorted(retyped.values(), key=lambda v: v.start)),
        above=min(k.arrays.above for k in kernels),
        makes_pointers=any(k.arrays.makes_pointers for k in kernels),
    )


def _relaid(kernel: KernelArrays, source: str, layout: Layout, names: LayoutNames) -> Relaid:
    case, arrays = kernel.case, kernel.arrays
    arguments = _new_arguments(case, arrays, layout, names)
    sizes = shape_of(arrays.record, arrays.record.declared.groups[0]).size_bytes
    counts = tuple(
        (a.name, a.data.nbytes // sizes) for a in case.inputs.arrays if a.name in arrays.parameters
    )
    new = replace(case, source=source, inputs=replace(case.inputs, arguments=arguments))
    return Relaid(new, arrays, layout, names, counts)


def original_arrays(
    relaid: Relaid, outputs: dict[str, NDArray[np.generic]]
) -> dict[str, NDArray[np.uint8]]:
    """The arrays in their declared layout, as bytes of shape (bytes,), made from the outputs of a
    run of the rewritten kernel. Padding is zero."""
    record = relaid.arrays.record
    found = {}
    for array, elements in relaid.elements:
        groups = [
            outputs[relaid.names.parameter(array, number)].reshape(-1).view(np.uint8)
            for number in range(len(relaid.layout.groups))
        ]
        found[array] = convert(record, relaid.layout, record.declared, groups, elements)[0]
    return found


def _use_text(use: StructUse, names: LayoutNames, render: Render) -> str:
    pointer = render(*use.pointer)
    handle = pointer if re.fullmatch(r"\w+|\(.*\)", pointer, re.S) else f"({pointer})"
    index = "" if use.index is None else render(*use.index)
    if "," in re.sub(r"\([^()]*\)", "", index):
        index = f"({index})"  # not two arguments
    match use.kind:
        case UseKind.MEMBER:
            return f"{handle}.{use.member}({index})"
        case UseKind.LOAD:
            return f"{handle}.{names.own('load')}({index})"
        case UseKind.STORE:
            assert use.value is not None, "a store has a value"
            return f"{handle}.{names.own('store')}({index or 0}, {render(*use.value)})"
        case UseKind.ADDRESS:
            return f"({handle} + ({index}))" if index else pointer


def _parameters(view: SourceView, arrays: StructArrays) -> list[Parameter]:
    return [p for p in view.parameters if p.name in arrays.parameters]


def _edit_parameters(
    text: EditedText, view: SourceView, arrays: StructArrays, layout: Layout, names: LayoutNames,
    *, constant: bool,
) -> None:  # fmt: skip
    """Give the kernel a parameter for each group, and construct the layout's struct from them at
    the start of the body. ``constant``: the struct's pointers are ``const``."""
    entry = []
    for parameter in _parameters(view, arrays):
        is_constant = parameter.type_text.startswith("const ")
        declared = text.text[parameter.start : parameter.end].decode()
        restrict = "__restrict__ " if "restrict" in declared else ""
        const = "const " if is_constant else ""
        made, given = [], []
        for number in range(len(layout.groups)):
            name = names.parameter(parameter.name, number)
            element = element_type(arrays, layout, names, number)
            made.append(f"{const}{element} *{restrict}{name}")
            given.append(
                f"const_cast<{element} *>({name})" if is_constant and not constant else name
            )
        text.replace(parameter.start, parameter.end, ", ".join(made))
        start = ", 0" if arrays.makes_pointers else ""
        entry.append(f"{names.type_name} {parameter.name} = {{{', '.join(given)}{start}}};")
    indent = body_indentation(text.text, view)
    text.insert(view.body_start + 1, "".join(f"\n{indent}{line}" for line in entry))


def _new_arguments(
    case: Case, arrays: StructArrays, layout: Layout, names: LayoutNames
) -> tuple[Argument, ...]:
    """The case's arguments with one for each group in place of each array of structs."""
    made: list[Argument] = []
    for argument in case.inputs.arguments:
        if argument.name not in arrays.parameters:
            made.append(argument)
        elif not isinstance(argument, ArrayArgument) or argument.pointers:
            what = "holds pointers" if isinstance(argument, ArrayArgument) else "is no array"
            raise UnsupportedError(
                f"argument '{argument.name}' {what}, so it cannot have another layout",
                where=case.filename,
            )
        else:
            made += _group_arguments(argument, arrays.record, layout, names, case.filename)
    return tuple(made)


def _group_arguments(
    argument: ArrayArgument, record: Record, layout: Layout, names: LayoutNames, where: str
) -> list[Argument]:
    """The arguments, one for each group of the layout, that hold an array of structs."""
    size = shape_of(record, record.declared.groups[0]).size_bytes
    flat = argument.data.reshape(-1).view(np.uint8)
    if flat.size % size:
        raise UnsupportedError(
            f"argument '{argument.name}' has {flat.size} bytes, which is not a whole number of "
            f"structs of {size} bytes",
            where=where,
        )
    elements = flat.size // size
    groups = convert(record, record.declared, layout, [flat], elements)
    types = _field_types(argument.data.dtype, record)
    made: list[Argument] = []
    for number, (group, data) in enumerate(zip(layout, groups, strict=True)):
        shape = shape_of(record, group)
        if is_struct(group):
            dtype = np.dtype(
                {
                    "names": list(group.fields),
                    "formats": [
                        (types[f], (group.lanes,)) if group.lanes > 1 else types[f]
                        for f in group.fields
                    ],
                    "offsets": list(shape.offsets),
                    "itemsize": shape.size_bytes,
                }
            )
            typed = data.view(dtype)
        else:
            kind = types[group.fields[0]]
            typed = data.view(kind.base).reshape((elements, *kind.shape))
        assert typed.nbytes == group_bytes(record, group, elements)
        made.append(
            ArrayArgument(
                names.parameter(argument.name, number), typed,
                uninitialised=argument.uninitialised,
            )
        )  # fmt: skip
    return made


def _field_types(dtype: np.dtype[np.generic], record: Record) -> dict[str, np.dtype[np.generic]]:
    """NumPy type of each field: that of the array's dtype where it has this field; the array's
    element type where the field is one number of that size; else unsigned words."""
    own = {} if dtype.fields is None else {name: found[0] for name, found in dtype.fields.items()}
    types = {}
    for field in record.fields:
        if field.name in own and own[field.name].itemsize == field.size_bytes:
            types[field.name] = own[field.name]
        elif dtype.fields is None and field.size_bytes % dtype.itemsize == 0:
            count = field.size_bytes // dtype.itemsize
            types[field.name] = dtype if count == 1 else np.dtype((dtype, (count,)))
        else:
            types[field.name] = _words(field)
    return types


def _words(field: Field) -> np.dtype[np.generic]:
    word = np.dtype(f"u{min(field.align_bytes, 8)}")
    count = field.size_bytes // word.itemsize
    return word if count == 1 else np.dtype((word, (count,)))
