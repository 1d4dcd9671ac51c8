"""Rows of a shared array of the source itself, which may be made longer.

``tile[r][c]`` of an array ``tile[32][32]`` is the same element whatever the length of the rows in
memory, as long as every access names a row and a column, and the column lies inside its row.
"""

from __future__ import annotations

from dataclasses import dataclass

from placewise.errors import UnsupportedError
from placewise.kernel.cases.bind_names import bind_parameters
from placewise.kernel.cases.case import Case
from placewise.kernel.source import SourceView
from placewise.kernel.view.elements import dtype_of
from placewise.kernel.view.indices.interval import Unbounded
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.staging.copies import own_array, span_of, static_shape
from placewise.kernel.view.staging.uses import (
    RefusedError,
    element_at,
    indices_of,
    is_assigned,
    is_factor,
    is_read,
    is_updated,
    last_length,
)
from placewise.kernel.view.tiles.tile import make_bounder
from placewise.kernel.view.tree.clang import ParsedKernel, parse_kernel
from placewise.kernel.view.tree.node import Node


@dataclass(frozen=True)
class OwnRows:
    """The rows of a shared array, and what to edit to make them longer."""

    name: str
    columns: int
    """Elements of a row."""
    element_dtype: str | None
    """The dtype of its elements; None where they are no numbers."""
    length: tuple[int, int]
    """Byte range, in the source, of the expression that says how many elements a row has."""
    is_factor: bool
    """Whether that expression needs no parentheses beside an operator."""
    line: int
    accesses: frozenset[int]
    """Lines that access the array."""


def own_rows(case: Case, view: SourceView, name: str) -> OwnRows:
    """The rows of the kernel's own shared array ``name``, of two or more dimensions.

    Raises UnsupportedError, with the line and the reason, where an access may reach an element in
    another way than by its row and its column.
    """
    kernel = parse_kernel(case)
    declared = own_array(case, kernel, name)
    try:
        return _rows(case, view, kernel, declared)
    except RefusedError as error:
        raise UnsupportedError(
            f"rows of shared array '{name}' cannot be padded: {error.reason} (line {error.line})",
            where=case.filename,
        ) from None


def _rows(case: Case, view: SourceView, kernel: ParsedKernel, declared: Node) -> OwnRows:
    shape = static_shape(declared)
    if declared.type_kind != "CONSTANTARRAY" or len(shape) < 2:
        raise RefusedError("it has not two or more dimensions of fixed size", declared)
    if kernel.errors:
        raise RefusedError("the parser does not understand all of the file", declared)
    length = last_length(kernel, declared, len(shape))
    inputs = bind_parameters(case, view.parameters).inputs
    values = Values(kernel, make_bounder(case.launch, inputs))
    lines = set()
    for node in kernel.body.walk():
        if node.kind != "DECL_REF_EXPR" or node.target != declared.id:
            continue
        access = element_at(node, len(shape))
        if not (is_read(access) or is_assigned(access) or is_updated(kernel, access)):
            raise RefusedError("changed or passed on", node)
        _check_inside(values, access, shape)
        lines.add(node.line)
    element = dtype_of(declared.type.partition("[")[0].strip())
    return OwnRows(
        declared.name,
        shape[-1],
        element,
        length,
        is_factor(kernel, *length),
        declared.line,
        frozenset(lines),
    )


def _check_inside(values: Values, access: Node, shape: tuple[int, ...]) -> None:
    """Raise where an index behind the first may lie beyond its dimension: the access then names an
    element of another row."""
    for index, most in zip(indices_of(access)[1:], shape[1:], strict=True):
        try:
            low, high = span_of(values, index)
        except Unbounded as error:
            raise RefusedError(f"an index of it has no bound: {error}", access) from None
        if low < 0 or high >= most:
            raise RefusedError("an index of it may lie beyond its row", access)
