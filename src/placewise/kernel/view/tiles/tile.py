"""The piece of an array that a block touches, from the values of its index expressions.

One dimension: from the smallest to the largest index. Two: an index ``row * pitch + column`` whose
pitch is the same for all threads; rows and columns are bounded separately. Both may hold more than
is touched; what lies outside the array is skipped when a tile is filled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from placewise.kernel.launch import Argument, Inputs, Launch, ScalarArgument
from placewise.kernel.source import Split, Tile
from placewise.kernel.view.indices.conditions import facts_at
from placewise.kernel.view.indices.interval import Bounder, Facts, Numbers, Unbounded
from placewise.kernel.view.indices.split import Pitch, pitches, split_index
from placewise.kernel.view.indices.symbolic import Poly
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.pointer_uses import Access
from placewise.kernel.view.tiles.tile_axes import (
    GRID,
    Index,
    axis_of,
    extent_of,
    follows_lanes,
    has_wide_index,
    named_dependence,
)
from placewise.kernel.view.tiles.written_whole import is_written_whole

WHOLE_BYTES = 227 * 1024
"""Largest array taken as a whole: shared memory of a block on compute capability 9.0 and 10.0, the
most there is (CUDA C++ Programming Guide, Technical Specifications). The machine in question may
have less."""
_BLOCKS = 1 << 24
"""Blocks up to which tiles are compared one by one to see whether they are disjoint."""
_INT = 1 << 31
"""Indices in emitted code are of type int."""
_WHOLE_INDEX = re.compile(rb"\bblockIdx\b(?!\s*\.)|\bcooperative_groups\b|\basm\b")
"""The block's index as a whole, all of its dimensions at once, or by other names."""


@dataclass(frozen=True)
class TileResult:
    """A tile, or why there is none."""

    tile: Tile | None
    obstacle: str | None


def make_bounder(launch: Launch, inputs: Inputs) -> Bounder:
    """Values of what is the same in a block, for all blocks of the launch."""
    values: dict[str, Numbers] = {}
    for axis, name in enumerate("xyz"):
        shape = [1, 1, 1]
        shape[2 - axis] = launch.grid[axis]
        values[f"blockIdx.{name}"] = np.arange(launch.grid[axis], dtype=np.int64).reshape(shape)
        values[f"blockDim.{name}"] = np.full((1, 1, 1), launch.block[axis], np.int64)
        values[f"gridDim.{name}"] = np.full((1, 1, 1), launch.grid[axis], np.int64)
    for argument in inputs.arguments:
        for name, number in whole_numbers(argument).items():
            values[name] = np.full((1, 1, 1), number, np.int64)
    return Bounder(values)


def whole_numbers(argument: Argument) -> dict[str, int]:
    """The whole number that an argument is, by its name, or those in a structure that is passed by
    value, by ``parameter.member``. Pointers are none."""
    if not isinstance(argument, ScalarArgument):
        return {}
    pointers = {pointer.at for pointer in argument.pointers}
    if argument.value.dtype.kind in "iub":
        return {} if pointers else {argument.name: int(argument.value.item())}
    found: dict[str, int] = {}
    record = np.asarray(argument.value)
    for name, (dtype, offset, *_) in (record.dtype.fields or {}).items():
        if dtype.kind in "iub" and not dtype.shape and offset not in pointers:
            found[f"{argument.name}.{name}"] = int(record[name].item())
    return found


def find_tile(
    values: Values, accesses: Sequence[Access],
    elements: int, element_bytes: int, launch: Launch, *, written: bool, merge: str = "",
) -> TileResult:  # fmt: skip
    """The smallest tile that holds all elements a block accesses.

    A whole array where no index can be bounded, or where it is no larger than its tile. With
    ``merge``, the atomic function of all accesses, blocks may share elements: each has a copy of
    its own, and these are merged. Where nothing else is found, remainders are bounded as in this
    launch, and the tile is for this launch alone.
    """

    def smallest(values: Values) -> TileResult:
        return _smallest(
            values, accesses, elements, element_bytes, launch, written=written, merge=merge
        )

    found = smallest(values)
    if found.tile is None and has_remainder(values, accesses):
        closer = smallest(values.of_this_launch())
        if closer.tile is not None:
            return replace(closer, tile=for_this_launch(values, closer.tile))
    return found


def has_remainder(values: Values, accesses: Sequence[Access]) -> bool:
    """Whether the index of an access has the remainder of a number that varies in a block."""
    atoms = {
        a
        for access in accesses
        for atom in index_of(values, access).poly.atoms
        for a in (atom, *atom.reaches())
    }
    return any(a.operator == "%" and not a.uniform for a in atoms)


def for_this_launch(values: Values, tile: Tile) -> Tile:
    """``tile`` for this launch alone."""
    return replace(tile, bound_to=named_dependence(values.bounder, {"blockIdx.x"}))


def _smallest(
    values: Values, accesses: Sequence[Access],
    elements: int, element_bytes: int, launch: Launch, *, written: bool, merge: str,
) -> TileResult:  # fmt: skip
    """The smallest tile, with bounds as ``values`` have them, or why there is none."""
    whole = _whole(elements, launch) if elements * element_bytes <= WHOLE_BYTES else None
    try:
        indices = [index_of(values, a) for a in accesses]
        tiles = tiles_of(values, indices, elements, launch)
    except Unbounded as unbounded:
        if whole is not None and (whole.disjoint or not written or merge):
            # Nothing tells which elements a block writes, so there must be no other block.
            alone = GRID if written and not merge else ()
            return TileResult(replace(whole, merge=merge, bound_to=alone), None)
        lines = ", ".join(str(line) for line in sorted({a.place.line for a in accesses})[:3])
        what = f"the index has no bound per block (line {lines}): {unbounded}"
        return TileResult(None, what)
    if whole is not None:
        # A tile as large as the array is better than the whole array where it rests on nothing.
        free = [t for t in tiles if t.elements == elements and t.inside and not t.bound_to]
        tiles = [t for t in tiles if t.elements < elements] + free + [whole]
    if merge:
        tiles = [replace(t, merge=merge) for t in tiles]
    elif written:
        usable = [t for t in tiles if t.disjoint and (t.rows == 1 or t.within_rows)]
        if not usable:
            return TileResult(
                None, "written, and the tiles of blocks overlap: none can be copied back"
            )
        tiles = usable
    best = min(tiles, key=lambda t: (t.elements, t.whole, t.rows))
    if best.bytes(element_bytes) > WHOLE_BYTES:
        return TileResult(
            None,
            f"a block touches {best.elements} elements, {best.bytes(element_bytes)} bytes: more "
            "than the shared memory of any GPU",
        )
    if any(a.place.kind != "store" for a in accesses):
        best = replace(best, written_whole=False)
    if written and not merge:
        bound_to = {*best.bound_to, *_single_blocks(values, launch)}
        best = replace(best, bound_to=tuple(sorted(bound_to)))
    return TileResult(best, None)


def _single_blocks(values: Values, launch: Launch) -> tuple[str, ...]:
    """Dimensions of the grid along which the launch has one block and the kernel tells blocks
    apart: nothing says that the tiles of several would share no element."""
    text = values.kernel.text
    is_whole = _WHOLE_INDEX.search(text) is not None
    return tuple(
        f"gridDim.{axis}"
        for axis, blocks in zip("xyz", launch.grid, strict=True)
        if blocks == 1 and (is_whole or f"blockIdx.{axis}".encode() in text)
    )


def _whole(elements: int, launch: Launch) -> Tile:
    return Tile(
        whole=True,
        rows=1,
        width=elements,
        pitch=0,
        elements=elements,
        row0_text="0",
        column0_text="0",
        pitch_text="0",
        disjoint=launch.blocks == 1,
    )


def index_of(values: Values, access: Access) -> Index:
    """The index of an access as a polynomial, with what holds around it."""
    total = values.value(access.pointer)
    for term in access.terms:
        value = values.value(term.node)
        total = total + value if term.sign > 0 else total - value
    return Index(access, total, facts_at(access.node, values))


def tiles_of(
    values: Values,
    indices: Sequence[Index],
    elements: int,
    launch: Launch,
) -> list[Tile]:
    """One-dimensional tile, and a two-dimensional one for every pitch that the indices have.

    Raises Unbounded where there is none.
    """
    found: list[Tile] = []
    reason: Unbounded | None = None
    try:
        found.append(_flat(values, indices, launch, elements))
    except Unbounded as unbounded:
        reason = unbounded
    for pitch in pitches([i.poly for i in indices]):
        try:
            tile = _pitched(values, indices, pitch, launch, elements)
        except Unbounded:
            continue
        if tile is not None and tile.rows > 1:
            found.append(tile)
    if not found:
        raise reason or Unbounded("no index")
    return found


def _flat(values: Values, indices: Sequence[Index], launch: Launch, elements: int) -> Tile:
    """The tile of one dimension: from the least index to the greatest."""
    bounder = values.bounder
    bounder.assumed.clear()
    parts = [(i.poly, i.facts) for i in indices]
    begin, width = _range(bounder, parts)
    start = _check_int(bounder.evaluate(begin))
    axis = axis_of(bounder, parts, begin, width)
    low, high = axis.kept(bounder)
    return Tile(
        whole=False,
        rows=1,
        width=width,
        pitch=0,
        elements=width,
        row0_text="0",
        column0_text=begin.text,
        pitch_text="0",
        disjoint=_disjoint(launch, (start, min(width, elements), elements)),
        column_extent=axis.extent,
        inside=bool(((low >= 0) & (high < elements) | (low > high)).all()),
        bound_to=_bound_to(bounder, axis.bound_to),
        written_whole=axis.exact and is_written_whole(values, indices, launch, lambda i: (i.poly,)),
        wide=has_wide_index(indices),
    )


# Long for the fields of the tile, one on each line.
def _pitched(
    values: Values,
    indices: Sequence[Index],
    pitch: Pitch,
    launch: Launch,
    elements: int,
) -> Tile | None:
    """The tile of rows that lie ``pitch`` apart; None where the text shows no rows and columns."""
    splits = [split_index(values, i.access, pitch) for i in indices]
    parts = [s for s in splits if s is not None]
    if len(parts) < len(splits):
        return None
    bounder = values.bounder
    bounder.assumed.clear()
    facts = [i.facts for i in indices]
    in_rows = [(p.row, f) for p, f in zip(parts, facts, strict=True)]
    in_columns = [(p.column, f) for p, f in zip(parts, facts, strict=True)]
    row0, rows = _range(bounder, in_rows)
    column0, width = _range(bounder, in_columns)
    across = bounder.evaluate(pitch.poly)
    if (across != across.flat[0]).any() or across.flat[0] <= 0:
        return None
    size = int(across.flat[0])
    first_row = _check_int(bounder.evaluate(row0))
    first_column = _check_int(bounder.evaluate(column0))
    inside = all(
        (bounder.lowest(p.column, f) >= 0).all() and (bounder.highest(p.column, f) < size).all()
        for p, f in zip(parts, facts, strict=True)
    )
    last_row = -(-elements // size)
    row_axis = axis_of(bounder, in_rows, row0, rows)
    column_axis = axis_of(bounder, in_columns, column0, width)
    (low_row, high_row), (low, high) = row_axis.kept(bounder), column_axis.kept(bounder)
    lowers, uppers = _bounds_of_index(indices)
    first, last = low_row * size + low, high_row * size + high
    for lower in lowers:
        first = np.maximum(first, bounder.evaluate(lower))
    for upper in uppers:
        last = np.minimum(last, bounder.evaluate(upper))
    nothing = (low_row > high_row) | (low > high) | (first > last)
    in_array = (first >= 0) & (last < elements)
    by_access = dict(zip((id(i) for i in indices), parts, strict=True))
    lanes_down = any(follows_lanes(p.row) for p in parts)
    return Tile(
        whole=False,
        rows=rows,
        width=width,
        pitch=size,
        elements=rows * width,
        row0_text=row0.text,
        column0_text=column0.text,
        pitch_text=pitch.poly.text,
        disjoint=inside
        and _disjoint(launch, (first_row, rows, last_row), (first_column, width, size)),
        within_rows=inside,
        splits=tuple(Split(p.row_terms, p.column_terms) for p in parts),
        row_extent=row_axis.extent,
        column_extent=column_axis.extent,
        index_extent=extent_of(lowers, uppers),
        inside=bool((nothing | in_array).all()),
        bound_to=_bound_to(bounder, (*row_axis.bound_to, *column_axis.bound_to)),
        lanes_down=lanes_down,
        # A column whose stride is even has its lanes meet in half of the banks, or fewer.
        padding=1 if lanes_down and width % 2 == 0 else 0,
        written_whole=row_axis.exact
        and column_axis.exact
        and is_written_whole(
            values, indices, launch, lambda i: (by_access[id(i)].row, by_access[id(i)].column)
        ),
        wide=has_wide_index(indices),
    )


def _bounds_of_index(indices: Sequence[Index]) -> tuple[tuple[Poly, ...], tuple[Poly, ...]]:
    """(lower bounds, upper bounds) that conditions set to the index of every access."""
    lowers = [{p for f in i.facts.inequalities if (p := i.poly - f).uniform} for i in indices]
    uppers = [{p for f in i.facts.inequalities if (p := i.poly + f).uniform} for i in indices]

    def common(sides: list[set[Poly]]) -> tuple[Poly, ...]:
        return tuple(sorted(set.intersection(*sides), key=lambda p: p.text))

    return common(lowers), common(uppers)


def _bound_to(bounder: Bounder, sizes: tuple[str, ...]) -> tuple[str, ...]:
    """What a tile rests on: what its size does, and what was read off the launch for its bounds."""
    return tuple(sorted({*sizes, *named_dependence(bounder, set(bounder.assumed))}))


def _range(bounder: Bounder, parts: Sequence[tuple[Poly, Facts]]) -> tuple[Poly, int]:
    """(lower bound of all, largest width over the blocks). Of several lower bounds the one that
    makes the narrowest tile is taken, then the shortest text."""
    highest = bounder.highest(*parts[0])
    for poly, facts in parts[1:]:
        highest = np.maximum(highest, bounder.highest(poly, facts))
    picked = []
    for poly, _ in parts:
        lower = bounder.bounds(poly, upper=False)
        picked.append(min(lower, key=lambda b: (_width(bounder, b, highest), len(b.text))))
    begin = bounder.least(picked)
    return begin, max(1, _width(bounder, begin, highest))


def _width(bounder: Bounder, begin: Poly, highest: Numbers) -> int:
    return int((highest - bounder.evaluate(begin)).max()) + 1


def _check_int(numbers: Numbers) -> Numbers:
    if numbers.min() < -_INT or numbers.max() >= _INT:
        raise Unbounded("it does not fit 32 bits")
    return numbers


def _disjoint(launch: Launch, *axes: tuple[Numbers, int, int]) -> bool:
    """Whether boxes of equal size, one per block, have no element in common within the array.

    Each axis gives (starts per block, size, end of the array along it).
    """
    if launch.blocks == 1:
        return True
    if launch.blocks > _BLOCKS or any(starts.ndim > 3 for starts, _, _ in axes):
        # Too many, or starts that move with the chunks of a loop.
        return False
    shape = launch.grid[::-1]
    starts = [np.broadcast_to(s, shape).reshape(-1) for s, _, _ in axes]
    # Blocks wholly outside the array touch nothing.
    inside = np.ones(launch.blocks, bool)
    for start, (_, size, end) in zip(starts, axes, strict=True):
        inside &= (start < end) & (start + size > 0)
    boxes = np.unique(np.stack([s[inside] for s in starts], axis=1), axis=0)
    if len(boxes) < np.count_nonzero(inside):
        return False
    # Where every start along an axis is a multiple of a size from the first, boxes are cells.
    for axis, (_, size, _) in enumerate(axes):
        distinct = np.unique(boxes[:, axis])
        if (np.diff(distinct) < size).any():
            return False
    return True
