"""Arrays that the source itself has put into constant or shared memory, back in global memory.

``__constant__ float w[9];`` becomes ``__device__ float w[9];``, which the host fills by the same
call. A shared tile that only copies a piece of an array goes, and its reads read the array.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from placewise.errors import UnsupportedError
from placewise.kernel.cases.bind_names import bind_names
from placewise.kernel.cases.case import Case
from placewise.kernel.source import SourceView
from placewise.kernel.view.indices.symbolic import Poly
from placewise.kernel.view.staging.copies import StagedRead, StagedTile, staged_tile
from placewise.kernel.view.staging.fill import Affine
from placewise.kernel.view.written_out.struct_members import back_in_structs, with_structs
from placewise.rewriter.draft import Draft, require_cuda
from placewise.rewriter.rewrite import with_line_ends_of
from placewise.rewriter.rewritten import Rewritten
from placewise.rewriter.signature import edit_signature, insert_notes, put_members_back
from placewise.rewriter.text import Render
from placewise.rewriter.tiles import element_text
from placewise.space import Placement

_FACTOR = re.compile(r"\w+(\.\w+)?|int\([^()]+\)")
"""Expressions that need no parentheses beside ``*``."""


def undo(case: Case, view: SourceView, name: str, space: str) -> Rewritten:
    """The case with its ``__constant__`` variable or shared tile ``name`` in global memory, which
    the machine calls ``space``.

    Raises UnsupportedError, with the line and the reason, where the source cannot be written so.
    """
    require_cuda(case)
    draft = Draft.start(bind_names(case, view), view)
    if any(one.name == name for one in view.constants):
        _undo_constant(draft, name, space)
    else:
        _undo_tile(draft, staged_tile(draft.case, view, name), space)
    return finished(draft, Placement.of({name: space}))


def finished(draft: Draft, placement: Placement) -> Rewritten:
    """What the edits of ``draft`` make of its case, in which arrays of its source are placed by
    ``placement``."""
    case = draft.case
    put_members_back(draft)
    edit_signature(draft)
    insert_notes(draft, "Placed by Placewise:")
    source = with_line_ends_of(case.source, draft.text.finish())
    kept = tuple(a for a in case.inputs.arguments if draft.arguments.get(a.name, a) is not None)
    inputs = replace(case.inputs, arguments=kept)
    launch = replace(case.launch, shared_bytes=draft.shared_bytes)
    return Rewritten(
        placement=placement,
        case=with_structs(replace(case, source=source, launch=launch, inputs=inputs), case),
        host=back_in_structs("\n".join(draft.host) + "\n", case),
        edits=tuple(back_in_structs(one, case) for one in draft.edits),
        checks=tuple(draft.checks.items()),
    )


def _undo_constant(draft: Draft, name: str, space: str) -> None:
    one = next(c for c in draft.view.constants if c.name == name)
    if one.obstacle is not None:
        raise UnsupportedError(
            f"'{name}' cannot go back to global memory: {one.obstacle}", where=draft.case.filename
        )
    draft.text.replace(one.start, one.end, "" if one.is_device else "__device__")
    draft.notes.append(f"{name}: {space} (__device__)")
    draft.edits.append(f"{name}: __constant__ becomes __device__ (line {one.line})")
    draft.host.append(f"// {name}: filled by cudaMemcpyToSymbol, as before")


def _undo_tile(draft: Draft, tile: StagedTile, space: str) -> None:
    _check_alone(draft.case, tile)
    for start, end in (tile.declaration, tile.fill, *tile.barriers):
        draft.text.replace(*_whole_line(draft.text.text, start, end), "")
    element = element_text(draft, draft.view.array(tile.array))
    for read in tile.reads:
        draft.text.replace(read.start, read.end, _direct(tile, read, element))
    draft.notes.append(f"{tile.name}: {space} (its reads read {tile.array})")
    draft.edits.append(
        f"{tile.name}: the shared copy goes (line {tile.line}); {len(tile.reads)} reads go to "
        f"{tile.array}"
    )
    draft.host.append(f"// {tile.name}: the launch stays as it is")


def _check_alone(case: Case, tile: StagedTile) -> None:
    """Raise UnsupportedError where another argument points into the array: the kernel may change
    through it what the tile has copied before."""
    for holder, pointer in case.inputs.pointers:
        if tile.array in (holder, pointer.array):
            raise UnsupportedError(
                f"shared array '{tile.name}' cannot go back to global memory: '{holder}' and "
                f"'{pointer.array}' share memory",
                where=case.filename,
            )


def _direct(tile: StagedTile, read: StagedRead, element_type: str) -> Callable[[Render], str]:
    def make(render: Render) -> str:
        indices = [render(*place) for place in read.indices]
        element = f"{tile.array}[{_sum_text(tile.element, indices)}]"
        # As signed numbers: one below zero must not become a large unsigned one.
        signed = [f"int({index})" for index in indices]
        guards = [f"{_sum_text(tile.guards[n], signed)} >= 0" for n in read.unproven]
        if not guards:
            return element
        return f"({' && '.join(guards)} ? {element} : ({element_type}){tile.otherwise})"

    return make


def _sum_text(value: Affine, indices: Sequence[str]) -> str:
    """A sum of a first number and multiples of a tile's indices, in C++."""
    text = "" if value.first == Poly() else value.first.text
    steps = [(s, i) for s, i in zip(value.strides, indices, strict=True) if s != Poly()]
    if not text and len(steps) == 1 and steps[0][0].value == 1:
        return steps[0][1]
    for stride, index in steps:
        is_minus = all(number < 0 for _, number in stride.terms)
        factor = (-stride if is_minus else stride).text
        term = _factor(index) if factor == "1" else f"{_factor(factor)} * {_factor(index)}"
        sign = "-" if is_minus else "+"
        text = f"{text} {sign} {term}" if text else f"-{term}" if is_minus else term
    return text or "0"


def _factor(text: str) -> str:
    return text if _FACTOR.fullmatch(text) else f"({text})"


def _whole_line(text: bytes, start: int, end: int) -> tuple[int, int]:
    """A statement with its line, where it stands there alone."""
    line = text.rfind(b"\n", 0, start) + 1
    behind = text.find(b"\n", end)
    alone = not text[line:start].strip() and behind >= 0 and not text[end:behind].strip()
    return (line, behind + 1) if alone else (start, end)
