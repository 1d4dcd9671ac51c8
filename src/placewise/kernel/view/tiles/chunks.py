"""Which loops of a kernel can run in chunks, with shared tiles for what one chunk reads or
writes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from placewise.kernel.chunks import ChunkLoop, ChunkPlan, ChunkTile
from placewise.kernel.launch import Launch
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.tiles.chunk_tiles import (
    ITERATIONS,
    FoundTiles,
    TiledArray,
    has_lanes_down,
    tiles_of_array,
)
from placewise.kernel.view.tiles.counted_loops import CountedLoop, counted_loops
from placewise.kernel.view.tiles.loop_guards import Unreachable, loop_guards
from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.node import Node
from placewise.kernel.view.tree.places import expression_end, statement_end


def find_chunk_plans(
    kernel: ParsedKernel, values: Values, arrays: Sequence[TiledArray], launch: Launch,
    *, synchronises: bool,
) -> tuple[ChunkPlan, ...]:  # fmt: skip
    """Plans for groups of arrays, each group once: all arrays, those that the kernel only reads,
    those in whose tiles neighbouring lanes access neighbouring rows, those of each loop, and each
    array alone.

    ``synchronises``: the kernel has barriers of its own. Then all threads must reach the loops
    without guards: a barrier under a flag would wait for ever.
    """
    if values.jumps or not arrays or changed_argument(values):
        return ()
    loops = counted_loops(kernel, values)
    if not loops:
        return ()
    found = [tiles_of_array(a, loops, values, launch) for a in arrays]
    usable = [(a, f) for a, f in zip(arrays, found, strict=True) if f]
    read = [(a, f) for a, f in usable if not a.written]
    scattered = [(a, f) for a, f in usable if has_lanes_down(f)]
    of_loops = ([(a, f) for a, f in usable if loop in f] for loop in loops.values())
    groups = [usable, read, scattered, *of_loops, *([one] for one in usable)]
    different = [g for n, g in enumerate(groups) if g and g not in groups[:n]]
    plans = (_plan(group, loops, kernel) for group in different)
    return tuple(p for p in plans if p is not None and not (synchronises and p.guards))


def changed_argument(values: Values) -> bool:
    """Whether a scalar argument changes in the body, or a local variable hides one. Tiles' texts
    name arguments and mean their values at the kernel's entry."""
    names = {p.name for p in values.parameters.values()}
    return any(
        i in values.changes and p.type_kind != "POINTER" for i, p in values.parameters.items()
    ) or any(v.name in names for v in values.locals.values())


# One branch for each reason why arrays share no plan.
def _plan(
    group: Sequence[tuple[TiledArray, FoundTiles]],
    loops: Mapping[Node, CountedLoop],
    kernel: ParsedKernel,
) -> ChunkPlan | None:
    """The plan of some arrays. None where not all threads can reach the loops, an array has no tile
    in them, no chunk length suits all tiles, or a loop's parts are not found in the text."""
    chosen: dict[CountedLoop, list[ChunkTile]] = {}
    for loop in loops.values():
        tiles = [tile for _, found in group for tile in found.get(loop, ())]
        nested = any(loop.node.within(o.node) for o in chosen)
        if tiles and not nested:
            chosen[loop] = tiles
    arrays = dict.fromkeys(t.array for tiles in chosen.values() for t in tiles)
    if len(arrays) < len(group):
        return None
    if any(array.written and not found.keys() <= chosen.keys() for array, found in group):
        # A chosen loop contains one in which this array has a tile, but has no tile of it itself:
        # some of what the kernel writes would stay outside the tiles.
        return None
    try:
        guards, flags = loop_guards(kernel.body, [c.node for c in chosen], kernel.text)
    except Unreachable:
        return None
    lengths = set(ITERATIONS)
    for tiles in chosen.values():
        for tile in tiles:
            lengths &= {n for n, _ in tile.tiles}
    made = tuple(
        _loop(
            loop,
            tuple(tiles),
            flags[loop.node],
            tuple(o.count.name for n, o in loops.items() if n in loop.node.above()),
            kernel.text,
        )
        for loop, tiles in chosen.items()
    )
    if not lengths or any(one is None for one in made):
        return None
    return ChunkPlan(
        tuple(arrays), tuple(m for m in made if m is not None), guards, tuple(sorted(lengths))
    )


_PRAGMA = re.compile(rb"[ \t]*#[ \t]*pragma[^\n]*\n[ \t]*\Z")


def _loop(
    loop: CountedLoop, tiles: tuple[ChunkTile, ...], under: int | None, around: tuple[str, ...],
    text: bytes,
) -> ChunkLoop | None:  # fmt: skip
    """What the rewriter needs of a loop; None where its parts are not found in the text.

    ``under`` is the number of the flag in force there, ``around`` the variables of the loops around
    it.
    """
    node, count = loop.node, loop.count
    parts = count.parts
    start, condition, step = parts.start, parts.condition, parts.step
    if start is None or condition is None or step is None:
        return None
    body_end = statement_end(parts.body, text)
    declared = start.kind == "DECL_STMT"
    start_end = start.end - 1 if declared else expression_end(text, start.start, b";")
    semicolon = -1 if start_end is None else text.find(b";", start_end)
    condition_end = expression_end(text, condition.start, b";")
    step_end = expression_end(text, step.start, b")")
    if body_end is None or semicolon < 0 or condition_end is None or step_end is None:
        return None
    variable = start.children[0] if declared else start
    pragma = _PRAGMA.search(text[: node.start])
    begin = node.start
    if pragma is not None:
        begin = pragma.start() + len(pragma.group()) - len(pragma.group().lstrip())
    constant = all(p.value is not None for p in (count.first, *loop.ends))
    return ChunkLoop(
        line=node.line,
        start=begin,
        end=body_end,
        init=(start.start, semicolon + 1),
        condition=(condition.start, condition_end),
        step=(step.start, step_end),
        body=(parts.body.start, body_end),
        variable=count.name,
        variable_type=variable.type if declared else "",
        first_name=loop.first_name,
        first_text=count.first.text,
        end_texts=tuple(dict.fromkeys(p.text for p in loop.ends)),
        stride=count.stepping.stride or 1,
        trips=loop.trips,
        constant_trips=loop.trips if constant else None,
        under=under,
        around=around,
        tiles=tiles,
    )
