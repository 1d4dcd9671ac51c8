"""The fine-grained kernel: every access looks up the memory of its array (Chen et al. 2017, Fig.
6d).

``A[i]`` becomes ``(memory_of[A] == in_shared ? A_tile[i - A_begin] : load_A(A, A_tex, i))``, where
``load_A`` is a small function with a ``switch`` over the other memories that A may be in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from placewise.errors import UnsupportedError
from placewise.kernel.cases.case import Case
from placewise.kernel.launch import Argument, TextureArgument
from placewise.kernel.source import AccessPlace, ArrayUse, SourceView, Split
from placewise.kernel.view.elements import texel
from placewise.rewriter.agnostic.kernel_text import renamed_kernel
from placewise.rewriter.agnostic.names import AgnosticNames
from placewise.rewriter.body import edit_body
from placewise.rewriter.draft import Draft, index_text, pointers_to_offsets
from placewise.rewriter.rewrite import editable
from placewise.rewriter.signature import edit_signature
from placewise.rewriter.text import Render
from placewise.rewriter.tiles import (
    ALIGNMENT,
    PlacedTile,
    TileNames,
    clear,
    copy_back,
    element_text,
    fill_by_element,
    merge,
    tile_access,
    tile_names,
)
from placewise.rewriter.ways.binding import assembled, texels
from placewise.rewriter.ways.intrinsic import place_intrinsic
from placewise.rewriter.ways.kernel_buffer import DECLARATION, flat_access, placed_tile, tile_of
from placewise.space import MemorySpace, Way

_LOADABLE = re.compile(
    r"(?:(?:un)?signed )?(?:char|short|int|long(?: long)?)|float|double|__half2?|__nv_bfloat162?"
    r"|u?(?:char|short|int|long|longlong)[24]|(?:float|double)[24]"
)
"""Types that load functions such as ``__ldg`` take."""


@dataclass(frozen=True)
class ChosenArray:
    """An array that the fine-grained kernel has in any of several memories."""

    use: ArrayUse
    spaces: tuple[MemorySpace, ...]
    """Spaces that it may be in, the present one first."""
    texture: str | None
    """Name of the parameter with its texture object; None where it cannot be a texture."""
    tile_bytes: int
    """Bytes of shared memory that its tile takes in each block; 0 where it has none."""

    def space(self, way: Way) -> MemorySpace | None:
        """The one of ``spaces`` that is reached in ``way``; None where there is none."""
        return next((s for s in self.spaces if s.way is way), None)

    def is_tiled(self, names: AgnosticNames) -> str:
        """The condition, in the kernel, that the array is in shared memory."""
        space = self.space(Way.KERNEL_BUFFER)
        return f"{names.selector(self.use.name)} == {names.space(space.name)}" if space else "false"


@dataclass(frozen=True, eq=False)
class FineGrained:
    """The fine-grained kernel."""

    kernel: str
    arrays: tuple[ChosenArray, ...]
    draft: Draft
    text: str
    checks: tuple[tuple[str, int], ...]
    """Dimensions of the block and arguments, with the values for which the tiles are right."""
    arguments: tuple[Argument, ...]
    """The kernel's arguments for the case's inputs, including texture objects."""

    @property
    def uses_constants(self) -> bool:
        """Whether an array may be in constant memory."""
        return any(a.space(Way.HOST_BUFFER) is not None for a in self.arrays)

    @property
    def uses_offsets(self) -> bool:
        """Whether an array may be in a buffer that several share."""
        return self.uses_constants or any(a.tile_bytes for a in self.arrays)


def fine_grained(
    case: Case, view: SourceView, spaces: Mapping[str, tuple[MemorySpace, ...]],
    names: AgnosticNames,
) -> FineGrained:  # fmt: skip
    """The kernel in which each array may be in any of its ``spaces`` (by the array's name).

    Raises UnsupportedError, with the reason, where no array has a choice that can be switched.
    """
    case, view = editable(case, view, ((a, s.way) for a, some in spaces.items() for s in some))
    draft = Draft.start(case, view)
    arrays = tuple(
        chosen
        for name, offered in spaces.items()
        if (chosen := _chosen(draft, view.array(name), offered)) is not None
    )
    if not arrays:
        line = draft.text.text[: view.signature_start].count(b"\n") + 1
        raise UnsupportedError(
            f"no array of kernel '{case.kernel}' can be in another memory, so there is nothing to "
            "switch",
            where=f"{case.filename}:{line}",
        )
    tiled = [a for a in arrays if a.space(Way.KERNEL_BUFFER) is not None]
    shared = tile_names(draft) if tiled else None
    if tiled:
        draft.entry.append(
            f"extern {DECLARATION} __align__({ALIGNMENT}) unsigned char {names.tiles}[];"
        )
    placed = [(_place(draft, one, names, shared), one.is_tiled(names)) for one in arrays]
    _move_tiles(draft, [(tile, condition) for tile, condition in placed if tile is not None])
    checks = tuple(draft.checks.items())
    draft.checks.clear()
    if checks:
        any_tile = " || ".join(one.is_tiled(names) for one in tiled)
        broken = " || ".join(f"{name} != {value}" for name, value in checks)
        draft.entry.insert(0, f"if (({any_tile}) && ({broken})) __trap();")
    edit_signature(draft)
    edit_body(draft)
    text = renamed_kernel(draft, names.kernel, names.any_kernel)
    return FineGrained(names.any_kernel, arrays, draft, text, checks, _arguments(draft, arrays))


def _chosen(draft: Draft, use: ArrayUse, spaces: tuple[MemorySpace, ...]) -> ChosenArray | None:
    """The array with those of its ``spaces`` that one kernel can switch between; None where fewer
    than two are left."""
    if use.read_as or use.reinterpreted:
        return None
    ways = {s.way for s in spaces}
    by_index = Way.BINDING in ways or Way.KERNEL_BUFFER in ways
    by_index = by_index or use.obstacle(Way.KERNEL_BUFFER) is None
    loadable = _LOADABLE.fullmatch(use.parameter.element_type) is not None
    kept: dict[Way, MemorySpace] = {}
    for space in spaces:
        way = space.way
        if space.hint is not None or way in kept:
            continue
        if way is Way.HOST_BUFFER and not by_index:
            continue
        if way is Way.INTRINSIC and by_index and not loadable:
            continue
        kept[way] = space
    if len(kept) < 2:
        return None
    texture = draft.unique(f"{use.name}_tex") if Way.BINDING in kept else None
    tile = tile_of(use) if Way.KERNEL_BUFFER in kept else None
    size = tile.bytes(use.parameter.element_bytes) if tile else 0
    return ChosenArray(use, tuple(kept.values()), texture, size)


def _place(
    draft: Draft, one: ChosenArray, names: AgnosticNames, shared: TileNames | None
) -> PlacedTile | None:
    """Make every access of the array look up its memory. Returns its tile, if it can have one."""
    use = one.use
    read_only = one.space(Way.INTRINSIC)
    if read_only is not None and len(one.spaces) == 2 and one.space(Way.DIRECT) is not None:
        # All its spaces are reached by a pointer, so the source's own pointers can stay.
        place_intrinsic(draft, use, replace(read_only, intrinsic=_pointer_load(draft, one, names)))
        return None
    helper = None
    if any(s.way not in (Way.DIRECT, Way.KERNEL_BUFFER) for s in one.spaces):
        helper = _index_load(draft, one, names)
    if one.texture is not None:
        start, end = use.parameter.start, use.parameter.end
        declared = draft.text.text[start:end].decode()
        draft.parameters[use.name] = f"{declared}, cudaTextureObject_t {one.texture}"
    placed = None
    if one.tile_bytes:
        assert shared is not None, "tiles are numbered by the threads of the block"
        placed = _tile(draft, one, names, shared)
    offsets = pointers_to_offsets(draft, use)
    splits: tuple[Split | None, ...] = (None,) * len(use.accesses)
    if placed is not None and placed.tile.splits:
        splits = placed.tile.splits
    for place, split in zip(use.accesses, splits, strict=True):
        tile_text = None
        if placed is not None:
            inside = tile_access(placed, split) if split else flat_access(placed, place, offsets)
            tile_text = partial(_if_shared, one.is_tiled(names), inside)
        draft.replace_access(place, _access(one, place, helper, offsets, tile_text))
    return placed


def _if_shared(condition: str, tile: Callable[[Render], str], render: Render) -> str:
    return f"{condition} ? {tile(render)}"


def _access(
    one: ChosenArray, place: AccessPlace, helper: str | None, offsets: frozenset[str],
    in_tile: Callable[[Render], str] | None,
) -> Callable[[Render], str]:  # fmt: skip
    """The text of one access. ``in_tile`` writes the condition that the array is in shared memory
    and the access to its tile; None where it has no tile."""
    name = one.use.name

    def make(render: Render) -> str:
        index = index_text(place, offsets, render)
        if helper is None:
            elsewhere = f"{name}[{index}]"
        else:
            texture = f"{one.texture}, " if one.texture else ""
            elsewhere = f"{helper}({name}, {texture}{index})"
        return elsewhere if in_tile is None else f"({in_tile(render)} : {elsewhere})"

    return make


def _pointer_load(draft: Draft, one: ChosenArray, names: AgnosticNames) -> str:
    """Declare the function that loads through a pointer, by a plain or by a read-only load. Returns
    its name."""
    space = one.space(Way.INTRINSIC)
    assert space is not None, "asked for where there is one"
    function = draft.unique(f"{names.prefix}_load_{one.use.name}")
    load = space.intrinsic or "__ldg"
    condition = f"{names.selector(one.use.name)} == {names.space(space.name)}"
    t, at = draft.inner("T"), draft.inner("at")
    draft.declarations += [
        f"template <typename {t}> static __device__ __forceinline__ {t} {function}"
        f"(const {t} *{at}) {{",
        f"    return {condition} ? {load}({at}) : *{at};",
        "}",
    ]
    return function


def _index_load(draft: Draft, one: ChosenArray, names: AgnosticNames) -> str:
    """Declare the function that loads an element by its index from any memory but shared memory.
    Returns its name."""
    use = one.use
    element = use.parameter.element_type
    cases = []
    for space in one.spaces:
        match space.way:
            case Way.INTRINSIC:
                value = f"{space.intrinsic or '__ldg'}(&{use.name}[i])"
            case Way.BINDING:
                value = f"{_fetch(draft, element, space)}({one.texture}, (int)i)"
            case Way.HOST_BUFFER:
                start = f"{names.constants}.any + {names.offset_of}[{names.array(use.name)}]"
                value = f"reinterpret_cast<const {element} *>({start})[i]"
            case _:
                continue
        cases.append(f"        case {names.space(space.name)}: return {value};")
    function = draft.unique(f"{names.prefix}_load_{use.name}")
    index = "int" if use.elements < 1 << 31 else "long long"
    texture = f"cudaTextureObject_t {one.texture}, " if one.texture else ""
    draft.declarations += [
        f"static __device__ __forceinline__ {element} {function}(const {element} *{use.name}, "
        f"{texture}{index} i) {{",
        f"    switch ({names.selector(use.name)}) {{",
        *cases,
        f"        default: return {use.name}[i];",
        "    }",
        "}",
    ]
    return function


def _fetch(draft: Draft, element: str, space: MemorySpace) -> str:
    found = texel(element)
    assert found is not None, "an array without texel type is refused before"
    intrinsic = space.intrinsic or "tex1Dfetch"
    if found[0] == element:
        return f"{intrinsic}<{element}>"
    return assembled(draft, element, found[0], "cudaTextureObject_t", intrinsic)


def _tile(draft: Draft, one: ChosenArray, names: AgnosticNames, shared: TileNames) -> PlacedTile:
    """Declare a pointer to the tile in the dynamic buffer, and where in the array the tile
    begins."""
    use = one.use
    tile = tile_of(use)
    name, element = draft.unique(f"{use.name}_tile"), element_text(draft, use)
    offset = f"{names.offset_of}[{names.array(use.name)}]"
    draft.entry.append(
        f"{element} *{name} = reinterpret_cast<{element} *>({names.tiles} + {offset});"
    )
    return placed_tile(draft, use, tile, name, shared)


def _move_tiles(draft: Draft, placed: list[tuple[PlacedTile, str]]) -> None:
    """Fill the tiles of arrays that are in shared memory before the body, and copy written ones
    back after it. Each entry is a tile and the condition that its array is in shared memory."""
    filled = [(one, condition) for one, condition in placed if not one.tile.written_whole]
    for one, condition in filled:
        draft.entry += _under(condition, clear(one) if one.tile.merge else fill_by_element(one))
    if filled:
        draft.entry.append("__syncthreads();")
    written = [(one, condition) for one, condition in placed if one.use.written]
    if written:
        draft.exit.append("__syncthreads();")
    for one, condition in written:
        draft.exit += _under(condition, merge(one) if one.tile.merge else copy_back(one))


def _under(condition: str, lines: list[str]) -> list[str]:
    return [f"if ({condition}) {{", *(f"    {line}" for line in lines), "}"]


def _arguments(draft: Draft, arrays: tuple[ChosenArray, ...]) -> tuple[Argument, ...]:
    """The case's arguments, each array followed by its texture object, if it has one."""
    textures = {}
    for one in arrays:
        if one.texture is not None:
            found = texel(one.use.parameter.element_type)
            data = texels(draft.data_of(one.use), one.use, found[1] if found else 1)
            textures[one.use.name] = TextureArgument(one.texture, data)
    passed: list[Argument] = []
    for argument in draft.case.inputs.arguments:
        passed.append(argument)
        if argument.name in textures:
            passed.append(textures[argument.name])
    return tuple(passed)
