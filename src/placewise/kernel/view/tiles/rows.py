"""An array as rows and columns: every index is proven to be ``row * pitch + column`` with a column
inside its row."""

from __future__ import annotations

from collections.abc import Sequence

from placewise.kernel.source import RowSplit, Split
from placewise.kernel.view.indices.always import Always
from placewise.kernel.view.indices.interval import Unbounded
from placewise.kernel.view.indices.split import IndexSplit, Pitch, pitches, split_index
from placewise.kernel.view.indices.symbolic import Atom, Poly
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.pointer_uses import Access
from placewise.kernel.view.tiles.tile import index_of
from placewise.kernel.view.tiles.tile_axes import Index

_ONE = Poly.constant(1)
_LAUNCH = ("blockDim.", "gridDim.")


def find_rows(values: Values, accesses: Sequence[Access], elements: int) -> RowSplit | str:
    """The array's rows, or why its indices are not known to name rows and columns."""
    lines = ", ".join(str(line) for line in sorted({a.place.line for a in accesses})[:3])
    reason = start = f"no index of rows and columns (line {lines})"
    try:
        indices = [index_of(values, access) for access in accesses]
    except Unbounded as unbounded:
        return f"{start}: {unbounded}"
    for pitch in _pitches([i.poly for i in indices]):
        try:
            found = _rows(values, indices, pitch, elements)
        except Unbounded as unbounded:
            found = f"{start}: {unbounded}"
        if isinstance(found, RowSplit):
            return found
        reason = found or reason
    return reason


def _pitches(indices: Sequence[Poly]) -> list[Pitch]:
    """Numbers of elements that a row may have: what rows of threads are multiplied by, and what
    rows of blocks are."""
    found = {p.poly.key: p for p in pitches(indices)}
    for monomial, coefficient in (term for index in indices for term in index.terms):
        if not any(map(_is_of_block, monomial)):
            continue
        factors = tuple(
            a for a in monomial if not _is_of_block(a) and not a.key.startswith(_LAUNCH)
        )
        pitch = Pitch(Poly.constant(abs(coefficient)), (), abs(coefficient))
        if factors and all(a.uniform for a in factors):
            pitch = Pitch(Poly.of({factors: 1}), factors, 1)
        if factors or abs(coefficient) > 1:
            found.setdefault(pitch.poly.key, pitch)
    return list(found.values())


def _is_of_block(atom: Atom) -> bool:
    """Whether an atom differs from block to block."""
    return any(a.key.startswith("blockIdx.") for a in (atom, *atom.reaches()))


def _rows(
    values: Values, indices: Sequence[Index], pitch: Pitch, elements: int
) -> RowSplit | str | None:
    """The array's rows under one pitch, or what is against them; None where an index is not written
    as rows and columns."""
    bounder = values.bounder
    across = bounder.evaluate(pitch.poly)
    size = int(across.flat[0])
    if (across != size).any() or size <= 0:
        return None
    parts: list[IndexSplit] = []
    for index in indices:
        part = split_index(values, index.access, pitch)
        if part is None:
            return None
        parts.append(part)
    free = True
    for index, part in zip(indices, parts, strict=True):
        last = pitch.poly - _ONE - part.column
        always = Always(pitch.monomial)
        if always.natural(part.column, index.facts) and always.natural(last, index.facts):
            continue
        free = False
        low = bounder.lowest(part.column, index.facts)
        high = bounder.highest(part.column, index.facts)
        if (low < 0).any() or (high >= size).any():
            line = index.access.place.line
            return f"a column may lie outside its row of {pitch.poly.text} (line {line})"
    if elements % size:
        return f"{elements} elements are no whole rows of {pitch.poly.text} = {size}"
    # What was read off the launch holds for it alone.
    rest = sorted(k for k in bounder.values if not k.startswith("blockIdx"))
    splits = tuple(Split(p.row_terms, p.column_terms) for p in parts)
    return RowSplit(size, pitch.poly.text, splits, () if free else tuple(rest))
