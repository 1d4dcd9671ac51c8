"""Rewrite an array as a buffer of the block, filled in the kernel (way ``kernel_buffer``).

``A[i]`` becomes ``A_tile[i - A_begin]``.

All tiles share one dynamic shared buffer, behind what the kernel uses of it already. The threads
of a block fill the tiles together before the body, and copy written ones back behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from placewise.kernel.source import AccessPlace, ArrayUse, Split, Term, Tile
from placewise.rewriter.draft import Draft, index_text, pointers_to_offsets, sum_text, term_text
from placewise.rewriter.text import Render
from placewise.space import MemorySpace

_DECLARATION = "__shared__"
_ALIGNMENT = 16
"""Bytes; the largest alignment of CUDA's built-in types."""


@dataclass(frozen=True)
class _Names:
    """Identifiers that the tiles need in the kernel."""

    buffer: str
    thread: str
    threads: str
    element: str
    at: str


@dataclass(frozen=True)
class _Placed:
    """One array's tile in the kernel."""

    use: ArrayUse
    tile: Tile
    name: str
    row0: str | None
    """Variable that holds the tile's first row; None where that is 0."""
    column0: str | None


def place_kernel_buffers(draft: Draft, arrays: list[tuple[ArrayUse, MemorySpace]]) -> None:
    """Give every array its tile: declared, filled, accessed, copied back if written."""
    if not arrays:
        return
    declaration = arrays[0][1].declaration or _DECLARATION
    names = _Names(
        *(draft.unique(n) for n in ("block_tiles", "tile_thread", "tile_threads", "t", "at"))
    )
    draft.entry += [
        f"extern {declaration} __align__({_ALIGNMENT}) unsigned char {names.buffer}[];",
        *_thread_lines(draft, names),
    ]
    placed = [_place(draft, use, space, names) for use, space in arrays]
    for one in placed:
        draft.entry += _copy(one, names, back=False)
    draft.entry.append("__syncthreads();")
    written = [one for one in placed if one.use.written]
    if written:
        draft.exit.append("__syncthreads();")
    for one in written:
        draft.exit += _copy(one, names, back=True)
    total = sum(one.tile.bytes(one.use.parameter.element_bytes) for one in placed)
    draft.host.append(
        f"// tiles: {total} bytes of shared memory per block, for this grid, block and arguments"
    )


def _thread_lines(draft: Draft, names: _Names) -> list[str]:
    _, y, z = draft.case.launch.block
    if (y, z) == (1, 1):
        thread, threads = "threadIdx.x", "blockDim.x"
    elif z == 1:
        thread = "threadIdx.x + blockDim.x * threadIdx.y"
        threads = "blockDim.x * blockDim.y"
    else:
        thread = "threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)"
        threads = "blockDim.x * blockDim.y * blockDim.z"
    return [f"const int {names.thread} = {thread};", f"const int {names.threads} = {threads};"]


def _place(draft: Draft, use: ArrayUse, space: MemorySpace, names: _Names) -> _Placed:
    tile = use.tile
    assert tile is not None, "an array without a tile is refused before"
    element = use.parameter.element_type
    offset = -(-draft.shared_bytes // _ALIGNMENT) * _ALIGNMENT
    draft.shared_bytes = offset + tile.bytes(use.parameter.element_bytes)
    name = draft.unique(f"{use.name}_tile")
    draft.entry.append(
        f"{element} *{name} = reinterpret_cast<{element} *>({names.buffer} + {offset});"
    )
    row0 = _first(draft, f"{use.name}_row", tile.row0_text) if tile.rows > 1 else None
    first = f"{use.name}_column" if tile.rows > 1 else f"{use.name}_begin"
    placed = _Placed(use, tile, name, row0, _first(draft, first, tile.column0_text))
    if tile.splits:
        for alias in use.aliases:
            draft.text.replace(alias.start, alias.end, "")
        for place, split in zip(use.accesses, tile.splits, strict=True):
            draft.replace_access(place, _pitched(placed, split))
    else:
        offsets = pointers_to_offsets(draft, use)
        for place in use.accesses:
            draft.replace_access(place, _flat(placed, place, offsets))
    shape = f"{tile.rows} x {tile.width}" if tile.rows > 1 else f"{tile.width}"
    what = "the whole array" if tile.whole else "a tile"
    draft.notes.append(f"{use.name}: {space.name} ({what} of {shape} elements per block)")
    back = ", copied back" if use.written else ""
    draft.edits.append(
        f"{use.name}: {what} of {shape} elements per block in {name}{back}; "
        f"{len(use.accesses)} accesses go there"
    )
    return placed


def _first(draft: Draft, name: str, text: str) -> str | None:
    """Declare where the tile starts; None where that is 0."""
    if text == "0":
        return None
    name = draft.unique(name)
    draft.entry.append(f"const int {name} = {text};")
    return name


def _flat(placed: _Placed, place: AccessPlace, offsets: frozenset[str]) -> Callable[[Render], str]:
    def make(render: Render) -> str:
        index = index_text(place, offsets, render)
        if placed.column0 is None:
            return f"{placed.name}[{index}]"
        if place.pointer not in offsets:
            index = _summand(place.terms, render)
        return f"{placed.name}[{index} - {placed.column0}]"

    return make


def _pitched(placed: _Placed, split: Split) -> Callable[[Render], str]:
    def make(render: Render) -> str:
        row = _less(split.row, placed.row0, render, factor=True)
        column = _less(split.column, placed.column0, render, factor=False)
        return f"{placed.name}[{row} * {placed.tile.width} + {column}]"

    return make


def _less(terms: tuple[Term, ...], first: str | None, render: Render, *, factor: bool) -> str:
    """``(terms - first)``, without the parentheses where the place does not need them."""
    if first is None and len(terms) == 1 and terms[0].sign > 0:
        text = term_text(terms[0], render)
        return f"({text})" if factor and terms[0].loose and not terms[0].very_loose else text
    text = _summand(terms, render)
    return f"({text} - {first})" if first is not None else f"({text})"


def _summand(terms: tuple[Term, ...], render: Render) -> str:
    """The sum, such that ``- x`` may follow."""
    if len(terms) == 1 and terms[0].sign > 0:
        return term_text(terms[0], render)
    return sum_text(None, terms, render)


def _copy(placed: _Placed, names: _Names, *, back: bool) -> list[str]:
    """The loop that fills a tile, or copies it back: consecutive threads take consecutive
    elements, those outside the array are left out."""
    use, tile, t = placed.use, placed.tile, names.element
    lines = [f"for (int {t} = {names.thread}; {t} < {tile.elements}; {t} += {names.threads}) {{"]
    conditions: list[str] = []
    at = t
    if not tile.whole:
        at = names.at
        lines.append(f"    const long long {at} = {_position(placed, t)};")
        conditions = [f"{at} >= 0 && {at} < {use.elements}"]
    if tile.rows > 1 and back:
        column = _plus(placed.column0, f"{t} % {tile.width}")
        conditions.append(f"{column} >= 0 && {column} < {tile.pitch_text}")
    array, buffer = f"{use.name}[{at}]", f"{placed.name}[{t}]"
    move = f"{array} = {buffer};" if back else f"{buffer} = {array};"
    if conditions:
        lines += [f"    if ({' && '.join(conditions)})", f"        {move}"]
    else:
        lines.append(f"    {move}")
    return [*lines, "}"]


def _position(placed: _Placed, t: str) -> str:
    """Index in the array of the tile's element ``t``."""
    tile = placed.tile
    if tile.rows == 1:
        return _plus(placed.column0, t)
    row = _plus(placed.row0, f"{t} / {tile.width}")
    pitch = tile.pitch_text if tile.pitch_text.isidentifier() else f"({tile.pitch_text})"
    column = _plus(placed.column0, f"{t} % {tile.width}")
    return f"(long long)({row}) * {pitch} + {column}"


def _plus(first: str | None, offset: str) -> str:
    return offset if first is None else f"{first} + {offset}"
