"""The tiles of a loop that runs in chunks: which are filled, which are copied back, and where
barriers must stand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from placewise.rewriter.tiles import PlacedTile, copy_back, fill


def filled_columns(placed: PlacedTile, halo: int) -> PlacedTile:
    """The columns of a tile that are filled: its first ``halo`` ones, or all where that is 0. They
    keep their places in shared memory; what is not filled counts as padding."""
    tile = placed.tile
    if not halo:
        return placed
    columns = replace(tile, width=halo, elements=tile.rows * halo, padding=tile.stride - halo)
    return replace(placed, tile=columns, aligned=None)


@dataclass
class LoopTiles:
    """The tiles of one loop. Each chunk fills some and copies some back."""

    starts: list[str] = field(default_factory=list)
    """Declarations of the first rows and columns of tiles, as far as they change with the chunk."""
    filled: list[PlacedTile] = field(default_factory=list)
    """Tiles with the columns that are filled."""
    written: list[PlacedTile] = field(default_factory=list)
    """Tiles with the extents of the region that is copied back."""
    barrier_before_loop: bool = False
    """Whether a barrier must stand before the loop: threads may have stored to an array, outside
    its tiles, from which the first chunk fills a tile."""
    barrier_after_copy: bool = False
    """Whether a barrier must follow each copy back: threads may access the array, or fill the tile
    again, while others are still copying."""

    def fills(self) -> list[str]:
        """Statements that fill the tiles which a chunk reads."""
        return [line for one in self.filled for line in fill(one)]

    def copies_back(self) -> list[str]:
        """Statements that copy back the tiles which a chunk has written, with a barrier after them
        if that is needed."""
        lines = [line for one in self.written for line in copy_back(one)]
        return [*lines, "__syncthreads();"] if self.barrier_after_copy else lines
