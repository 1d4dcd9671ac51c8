"""Rewrite loops to run chunk by chunk, with shared tiles for the data that each chunk reads or
writes.

``for (k = 0; k < n; k++) sum += A[row * n + k];`` becomes a loop over chunks of k: the block fills
the tile of a chunk, waits at a barrier, runs the loop's iterations of that chunk, and waits again.
A thread's operations keep their order, so its results have the same bits.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from dataclasses import replace
from math import prod

from placewise.errors import UnsupportedError
from placewise.kernel.chunks import (
    STATIC_SHARED_BYTES,
    ChunkLoop,
    ChunkPlan,
    ChunkTile,
    Guard,
    GuardKind,
)
from placewise.kernel.source import ArrayUse
from placewise.kernel.view.elements import is_number
from placewise.rewriter.draft import Draft
from placewise.rewriter.loop_tiles import LoopTiles, filled_columns
from placewise.rewriter.text import Render
from placewise.rewriter.tiles import (
    PlacedTile,
    TileNames,
    alignment_flag,
    check_tile_size,
    constant,
    declare,
    element_text,
    shape_text,
    tile_access,
)
from placewise.rewriter.ways.kernel_buffer import DECLARATION
from placewise.space import MemorySpace

ASYNC_COPIES = (8, 0)
"""Compute capability from which threads can copy from global to shared memory asynchronously."""
_PIPELINE = "cuda_pipeline.h"
"""The header of the CUDA toolkit that declares asynchronous copies."""
_TWICE = 1500
"""A loop whose body has at most this many bytes of text is written twice: for whole chunks, whose
length the compiler then knows, and for the last chunk."""
_UNROLLED = 4096
"""Most bytes of text that the loop over a whole chunk may have if unrolled; longer ones are not
unrolled."""


def place_chunked(
    draft: Draft, plan: ChunkPlan, iterations: int, uses: dict[str, tuple[ArrayUse, MemorySpace]],
    names: TileNames, buffers: int = 1,
) -> None:  # fmt: skip
    """Put the arrays of ``plan`` into tiles, each for ``iterations`` iterations of its loop.

    With 2 ``buffers``, each tile that is filled has two: asynchronous copies fill one while the
    block computes with the other. Raises UnsupportedError where such copies cannot move the arrays'
    elements, where they would read an array before the last chunk is copied back to it, and where
    the tiles exceed what static shared arrays may take.
    """
    if buffers > 1:
        _check_fetched(draft, plan, uses)
        draft.includes.append(_PIPELINE)
    flags = _guard(draft, plan.guards)
    shared: dict[tuple[str, int], str] = {}
    for (array, part), largest in plan.largest_tiles(iterations).items():
        use, space = uses[array]
        name = shared[array, part] = draft.unique(f"{array}_tile")
        own = buffers if array in plan.filled else 1
        declare(draft, use, largest, space.declaration or DECLARATION, name, own)
    if draft.static_bytes > STATIC_SHARED_BYTES:
        raise UnsupportedError(
            f"the tiles take {draft.static_bytes} bytes, static shared memory has "
            f"{STATIC_SHARED_BYTES}",
            where=draft.case.filename,
        )
    for loop in plan.loops:
        tiles = LoopTiles()
        stage = draft.unique("stage") if buffers > 1 else None
        for one in loop.tiles:
            buffer = shared[one.array, one.part]
            buffer += f"[{stage}]" if stage and one.filled else ""
            use = uses[one.array][0]
            placed = _place(draft, one, loop, iterations, use, buffer, names, tiles.starts)
            untiled = plan.untiled_accesses(use)
            if one.filled:
                filled = filled_columns(replace(placed, fetched=buffers > 1), one.halo)
                tiles.filled.append(filled)
                tiles.barrier_before_loop |= any(place.kind != "load" for place in untiled)
            back = dict(one.copied_back).get(iterations)
            if back is not None:
                tiles.written.append(replace(placed, tile=back))
                tiles.barrier_after_copy |= use.read or bool(untiled)
        flag = None if loop.under is None else flags[loop.under]
        if stage is None:
            make = _chunked(draft, loop, iterations, tiles, flag)
        else:
            make = _overlapped(draft, loop, iterations, tiles, flag, stage)
        draft.text.replace(loop.start, loop.end, make)
    for array in plan.arrays:
        _note_tiles(draft, plan, iterations, array, uses[array][1], buffers)


def _note_tiles(
    draft: Draft, plan: ChunkPlan, iterations: int, array: str, space: MemorySpace, buffers: int
) -> None:
    """Add the note above the kernel, and the line of the report, on the tiles of an array."""
    shapes = dict.fromkeys(
        shape_text(tile)
        for loop in plan.loops
        for one in loop.tiles
        if one.array == array and (tile := one.tile(iterations)) is not None
    )
    lines = ", ".join(str(o.line) for o in plan.loops if array in (t.array for t in o.tiles))
    times = "2 x " if buffers > 1 and array in plan.filled else ""
    moved = [
        *(["filled before"] if array in plan.filled else []),
        *(["copied back after"] if array in plan.written else []),
    ]
    parts = 1 + max(o.part for loop in plan.loops for o in loop.tiles if o.array == array)
    several = f"{parts} " if parts > len(shapes) else ""
    what = f"{several}tiles of {times}{' and '.join(shapes)} elements per block"
    draft.notes.append(
        f"{array}: {space.name} ({what}, for {iterations} iterations of a loop at a time)"
    )
    draft.edits.append(
        f"{array}: {what}, {' and '.join(moved)} each {iterations} iterations of the loop in line "
        f"{lines}"
    )


def _guard(draft: Draft, guards: tuple[Guard, ...]) -> list[str]:
    """Write the guards as flags. Returns the names of the flags, in order."""
    flags: list[str] = []
    for guard in guards:
        before = None if guard.under is None else flags[guard.under]
        if guard.kind in (GuardKind.RETURN, GuardKind.BRANCH):
            flags.append(draft.unique("inside"))
            draft.text.replace(guard.start, guard.end, _flag(draft, guard, flags[-1], before))
        elif guard.kind is GuardKind.STATEMENT:
            assert before is not None, "nothing is guarded where all threads arrive"
            made = _guarded(draft, guard, before)
            draft.text.replace(guard.start, guard.end, made, is_outer=True)
        else:
            made = _value(guard, before or "true")
            draft.text.replace(guard.start, guard.end, made, is_outer=True)
    return flags


def _flag(draft: Draft, guard: Guard, name: str, before: str | None) -> Callable[[Render], str]:
    def make(render: Render) -> str:
        condition = render(*guard.condition)
        holds = f"!({condition})" if guard.kind is GuardKind.RETURN else condition
        if before is not None:
            holds = f"{before} && ({holds})"
        line = f"const bool {name} = {holds};"
        if guard.last[1] > guard.last[0]:
            leaves = f"!{name}" if before is None else f"{before} && !{name}"
            line += f"\n{_indentation(draft, guard.start)}if ({leaves}) {{ {render(*guard.last)} }}"
        if guard.kind is GuardKind.BRANCH:
            line += f"\n{_indentation(draft, guard.start)}"
        return line

    return make


def _guarded(draft: Draft, guard: Guard, flag: str) -> Callable[[Render], str]:
    indent = _indentation(draft, guard.start)

    def make(render: Render) -> str:
        inside = render(guard.start, guard.end)
        if "\n" not in inside and inside.count(";") == 1:
            return f"if ({flag}) {inside}"
        lines = _in_braces(f"if ({flag})", _lines_of(inside))
        return f"\n{indent}".join(lines)

    return make


def _value(guard: Guard, flag: str) -> Callable[[Render], str]:
    def make(render: Render) -> str:
        # ``unsigned int()`` is not an expression, so a type of several words needs a cast.
        kind = guard.type_text
        nothing = f"({kind})0" if " " in kind else f"{kind}()"
        return f"{flag} ? ({render(guard.start, guard.end)}) : {nothing}"

    return make


def _place(
    draft: Draft, one: ChunkTile, loop: ChunkLoop, iterations: int, use: ArrayUse,
    buffer: str, names: TileNames, starts: list[str],
) -> PlacedTile:  # fmt: skip
    """Redirect the accesses that one tile of a loop holds to its ``buffer``. Declarations of where
    the tile begins that change with the chunk are appended to ``starts``."""
    tile = one.tile(iterations)
    assert tile is not None, "a plan has tiles for its chunk lengths"
    check_tile_size(draft, tile)
    moving = (loop, starts)
    placed = PlacedTile(
        use=use,
        tile=tile,
        name=buffer,
        row0=_first(draft, f"{use.name}_row", tile.row0_text, moving) if tile.rows > 1 else None,
        column0=_first(draft, f"{use.name}_column", tile.column0_text, moving),
        threads=prod(draft.case.launch.block),
        names=names,
        aligned=alignment_flag(draft, use, tile) if one.filled else None,
    )
    for at, split in zip(one.accesses, tile.splits, strict=True):
        draft.replace_access(use.accesses[at], tile_access(placed, split))
    return placed


def _first(draft: Draft, name: str, text: str, moving: tuple[ChunkLoop, list[str]]) -> str | None:
    """Name of the variable with the tile's first row or column; None where that is 0. It is
    declared at the start of the body, or in each chunk if it changes with the chunk or with a loop
    around it."""
    loop, starts = moving
    if text == "0" or text.isidentifier():
        return None if text == "0" else text
    words = set(re.findall(r"[A-Za-z_]\w*", text))
    if not words & {loop.first_name, *loop.around}:
        return constant(draft, "int", name, text)
    name = draft.unique(name)
    starts.append(f"const int {name} = {text};")
    return name


def _chunked(
    draft: Draft, loop: ChunkLoop, iterations: int, tiles: LoopTiles, flag: str | None
) -> Callable[[Render], str]:
    """The loop over chunks that fills a chunk's tiles before it computes with them."""
    indent = _indentation(draft, loop.start)
    span = iterations * loop.stride
    first, at = loop.first_name, draft.unique(f"{loop.variable}_at")

    def make(render: Render) -> str:
        ends = " && ".join(f"{first} < {end}" for end in loop.end_texts)
        lines = ["__syncthreads();"] if tiles.barrier_before_loop else []
        lines.append(f"for (int {first} = {loop.first_text}; {ends}; {first} += {span}) {{")
        lines += [f"    {line}" for line in tiles.starts]
        lines += [f"    {line}" for line in tiles.fills()]
        lines.append("    __syncthreads();")
        lines += [f"    {line}" for line in _iterations(loop, iterations, flag, at, render)]
        lines.append("    __syncthreads();")
        # A tile that is never filled needs no barrier after this copy: the next chunk writes to it
        # only after the barrier that follows the fills.
        lines += [f"    {line}" for line in tiles.copies_back()]
        lines.append("}")
        return f"\n{indent}".join([*_init(loop, flag, render), *lines])

    return make


def _overlapped(
    draft: Draft, loop: ChunkLoop, iterations: int, tiles: LoopTiles, flag: str | None, stage: str
) -> Callable[[Render], str]:
    """The loop over chunks that fetches the next chunk's tiles while it computes with this one's.

    One barrier in each chunk is enough: after it all threads see the tiles that they fetched
    together, and none computes any more with the buffer that is fetched into next. Tiles that are
    copied back need another barrier, before the copy.
    """
    indent = _indentation(draft, loop.start)
    span = iterations * loop.stride
    first, fetch = loop.first_name, draft.unique("fetch")
    assert not tiles.barrier_before_loop, "arrays that are written have one buffer"
    at = draft.unique(f"{loop.variable}_at")

    def make(render: Render) -> str:
        ends = " && ".join(f"{first} < {end}" for end in loop.end_texts)
        lines = [
            "{",
            f"    const auto {fetch} = [&](const int {first}, const int {stage}) {{",
            f"        if ({ends}) {{",
            *(f"            {line}" for line in tiles.starts),
            *(f"            {line}" for line in tiles.fills()),
            "        }",
            "        __pipeline_commit();",
            "    };",
            f"    int {stage} = 0;",
            f"    {fetch}({loop.first_text}, {stage});",
            f"    for (int {first} = {loop.first_text}; {ends}; {first} += {span}) {{",
            "        __pipeline_wait_prior(0);",
            "        __syncthreads();",
            f"        {fetch}({first} + {span}, {stage} ^ 1);",
            *(f"        {line}" for line in tiles.starts),
            *(f"        {line}" for line in _iterations(loop, iterations, flag, at, render)),
            *(f"        {line}" for line in _after_barrier(tiles.copies_back())),
            f"        {stage} ^= 1;",
            "    }",
            "    __syncthreads();",
            "}",
        ]
        return f"\n{indent}".join([*_init(loop, flag, render), *lines])

    return make


def _after_barrier(lines: list[str]) -> list[str]:
    return ["__syncthreads();", *lines] if lines else []


def _check_fetched(
    draft: Draft, plan: ChunkPlan, uses: dict[str, tuple[ArrayUse, MemorySpace]]
) -> None:
    """Raise UnsupportedError where two buffers are impossible: no tile is filled, the next chunk
    would be fetched before what it reads is copied back, or asynchronous copies, which move 4 or 8
    bytes, cannot move an array's elements. The element type must be written out, since another
    instance of a template may have elements of another size."""
    both = sorted(plan.filled & plan.written)
    if both:
        raise UnsupportedError(
            f"array '{both[0]}' cannot have two buffers: the kernel reads what it has written to "
            "it",
            where=draft.case.filename,
        )
    if not plan.filled:
        raise UnsupportedError(
            "tiles that are only written have one buffer", where=draft.case.filename
        )
    for array in plan.arrays:
        if array not in plan.filled:
            continue
        use, _ = uses[array]
        kind = use.parameter.element_type
        sized = use.parameter.element_bytes in (4, 8) and is_number(kind)
        if not sized or element_text(draft, use) != kind:
            raise UnsupportedError(
                f"array '{use.name}' cannot have two buffers: asynchronous copies move numbers of "
                "4 or 8 bytes whose type is written out",
                where=draft.case.filename,
            )


def _iterations(
    loop: ChunkLoop, iterations: int, flag: str | None, at: str, render: Render
) -> list[str]:
    """The lines that run one chunk's iterations of the loop. ``at`` names the counter of a whole
    chunk's iterations."""
    first, span = loop.first_name, iterations * loop.stride
    variable, step, body = loop.variable, render(*loop.step), render(*loop.body)
    kind = f"{loop.variable_type} " if loop.variable_type else ""
    start = f"{kind}{variable} = {first}"
    condition = render(*loop.condition)
    inner = _lines_of(body[1:-1].strip() if body.startswith("{") else body)
    whole = [*_unroll(loop, iterations), *_counted(loop, span, at, start, step, inner)]
    if loop.constant_trips is not None and loop.constant_trips % iterations == 0:
        return _in_braces(f"if ({flag})", whole) if flag else whole
    if len(body) > _TWICE:
        ends = f"({condition}) && {variable} < {first} + {span}"
        lines = _in_braces(f"for ({start}; {ends}; {step})", inner)
        return _in_braces(f"if ({flag})", lines) if flag else lines
    last = f"{first} + {(iterations - 1) * loop.stride}"
    is_whole = " && ".join(f"{last} < {end}" for end in loop.end_texts)
    if flag:
        is_whole, otherwise = f"{flag} && {is_whole}", f"}} else if ({flag})"
    else:
        otherwise = "} else"
    rest = _in_braces(f"for ({start}; {condition}; {step})", inner)
    return [*_in_braces(f"if ({is_whole})", whole)[:-1], *_in_braces(otherwise, rest)]


def _init(loop: ChunkLoop, flag: str | None, render: Render) -> list[str]:
    """The start of a loop whose variable is declared outside of it, for the threads that come by
    it; none for other loops."""
    if loop.variable_type:
        return []
    init = render(*loop.init)
    return [f"if ({flag}) {init}" if flag else init]


def _in_braces(head: str, lines: list[str]) -> list[str]:
    return [f"{head} {{", *(f"    {line}" for line in lines), "}"]


def _lines_of(text: str) -> list[str]:
    """The lines of some statements, indented against one another alone. Text with a line that a
    backslash continues is one line: it may be part of a string."""
    if re.search(r"\\\r?\n", text):
        return [text]
    first, *others = text.splitlines()
    return [first, *textwrap.dedent("\n".join(others)).splitlines()]


def _counted(
    loop: ChunkLoop, span: int, at: str, start: str, step: str, inner: list[str]
) -> list[str]:
    """The loop over a whole chunk. A loop that declares its variable counts from 0: all compilers
    then see that several elements of a tile lie in one aligned word, and load them at once. Of
    ``k - k_chunk`` NVRTC 13.5 sees it, 12.9 and 13.0 do not."""
    variable, first = loop.variable, loop.first_name
    if not loop.variable_type:
        end = f"{variable} < {first} + {span}"
        return _in_braces(f"for ({start}; {end}; {step})", inner)
    count = f"{at}++" if loop.stride == 1 else f"{at} += {loop.stride}"
    own = f"{loop.variable_type} {variable} = {first} + {at};"
    return _in_braces(f"for (int {at} = 0; {at} < {span}; {count})", [own, *inner])


def _unroll(loop: ChunkLoop, iterations: int) -> list[str]:
    size = loop.body[1] - loop.body[0]
    return ["#pragma unroll"] if iterations * size <= _UNROLLED else []


def _indentation(draft: Draft, at: int) -> str:
    """White space at the start of the line that contains byte ``at``."""
    text = draft.text.text
    line = text[text.rfind(b"\n", 0, at) + 1 : at].decode()
    return line[: len(line) - len(line.lstrip())]
