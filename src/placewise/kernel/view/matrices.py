"""Arrays that the source indexes as matrices, with row and column of every access."""

from __future__ import annotations

from collections.abc import Sequence

from placewise.kernel.cases.bind_names import bind_parameters
from placewise.kernel.cases.case import Case
from placewise.kernel.launch import ArrayArgument, Inputs
from placewise.kernel.matrix_arrays import MatrixArray
from placewise.kernel.source import Parameter, Split
from placewise.kernel.view.analyse import line_left_out, parameter_of
from placewise.kernel.view.indices.interval import Bounder, Facts, Unbounded, keys_of
from placewise.kernel.view.indices.split import IndexSplit, Pitch, pitches, split_index
from placewise.kernel.view.indices.symbolic import Poly
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.pointer_uses import Uses
from placewise.kernel.view.pointers import PER_BLOCK, follow
from placewise.kernel.view.tiles.tile import index_of, make_bounder
from placewise.kernel.view.tiles.tile_axes import Index, has_wide_index, named_dependence
from placewise.kernel.view.tree.clang import parse_kernel
from placewise.kernel.view.tree.places import declares

_ONE = Poly.constant(1)


def find_matrices(case: Case) -> tuple[MatrixArray, ...]:
    """The arrays of ``case`` that its kernel only indexes as matrices, once for each number of
    columns that the indices show.

    Raises UnsupportedError where the kernel's definition cannot be found, CaseError where the
    arguments do not fit its parameters.
    """
    kernel = parse_kernel(case)
    if kernel.redeclared is not None or kernel.unread_line is not None:
        return ()
    parameters = tuple(parameter_of(p) for p in kernel.parameters)
    inputs = bind_parameters(case, parameters).inputs
    values = Values(kernel, make_bounder(case.launch, inputs))
    found: list[MatrixArray] = []
    for node, parameter in zip(kernel.parameters, parameters, strict=True):
        elements = _elements(inputs, parameter)
        written = kernel.text[max(0, parameter.start) : parameter.end]
        if not parameter.is_pointer or not elements or not declares(written, parameter.name):
            continue
        uses = follow(kernel, node)
        blocked = any(way in uses.obstacles for way in PER_BLOCK)
        if uses.accesses and not blocked and line_left_out(kernel, parameter.name) is None:
            found += _matrices(values, uses, parameter, elements)
    return tuple(found)


def _elements(inputs: Inputs, parameter: Parameter) -> int:
    """Elements of the parameter's array; 0 where it is none, or where pointers lead into it or lie
    in it."""
    argument = next((a for a in inputs.arguments if a.name == parameter.name), None)
    if not isinstance(argument, ArrayArgument) or argument.pointers or not parameter.element_bytes:
        return 0
    if any(pointer.array == parameter.name for _, pointer in inputs.pointers):
        return 0
    elements, rest = divmod(argument.data.nbytes, parameter.element_bytes)
    return 0 if rest else elements


def _matrices(values: Values, uses: Uses, parameter: Parameter, elements: int) -> list[MatrixArray]:
    try:
        indices = [index_of(values, a) for a in uses.accesses]
    except Unbounded:
        return []
    found = []
    for pitch in pitches([i.poly for i in indices]):
        try:
            made = _matrix(values, parameter, indices, pitch, elements)
        except Unbounded:
            continue
        if made is not None:
            found.append(made)
    return found


def _matrix(
    values: Values, parameter: Parameter, indices: Sequence[Index], pitch: Pitch,
    elements: int,
) -> MatrixArray | None:  # fmt: skip
    """The array as a matrix of ``pitch`` columns; None where it is none. Raises Unbounded where an
    index has no bound."""
    across = values.bounder.evaluate(pitch.poly)
    columns = int(across.flat[0])
    if (across != columns).any() or columns < 2 or elements % columns or elements == columns:
        return None
    values.bounder.assumed.clear()
    splits: list[IndexSplit] = []
    needed: set[str] = set()
    for index in indices:
        found = _split(values, index, pitch)
        if found is None:
            return None
        splits.append(found[0])
        needed |= found[1]
    return MatrixArray(
        parameter=parameter,
        rows=elements // columns,
        columns=columns,
        columns_text=pitch.poly.text,
        accesses=tuple(i.access.place for i in indices),
        splits=tuple(Split(s.row_terms, s.column_terms) for s in splits),
        bound_to=named_dependence(values.bounder, needed | values.bounder.assumed),
        wide=has_wide_index(indices),
    )


def _split(values: Values, index: Index, pitch: Pitch) -> tuple[IndexSplit, set[str]] | None:
    """Row and column of an access whose column stays in its row, and what that rests on; None
    where there is none. Raises Unbounded where the column has no bound."""
    for whole_rows in (True, False):
        split = split_index(values, index.access, pitch, whole_rows=whole_rows)
        if split is not None:
            needed = _column_rests_on(values.bounder, split.column, index.facts, pitch.poly)
            if needed is not None:
                return split, needed
    return None


def _column_rests_on(bounder: Bounder, column: Poly, facts: Facts, pitch: Poly) -> set[str] | None:
    """What decides that a column lies in [0, pitch), the source's conditions apart; None where it
    does not. Raises Unbounded where it has no bound."""
    needed: set[str] = set()
    for upper in (False, True):
        reasons: list[set[str]] = []
        for bound in bounder.bounds(column, upper, facts):
            slack = pitch - _ONE - bound if upper else bound
            if (bounder.evaluate(slack) >= 0).all():
                # The first column is there whatever the pitch.
                reasons.append(set() if slack == pitch - _ONE else keys_of(slack))
        if not reasons:
            return None
        needed |= min(reasons, key=len)
    return needed
