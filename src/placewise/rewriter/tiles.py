"""Code for a block's shared tiles: their declarations, the loops that fill them and copy them back,
and accesses to them.

``A[row * n + k]`` becomes ``A_tile[(row - A_row) * 16 + (k - k_chunk)]``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from placewise.kernel.launch import Dim3
from placewise.kernel.source import ArrayUse, Extent, Split, Term, Tile
from placewise.kernel.view.elements import is_number, is_unsigned
from placewise.kernel.view.tiles.tile import whole_numbers
from placewise.kernel.view.tree.template import template_parameters
from placewise.rewriter.draft import Draft, sum_text, term_text
from placewise.rewriter.text import Render

ALIGNMENT = 16
"""Alignment of tiles in bytes: the largest of CUDA's built-in types, and the most that a lane moves
at once."""
_VECTORS = {"float": "float4", "int": "int4", "unsigned int": "uint4", "double": "double2"}
"""The 16-byte vector type of each element type."""
_QUALIFIERS = re.compile(r"\b(?:const|volatile|__restrict__|__restrict|restrict)\b")


@dataclass(frozen=True)
class TileNames:
    """Identifiers that all tiles of a kernel share."""

    thread: str
    """Variable with the thread's number in its block."""
    at: str
    """Loop variable of the loops that fill tiles."""
    row: str
    column: str


@dataclass(frozen=True)
class PlacedTile:
    """One array's tile in the kernel."""

    use: ArrayUse
    tile: Tile
    name: str
    row0: str | None
    """Name or expression of the tile's first row; None where that is 0."""
    column0: str | None
    threads: int
    """Threads of a block."""
    names: TileNames
    aligned: str | None = None
    """Variable that says whether the array's rows begin at multiples of 16 bytes; None where the
    tile is filled element by element."""
    fetched: bool = False
    """Whether asynchronous copies fill it."""

    @property
    def vector(self) -> int:
        """Elements in 16 bytes."""
        return ALIGNMENT // self.use.parameter.element_bytes


def tile_names(draft: Draft) -> TileNames:
    """New identifiers for tiles. It also declares the thread's number at the start of the body, and
    checks that the block has the shape that tiles are made for."""
    names = TileNames(*(draft.unique(n) for n in ("tile_thread", "t", "tile_row", "tile_column")))
    start = draft.view.signature_start
    for parameter in template_parameters(draft.text.text, draft.case.kernel, start):
        if not parameter.is_type:
            told = f'"tiles are made for {parameter.name} = {parameter.argument}"'
            holds = f"{parameter.name} == ({parameter.argument})"
            draft.entry.append(f"static_assert({holds}, {told});")
    draft.entry.append(f"const int {names.thread} = {thread_text(draft.case.launch.block)};")
    check_block(draft)
    return names


def thread_text(block: Dim3) -> str:
    """A thread's number in a block of this shape, as an expression."""
    x, y, z = block
    if (y, z) == (1, 1):
        return "threadIdx.x"
    if z == 1:
        return f"threadIdx.x + {x} * threadIdx.y"
    return f"threadIdx.x + {x} * (threadIdx.y + {y} * threadIdx.z)"


def check_block(draft: Draft) -> None:
    """Make the kernel check that its blocks have the shape that the case's launch has."""
    block = draft.case.launch.block
    draft.checks.update({f"blockDim.{a}": n for a, n in zip("xyz", block, strict=True)})


def _may_be_used(source: str, name: str) -> bool:
    """Whether a source uses a number: always for an argument, and for ``struct.member`` where it
    names that member, or the struct as a whole besides declaring it."""
    struct, dot, member = name.partition(".")
    if not dot:
        return True
    named = re.search(rf"\b{re.escape(struct)}\s*\.\s*{re.escape(member)}\b", source)
    whole = re.findall(rf"\b{re.escape(struct)}\b(?!\s*\.)", source)
    return named is not None or len(whole) > 1


def check_tile_size(draft: Draft, tile: Tile) -> None:
    """Make the kernel check what the tile's size rests on. Where the source has no conditions that
    bound the tile, that is all that may tell how long the array is: whole numbers, those in structs
    among them, and the grid, which a tile of the whole array needs only where there are none."""
    numbers: dict[str, int] = {}
    for argument in draft.case.inputs.arguments:
        found = whole_numbers(argument).items()
        numbers |= {n: value for n, value in found if _may_be_used(draft.case.source, n)}
    grid = {f"gridDim.{a}": n for a, n in zip("xyz", draft.case.launch.grid, strict=True)}
    lengths = {} if tile.inside else numbers if tile.whole and numbers else numbers | grid
    needed = {*lengths, *tile.bound_to}
    numbers |= grid
    draft.checks.update({name: numbers[name] for name in sorted(needed) if name in numbers})


def element_text(draft: Draft, use: ArrayUse) -> str:
    """Element type as the source writes it (``T`` in a template), else the canonical one."""
    parameter = use.parameter
    if use.read_as:
        return use.read_as
    declared = draft.text.text[parameter.start : parameter.end].decode()
    head, mark, _ = re.sub(r"/\*.*?\*/|//[^\n]*", " ", declared).partition("*")
    if not mark:
        head, mark, _ = declared.partition("[")
        head = re.sub(rf"\b{re.escape(parameter.name)}\s*$", "", head.strip())
    text = " ".join(_QUALIFIERS.sub(" ", head).split())
    words = "|".join(re.findall(r"\w+", text)) or "$"
    hidden = re.compile(rf"^[ \t]*#[ \t]*define[ \t]+(?:{words})\b.*\b(?:const|volatile)\b", re.M)
    if hidden.search(draft.text.text.decode()):
        return parameter.element_type
    return text if mark and re.fullmatch(r"[A-Za-z_][\w:<>, ]*", text) else parameter.element_type


def declare(
    draft: Draft, use: ArrayUse, tile: Tile, declaration: str, name: str, buffers: int = 1
) -> None:
    """Declare a tile as a static shared array; with several ``buffers``, which only a tile of
    numbers has, as an array of as many."""
    element = element_text(draft, use)
    size = use.parameter.element_bytes
    count = -(-tile.bytes(size) // size)
    prefix = f"{declaration} __align__({ALIGNMENT})"
    if use.parameter.fields or use.parameter.element_dtype is None:
        # A user's type may have a constructor, which a shared variable must not have.
        raw = draft.unique(f"{name}_bytes")
        draft.entry += [
            f"{prefix} unsigned char {raw}[{count} * sizeof({element})];",
            f"{element} *{name} = reinterpret_cast<{element} *>({raw});",
        ]
    else:
        several = f"[{buffers}]" if buffers > 1 else ""
        draft.entry.append(f"{prefix} {element} {name}{several}[{count}];")
    draft.static_bytes += tile.bytes(size) * buffers


def constant(draft: Draft, type_: str, name: str, text: str) -> str:
    """Name of a constant at the start of the body with the value ``text``: one called ``name``, or
    ``name`` and a number, that is there already, else a new one."""
    there = re.compile(rf"const {type_} ({name}\d*) = {re.escape(text)};")
    known = next((found[1] for line in draft.entry if (found := there.fullmatch(line))), None)
    if known is None:
        known = draft.unique(name)
        draft.entry.append(f"const {type_} {known} = {text};")
    return known


def alignment_flag(draft: Draft, use: ArrayUse, tile: Tile) -> str | None:
    """A constant that says whether rows of the array begin at multiples of 16 bytes. Returns its
    name; None where the tile cannot be filled 16 bytes at a time."""
    vector = ALIGNMENT // use.parameter.element_bytes if use.parameter.element_bytes else 0
    typed = use.parameter.element_type in _VECTORS
    typed = typed and element_text(draft, use) == use.parameter.element_type
    if not typed or tile.width % vector or tile.stride % vector or not tile.inside:
        return None
    conditions = [f"reinterpret_cast<unsigned long long>({use.name}) % {ALIGNMENT} == 0"]
    if tile.rows > 1:
        if tile.pitch_text.isdigit() and int(tile.pitch_text) % vector:
            return None
        if not tile.pitch_text.isdigit():
            conditions.append(f"{_factor(tile.pitch_text)} % {vector} == 0")
    return constant(draft, "bool", f"{use.name}_aligned", " && ".join(conditions))


def fill(placed: PlacedTile) -> list[str]:
    """Statements with which the threads of a block fill the tile together: consecutive threads copy
    consecutive elements, 16 bytes at a time where alignment allows it."""
    plain = fill_by_element(placed)
    if placed.aligned is None:
        return plain
    tile = placed.tile
    first = placed.column0
    conditions = [placed.aligned]
    if first is not None:
        conditions.append(f"{_factor(first)} % {placed.vector} == 0")
        conditions += [f"{first} >= {lower}" for lower in tile.column_extent.lowers]
    end = _plus(first, str(tile.width))
    conditions += [f"{end} <= {upper}" for upper in tile.column_extent.uppers]
    conditions += _corners_within(placed)
    return [
        f"if ({' && '.join(conditions)}) {{",
        *(f"    {line}" for line in _by_vectors(placed)),
        "} else {",
        *(f"    {line}" for line in plain),
        "}",
    ]


def _corners_within(placed: PlacedTile) -> list[str]:
    """Conditions under which every element of the tile obeys the bounds on the index itself: the
    first element has the smallest index, the last one the largest."""
    tile = placed.tile
    first = _position(placed, f"({_plus(placed.row0, '0')})", _plus(placed.column0, "0"))
    row, column = _plus(placed.row0, str(tile.rows - 1)), _plus(placed.column0, str(tile.width - 1))
    last = _position(placed, f"({row})", column)
    return [
        *(f"{first} >= {lower}" for lower in tile.index_extent.lowers),
        *(f"{last} < {upper}" for upper in tile.index_extent.uppers),
    ]


def _by_vectors(placed: PlacedTile) -> list[str]:
    """The loop that fills a tile 16 bytes at a time."""
    tile, names, vector = placed.tile, placed.names, placed.vector
    across = tile.width // vector
    kind = _VECTORS[placed.use.parameter.element_type]
    row, column = f"{names.at} / {across}", f"{names.at} % {across} * {vector}"
    if tile.rows == 1:
        row, column = "0", f"{names.at} * {vector}"
    target = f"{placed.name}[{_in_tile(row, column, tile, vector, names.at)}]"
    position = _position(placed, names.row, _plus(placed.column0, column))
    source = f"{placed.use.pointer_text}[{position}]"
    value = f"*reinterpret_cast<const {kind} *>(&{source})"
    lines = [_head(placed, tile.rows * across)]
    if tile.rows > 1:
        lines.append(f"    const int {names.row} = {_plus(placed.row0, row)};")
        within = _within(names.row, tile.row_extent)
        if placed.fetched and within:
            lines.append(f"    if ({' && '.join(within)})")
            lines.append(f"        {_fetch(target, source, ALIGNMENT)}")
            return [*lines, f"    else *reinterpret_cast<{kind} *>(&{target}) = {kind}{{}};", "}"]
        value = f"{' && '.join(within)} ? {value} : {kind}{{}}" if within else value
    if placed.fetched:
        return [*lines, f"    {_fetch(target, source, ALIGNMENT)}", "}"]
    return [*lines, f"    *reinterpret_cast<{kind} *>(&{target}) = {value};", "}"]


def _fetch(target: str, source: str, size: int) -> str:
    """The statement that copies ``size`` bytes (4, 8 or 16) to shared memory asynchronously."""
    return f"__pipeline_memcpy_async(&{target}, &{source}, {size});"


def fill_by_element(placed: PlacedTile) -> list[str]:
    """The loop that fills a tile element by element. Elements of the tile outside the array become
    zero, since the compiler may load them ahead of the condition that guards their use."""
    size = placed.use.parameter.element_bytes

    def move(array: str, element: str) -> str:
        return _fetch(element, array, size) if placed.fetched else f"{element} = {array};"

    return _each(placed, move, zeros=True)


def copy_back(placed: PlacedTile) -> list[str]:
    """The loop that copies a tile back into the array."""
    return _each(placed, lambda array, element: f"{array} = {element};", back=True)


def merge(placed: PlacedTile) -> list[str]:
    """The loop that merges a block's copy into the array with the atomic function that updates the
    array."""
    function = placed.tile.merge

    def update(array: str, element: str) -> str:
        return f"if ({element} != {_neutral(placed)}) {function}(&{array}, {element});"

    return _each(placed, update, back=True)


def _each(
    placed: PlacedTile, move: Callable[[str, str], str], *, back: bool = False, zeros: bool = False
) -> list[str]:
    """A loop over a tile's elements with the statement that ``move(array element, tile element)``
    returns.

    Elements that the source's conditions exclude are skipped or, with ``zeros``, set to zero in the
    tile. Where these conditions do not keep the index inside the array, a check against its length
    does.
    """
    use, tile, names = placed.use, placed.tile, placed.names
    lines = [_head(placed, tile.rows * tile.width)]
    if tile.rows > 1:
        row, column = f"{names.at} / {tile.width}", f"{names.at} % {tile.width}"
        first = _plus(placed.column0, column)
        if tile.width == 1:
            # Plainer text than ``t / 1`` and ``t % 1``.
            row, column, first = names.at, "0", placed.column0 or "0"
        lines += [
            f"    const int {names.row} = {_plus(placed.row0, row)};",
            f"    const int {names.column} = {first};",
        ]
        conditions = _within(names.row, tile.row_extent)
        conditions += _within(names.column, tile.column_extent)
        element = f"{placed.name}[{_in_tile(row, column, tile, 1, names.at)}]"
    else:
        column = names.at
        if placed.column0 is not None or tile.column_extent != Extent():
            column = names.column
            lines.append(f"    const int {column} = {_plus(placed.column0, names.at)};")
        conditions = _within(column, tile.column_extent)
        element = f"{placed.name}[{names.at}]"
    position = _position(placed, names.row, names.column if tile.rows > 1 else column)
    conditions += _within(position, tile.index_extent)
    if not tile.inside and not tile.whole:
        conditions.append(f"{position} >= 0 && {position} < {use.elements}")
        if back and tile.rows > 1:
            pitch = _factor(tile.pitch_text)
            conditions.append(f"{names.column} >= 0 && {names.column} < {pitch}")
    array = f"{use.pointer_text}[{position}]"
    if conditions and zeros and is_number(use.parameter.element_type) and not placed.fetched:
        return [*lines, f"    {element} = {' && '.join(conditions)} ? {array} : 0;", "}"]
    lines.append(f"    {_under(conditions, move(array, element))}")
    if conditions and zeros:
        number = is_number(use.parameter.element_type)
        cleared = f"{element} = 0" if number else f"memset(&{element}, 0, sizeof({element}))"
        lines.append(f"    else {cleared};")
    return [*lines, "}"]


def clear(placed: PlacedTile) -> list[str]:
    """The loop that sets a block's copy to the neutral element of the function that merges it.

    The copy does not start from the array's values, since other blocks may be merging into it
    already.
    """
    tile, names = placed.tile, placed.names
    move = f"{placed.name}[{names.at}] = {_neutral(placed)};"
    return [_head(placed, tile.rows * tile.stride), f"    {move}", "}"]


def _neutral(placed: PlacedTile) -> str:
    """The neutral element of the function that merges a block's copy, such as 0 of
    ``atomicAdd``."""
    parameter = placed.use.parameter
    unsigned, wide = is_unsigned(parameter.element_type), parameter.element_bytes == 8
    most = "9223372036854775807ll" if wide else "2147483647"
    match placed.tile.merge:
        case "atomicAnd" | "atomicMin" if unsigned:
            return "~0ull" if wide else "~0u"
        case "atomicAnd":
            return "-1"
        case "atomicMin":
            return most
        case "atomicMax" if not unsigned:
            return f"-{most} - 1"
        case _:
            return "0"


def _head(placed: PlacedTile, moves: int) -> str:
    at, threads = placed.names.at, placed.threads
    return f"for (int {at} = {placed.names.thread}; {at} < {moves}; {at} += {threads}) {{"


def _under(conditions: list[str], statement: str) -> str:
    return f"if ({' && '.join(conditions)}) {statement}" if conditions else statement


def _within(name: str, extent: Extent) -> list[str]:
    return [
        *(f"{name} >= {lower}" for lower in extent.lowers),
        *(f"{name} < {upper}" for upper in extent.uppers),
    ]


def _in_tile(row: str, column: str, tile: Tile, vector: int, at: str) -> str:
    """Index in the tile of the element that the fill loop is at."""
    if tile.rows == 1:
        return column
    if not tile.padding:
        return at if vector == 1 else f"{at} * {vector}"
    return f"{row} * {tile.stride}" + ("" if column == "0" else f" + {column}")


def _position(placed: PlacedTile, row: str, column: str) -> str:
    """Index in the array of the element at a row and column."""
    tile = placed.tile
    if tile.rows == 1:
        return column
    wide = "(long long)" if tile.wide else ""
    return f"{wide}{row} * {_factor(tile.pitch_text)} + {column}"


def tile_access(placed: PlacedTile, split: Split) -> Callable[[Render], str]:
    """The text of one access to the tile, by row and column."""

    def make(render: Render) -> str:
        column = _less(split.column, placed.column0, render, factor=False)
        if placed.tile.rows == 1:
            return f"{placed.name}[{column}]"
        row = _less(split.row, placed.row0, render, factor=True)
        return f"{placed.name}[{row} * {placed.tile.stride} + {column}]"

    return make


def _less(terms: tuple[Term, ...], first: str | None, render: Render, *, factor: bool) -> str:
    """``(terms - first)``, without parentheses where they are not needed."""
    if first is None and len(terms) == 1 and terms[0].sign > 0:
        text = term_text(terms[0], render)
        return f"({text})" if factor and terms[0].loose and not terms[0].very_loose else text
    text = summand(terms, render)
    return f"({text} - {_factor(first)})" if first is not None else f"({text})"


def summand(terms: tuple[Term, ...], render: Render) -> str:
    """The sum of an index's terms, as text that ``- x`` may follow."""
    if len(terms) == 1 and terms[0].sign > 0:
        return term_text(terms[0], render)
    return sum_text(None, terms, render)


def _factor(text: str) -> str:
    """An expression that can be multiplied: in parentheses unless it is a name or a number."""
    return text if re.fullmatch(r"\w+", text) else f"({text})"


def _plus(first: str | None, offset: str) -> str:
    return offset if first is None else f"{first} + {offset}"


def shape_text(tile: Tile) -> str:
    """``16 x 64`` or, of one row, ``64``."""
    return f"{tile.rows} x {tile.width}" if tile.rows > 1 else f"{tile.width}"
