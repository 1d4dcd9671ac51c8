"""Rewrite an array as a buffer of the block, filled in the kernel (way ``kernel_buffer``).

``A[i]`` becomes ``A_tile[i - A_begin]``.

The threads of a block fill the tiles together before the body, and copy written ones back after it.
Tiles are static shared arrays, so that launches need not change. Tiles that together exceed the
limit of static arrays share one dynamic buffer, after the dynamic shared memory that the kernel
uses already.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from placewise.errors import UnsupportedError
from placewise.kernel.chunks import STATIC_SHARED_BYTES
from placewise.kernel.source import AccessPlace, ArrayUse, Tile
from placewise.rewriter.draft import Draft, index_text, pointers_to_offsets
from placewise.rewriter.host import launches_itself
from placewise.rewriter.text import Render
from placewise.rewriter.tiles import (
    ALIGNMENT,
    PlacedTile,
    TileNames,
    check_tile_size,
    clear,
    constant,
    copy_back,
    declare,
    element_text,
    fill_by_element,
    merge,
    shape_text,
    summand,
    tile_access,
)
from placewise.space import MemorySpace

DECLARATION = "__shared__"


def place_kernel_buffers(
    draft: Draft, arrays: list[tuple[ArrayUse, MemorySpace]], names: TileNames | None
) -> None:
    """Give every array a tile: declare it, fill it, redirect accesses to it, and copy it back if
    written."""
    if not arrays:
        return
    assert names is not None, "tiles are numbered by the threads of the block"
    sizes = [tile_of(use).bytes(use.parameter.element_bytes) for use, _ in arrays]
    dynamic = draft.static_bytes + sum(sizes) > STATIC_SHARED_BYTES
    if dynamic:
        _declare_buffer(draft, arrays)
    placed = [_place(draft, use, space, names, dynamic=dynamic) for use, space in arrays]
    filled = [p for p in placed if not p.tile.written_whole]
    for one in filled:
        draft.entry += clear(one) if one.tile.merge else fill_by_element(one)
    if filled:
        draft.entry.append("__syncthreads();")
    written = [one for one in placed if one.use.written]
    if written:
        draft.exit.append("__syncthreads();")
    for one in written:
        draft.exit += merge(one) if one.tile.merge else copy_back(one)
    draft.host.append(
        f"// tiles: {sum(sizes)} bytes of shared memory per block, for this block and arguments"
    )


def tile_of(use: ArrayUse) -> Tile:
    """The array's tile; it is an error to ask for an array without one."""
    assert use.tile is not None, "an array without a tile is refused before"
    return use.tile


def _declare_buffer(draft: Draft, arrays: list[tuple[ArrayUse, MemorySpace]]) -> None:
    """Declare one dynamic buffer for all tiles. Raises UnsupportedError where the file launches the
    kernel itself, since these launches do not ask for the memory."""
    if launches_itself(draft.case):
        raise UnsupportedError(
            f"the tiles take more than {STATIC_SHARED_BYTES // 1024} KB of shared memory: a launch "
            "must ask for so much, and the launches in this file do not ask",
            where=draft.case.filename,
            hint="a file with the kernel alone gets the tiles and the host code that asks for them",
        )
    declaration = arrays[0][1].declaration or DECLARATION
    draft.buffer = draft.unique("block_tiles")
    draft.entry.append(
        f"extern {declaration} __align__({ALIGNMENT}) unsigned char {draft.buffer}[];"
    )


def _place(
    draft: Draft, use: ArrayUse, space: MemorySpace, names: TileNames, *, dynamic: bool
) -> PlacedTile:
    """Give an array a tile, static or in the dynamic buffer, and redirect its accesses to it."""
    tile = tile_of(use)
    name = draft.unique(f"{use.name}_tile")
    if dynamic:
        element = element_text(draft, use)
        offset = -(-draft.shared_bytes // ALIGNMENT) * ALIGNMENT
        draft.shared_bytes = offset + tile.bytes(use.parameter.element_bytes)
        draft.entry.append(
            f"{element} *{name} = reinterpret_cast<{element} *>({draft.buffer} + {offset});"
        )
    else:
        declare(draft, use, tile, space.declaration or DECLARATION, name)
    placed = placed_tile(draft, use, tile, name, names)
    if tile.splits:
        for alias in use.aliases:
            draft.text.replace(alias.start, alias.end, "")
        for place, split in zip(use.accesses, tile.splits, strict=True):
            draft.replace_access(place, tile_access(placed, split))
    else:
        offsets = pointers_to_offsets(draft, use)
        for place in use.accesses:
            draft.replace_access(place, flat_access(placed, place, offsets))
    what = "a copy" if tile.merge else "the whole array" if tile.whole else "a tile"
    shape = shape_text(tile)
    # Nothing in the kernel tells how long such an array is.
    exactly = f"; the array has exactly {use.elements}" if tile.whole else ""
    draft.notes.append(f"{use.name}: {space.name} ({what} of {shape} elements per block{exactly})")
    back = f", merged by {tile.merge}" if tile.merge else ", copied back" if use.written else ""
    draft.edits.append(
        f"{use.name}: {what} of {shape} elements per block in {name}{back}; "
        f"{len(use.accesses)} accesses go there"
    )
    return placed


def placed_tile(draft: Draft, use: ArrayUse, tile: Tile, name: str, names: TileNames) -> PlacedTile:
    """An array's tile, declared as ``name``. Declares where in the array it begins, and makes the
    kernel check what its size rests on."""
    check_tile_size(draft, tile)
    row0 = _declare_start(draft, f"{use.name}_row", tile.row0_text) if tile.rows > 1 else None
    first = f"{use.name}_column" if tile.rows > 1 else f"{use.name}_begin"
    column0 = _declare_start(draft, first, tile.column0_text)
    return PlacedTile(use, tile, name, row0, column0, prod(draft.case.launch.block), names)


def _declare_start(draft: Draft, name: str, text: str) -> str | None:
    """Declare a variable with the tile's first row or column. Returns its name; None where that is
    0."""
    return None if text == "0" else constant(draft, "int", name, text)


def flat_access(
    placed: PlacedTile, place: AccessPlace, offsets: frozenset[str]
) -> Callable[[Render], str]:
    """The text of one access to a tile of one row. The names in ``offsets`` are pointers that have
    become offsets."""

    def make(render: Render) -> str:
        index = index_text(place, offsets, render)
        if placed.column0 is None:
            return f"{placed.name}[{index}]"
        if place.pointer not in offsets:
            index = summand(place.terms, render)
        return f"{placed.name}[{index} - {placed.column0}]"

    return make
