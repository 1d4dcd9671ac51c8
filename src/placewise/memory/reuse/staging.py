"""Traffic between an array and the per-block tiles that hold it in shared memory."""

from __future__ import annotations

from dataclasses import dataclass

from placewise.kernel.source import Tile
from placewise.machine.machine import Machine, Memory
from placewise.memory.reuse.profile import ArrayProfile, Profile
from placewise.memory.reuse.stream import STORE
from placewise.memory.transactions import fill_transactions


@dataclass(frozen=True)
class LevelCount:
    """Transactions of one array in one memory."""

    memory: str
    loads: float
    """N_ij of loads."""
    stores: float
    """N_ij of stores and atomics."""
    reaching: float
    """Loads and stores that reach this memory, in transactions."""
    miss_rate: float | None
    """Share of the loads that reach this cache and go on to the next level (of the stores where
    there are no loads); None for the memory where the data lives."""
    bytes: float
    """Bytes moved by the transactions: blocks where the memory has a block size, else what the
    lanes asked for."""

    @property
    def transactions(self) -> float:
        return self.loads + self.stores


@dataclass(frozen=True)
class Staging:
    """Traffic of filling every block's tile if it is read, and copying it back if it is written."""

    levels: tuple[LevelCount, ...]
    """Shared memory first, then the memories of the direct space that serve the fill."""
    bytes: float
    """Bytes that all blocks' tiles move in and out."""


# Long for the fields of its results, one on each line.
def staging_traffic(
    profile: Profile, machine: Machine, array: ArrayProfile, tile: Tile, shared: Memory
) -> Staging:
    """Traffic of all blocks' tiles of ``array``, filled by plain loads into ``shared``.

    Threads copy consecutive elements. The fill's loads always miss the SM's caches. The first load
    of each cache block of the array goes to the memory where the data live; further ones go to the
    last cache of the die, if that cache can hold the tiles of all resident blocks. Copying back
    goes to the memory where the data live. Tiles that the kernel overwrites completely are not
    filled; copies that begin with zeros are cleared, which takes no loads.
    """
    memories = machine.levels(machine.direct_space.name)
    home = memories[-1]
    on_die = [m for m in memories[:-1] if m.scope == "die"]
    blocks = profile.launch.blocks
    element = array.element_bytes
    tile_bytes = tile.bytes(element)
    all_bytes = float(blocks * tile_bytes)
    resident = tile_bytes * machine.processor.sms * max(1, profile.occupancy.blocks)

    from_home = float(fill_transactions(tile, element, home, in_tile=False) * blocks)
    into_shared = float(fill_transactions(tile, element, shared, in_tile=True) * blocks)
    back = 1.0 if array.requests[STORE] else 0.0
    filled = 0.0 if tile.written_whole or tile.merge else 1.0
    set_up = 0.0 if tile.written_whole else 1.0
    # Share of the tiles that comes from the memory where the data live; the rest hits the cache.
    cold = filled
    if filled and on_die and (on_die[-1].size_bytes or 0) >= resident:
        cold = min(1.0, array.bytes / all_bytes)

    levels = [
        LevelCount(
            shared.name,
            loads=into_shared * back,
            stores=into_shared * set_up,
            reaching=into_shared * (set_up + back),
            miss_rate=None,
            bytes=all_bytes * (set_up + back),
        )
    ]
    if cold < filled:
        cache = on_die[-1]
        fill = float(fill_transactions(tile, element, cache, in_tile=False) * blocks)
        warm = fill * (1.0 - cold)
        levels.append(
            LevelCount(cache.name, warm, 0.0, fill, cold, warm * (cache.block_bytes or element))
        )
    moved = from_home * (cold + back)
    levels.append(
        LevelCount(
            home.name,
            loads=from_home * cold,
            stores=from_home * back,
            reaching=moved,
            miss_rate=None,
            bytes=moved * (home.block_bytes or element),
        )
    )
    return Staging(tuple(levels), all_bytes * (filled + back))
