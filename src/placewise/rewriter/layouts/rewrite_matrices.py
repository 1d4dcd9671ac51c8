"""Rewrites a kernel's indices for matrices that are stored in another order.

``a[row * columns + column]`` of a transposed array becomes ``a[column * a_stride + row]``. The
kernel gets a new argument ``a_stride``, the number of elements from one stored column (or row) to
the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.cases.case import Case
from placewise.kernel.launch import Argument, ArrayArgument, ScalarArgument
from placewise.kernel.matrix_arrays import StoredMatrix
from placewise.kernel.source import SourceView, Split
from placewise.kernel.view.tiles.tile import whole_numbers
from placewise.rewriter.body import edit_body
from placewise.rewriter.draft import Draft, require_cuda, sum_text
from placewise.rewriter.signature import edit_signature, insert_notes
from placewise.rewriter.text import Render, whole_line, with_line_ends_of
from placewise.space.array_order import check_order, reorder, row_major

_INT = 1 << 31


@dataclass(frozen=True, eq=False)
class Reordered:
    """A kernel some of whose matrices are stored in another order."""

    case: Case
    """The rewritten source; each matrix argument is followed by its stride."""
    stored: tuple[StoredMatrix, ...]
    strides: Mapping[str, str]
    """Name of the new argument by array."""


def rewrite_matrices(case: Case, view: SourceView, stored: tuple[StoredMatrix, ...]) -> Reordered:
    """The case with each matrix of ``stored`` in its new order. The case's arguments must be named
    after the kernel's parameters.

    Where the source does not guarantee that the column index stays within a row, the kernel checks
    that its launch and arguments are those of the case, and traps otherwise. Raises
    UnsupportedError where the kernel is not CUDA C++, CaseError for an order that does not fit its
    matrix.
    """
    require_cuda(case)
    draft = Draft.start(case, view)
    strides: dict[str, str] = {}
    for one in stored:
        check_order(one.extents, one.order)
        name = draft.unique(f"{one.matrix.name}_stride")
        strides[one.matrix.name] = name
        _write_matrix(draft, one, name)
    edit_signature(draft)
    edit_body(draft)
    insert_notes(draft, "Laid out by Placewise:")
    new = replace(
        case,
        source=with_line_ends_of(case.source, draft.text.finish()),
        inputs=replace(case.inputs, arguments=_new_arguments(case, stored, strides)),
    )
    return Reordered(new, stored, strides)


def original_matrices(
    reordered: Reordered, outputs: Mapping[str, NDArray[np.generic]]
) -> dict[str, NDArray[np.generic]]:
    """The matrices row by row, flat, from the outputs of a run of the rewritten kernel."""
    return {
        one.matrix.name: reorder(
            one.extents, one.order, row_major(one.extents), _elements(one, outputs[one.matrix.name])
        )
        for one in reordered.stored
    }


def _write_matrix(draft: Draft, one: StoredMatrix, stride: str) -> None:
    matrix = one.matrix
    for place, split in zip(matrix.accesses, matrix.splits, strict=True):
        draft.replace_access(place, _access(one, split, stride))
    for alias in draft.view.array(matrix.name).aliases:
        draft.text.replace(*whole_line(draft.text.text, alias.start, alias.end), "")
    parameter = matrix.parameter
    declared = draft.text.text[parameter.start : parameter.end].decode()
    draft.parameters[matrix.name] = f"{declared}, int {stride}"
    line = "column" if one.is_transposed else "row"
    draft.notes.append(f"{matrix.name}: {line} by {line}, {stride} elements from one to the next")
    if matrix.bound_to:
        draft.checks.update(_launch_numbers(draft.case, matrix.bound_to))


def _launch_numbers(case: Case, names: tuple[str, ...]) -> dict[str, int]:
    """Values of the case's arguments and launch dimensions in ``names``, and of all block
    dimensions."""
    numbers = {
        f"{what}.{axis}": size
        for what, shape in (("blockDim", case.launch.block), ("gridDim", case.launch.grid))
        for axis, size in zip("xyz", shape, strict=True)
        if what == "blockDim" or f"{what}.{axis}" in names
    }
    for argument in case.inputs.arguments:
        numbers |= {n: value for n, value in whole_numbers(argument).items() if n in names}
    return numbers


def _access(one: StoredMatrix, split: Split, stride: str) -> Callable[[Render], str]:
    line, within = (split.column, split.row) if one.is_transposed else (split.row, split.column)
    elements = one.matrix.rows * one.matrix.columns
    wide = "(long long)" if one.matrix.wide or elements * 2 > _INT else ""

    def make(render: Render) -> str:
        lines = sum_text(None, line, render)
        if not line or (len(line) == 1 and line[0].literal == "0"):
            return f"{one.matrix.name}[{sum_text(None, within, render)}]"
        first = lines if lines.isidentifier() or lines.isdigit() else f"({lines})"
        rest = f" + {_loose(sum_text(None, within, render), within)}" if within else ""
        return f"{one.matrix.name}[{wide}{first} * {stride}{rest}]"

    return make


def _loose(text: str, terms: tuple[object, ...]) -> str:
    return f"({text})" if len(terms) > 1 or not text.isidentifier() else text


def _new_arguments(
    case: Case, stored: tuple[StoredMatrix, ...], strides: Mapping[str, str]
) -> tuple[Argument, ...]:
    by_name = {one.matrix.name: one for one in stored}
    made: list[Argument] = []
    for argument in case.inputs.arguments:
        one = by_name.get(argument.name)
        if one is None or not isinstance(argument, ArrayArgument):
            made.append(argument)
            continue
        rows = row_major(one.extents)
        data = reorder(one.extents, rows, one.order, _elements(one, argument.data))
        made.append(replace(argument, data=data.view(argument.data.dtype)))
        made.append(ScalarArgument(strides[argument.name], np.int32(one.order.pitch)))
    return tuple(made)


def _elements(one: StoredMatrix, data: NDArray[np.generic]) -> NDArray[np.generic]:
    """The array as one dimension with one item for each element of the parameter's type."""
    size = one.matrix.parameter.element_bytes
    return np.ascontiguousarray(data).reshape(-1).view(f"V{size}")
