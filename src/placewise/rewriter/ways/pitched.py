"""Rewrite an array as a texture of two dimensions that the host binds (way ``pitched``).

``A[row * n + column]`` becomes ``tex2D<float>(A_tex, column, row)``. The memory stays where it is:
the texture shows it as rows of ``n`` elements.

A coordinate without fraction names the texel itself: a texture that is read at points, by
coordinates that are not normalized, returns texel ``floor(x)`` (CUDA C++ Programming Guide,
"Nearest-Point Sampling").
"""

from __future__ import annotations

from collections.abc import Callable

from placewise.kernel.launch import ScalarArgument, TextureArgument
from placewise.kernel.source import ArrayUse, RowSplit, Split
from placewise.kernel.view.elements import texel
from placewise.kernel.view.tiles.tile import whole_numbers
from placewise.rewriter.draft import Draft
from placewise.rewriter.text import Render
from placewise.rewriter.tiles import element_text, summand
from placewise.rewriter.ways.binding import assembled, texels
from placewise.space import MemorySpace

_DECLARATION = "cudaTextureObject_t"
_INTRINSIC = "tex2D"


def place_pitched(draft: Draft, use: ArrayUse, space: MemorySpace) -> None:
    """Replace the pointer parameter by a texture object and every load by a fetch of a column and a
    row."""
    declaration = space.declaration or _DECLARATION
    intrinsic = space.intrinsic or _INTRINSIC
    element, rows = use.parameter.element_type, use.rows
    found = texel(element)
    assert found is not None, "an array without texel type is refused before"
    assert rows is not None, "an array without rows is refused before"
    texel_type, lanes = found
    name = draft.unique(f"{use.name}_tex")
    function = f"{intrinsic}<{element_text(draft, use) if texel_type == element else texel_type}>"
    if texel_type != element:
        function = assembled(draft, element, texel_type, declaration, intrinsic, ("column", "row"))
    for alias in use.aliases:
        draft.text.replace(alias.start, alias.end, "")
    for place, split in zip(use.accesses, rows.splits, strict=True):
        draft.replace_access(place, _fetch(split, function, name))
    _check(draft, rows)
    draft.parameters[use.name] = f"{declaration} {name}"
    flat = texels(draft.data_of(use), use, lanes)
    shown = flat.reshape(-1, rows.pitch, *flat.shape[1:])
    draft.arguments[use.name] = TextureArgument(name, shown, "pitch")
    draft.renamed.append((use.name, name))
    draft.notes.append(f"{use.name}: {space.name} ({intrinsic}, rows of {rows.pitch_text})")
    draft.edits.append(
        f"{use.name}: parameter becomes {declaration} {name}; {len(use.accesses)} loads through "
        f"{intrinsic} in rows of {rows.pitch_text} elements"
    )
    draft.host += _host(use, rows, name, declaration, texel_type)


def _fetch(split: Split, function: str, name: str) -> Callable[[Render], str]:
    def make(render: Render) -> str:
        column, row = (summand(terms, render) for terms in (split.column, split.row))
        return f"{function}({name}, {column}, {row})"

    return make


def _check(draft: Draft, rows: RowSplit) -> None:
    """Make the kernel check the values that the columns' bounds rest on."""
    numbers: dict[str, int] = {}
    for argument in draft.case.inputs.arguments:
        if isinstance(argument, ScalarArgument):
            numbers |= whole_numbers(argument)
    launch = draft.case.launch
    for what, extent in (("gridDim", launch.grid), ("blockDim", launch.block)):
        numbers |= {f"{what}.{axis}": n for axis, n in zip("xyz", extent, strict=True)}
    draft.checks.update({name: numbers[name] for name in rows.bound_to if name in numbers})


def _host(use: ArrayUse, rows: RowSplit, name: str, declaration: str, texel_type: str) -> list[str]:
    element, width = use.parameter.element_type, f"{name}_memory.res.pitch2D.width"
    return [
        f"// {use.name}: {use.elements} elements of {element} through a texture object, in rows of "
        f"{rows.pitch_text}",
        f"cudaResourceDesc {name}_memory = {{}};",
        f"{name}_memory.resType = cudaResourceTypePitch2D;",
        f"{name}_memory.res.pitch2D.devPtr = {use.name};  // device pointer, as before",
        f"{name}_memory.res.pitch2D.desc = cudaCreateChannelDesc<{texel_type}>();",
        f"{width} = {rows.pitch_text};  // rows of whole multiples of 32 bytes",
        f"{name}_memory.res.pitch2D.height = {use.elements} / {width};",
        f"{name}_memory.res.pitch2D.pitchInBytes = {width} * sizeof({element});",
        f"cudaTextureDesc {name}_reads = {{}};",
        f"{name}_reads.readMode = cudaReadModeElementType;",
        f"{declaration} {name} = 0;",
        f"cudaCreateTextureObject(&{name}, &{name}_memory, &{name}_reads, nullptr);",
    ]
