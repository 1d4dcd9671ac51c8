"""Writes a placement: the user's source with its arrays accessed in other ways.

The ways of access and the shape of the code follow Chen et al. 2017, section 4 and Figs. 5 and 6,
in today's CUDA C++ (texture objects instead of texture references).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from placewise.errors import UnsupportedError
from placewise.kernel.cases.bind_names import bind_names
from placewise.kernel.cases.case import Case
from placewise.kernel.chunks import ChunkPlan
from placewise.kernel.source import ArrayUse, SourceView, source_obstacle
from placewise.machine import Machine
from placewise.rewriter.body import edit_body
from placewise.rewriter.capacity import (
    check_host_buffers,
    check_kernel_buffers,
    check_rows,
)
from placewise.rewriter.chunked_loops import ASYNC_COPIES, place_chunked
from placewise.rewriter.draft import Draft, require_cuda
from placewise.rewriter.finish import finish
from placewise.rewriter.host import host_text
from placewise.rewriter.rewritten import Rewritten
from placewise.rewriter.signature import edit_signature, put_members_back
from placewise.rewriter.tiles import tile_names
from placewise.rewriter.ways.binding import place_binding
from placewise.rewriter.ways.direct import place_direct
from placewise.rewriter.ways.host_buffer import FilledBuffer, place_host_buffers, use_filled
from placewise.rewriter.ways.intrinsic import place_intrinsic
from placewise.rewriter.ways.kernel_buffer import place_kernel_buffers
from placewise.rewriter.ways.pitched import place_pitched
from placewise.rewriter.ways.window import place_window
from placewise.space import MemorySpace, Placement, Way

HostBuffers = Callable[[Draft, list[ArrayUse], MemorySpace, int | None], None]
"""A function that puts arrays into a memory that the host fills. It takes the draft, the arrays,
their space, and the capacity of the space in bytes (None: not known)."""


def rewrite(
    case: Case,
    placement: Placement,
    machine: Machine,
    view: SourceView,
    known: Mapping[str, FilledBuffer] | None = None,
) -> Rewritten:
    """The case rewritten with ``placement``.

    Arrays that the placement does not name, or that are reached that way already, stay as they are.
    ``known`` are buffers of the source that already hold arrays of the case, by the arrays' names.
    Raises UnsupportedError naming array and reason where the source cannot be rewritten.
    """
    draft = draft_placement(case, placement, machine, view, known=known)
    return finish(draft, placement, host_text(draft))


# One branch for each way of access, so that the type checker finds a missing one.
def draft_placement(
    case: Case,
    placement: Placement,
    machine: Machine,
    view: SourceView,
    place_in_host_buffers: HostBuffers = place_host_buffers,
    known: Mapping[str, FilledBuffer] | None = None,
) -> Draft:
    """A draft with all edits inside the kernel's definition that ``placement`` needs.

    Text that must stand before the kernel is in the draft's lists and is not inserted yet.
    ``place_in_host_buffers`` writes the arrays of one space that the host fills; ``known`` are
    buffers that already hold arrays, by the arrays' names. Raises UnsupportedError naming array and
    reason where the source cannot be rewritten.
    """
    require_cuda(case)
    case = bind_names(case, view)
    moves = [
        (a, machine.space(space))
        for a, space in placement
        if not _is_there(_use(view, a, case), machine.space(space))
    ]
    case, view = editable(case, view, ((a, space.way) for a, space in moves))
    draft = Draft.start(case, view)
    tiled: list[tuple[ArrayUse, MemorySpace]] = []
    filled: dict[str, list[ArrayUse]] = {}
    chunked = _chunked_arrays(placement, machine, view, case)
    for array, space in moves:
        space_name, use = space.name, _use(view, array, case)
        if _is_there(use, space):
            continue
        _check_pointers(case, array, space_name)
        in_chunks = chunked is not None and array in chunked.arrays
        obstacle = source_obstacle(view, array, space.way, writable=space.writable)
        if obstacle is not None and not in_chunks:
            raise UnsupportedError(
                f"array '{array}' cannot be placed in {space_name}: {obstacle}",
                where=case.filename,
            )
        match space.way:
            case Way.DIRECT:
                place_direct(draft, use, space)
            case Way.INTRINSIC:
                place_intrinsic(draft, use, space)
            case Way.BINDING:
                place_binding(draft, use, space)
            case Way.PITCHED:
                check_rows(draft, space, machine, use)
                place_pitched(draft, use, space)
            case Way.HOST_BUFFER if (held := _held(known, use)) is not None:
                use_filled(draft, use, space, held)
            case Way.HOST_BUFFER:
                filled.setdefault(space.name, []).append(use)
            case Way.KERNEL_BUFFER:
                tiled.append((use, space))
            case Way.WINDOW:
                place_window(draft, use, space, machine)
            case Way.OTHER:
                raise UnsupportedError(
                    f"array '{array}' cannot be placed in {space_name}: Placewise cannot write "
                    "code for its way of access",
                    where=case.filename,
                    hint="move the array by hand",
                )
            case way:
                assert_never(way)
    for space_name, uses in filled.items():
        space, home = machine.space(space_name), machine.levels(space_name)[-1]
        check_host_buffers(draft, space, machine, uses)
        place_in_host_buffers(draft, uses, space, home.size_bytes)
    _check_buffers(placement, machine, case)
    _place_tiles(draft, tiled, chunked, placement)
    check_kernel_buffers(draft, machine, [space for _, space in tiled])
    put_members_back(draft)
    edit_signature(draft)
    edit_body(draft)
    return draft


def editable(
    case: Case, view: SourceView, moves: Iterable[tuple[str, Way]]
) -> tuple[Case, SourceView]:
    """The source to edit, and its view. Device functions are inlined in it, and loads of vectors
    written out, if one of ``moves``, arrays and their new ways of access, can only so be made."""
    if view.inlined is None:
        return case, view
    uses = {use.name: use for use in view.arrays if use.inlined}
    if any(_needs_inlined(uses[array], way) for array, way in moves if array in uses):
        return replace(case, source=view.inlined.source), view.inlined.view
    return case, replace(view, arrays=tuple(use.as_written or use for use in view.arrays))


def _needs_inlined(use: ArrayUse, way: Way) -> bool:
    """Whether the source as it is obstructs a way of access that the written-out one allows."""
    written = use.as_written
    return written is None or way.facts.per_block or written.obstacle(way) is not None


def _chunked_arrays(
    placement: Placement, machine: Machine, view: SourceView, case: Case
) -> ChunkPlan | None:
    """The plan for the placement's tiles by chunks of a loop; None where it has no chunk length.
    Raises UnsupportedError where the source has no such loop."""
    if placement.chunk is None:
        return None
    tiled = {a for a, space in placement if machine.space(space).way.facts.per_block}
    fitting = [
        p for p in view.chunk_plans if set(p.arrays) <= tiled and placement.chunk in p.iterations
    ]
    if not fitting:
        raise UnsupportedError(
            f"no loop can run in chunks of {placement.chunk} with tiles of "
            f"{', '.join(sorted(tiled)) or 'no array'}",
            where=case.filename,
        )
    return max(fitting, key=lambda p: len(p.arrays))


def _check_buffers(placement: Placement, machine: Machine, case: Case) -> None:
    """Raise UnsupportedError where the placement asks for two buffers that cannot be."""
    if placement.buffers == 1:
        return
    if placement.chunk is None:
        raise UnsupportedError(
            "only tiles by chunks of a loop have two buffers", where=case.filename
        )
    if machine.limits.compute_capability < ASYNC_COPIES:
        raise UnsupportedError(
            f"{machine.name} has no asynchronous copies to shared memory, which two buffers need",
            where=case.filename,
        )


def _place_tiles(
    draft: Draft, tiled: list[tuple[ArrayUse, MemorySpace]], chunked: ChunkPlan | None,
    placement: Placement,
) -> None:  # fmt: skip
    """Put arrays into shared memory: those of a plan chunk by chunk, the others once."""
    if not tiled:
        return
    names = tile_names(draft)
    if chunked is not None and placement.chunk is not None:
        uses = {use.name: (use, space) for use, space in tiled if use.name in chunked.arrays}
        place_chunked(draft, chunked, placement.chunk, uses, names, placement.buffers)
        tiled = [(use, space) for use, space in tiled if use.name not in uses]
    place_kernel_buffers(draft, tiled, names)


def _use(view: SourceView, array: str, case: Case) -> ArrayUse:
    try:
        return view.array(array)
    except KeyError:
        known = ", ".join(a.name for a in view.arrays)
        raise UnsupportedError(
            f"kernel '{case.kernel}' has no array '{array}'",
            where=case.filename,
            hint=f"its arrays: {known}",
        ) from None


def _held(known: Mapping[str, FilledBuffer] | None, use: ArrayUse) -> FilledBuffer | None:
    """The buffer that already holds the array with the same element type; None where there is
    none."""
    held = (known or {}).get(use.name)
    same = held is not None and (held.element_type, held.elements) == (
        use.parameter.element_type,
        use.elements,
    )
    return held if same else None


def _check_pointers(case: Case, array: str, space: str) -> None:
    """Raise UnsupportedError where a stored pointer, such as a second argument, leads into the
    array: it would still lead to the old place."""
    holder = next((h for h, pointer in case.inputs.pointers if pointer.array == array), None)
    if holder is not None:
        raise UnsupportedError(
            f"array '{array}' cannot be placed in {space}: '{holder}' points into it, too",
            where=case.filename,
        )


def _is_there(use: ArrayUse, space: MemorySpace) -> bool:
    """Whether the source already accesses the array in the way of ``space``."""
    if space.way != use.present:
        return False
    functions = {p.intrinsic for p in use.accesses if p.kind == "load"}
    return not space.way.facts.by_load_function or functions == {space.intrinsic}
