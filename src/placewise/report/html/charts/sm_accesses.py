"""The blocks that one SM holds in the middle of a launch, run once more, and what they access."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placewise.errors import PlacewiseError
from placewise.executor import execute
from placewise.executor.independent_blocks import blocks_run_alone
from placewise.executor.trace import Site, TraceChunk, lane_offsets, some_accesses
from placewise.kernel.launch import Inputs
from placewise.memory.simulate.launch import SPACES, SimulatedLaunch

KEPT = 64
"""Accesses of an instruction that are looked at lane by lane, the first ones of the block."""
LOADS = 200_000
"""Loads whose sectors are kept, at most."""
INSTRUCTIONS = 10_000_000
"""Warp instructions executed, about: fewer blocks than an SM holds are run where these are long."""
ARRAY_SHIFT = 40
"""Sectors of different arrays differ in the bits from here on."""


class SmAccesses:
    """A trace consumer that keeps the first accesses of every memory instruction of the block in
    the middle of the launch, and the sectors that loads of all blocks that are run ask for."""

    def __init__(self, middle: int, blocks: int, resident: int, sector_bytes: int) -> None:
        self.middle, self.blocks, self.resident = middle, blocks, resident
        """Number of the block in the middle, how many blocks are run, and how many an SM holds."""
        self.sites: tuple[Site, ...] = ()
        self.arrays: tuple[str, ...] = ()
        self.kept: dict[int, list[tuple[NDArray[np.int64], int, int, int, int]]] = {}
        """By site: (offsets (32,), mask, array, block, warp)."""
        self._sector = sector_bytes
        self._taken = 0
        self._loads: list[NDArray[np.int64]] = []

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """Called once before the first chunk."""
        self.sites, self.arrays = sites, arrays
        self._is_load = np.array([s.kind == "load" for s in sites], np.bool_)

    def chunk(self, chunk: TraceChunk) -> None:
        """Keep what is still missing."""
        self._keep_lanes(chunk)
        self._keep_loads(chunk)

    def _keep_lanes(self, chunk: TraceChunk) -> None:
        own = chunk.block == self.middle
        wanted = [
            at
            for site in np.unique(chunk.site[own]).tolist()
            if (room := KEPT - len(self.kept.setdefault(site, []))) > 0
            for at in np.flatnonzero(own & (chunk.site == site))[:room].tolist()
        ]
        if not wanted:
            return
        part = some_accesses(chunk, np.array(wanted))
        offsets = lane_offsets(part)
        for n in range(len(part)):
            self.kept[int(part.site[n])].append(
                (
                    offsets[n].copy(),
                    int(part.mask[n]),
                    int(part.array[n]),
                    int(part.block[n]),
                    int(part.warp[n]),
                )
            )

    def _keep_loads(self, chunk: TraceChunk) -> None:
        """Append (sectors, 5): phase, block, warp, number of the load, sector."""
        wanted = np.flatnonzero(self._is_load[chunk.site] & (chunk.array >= 0) & (chunk.mask != 0))
        wanted = wanted[: LOADS - self._taken]
        if not len(wanted):
            return
        part = some_accesses(chunk, wanted)
        sectors = lane_offsets(part) // self._sector
        active = part.mask[:, None] >> np.arange(32, dtype=np.uint32) & 1
        sectors = np.sort(np.where(active, sectors, -1), axis=1)
        new = (np.diff(sectors, axis=1, prepend=-1) != 0) & (sectors >= 0)
        row = np.broadcast_to(np.arange(len(part))[:, None], new.shape)[new]
        which = sectors[new] + (np.asarray(part.array, np.int64)[row] << ARRAY_SHIFT)
        columns = (part.phase[row], part.block[row], part.warp[row], self._taken + row, which)
        self._loads.append(np.stack([np.asarray(c, np.int64) for c in columns], axis=1))
        self._taken += len(part)

    def loaded_sectors(self) -> NDArray[np.int64]:
        """(n,) sectors that loads of arrays ask for, in the order in which the SM's warps issue
        them: in turn, one load each, and all of a block wait at its barriers."""
        if not self._loads:
            return np.zeros(0, np.int64)
        phase, block, warp, load, sector = np.concatenate(self._loads).T
        # How many loads of the same warp and phase come before each.
        order = np.lexsort((load, warp, block, phase))
        group = np.stack([phase, block, warp])[:, order]
        fresh = np.ones(len(order), np.bool_)
        fresh[1:] = (np.diff(group, axis=1) != 0).any(axis=0)
        is_next = np.zeros(len(order), np.int64)
        is_next[1:] = np.diff(load[order]) != 0
        count = np.cumsum(is_next)
        turn = np.empty(len(order), np.int64)
        turn[order] = count - np.maximum.accumulate(np.where(fresh, count, 0))
        return np.ascontiguousarray(sector[np.lexsort((load, warp, block, turn, phase))])


def sm_accesses(run: SimulatedLaunch, inputs: Inputs) -> SmAccesses | None:
    """Accesses of the blocks that the SM of the block in the middle of the launch holds with it.

    Only they run. None where they wait for blocks of other SMs, or end in an error.
    """
    if not blocks_run_alone(run.kernel):
        return None
    middle = run.launch.blocks // 2
    per_block = run.execution.warp_instructions / run.launch.blocks
    resident = max(1, run.occupancy.blocks)
    sms = run.machine.processor.sms
    most = int(np.clip(INSTRUCTIONS / max(1.0, per_block), 1, resident))
    numbers = np.arange(middle % sms, run.launch.blocks, sms)
    first = np.searchsorted(numbers, middle) // resident * resident
    held = numbers[first : first + resident]
    at = min(int(np.searchsorted(held, middle)), max(0, len(held) - most))
    found = SmAccesses(middle, min(most, len(held)), len(held), run.traffic.sector_bytes)
    try:
        execute(
            run.kernel,
            run.launch,
            inputs,
            consumer=found,
            trace_spaces=SPACES,
            run_blocks=held[at : at + most],
            threads=1,
        )
    except PlacewiseError:
        return None
    return found
