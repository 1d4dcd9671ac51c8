"""A placement: for every array of a kernel, the memory space it lives in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Placement:
    """Space name per array, in the order of the kernel's parameters; hashable."""

    spaces: tuple[tuple[str, str], ...]
    chunk: int | None = None
    """Iterations of a loop that the tiles of arrays in shared memory hold at a time; None: tiles
    hold all that a block accesses."""
    buffers: int = 1
    """Tiles of such iterations that each array has: with 2, the block fetches one (by ``cp.async``)
    while it computes with the other."""
    padded: tuple[str, ...] = ()
    """Shared arrays of the source itself with unused elements in between, at the end of each row or
    after every 32 elements, so that lanes that go along a column meet in different banks."""

    @classmethod
    def of(cls, spaces: Mapping[str, str], chunk: int | None = None, buffers: int = 1) -> Placement:
        """Placement from a mapping of array name to space name, keeping its order."""
        return cls(tuple(spaces.items()), chunk, buffers)

    @classmethod
    def uniform(cls, arrays: tuple[str, ...], space: str = "global") -> Placement:
        """Every array in the same space."""
        return cls(tuple((array, space) for array in arrays))

    def __getitem__(self, array: str) -> str:
        """Space of ``array``; raises KeyError for an unknown array."""
        return dict(self.spaces)[array]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.spaces)

    @property
    def arrays(self) -> tuple[str, ...]:
        return tuple(array for array, _ in self.spaces)

    def moved(self, present: Placement) -> tuple[tuple[str, str, str], ...]:
        """``(array, from, to)`` for every array whose space differs from ``present``."""
        return tuple((a, present[a], s) for a, s in self.spaces if present[a] != s)

    def with_moves(self, moves: Mapping[str, str]) -> Placement:
        """The placement with the arrays that ``moves`` names in the spaces that it gives them."""
        return replace(self, spaces=tuple((a, moves.get(a, s)) for a, s in self.spaces))

    def moved_part(self, present: Placement) -> Placement:
        """The placement of the arrays alone whose space differs from ``present``."""
        moves = self.moved(present)
        return replace(self, spaces=tuple((array, space) for array, _, space in moves))

    @property
    def tiles(self) -> str:
        """In words, what tiles by chunks of a loop hold; empty where there are none."""
        if not self.chunk:
            return ""
        twice = ", the next ones fetched meanwhile" if self.buffers > 1 else ""
        return f"tiles of {self.chunk} iterations at a time{twice}"

    @property
    def in_words(self) -> str:
        """Where the arrays are, in words: ``A, B → shared; x → texture``."""
        arrays: dict[str, list[str]] = {}
        for array, space in self.spaces:
            arrays.setdefault(space, []).append(array)
        moves = "; ".join(f"{', '.join(names)} → {space}" for space, names in arrays.items())
        moves = f"{moves} ({self.tiles})" if self.tiles else moves
        padded = f"padding of {', '.join(self.padded)}" if self.padded else ""
        return "; ".join(filter(None, (moves, padded)))

    def describe(self, present: Placement) -> str:
        """The moves from ``present`` in words: ``A, B → shared; x → texture``."""
        return self.moved_part(present).in_words

    def instruction(self, present: Placement) -> str:
        """What to do to come from ``present`` to it, as the start of a sentence."""
        if self.padded and not self.moved(present):
            return f"Pad {', '.join(self.padded)} in shared memory"
        return f"Move {self.describe(present)}"
