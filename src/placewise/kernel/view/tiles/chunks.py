"""Which loops of a kernel can run in chunks, with shared tiles for what one chunk reads or
writes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from placewise.kernel.chunks import STATIC_SHARED_BYTES, ChunkLoop, ChunkPlan, ChunkTile
from placewise.kernel.launch import Launch
from placewise.kernel.source import Split, Tile
from placewise.kernel.view.indices.interval import Bounder, Numbers, Unbounded
from placewise.kernel.view.indices.split import all_in_columns
from placewise.kernel.view.indices.symbolic import Poly, ranged, uniform
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.pointer_uses import Access, Uses
from placewise.kernel.view.tiles.counted_loops import CountedLoop, counted_loops
from placewise.kernel.view.tiles.loop_guards import (
    Unreachable,
    loop_guards,
)
from placewise.kernel.view.tiles.tile import for_this_launch, has_remainder, index_of, tiles_of
from placewise.kernel.view.tiles.tile_axes import AROUND, CHUNK, FIRST_OF, GRID, WITHIN_CHUNK
from placewise.kernel.view.tree.clang import ParsedKernel
from placewise.kernel.view.tree.node import Node
from placewise.kernel.view.tree.places import expression_end, statement_end

ITERATIONS = (4, 8, 16, 32, 64, 128, 256)
"""Chunk lengths that are tried."""
_SCOPES = frozenset({"COMPOUND_STMT", "FOR_STMT", "IF_STMT", "WHILE_STMT", "SWITCH_STMT"})
_MOST_APART = 8
"""Most accesses of an array in a loop that are looked at one by one."""
_MOST_PARTS = 3
"""Most tiles of one array in a loop."""
_SAMPLES = 2
"""Chunks at each end of a loop whose bounds are computed."""


@dataclass(frozen=True, eq=False)
class TiledArray:
    """An array that the kernel only reads or only writes, and could have in a shared tile."""

    name: str
    uses: Uses
    elements: int
    element_bytes: int
    written: bool


def find_chunk_plans(
    kernel: ParsedKernel, values: Values, arrays: Sequence[TiledArray], launch: Launch,
    *, synchronises: bool,
) -> tuple[ChunkPlan, ...]:  # fmt: skip
    """Plans for all arrays together and, where there are several, for those that are only read,
    for those whose lanes go along a column, for those of the same loop, and for each alone.

    ``synchronises``: the kernel has barriers of its own; then all threads must reach the loops
    without a change, as a barrier under a flag would wait for ever.
    """
    if values.jumps or not arrays or changed_argument(values):
        return ()
    loops = counted_loops(kernel, values)
    if not loops:
        return ()
    found = [_tiles_of_array(a, loops, values, launch) for a in arrays]
    usable = [(a, f) for a, f in zip(arrays, found, strict=True) if f]
    read = [(a, f) for a, f in usable if not a.written]
    scattered = [(a, f) for a, f in usable if _goes_down(f)]
    of_loops = ([(a, f) for a, f in usable if loop in f] for loop in loops.values())
    groups = [usable, read, scattered, *of_loops, *([one] for one in usable)]
    different = [g for n, g in enumerate(groups) if g and g not in groups[:n]]
    plans = (_plan(group, loops, kernel) for group in different)
    return tuple(p for p in plans if p is not None and not (synchronises and p.guards))


def changed_argument(values: Values) -> bool:
    """Whether a scalar argument changes in the body, or a local variable hides one: tiles' texts
    name arguments as they are at the kernel's entry."""
    names = {p.name for p in values.parameters.values()}
    return any(
        i in values.changes and p.type_kind != "POINTER" for i, p in values.parameters.items()
    ) or any(v.name in names for v in values.locals.values())


_Found = dict[CountedLoop, tuple[ChunkTile, ...]]


def _tiles_of_array(
    array: TiledArray, loops: Mapping[Node, CountedLoop], values: Values, launch: Launch
) -> _Found:
    """Tiles of an array by the loop whose chunks they hold: for each access the outermost loop
    around it that has one."""
    if array.written:
        return _tile_of_store(array, loops, values, launch)
    found: _Found = {}
    for loop in loops.values():
        inside = [
            n for n, a in enumerate(array.uses.accesses) if a.node.within(loop.count.parts.body)
        ]
        held = {n for tiles in found.values() for tile in tiles for n in tile.accesses}
        if not inside or held & set(inside):
            continue
        whole = _tiles(array, inside, loop, loops, values, launch)
        one = (ChunkTile(array.name, tuple(inside), whole),) if whole else ()
        parts = _parts(array, inside, loop, loops, values, launch)
        if parts and (not one or 2 * _elements(parts) <= _elements(one)):
            found[loop] = parts
        elif one:
            found[loop] = one
    return found


def _goes_down(found: _Found) -> bool:
    """Whether lanes go along a column in some tile of an array."""
    return any(t.lanes_down for tiles in found.values() for one in tiles for _, t in one.tiles)


def _tile_of_store(
    array: TiledArray, loops: Mapping[Node, CountedLoop], values: Values, launch: Launch
) -> _Found:
    """The tile of an array that one store writes, all of the tile in each chunk of a loop."""
    if len(array.uses.accesses) != 1:
        return {}
    (access,) = array.uses.accesses
    for loop in loops.values():
        if loop.count.stepping.stride == 1 and access.node.within(loop.count.parts.body):
            made = _tiles(array, [0], loop, loops, values, launch)
            if made:
                return {loop: (ChunkTile(array.name, (0,), made, written=True),)}
    return {}


def _elements(tiles: Sequence[ChunkTile]) -> int:
    """Elements of all of ``tiles`` for the shortest chunks."""
    return sum(min(tile.elements for _, tile in one.tiles) for one in tiles)


def _tiles(
    array: TiledArray, inside: Sequence[int], loop: CountedLoop, loops: Mapping[Node, CountedLoop],
    values: Values, launch: Launch,
) -> tuple[tuple[int, Tile], ...]:  # fmt: skip
    """(iterations, tile) for each chunk length for which one tile holds these accesses."""
    longest = max(loop.trips, ITERATIONS[0])
    made = (
        (n, _tile(array, inside, loop, loops, values, launch, n))
        for n in ITERATIONS
        if n <= longest
    )
    return tuple((n, tile) for n, tile in made if tile is not None)


def _parts(
    array: TiledArray, inside: Sequence[int], loop: CountedLoop, loops: Mapping[Node, CountedLoop],
    values: Values, launch: Launch,
) -> tuple[ChunkTile, ...]:  # fmt: skip
    """Several tiles of an array whose accesses go to places far apart, one for those that begin at
    the same row and column; none where an access has none."""
    if not 2 <= len(inside) <= _MOST_APART:
        return ()
    groups: dict[tuple[str, str], list[int]] = {}
    for n in inside:
        tile = _tile(array, [n], loop, loops, values, launch, ITERATIONS[0])
        if tile is None:
            return ()
        groups.setdefault((tile.row0_text, tile.column0_text), []).append(n)
    if len(groups) > _MOST_PARTS:
        return ()
    tiles = [_tiles(array, group, loop, loops, values, launch) for group in groups.values()]
    return tuple(
        ChunkTile(array.name, tuple(group), made, part)
        for part, (group, made) in enumerate(zip(groups.values(), tiles, strict=True))
        if all(tiles)
    )


def _tile(
    array: TiledArray, inside: Sequence[int], loop: CountedLoop, loops: Mapping[Node, CountedLoop],
    values: Values, launch: Launch, iterations: int,
) -> Tile | None:  # fmt: skip
    """The smallest tile that holds what a block uses of the array in one chunk. One for this
    launch alone counts if there is no other, or none that is less than twice as large."""
    accesses = [array.uses.accesses[n] for n in inside]
    try:
        within = _in_chunk(loop, loops, values, iterations)
        if not any(_varies(within, loop, a) for a in accesses):
            return None
        found = _smallest(array, accesses, within, launch)
        if not has_remainder(within, accesses):
            return found
        closer = _smallest(array, accesses, within.of_this_launch(), launch)
    except Unbounded:
        return None
    if closer is None or (found is not None and 2 * closer.elements > found.elements):
        return found
    return for_this_launch(values, closer)


def _smallest(
    array: TiledArray, accesses: Sequence[Access], within: Values, launch: Launch
) -> Tile | None:
    """The smallest tile of one chunk that fits, with bounds as ``within`` has them."""
    try:
        indices = [index_of(within, a) for a in accesses]
        tiles = tiles_of(within, indices, array.elements, launch)
        if array.written:
            tiles = [t for t in tiles if _gathers_stores(t)]
        made = [t for t in tiles if t.rows > 1]
        splits = [all_in_columns(within, a) for a in accesses]
    except Unbounded:
        return None
    # A tile's size must not rest on which chunk it holds.
    varying = {CHUNK} if within.bounder.within_period else {CHUNK, *GRID}
    tiles = [t for t in tiles if not varying & set(t.bound_to)]
    made = [t for t in made if t in tiles]
    whole = tuple(Split((), s) for s in splits if s is not None)
    if len(whole) == len(splits):
        made += [replace(t, splits=whole) for t in tiles if t.rows == 1]
    best = min(made, key=lambda t: (t.elements, t.rows), default=None)
    if best is not None and best.padding and array.element_bytes == 4 and best.width % 4 == 0:
        # Lanes go along rows and the loop along columns: the compiler loads four columns at once,
        # and rows that begin four banks apart serve that without conflicts.
        best = replace(best, padding=4)
    if best is None or best.bytes(array.element_bytes) > STATIC_SHARED_BYTES:
        return None
    return best if best.elements < array.elements else None


def _gathers_stores(tile: Tile) -> bool:
    """Whether a tile that is copied back makes coalesced stores of scattered ones: its lanes go
    along a column, and all of it is written."""
    return tile.lanes_down and tile.written_whole and tile.within_rows


def _varies(values: Values, loop: CountedLoop, access: Access) -> bool:
    """Whether the index of an access depends on the loop's variable."""
    key = f"{WITHIN_CHUNK}{loop.first_name}"
    poly = index_of(values, access).poly
    return any(a.key == key or any(r.key == key for r in a.reaches()) for a in poly.atoms)


def _in_chunk(
    loop: CountedLoop, loops: Mapping[Node, CountedLoop], values: Values, iterations: int
) -> Values:
    """Values of expressions inside one chunk: the variable between the chunk's first value, which
    all threads know, and its last; variables of the loops around it are known, too."""
    numbers = dict(values.bounder.values)
    given: dict[Node, Poly] = {}
    axis = 3
    for outer in reversed([n for n in loop.node.above() if n.kind == "FOR_STMT"]):
        around = loops.get(outer)
        if around is None:
            raise Unbounded("a loop around it has bounds that differ between threads")
        if _is_hidden(around, loop.node):
            raise Unbounded(f"'{around.count.name}' has another meaning there")
        key = f"{AROUND}{around.first_name}"
        numbers[key] = _sampled(around, values.bounder, 1, axis)
        given[outer] = uniform(key, around.count.name)
        axis += 1
    stride = loop.count.stepping.stride or 1
    first_key = f"{FIRST_OF}{loop.first_name}"
    numbers[first_key] = _sampled(loop, values.bounder, iterations, axis)
    first = uniform(first_key, loop.first_name)
    last = first + Poly.constant((iterations - 1) * stride)
    limits = tuple(p - Poly.constant(1) for p in loop.ends)
    given[loop.node] = ranged(f"{WITHIN_CHUNK}{loop.first_name}", (first,), (last, *limits))
    return Values(values.kernel, Bounder(numbers), given)


def _is_hidden(around: CountedLoop, node: Node) -> bool:
    """Whether another variable of the same name as that of a loop around ``node`` is declared in
    between: a tile's texts name the loop's."""
    scopes = set(node.above()) | {node}
    for other in around.node.walk():
        is_twin = other.kind == "VAR_DECL" and other.name == around.count.name
        if is_twin and other.id != around.count.variable:
            scope = next((a for a in other.above() if a.kind in _SCOPES), None)
            if scope in scopes:
                return True
    return False


def _sampled(loop: CountedLoop, bounder: Bounder, iterations: int, axis: int) -> Numbers:
    """First values of some chunks, in every block: the first ones and the last ones."""
    chunks = -(-loop.trips // iterations)
    picked = sorted({*range(min(_SAMPLES, chunks)), *range(max(0, chunks - _SAMPLES), chunks)})
    start = bounder.evaluate(loop.count.first)
    steps = np.array(picked, np.int64) * iterations * (loop.count.stepping.stride or 1)
    return start + steps.reshape(-1, *([1] * axis))


def _plan(
    group: Sequence[tuple[TiledArray, _Found]],
    loops: Mapping[Node, CountedLoop],
    kernel: ParsedKernel,
) -> ChunkPlan | None:
    """The plan of some arrays; None where not all threads can reach the loops."""
    chosen: dict[CountedLoop, list[ChunkTile]] = {}
    for loop in loops.values():
        tiles = [tile for _, found in group for tile in found.get(loop, ())]
        nested = any(loop.node.within(o.node) for o in chosen)
        if tiles and not nested:
            chosen[loop] = tiles
    arrays = dict.fromkeys(t.array for tiles in chosen.values() for t in tiles)
    if len(arrays) < len(group):
        return None
    try:
        guards, flags = loop_guards(kernel.body, [c.node for c in chosen], kernel.text)
    except Unreachable:
        return None
    everywhere = set(ITERATIONS)
    for tiles in chosen.values():
        for tile in tiles:
            everywhere &= {n for n, _ in tile.tiles}
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
    if not everywhere or any(one is None for one in made):
        return None
    return ChunkPlan(
        tuple(arrays), tuple(m for m in made if m is not None), guards, tuple(sorted(everywhere))
    )


_PRAGMA = re.compile(rb"[ \t]*#[ \t]*pragma[^\n]*\n[ \t]*\Z")


def _loop(
    loop: CountedLoop, tiles: tuple[ChunkTile, ...], under: int | None, around: tuple[str, ...],
    text: bytes,
) -> ChunkLoop | None:  # fmt: skip
    """What the rewriter needs of a loop; None where its parts are not seen in the text."""
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
