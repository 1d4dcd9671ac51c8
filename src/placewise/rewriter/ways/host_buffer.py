"""Rewrite arrays as buffers at file scope that the host fills (way ``host_buffer``).

``A[i]`` becomes ``A_const[i]``. Several arrays share one buffer, a struct with an array for each:
``A[i]`` becomes ``constant_arrays.A[i]``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.source import ArrayUse
from placewise.rewriter.draft import Draft, strip_load_functions
from placewise.space import MemorySpace

_DECLARATION = "__constant__"
ALIGNMENT = 16
"""Every array of a shared buffer begins at a multiple of this many bytes, so that any element type
is aligned."""


@dataclass(frozen=True)
class FilledBuffer:
    """A buffer at file scope that already holds an array, since another kernel of the source has it
    there."""

    name: str
    """Expression that replaces the array's name: the symbol, or a member of it."""
    symbol: str
    at: int
    """First byte of the array in the symbol."""
    symbol_bytes: int
    element_type: str
    elements: int
    """Length of the array."""


def use_filled(draft: Draft, use: ArrayUse, space: MemorySpace, known: FilledBuffer) -> None:
    """Replace the array by a buffer of the source that already holds the same array."""
    held = np.ascontiguousarray(draft.data_of(use)).reshape(-1).view(np.uint8)
    data = next((d for name, d in draft.constants if name == known.symbol), None)
    if data is None:
        data = np.zeros(known.symbol_bytes, np.uint8)
        draft.constants.append((known.symbol, data))
    data[known.at : known.at + held.nbytes] = held
    draft.renamed.append((use.name, known.name))
    draft.filled.append((known.symbol, known.at, use.name))
    stand_for(draft, use, known.name)
    draft.notes.append(f"{use.name}: {space.name} ({known.name}, filled by the host)")
    draft.edits.append(f"{use.name}: parameter becomes {known.name}, which exists already")


def place_host_buffers(
    draft: Draft, uses: list[ArrayUse], space: MemorySpace, capacity: int | None
) -> None:
    """Put arrays into ``space``, which holds ``capacity`` bytes (None: not known). All share one
    buffer if they fit with their alignment; else each gets its own."""
    ends = aligned_offsets(draft, uses)
    if len(uses) > 1 and (capacity is None or draft.view.constant_bytes + ends[-1] <= capacity):
        _place_together(draft, uses, space, ends)
        return
    for use in uses:
        _place_alone(draft, use, space)


def _place_alone(draft: Draft, use: ArrayUse, space: MemorySpace) -> None:
    """Declare a buffer for one array and replace the parameter by it."""
    declaration = space.declaration or _DECLARATION
    element = use.parameter.element_type
    name = draft.unique(f"{use.name}_const")
    # Wider loads of it must be aligned as they are in global memory.
    aligned = f"__align__({ALIGNMENT}) " if use.reinterpreted else ""
    _declare(draft, f"{declaration} {aligned}{element} {name}[{use.elements}];")
    draft.constants.append((name, _as_declared(draft.data_of(use), use)))
    draft.renamed.append((use.name, name))
    draft.filled.append((name, 0, use.name))
    stand_for(draft, use, name)
    draft.notes.append(f"{use.name}: {space.name} ({name}, filled by the host)")
    draft.edits.append(f"{use.name}: parameter becomes the {declaration} buffer {name}")
    draft.host += [
        f"// {use.name}: {use.elements} elements of {element} in {space.name} memory, copied from "
        f"{use.name}_host, the host's array",
        f"cudaMemcpyToSymbol({name}, {use.name}_host, {use.elements} * sizeof({element}));",
    ]


def _as_declared(data: NDArray[np.generic], use: ArrayUse) -> NDArray[np.generic]:
    """The data as elements of the buffer. Of an array that is only read through pointers of another
    type, as bytes are that are read four at a time, the buffer has that type."""
    declared = use.parameter.element_dtype
    if declared is None or data.dtype == declared:
        return data
    return np.ascontiguousarray(data).reshape(-1).view(declared)


def _place_together(
    draft: Draft, uses: list[ArrayUse], space: MemorySpace, offsets: list[int]
) -> None:
    """Declare one buffer for several arrays. ``offsets`` are their first bytes, then the buffer's
    size."""
    declaration = space.declaration or _DECLARATION
    buffer = draft.unique(f"{space.name}_arrays")
    members = " ".join(
        f"alignas({ALIGNMENT}) {use.parameter.element_type} {use.name}[{use.elements}];"
        for use in uses
    )
    _declare(draft, f"{declaration} struct {{ {members} }} {buffer};")
    data = np.zeros(offsets[-1], np.uint8)
    for use, offset in zip(uses, offsets, strict=False):
        element, name = use.parameter.element_type, f"{buffer}.{use.name}"
        held = draft.data_of(use)
        data[offset : offset + held.nbytes] = np.ascontiguousarray(held).reshape(-1).view(np.uint8)
        draft.renamed.append((use.name, name))
        draft.filled.append((buffer, offset, use.name))
        stand_for(draft, use, name)
        draft.notes.append(f"{use.name}: {space.name} ({name}, filled by the host)")
        draft.edits.append(f"{use.name}: parameter becomes part of the {declaration} {buffer}")
        draft.host += [
            f"// {use.name}: {use.elements} elements of {element} in {space.name} memory, copied "
            f"from {use.name}_host, the host's array",
            f"cudaMemcpyToSymbol({buffer}, {use.name}_host, {use.elements} * sizeof({element}), "
            f"{offset});",
        ]
    draft.constants.append((buffer, data))


def aligned_offsets(draft: Draft, uses: list[ArrayUse]) -> list[int]:
    """First byte of each array in a shared buffer, and the buffer's size."""
    offsets = [0]
    for use in uses:
        end = offsets[-1] + draft.data_of(use).nbytes
        offsets.append(-(-end // ALIGNMENT) * ALIGNMENT)
    return offsets


def _declare(draft: Draft, line: str) -> None:
    # In a namespace the symbol's name would be mangled, but the host looks it up by its plain name.
    draft.declarations.append(f'extern "C" {{ {line} }}' if draft.view.in_namespace else line)


def stand_for(draft: Draft, use: ArrayUse, name: str) -> None:
    """Remove the parameter and use ``name`` in its place.

    Local pointers into the array stay. A parameter that the body changes becomes a local pointer to
    the buffer.
    """
    if use.reassigned:
        const = "const " if use.parameter.type_text.startswith("const") else ""
        draft.entry.append(f"{const}{use.parameter.element_type} *{use.name} = {name};")
    else:
        for token in use.tokens:
            draft.text.replace(token, token + len(use.name.encode()), name)
    strip_load_functions(draft, use)
    draft.parameters[use.name] = None
    draft.arguments[use.name] = None
