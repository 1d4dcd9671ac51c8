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
"""Chunk lengths that are tried, in iterations."""
_SCOPES = frozenset({"COMPOUND_STMT", "FOR_STMT", "IF_STMT", "WHILE_STMT", "SWITCH_STMT"})
"""Statements that end the scope of a variable declared in them."""
_MOST_ACCESSES = 8
"""Most accesses of an array in a loop that may be divided among several tiles."""
_MOST_PARTS = 3
"""Most tiles of one array in a loop."""
_SAMPLES = 2
"""How many of a loop's first chunks, and of its last, have their bounds computed."""


def _has_lanes_down(tile: Tile) -> bool:
    """Whether neighbouring lanes access neighbouring rows, each at a column inside its row."""
    return tile.lanes_down and tile.within_rows


def _coalesces_stores(tile: Tile) -> bool:
    """Whether copying a tile back turns scattered stores into coalesced ones: its lanes go along a
    column, and the kernel writes every element that its extents leave."""
    return _has_lanes_down(tile) and tile.written_whole


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


@dataclass(frozen=True, eq=False)
class _Search:
    """A search for an array's tiles that hold chunks of one loop."""

    array: TiledArray
    loop: CountedLoop
    loops: Mapping[Node, CountedLoop]
    """All loops of the kernel whose bounds a block shares."""
    values: Values
    launch: Launch


def tiles_of_array(
    array: TiledArray, loops: Mapping[Node, CountedLoop], values: Values, launch: Launch
) -> FoundTiles:
    """Tiles of an array by the loop whose chunks they hold. Each access belongs to the outermost
    loop around it that has a tile."""
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
        search = _Search(array, loop, loops, values, launch)
        whole = _tiles(search, inside)
        one = (ChunkTile(array.name, tuple(inside), whole),) if whole else ()
        parts = _parts(search, inside)
        if parts and (not one or 2 * _elements(parts) <= _elements(one)):
            found[loop] = parts
        elif one:
            found[loop] = one
    return found


def has_lanes_down(found: FoundTiles) -> bool:
    """Whether neighbouring lanes access neighbouring rows in some tile of an array."""
    return any(t.lanes_down for tiles in found.values() for one in tiles for _, t in one.tiles)


def _tiles_of_written(
    array: TiledArray, loops: Mapping[Node, CountedLoop], values: Values, launch: Launch
) -> FoundTiles:
    """Tiles of an array that the kernel writes. One tile holds all of its accesses in a loop; each
    access belongs to the outermost loop around it that has a tile. All tiles are of the rows that
    the block writes. Empty where none is copied back."""
    accesses = array.uses.accesses
    found: FoundTiles = {}
    held: set[int] = set()
    for loop in loops.values():
        inside = [n for n, a in enumerate(accesses) if a.node.within(loop.node)]
        if not inside or held & set(inside):
            continue
        if all(accesses[n].node.within(loop.count.parts.body) for n in inside):
            made = _tile_of_written(_Search(array, loop, loops, values, launch), inside)
            if made is not None:
                found[loop] = (made,)
                held |= set(inside)
    own = [t for (one,) in found.values() for _, t in one.copied_back]
    return {
        loop: (one,)
        for loop, (one,) in found.items()
        if own and all(_has_rows_of(tile, own[0]) for _, tile in one.tiles)
    }


def _has_rows_of(tile: Tile, other: Tile) -> bool:
    """Whether two tiles hold parts of the same rows. Rows of other blocks must stay out of what is
    filled: these may be writing to them."""
    same = (tile.row0_text, tile.rows, tile.pitch_text)
    return same == (other.row0_text, other.rows, other.pitch_text)


def _tile_of_written(search: _Search, inside: Sequence[int]) -> ChunkTile | None:
    """The tile of an array that the kernel writes, for its accesses ``inside`` the loop; these are
    all of its accesses there.

    Where the loop writes, there is a tile only if all writes of an iteration go to one element, and
    a chunk writes every element of a region of the tile. Only that region is copied back, so the
    block never overwrites what other blocks have written.
    """
    array, accesses = search.array, search.array.uses.accesses
    writes = [n for n in inside if accesses[n].place.kind != "load"]
    if not writes:
        made = _tiles(search, inside)
        return ChunkTile(array.name, tuple(inside), made) if made else None
    distances = _distances_before_write(search, [accesses[n] for n in inside])
    if search.loop.count.stepping.stride != 1 or distances is None:
        return None
    tiles = _tiles(search, inside, _has_lanes_down)
    for group in _covering(accesses, writes):
        regions = dict(_tiles(search, group, _coalesces_stores))
        pairs = [(i, tile, regions[i]) for i, tile in tiles if i in regions]
        if pairs and all(_has_rows_of(tile, region) for _, tile, region in pairs):
            reads = [accesses[m] for m in inside if accesses[m].place.kind != "store"]
            halo = _halo([accesses[n] for n in group], reads, distances, *pairs[0][1:])
            return ChunkTile(
                array.name, tuple(inside),
                tuple((i, _resting_on_both(tile, region)) for i, tile, region in pairs),
                filled=halo != 0, halo=halo or 0,
                copied_back=tuple((i, _limited_to(region, tile)) for i, tile, region in pairs),
            )  # fmt: skip
    return None


def _covering(accesses: Sequence[Access], writes: Sequence[int]) -> list[tuple[int, ...]]:
    """Groups of writes that may cover all that the ``writes`` of an iteration write: each one that
    happens whenever another does, and all together, such as those in both branches of a
    condition."""
    conditions = {n: set(conditions_at(accesses[n].node)) for n in writes}
    alone = [(n,) for n in writes if all(conditions[n] <= other for other in conditions.values())]
    return list(dict.fromkeys((*alone, tuple(writes))))


def _resting_on_both(tile: Tile, region: Tile) -> Tile:
    """``tile``, resting on what the size of ``region`` rests on, too."""
    bound_to = tuple(sorted({*tile.bound_to, *region.bound_to}))
    return replace(tile, bound_to=bound_to, inside=tile.inside and region.inside)


def _distances_before_write(
    search: _Search, accesses: Sequence[Access]
) -> dict[Access, int | None] | None:
    """For each access, the index that its iteration writes less the access's own: 1 for
    ``x[c - 1]`` where the iteration writes ``x[c]``. None for an access where the difference is no
    constant.

    None as a whole where the writes of an iteration go to several elements, an atomic function
    writes, or an index has no bound.
    """
    try:
        within = _in_chunk(search, ITERATIONS[0])
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
    distances: Mapping[Access, int | None],
    tile: Tile,
    region: Tile,
) -> int | None:
    """How many columns left of those that a chunk writes must be filled before the chunk. All else
    that it reads it has written itself. None where the whole tile must be filled.

    ``distances`` has, for each read, how many elements it lies before the one that its iteration
    writes. ``tile`` holds all accesses, and ``region`` is what the chunk writes.
    """
    if not reads:
        return 0
    # Below a lower bound the chunk writes nothing, but may read.
    if len(writes) > 1 or region.column_extent.lowers or region.index_extent.lowers:
        return None
    (write,) = writes
    conditions = set(conditions_at(write.node))
    halo = 0
    for read in reads:
        distance = distances[read]
        if distance is None or distance < 0 or not conditions <= set(conditions_at(read.node)):
            return None
        if distance == 0 and not _comes_before(write, read):
            return None
        halo = max(halo, distance)
    # A read that lies further before the write is in another row.
    return halo if halo <= tile.width - region.width else None


def _limited_to(region: Tile, tile: Tile) -> Tile:
    """``tile`` with extents that leave only the elements of ``region``, some columns of its
    rows."""
    columns, first = region.column_extent, region.column0_text
    if (tile.column0_text, tile.width) != (first, region.width):
        beyond = f"{first} + {region.width}"
        columns = Extent((first, *columns.lowers), (beyond, *columns.uppers))
    return replace(
        tile, row_extent=region.row_extent, column_extent=columns,
        index_extent=region.index_extent, inside=region.inside,
    )  # fmt: skip


def _comes_before(store: Access, read: Access) -> bool:
    """Whether ``store`` is a plain store, and the statement in braces that it belongs to ends
    before ``read`` in the text."""
    statement = store.node
    while statement.parent is not None and statement.parent.kind != "COMPOUND_STMT":
        statement = statement.parent
    return store.place.kind == "store" and statement.end <= read.place.start


def _elements(tiles: Sequence[ChunkTile]) -> int:
    """Elements of all of ``tiles`` together, each at the chunk length where it is smallest."""
    return sum(min(tile.elements for _, tile in one.tiles) for one in tiles)


def _any_tile(_: Tile) -> bool:
    return True


def _tiles(
    search: _Search, inside: Sequence[int], usable: Callable[[Tile], bool] = _any_tile
) -> tuple[tuple[int, Tile], ...]:
    """(iterations, tile) for each chunk length for which one ``usable`` tile holds the accesses
    ``inside`` the loop, which are positions among all of the array's."""
    longest = max(search.loop.trips, ITERATIONS[0])
    made = ((n, _tile(search, inside, n, usable)) for n in ITERATIONS if n <= longest)
    return tuple((n, tile) for n, tile in made if tile is not None)


def _parts(search: _Search, inside: Sequence[int]) -> tuple[ChunkTile, ...]:
    """Several tiles of an array whose accesses go to places far apart: one for all accesses whose
    own tiles begin at the same row and column. Empty where an access has no tile of its own."""
    if not 2 <= len(inside) <= _MOST_ACCESSES:
        return ()
    groups: dict[tuple[str, str], list[int]] = {}
    for n in inside:
        tile = _tile(search, [n], ITERATIONS[0])
        if tile is None:
            return ()
        groups.setdefault((tile.row0_text, tile.column0_text), []).append(n)
    if len(groups) > _MOST_PARTS:
        return ()
    tiles = [_tiles(search, group) for group in groups.values()]
    return tuple(
        ChunkTile(search.array.name, tuple(group), made, part)
        for part, (group, made) in enumerate(zip(groups.values(), tiles, strict=True))
        if all(tiles)
    )


def _tile(
    search: _Search, inside: Sequence[int], iterations: int,
    usable: Callable[[Tile], bool] = _any_tile,
) -> Tile | None:  # fmt: skip
    """The smallest ``usable`` tile that holds what a block accesses in one chunk. A tile for this
    launch alone is taken where there is no other, or where it is at most half as large."""
    accesses = [search.array.uses.accesses[n] for n in inside]
    try:
        within = _in_chunk(search, iterations)
        if not any(_varies(within, search.loop, a) for a in accesses):
            return None
        found = _smallest(search, accesses, within, usable)
        if not has_remainder(within, accesses):
            return found
        closer = _smallest(search, accesses, within.of_this_launch(), usable)
    except Unbounded:
        return None
    if closer is None or (found is not None and 2 * closer.elements > found.elements):
        return found
    return for_this_launch(search.values, closer)


def _smallest(
    search: _Search, accesses: Sequence[Access], within: Values, usable: Callable[[Tile], bool]
) -> Tile | None:
    """The smallest ``usable`` tile of one chunk, with bounds as ``within`` has them. None where it
    does not fit shared memory, or is as large as the array."""
    array = search.array
    try:
        indices = [index_of(within, a) for a in accesses]
        tiles = list(filter(usable, tiles_of(within, indices, array.elements, search.launch)))
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


def _in_chunk(search: _Search, iterations: int) -> Values:
    """Values of expressions inside one chunk. The loop's variable lies between the chunk's first
    value and its last. All threads of a block share the first value, and the variables of the loops
    around it."""
    loop, loops, values = search.loop, search.loops, search.values
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
    """Whether another variable of the same name hides that of the loop ``around`` at ``node``. A
    tile's texts name the loop's variable, so they would mean the wrong one."""
    scopes = set(node.above()) | {node}
    for other in around.node.walk():
        is_twin = other.kind == "VAR_DECL" and other.name == around.count.name
        if is_twin and other.id != around.count.variable:
            scope = next((a for a in other.above() if a.kind in _SCOPES), None)
            if scope in scopes:
                return True
    return False


def _sampled(loop: CountedLoop, bounder: Bounder, iterations: int, axis: int) -> Numbers:
    """First values, in every block, of a loop's first and last few chunks, along a new axis."""
    chunks = -(-loop.trips // iterations)
    picked = sorted({*range(min(_SAMPLES, chunks)), *range(max(0, chunks - _SAMPLES), chunks)})
    start = bounder.evaluate(loop.count.first)
    steps = np.array(picked, np.int64) * iterations * (loop.count.stepping.stride or 1)
    return start + steps.reshape(-1, *([1] * axis))
