"""Tiles that hold what the chunks of a loop read or write of one array."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from placewise.kernel.chunks import STATIC_SHARED_BYTES, ChunkTile
from placewise.kernel.launch import Launch
from placewise.kernel.source import Extent, Split, Tile
from placewise.kernel.view.indices.conditions import conditions_at
from placewise.kernel.view.indices.interval import Bounder, Numbers, Unbounded
from placewise.kernel.view.indices.split import all_in_columns
from placewise.kernel.view.indices.symbolic import Poly, ranged, uniform
from placewise.kernel.view.indices.values import Values
from placewise.kernel.view.pointer_uses import Access, Uses
from placewise.kernel.view.tiles.counted_loops import CountedLoop
from placewise.kernel.view.tiles.tile import for_this_launch, has_remainder, index_of, tiles_of
from placewise.kernel.view.tiles.tile_axes import AROUND, CHUNK, FIRST_OF, GRID, WITHIN_CHUNK
from placewise.kernel.view.tree.node import Node

ITERATIONS = (4, 8, 16, 32, 64, 128, 256)
"""Chunk lengths that are tried."""
_SCOPES = frozenset({"COMPOUND_STMT", "FOR_STMT", "IF_STMT", "WHILE_STMT", "SWITCH_STMT"})
_MOST_APART = 8
"""Most accesses of an array in a loop that are looked at one by one."""
_MOST_PARTS = 3
"""Most tiles of one array in a loop."""
_SAMPLES = 2
"""Chunks at each end of a loop whose bounds are computed."""


def _goes_down(tile: Tile) -> bool:
    """Whether a tile's lanes go along a column of an array's rows."""
    return tile.lanes_down and tile.within_rows


def _gathers_stores(tile: Tile) -> bool:
    """Whether a tile that is copied back makes coalesced stores of scattered ones: its lanes go
    along a column, and all of it is written."""
    return _goes_down(tile) and tile.written_whole


@dataclass(frozen=True, eq=False)
class TiledArray:
    """An array that could have shared tiles."""

    name: str
    uses: Uses
    elements: int
    element_bytes: int
    written: bool
    """Whether the kernel writes it."""


FoundTiles = dict[CountedLoop, tuple[ChunkTile, ...]]
"""Tiles of one array, by the loop whose chunks they hold."""


def tiles_of_array(
    array: TiledArray, loops: Mapping[Node, CountedLoop], values: Values, launch: Launch
) -> FoundTiles:
    """Tiles of an array by the loop whose chunks they hold: for each access the outermost loop
    around it that has one."""
    if array.written:
        return _tiles_of_written(array, loops, values, launch)
    found: FoundTiles = {}
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


def goes_down(found: FoundTiles) -> bool:
    """Whether lanes go along a column in some tile of an array."""
    return any(t.lanes_down for tiles in found.values() for one in tiles for _, t in one.tiles)


def _tiles_of_written(
    array: TiledArray, loops: Mapping[Node, CountedLoop], values: Values, launch: Launch
) -> FoundTiles:
    """Tiles of an array that the kernel writes: one for all accesses in a loop, by the outermost
    loop around each that has one. Empty where no write has one."""
    accesses = array.uses.accesses
    found: FoundTiles = {}
    held: set[int] = set()
    for loop in loops.values():
        inside = [n for n, a in enumerate(accesses) if a.node.within(loop.node)]
        if not inside or held & set(inside):
            continue
        if all(accesses[n].node.within(loop.count.parts.body) for n in inside):
            made = _tile_of_written(array, inside, loop, loops, values, launch)
            if made is not None:
                found[loop] = (made,)
                held |= set(inside)
    return found if any(one.copied_back for tiles in found.values() for one in tiles) else {}


def _tile_of_written(
    array: TiledArray, inside: Sequence[int], loop: CountedLoop, loops: Mapping[Node, CountedLoop],
    values: Values, launch: Launch,
) -> ChunkTile | None:  # fmt: skip
    """The tile of an array that the kernel writes, for all of its accesses in a loop.

    Where the loop writes, all writes of an iteration go to one element, and each chunk writes all
    of a part of the tile: what is copied back is what this block has written.
    """
    accesses = array.uses.accesses
    writes = [n for n in inside if accesses[n].place.kind != "load"]
    if not writes:
        made = _tiles(array, inside, loop, loops, values, launch)
        return ChunkTile(array.name, tuple(inside), made) if made else None
    behind = _columns_behind([accesses[n] for n in inside], loop, loops, values)
    if loop.count.stepping.stride != 1 or behind is None:
        return None
    together = _tiles(array, inside, loop, loops, values, launch, _goes_down)
    # One write may write all of the part, or only those in both branches of a condition together.
    for group in dict.fromkeys((*((n,) for n in writes), tuple(writes))):
        alone = dict(_tiles(array, group, loop, loops, values, launch, _gathers_stores))
        pairs = [(i, tile, alone[i]) for i, tile in together if i in alone]
        if pairs and all(tile.pitch_text == part.pitch_text for _, tile, part in pairs):
            reads = [accesses[m] for m in inside if accesses[m].place.kind != "store"]
            halo = _halo([accesses[n] for n in group], reads, behind, pairs[0][2])
            return ChunkTile(
                array.name, tuple(inside), tuple((i, tile) for i, tile, _ in pairs),
                filled=halo != 0, halo=halo or 0,
                copied_back=tuple((i, _part(tile, part)) for i, tile, part in pairs),
            )  # fmt: skip
    return None


def _columns_behind(
    accesses: Sequence[Access],
    loop: CountedLoop,
    loops: Mapping[Node, CountedLoop],
    values: Values,
) -> dict[Access, int | None] | None:
    """How many elements each access lies behind the writes of its iteration; None for one of which
    that is not known. None as a whole where writes go to several elements, or one of them is by an
    atomic function."""
    try:
        within = _in_chunk(loop, loops, values, ITERATIONS[0])
        indices = {a: index_of(within, a).poly for a in accesses}
    except Unbounded:
        return None
    written = {p for a, p in indices.items() if a.place.kind != "load"}
    if len(written) != 1 or any(a.place.kind == "atomic" for a in accesses):
        return None
    (index,) = written
    return {a: (index - p).value for a, p in indices.items()}


def _halo(
    writes: Sequence[Access],
    reads: Sequence[Access],
    behind: Mapping[Access, int | None],
    part: Tile,
) -> int | None:
    """How many columns in front of what a chunk writes must be filled, where it reads nothing else
    that it has not written before; None where all of the tile must be.

    ``behind`` is how many elements each read lies behind the write, and ``part`` what is written.
    """
    if not reads:
        return 0
    if len(writes) > 1 or part.column_extent.lowers or part.index_extent.lowers:
        return None
    (write,) = writes
    conditions = set(conditions_at(write.node))
    halo = 0
    for read in reads:
        distance = behind[read]
        if distance is None or distance < 0 or not conditions <= set(conditions_at(read.node)):
            return None
        if distance == 0 and not _comes_before(write, read):
            return None
        halo = max(halo, distance)
    return halo


def _part(tile: Tile, part: Tile) -> Tile:
    """``tile`` with the extents of ``part``, whose elements it all holds."""
    rows = _extent_of(tile.row0_text, tile.rows, part.row0_text, part.rows, part.row_extent)
    columns = _extent_of(
        tile.column0_text, tile.width, part.column0_text, part.width, part.column_extent
    )
    return replace(
        tile, row_extent=rows, column_extent=columns, index_extent=part.index_extent,
        inside=part.inside,
    )  # fmt: skip


def _extent_of(begin: str, size: int, first: str, number: int, extent: Extent) -> Extent:
    """The extent of ``number`` rows or columns from ``first`` on, among ``size`` from ``begin``
    on."""
    if (begin, size) == (first, number):
        return extent
    return Extent((first, *extent.lowers), (f"{first} + {number}", *extent.uppers))


def _comes_before(store: Access, read: Access) -> bool:
    """Whether a store's whole statement stands before a read in the text."""
    statement = store.node
    while statement.parent is not None and statement.parent.kind != "COMPOUND_STMT":
        statement = statement.parent
    return store.place.kind == "store" and statement.end <= read.place.start


def _elements(tiles: Sequence[ChunkTile]) -> int:
    """Elements of all of ``tiles`` for the shortest chunks."""
    return sum(min(tile.elements for _, tile in one.tiles) for one in tiles)


def _tiles(
    array: TiledArray, inside: Sequence[int], loop: CountedLoop, loops: Mapping[Node, CountedLoop],
    values: Values, launch: Launch, usable: Callable[[Tile], bool] | None = None,
) -> tuple[tuple[int, Tile], ...]:  # fmt: skip
    """(iterations, tile) for each chunk length for which one ``usable`` tile holds these
    accesses."""
    longest = max(loop.trips, ITERATIONS[0])
    made = (
        (n, _tile(array, inside, loop, loops, values, launch, n, usable))
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
    usable: Callable[[Tile], bool] | None = None,
) -> Tile | None:  # fmt: skip
    """The smallest tile that holds what a block uses of the array in one chunk. One for this
    launch alone counts if there is no other, or none that is less than twice as large."""
    accesses = [array.uses.accesses[n] for n in inside]
    try:
        within = _in_chunk(loop, loops, values, iterations)
        if not any(_varies(within, loop, a) for a in accesses):
            return None
        found = _smallest(array, accesses, within, launch, usable)
        if not has_remainder(within, accesses):
            return found
        closer = _smallest(array, accesses, within.of_this_launch(), launch, usable)
    except Unbounded:
        return None
    if closer is None or (found is not None and 2 * closer.elements > found.elements):
        return found
    return for_this_launch(values, closer)


def _smallest(
    array: TiledArray, accesses: Sequence[Access], within: Values, launch: Launch,
    usable: Callable[[Tile], bool] | None,
) -> Tile | None:  # fmt: skip
    """The smallest ``usable`` tile of one chunk that fits, with bounds as ``within`` has them."""
    try:
        indices = [index_of(within, a) for a in accesses]
        tiles = tiles_of(within, indices, array.elements, launch)
        if usable is not None:
            tiles = [t for t in tiles if usable(t)]
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
    best = min(made, key=lambda t: (t.elements, len(t.bound_to), t.rows), default=None)
    if best is not None and best.padding and array.element_bytes == 4 and best.width % 4 == 0:
        # Lanes go along rows and the loop along columns: the compiler loads four columns at once,
        # and rows that begin four banks apart serve that without conflicts.
        best = replace(best, padding=4)
    if best is None or best.bytes(array.element_bytes) > STATIC_SHARED_BYTES:
        return None
    return best if best.elements < array.elements else None


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
