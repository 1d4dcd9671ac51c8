"""Loops that can run in chunks, with shared tiles that hold what one chunk reads or writes.

A tile of all that a block reads is often too large because a loop runs over it: both operands of a
matrix multiply, the other bodies of an n-body step. Strip-mined, the loop runs chunk by chunk; for
each chunk the block fills its tiles together and waits at a barrier. What the chunk writes to a
tile, the block copies back together after another barrier: stores that a warp scatters over rows
become coalesced. Because of these barriers every thread has to reach the loop; each :class:`Guard`
is a change to the source that ensures it.

All offsets are half-open byte ranges of the UTF-8 source text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from placewise.kernel.source import AccessPlace, ArrayUse, Tile

STATIC_SHARED_BYTES = 48 * 1024
"""Most static shared memory of a kernel (CUDA C++ Programming Guide, Technical Specifications)."""


class GuardKind(StrEnum):
    """How one piece of the source changes so that all threads of a block reach a loop."""

    RETURN = "return"
    """``if (c) { …; return; }`` becomes a flag, ``const bool inside = !(c);``, and under its
    opposite stands what comes before the return."""
    BRANCH = "branch"
    """The head of ``if (c) { … loop … }`` becomes a flag; its body runs for all threads."""
    STATEMENT = "statement"
    """Statements that only threads with the flag may execute get ``if (inside) { … }``."""
    VALUE = "value"
    """An initialiser that reads memory is evaluated under the flag:
    ``inside ? value : float()``."""


@dataclass(frozen=True)
class Guard:
    """One change to the source; ``start:end`` is the statement, or the initialiser."""

    kind: GuardKind
    start: int
    end: int
    under: int | None
    """Position, among the guards that make flags, of the flag that is in force at this guard; None
    where none is."""
    condition: tuple[int, int] = (0, 0)
    """Where the condition of a RETURN or BRANCH stands."""
    last: tuple[int, int] = (0, 0)
    """Where the statements stand that threads execute before they RETURN; empty: none."""
    type_text: str = ""
    """Type of the variable that a VALUE initialises."""


@dataclass(frozen=True)
class ChunkTile:
    """The tile of one array for one chunk of a loop."""

    array: str
    accesses: tuple[int, ...]
    """Positions of the accesses inside the loop, among all of the array's."""
    tiles: tuple[tuple[int, Tile], ...]
    """(iterations of a chunk, tile). Texts of a tile may use the chunk's first value of the loop
    variable, ``ChunkLoop.first_name``. ``splits`` go with ``accesses``."""
    part: int = 0
    """Number of the tile among those of the same array in the same loop, which has several where
    its accesses go to rows far apart: ``a[i * n + k] * a[j * n + k]``."""
    filled: bool = True
    """Whether the tile, or its halo, is filled before each chunk, since the chunk may read elements
    that it has not written before."""
    halo: int = 0
    """How many of its first columns are filled; 0 means all. Where it is not 0, a chunk writes each
    other element before it reads it."""
    copied_back: tuple[tuple[int, Tile], ...] = ()
    """(iterations of a chunk, tile) where the loop writes, empty where it only reads. The extents
    of these tiles leave the region that is copied back, every element of which the chunk writes."""

    def tile(self, iterations: int) -> Tile | None:
        """The tile for chunks of so many iterations; None where there is none."""
        return dict(self.tiles).get(iterations)

    @property
    def written(self) -> bool:
        """Whether the loop writes to the tile."""
        return bool(self.copied_back)


@dataclass(frozen=True)
class ChunkLoop:
    """A ``for`` loop whose variable rises by a fixed step between bounds that all threads of a
    block share."""

    line: int
    start: int
    end: int
    init: tuple[int, int]
    """Range of ``int k = 0;``, the semicolon included."""
    condition: tuple[int, int]
    step: tuple[int, int]
    body: tuple[int, int]
    variable: str
    variable_type: str
    """Its type where the loop declares it, else empty."""
    first_name: str
    """Name, new in the source, of the variable that holds a chunk's first value."""
    first_text: str
    """C++ expression of the loop's first value."""
    end_texts: tuple[str, ...]
    """C++ expressions that the variable stays below: each bounds it."""
    stride: int
    trips: int
    """The most iterations of the loop in any block of the launch."""
    constant_trips: int | None
    """Iterations where the source alone fixes them."""
    under: int | None
    """Position, among the guards that make flags, of the flag that is in force at the loop; None
    where there is none."""
    around: tuple[str, ...]
    """Variables of the loops around it, which a tile's texts may name."""
    tiles: tuple[ChunkTile, ...]


@dataclass(frozen=True)
class ChunkPlan:
    """All loops that chunk together so that ``arrays`` live in shared tiles."""

    arrays: tuple[str, ...]
    loops: tuple[ChunkLoop, ...]
    guards: tuple[Guard, ...]
    iterations: tuple[int, ...]
    """Chunk lengths for which each array has a tile in each loop that reads or writes it."""

    @property
    def written(self) -> frozenset[str]:
        """The arrays that have a tile which is copied back."""
        return frozenset(t.array for loop in self.loops for t in loop.tiles if t.written)

    @property
    def filled(self) -> frozenset[str]:
        """The arrays that have a tile which is filled."""
        return frozenset(t.array for loop in self.loops for t in loop.tiles if t.filled)

    def untiled_accesses(self, use: ArrayUse) -> list[AccessPlace]:
        """The accesses of an array that go to no tile of the plan."""
        held = {n for loop in self.loops for t in loop.tiles if t.array == use.name
                for n in t.accesses}  # fmt: skip
        return [place for n, place in enumerate(use.accesses) if n not in held]

    def largest_tiles(self, iterations: int) -> dict[tuple[str, int], Tile]:
        """The largest tile of each array and part. Loops follow one another, so one buffer serves
        the part in all of them."""
        found: dict[tuple[str, int], Tile] = {}
        for loop in self.loops:
            for one in loop.tiles:
                key = one.array, one.part
                tile, known = one.tile(iterations), found.get(key)
                if tile is not None and (known is None or tile.held > known.held):
                    found[key] = tile
        return found

    def shared_bytes(self, iterations: int, element_bytes: Mapping[str, int]) -> int:
        """Bytes of shared memory that the tiles take."""
        tiles = self.largest_tiles(iterations)
        return sum(tile.bytes(element_bytes[array]) for (array, _), tile in tiles.items())
