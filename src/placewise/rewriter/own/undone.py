"""Arrays that the source itself has put into constant or shared memory, back in global memory.

``__constant__ float w[9];`` becomes ``__device__ float w[9];``, which the host fills by the same
call. A shared tile that only copies a piece of an array goes, and its reads read the array.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from placewise.errors import UnsupportedError
from placewise.kernel.cases.bind_names import bind_names
from placewise.kernel.cases.case import Case
from placewise.kernel.source import SourceView
from placewise.kernel.view.indices.symbolic import Poly
from placewise.kernel.view.staging.copies import StagedRead, StagedTile, staged_tile
from placewise.kernel.view.staging.fill import Affine
from placewise.rewriter.draft import Draft, require_cuda
from placewise.rewriter.finish import finish_own
from placewise.rewriter.rewritten import Rewritten
from placewise.rewriter.text import Render, whole_line
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
    return finish_own(draft, Placement.of({name: space}))


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
        draft.text.replace(*whole_line(draft.text.text, start, end), "")
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
