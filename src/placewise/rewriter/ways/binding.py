"""Rewrite an array as a texture object that the host binds (way ``binding``).

``A[i]`` becomes ``tex1Dfetch<float>(A_tex, i)``.

There are no texels of 64-bit numbers: such numbers are fetched as ``int2`` and put together by a
small inline function.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.launch import TextureArgument
from placewise.kernel.source import AccessPlace, ArrayUse
from placewise.kernel.view.elements import texel
from placewise.rewriter.draft import Draft, index_text, pointers_to_offsets
from placewise.rewriter.text import Render
from placewise.rewriter.tiles import element_text
from placewise.space import MemorySpace

_DECLARATION = "cudaTextureObject_t"
_INTRINSIC = "tex1Dfetch"


def place_binding(draft: Draft, use: ArrayUse, space: MemorySpace) -> None:
    """Replace the pointer parameter by a texture object and every load by a fetch."""
    declaration = space.declaration or _DECLARATION
    intrinsic = space.intrinsic or _INTRINSIC
    element = use.parameter.element_type
    found = texel(element)
    assert found is not None, "an array without texel type is refused before"
    texel_type, lanes = found
    name = draft.unique(f"{use.name}_tex")
    # In a template the fetch uses the template's type, so that each instance fetches its own type.
    function = f"{intrinsic}<{element_text(draft, use) if texel_type == element else texel_type}>"
    if texel_type != element:
        function = assembled(draft, element, texel_type, declaration, intrinsic)
    offsets = pointers_to_offsets(draft, use)
    for place in use.accesses:
        draft.replace_access(place, _fetch(place, function, name, offsets))
    draft.parameters[use.name] = f"{declaration} {name}"
    draft.arguments[use.name] = TextureArgument(name, texels(draft.data_of(use), use, lanes))
    draft.renamed.append((use.name, name))
    draft.notes.append(f"{use.name}: {space.name} ({intrinsic})")
    draft.edits.append(
        f"{use.name}: parameter becomes {declaration} {name}; {len(use.accesses)} loads through "
        f"{intrinsic}"
    )
    draft.host += _host(use, name, declaration, texel_type)


def _fetch(
    place: AccessPlace, function: str, name: str, offsets: frozenset[str]
) -> Callable[[Render], str]:
    def make(render: Render) -> str:
        index = index_text(place, offsets, render)
        return f"{function}({name}, {index})"

    return make


def texels(data: NDArray[np.generic], use: ArrayUse, lanes: int) -> NDArray[np.generic]:
    """The array's ``data`` as numbers of shape (texels,) or (texels, lanes)."""
    channel_bytes = use.parameter.element_bytes // lanes
    kind = "f" if use.parameter.element_type.startswith("float") else "i"
    if use.parameter.element_type.startswith(("u", "unsigned")):
        kind = "u"
    flat = data.reshape(-1).view(np.uint8).view(f"{kind}{channel_bytes}")
    return flat if lanes == 1 else flat.reshape(-1, lanes)


def assembled(
    draft: Draft, element: str, texel_type: str, declaration: str, intrinsic: str,
    coordinates: tuple[str, ...] = ("index",),
) -> str:  # fmt: skip
    """Name of an inline function that fetches one ``element``, declared once per element type."""
    name = f"fetch_{element.replace(' ', '_')}"
    taken = ", ".join(f"int {c}" for c in coordinates)
    marker = f" {name}({declaration} texture, {taken})"
    if any(marker in line for line in draft.declarations):
        return name
    name = draft.unique(name)
    if texel_type == "int4":
        value = "make_double2(__hiloint2double(v.y, v.x), __hiloint2double(v.w, v.z))"
    elif element == "double":
        value = "__hiloint2double(v.y, v.x)"
    else:
        value = f"({element})((unsigned long long)(unsigned)v.y << 32 | (unsigned)v.x)"
    draft.declarations += [
        f"static __device__ __forceinline__ {element} {name}({declaration} texture, {taken}) {{",
        f"    const {texel_type} v = {intrinsic}<{texel_type}>(texture, {', '.join(coordinates)});",
        f"    return {value};",
        "}",
    ]
    return name


def _host(use: ArrayUse, name: str, declaration: str, texel_type: str) -> list[str]:
    element = use.parameter.element_type
    return [
        f"// {use.name}: {use.elements} elements of {element} through a texture object",
        f"cudaResourceDesc {name}_memory = {{}};",
        f"{name}_memory.resType = cudaResourceTypeLinear;",
        f"{name}_memory.res.linear.devPtr = {use.name};  // device pointer, as before",
        f"{name}_memory.res.linear.desc = cudaCreateChannelDesc<{texel_type}>();",
        f"{name}_memory.res.linear.sizeInBytes = {use.elements} * sizeof({element});",
        f"cudaTextureDesc {name}_reads = {{}};",
        f"{name}_reads.readMode = cudaReadModeElementType;",
        f"{declaration} {name} = 0;",
        f"cudaCreateTextureObject(&{name}, &{name}_memory, &{name}_reads, nullptr);",
    ]
