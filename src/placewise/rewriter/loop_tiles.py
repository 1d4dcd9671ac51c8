"""What the chunks of one loop do with their tiles."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from placewise.rewriter.tiles import PlacedTile, copy_back, fill


def filled_part(placed: PlacedTile, halo: int) -> PlacedTile:
    """The tile with its first ``halo`` columns alone; with all of them for 0."""
    tile = placed.tile
    if not halo:
        return placed
    part = replace(tile, width=halo, elements=tile.rows * halo, padding=tile.stride - halo)
    return replace(placed, tile=part, aligned=None)


@dataclass
class LoopTiles:
    """What a loop's chunks do with their tiles."""

    starts: list[str] = field(default_factory=list)
    """Declarations of where tiles begin that change with the chunk."""
    filled: list[PlacedTile] = field(default_factory=list)
    written: list[PlacedTile] = field(default_factory=list)
    """Tiles with the extents of what is copied back."""
    starts_late: bool = False
    """Whether threads may have written to an array just before the loop that fills a tile of it."""
    is_used_next: bool = False
    """Whether threads may go on with an array of which a tile has been copied back."""

    def fills(self) -> list[str]:
        """Statements that fill the tiles which a chunk reads."""
        return [line for one in self.filled for line in fill(one)]

    def copies_back(self) -> list[str]:
        """Statements that copy back the tiles which a chunk has written."""
        lines = [line for one in self.written for line in copy_back(one)]
        return [*lines, "__syncthreads();"] if self.is_used_next else lines
