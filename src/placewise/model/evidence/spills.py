"""Local memory of all SMs in the L2 that they share.

Every resident thread of a launch has its own local memory, so spills of all SMs together fill L2,
while the blocks of one SM are simulated with an L2 of their own. Here a few SMs, each with the same
blocks, are simulated with their part of L2. They all read the same data of arrays; so as many SMs
are taken as read the same data in the launch, on the average.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from placewise.executor.trace import Site, TraceChunk
from placewise.machine.machine import Machine
from placewise.memory.simulate.metrics.traffic import Estimate, SiteTraffic, Traffic
from placewise.memory.simulate.schedule.block_to_sm import block_slots
from placewise.memory.simulate.system import LaunchFacts, MemorySystem
from placewise.model.evidence.footprint import stored_in_arrays

MOST_SMS = 8
"""Most SMs that are simulated."""
WAVES = 3
"""Number of waves simulated one after another. The first one finds empty caches; each later block
reuses the local memory of the block before it."""
SEED = 1
"""Seed of the random assignment of blocks to SMs."""
_SPACES = ("global", "generic", "texture", "local")


def with_spills_of_all(
    traffic: Traffic,
    chunk: TraceChunk,
    names: tuple[tuple[Site, ...], tuple[str, ...]],
    facts: LaunchFacts,
    machine: Machine,
    *,
    sharing: float,
    most: Mapping[str, float],
) -> Traffic:
    """``traffic`` with hits and misses of local memory as they are in an L2 that all SMs fill.

    ``chunk`` has the accesses of some blocks to the sites and arrays of ``names``; of these, as
    many are taken as an SM holds at a time. ``sharing`` is how many SMs, on the average, read the
    same data of arrays, and ``most`` how many sectors the launch touches of each array.
    """
    sites = names[0]
    kept = np.array([site.space in _SPACES and _counts(site) for site in sites], np.bool_)
    local = [n for n, site in enumerate(sites) if site.space == "local"]
    if not np.isin(chunk.site, local).any():
        return traffic
    chunk = _rows(chunk, np.flatnonzero(kept[chunk.site]))
    together = np.unique(chunk.block)[: max(1, facts.occupancy.blocks)].astype(np.int64)
    chunk, held = of_blocks(chunk, together), len(together)
    busy = min(machine.processor.sms, -(-facts.launch.blocks // held))
    sms = int(np.clip(round(sharing), 1, min(MOST_SMS, busy)))
    crowd = _simulated(chunk, names, facts, _part_of(machine, sms, busy), held)
    seen = {t.site: t for t in crowd.sites}
    stored = sum(t.sectors for t in traffic.sites if _stores_locally(t))
    of_crowd = sum(t.sectors for t in crowd.sites if _stores_locally(t))
    dirtied = crowd.dirtied.value * (stored / of_crowd if of_crowd else 0.0)
    dirtied += stored_in_arrays(traffic, most)
    return replace(
        traffic,
        sites=tuple(
            _beyond(t, seen[t.site]) if t.site.space == "local" else t for t in traffic.sites
        ),
        dirtied=Estimate(dirtied, 0.0),
        came_in=None,
    )


def _counts(site: Site) -> bool:
    """Whether accesses of the site are simulated: all of local memory, but no stores to arrays,
    whose dirty lines are counted in another way."""
    return site.space == "local" or site.kind == "load"


def _stores_locally(t: SiteTraffic) -> bool:
    return t.site.space == "local" and t.site.kind != "load"


def _beyond(t: SiteTraffic, crowd: SiteTraffic) -> SiteTraffic:
    """``t`` with the share of L2 misses that it has in ``crowd``, the traffic of several SMs."""
    asked = crowd.l2_sectors.value
    if t.site.kind == "store" or asked <= 0.0:
        return t
    missed = max(0.0, t.l2_sectors.value) * min(1.0, crowd.dram_sectors.value / asked)
    return replace(
        t,
        l2_hits=Estimate(t.l2_sectors.value - missed, 0.0),
        dram_sectors=Estimate(missed, 0.0),
    )


def _simulated(
    chunk: TraceChunk,
    names: tuple[tuple[Site, ...], tuple[str, ...]],
    facts: LaunchFacts,
    machine: Machine,
    held: int,
) -> Traffic:
    """Traffic of the blocks of ``chunk`` on every SM of ``machine``, wave after wave, with other
    data of the arrays in each wave."""
    sms = machine.processor.sms
    waves = -(-facts.launch.blocks // (sms * held))
    launch = replace(facts.launch, grid=(waves * sms * held, 1, 1))
    occupancy = replace(facts.occupancy, blocks=held)
    facts = replace(facts, launch=launch, occupancy=occupancy)
    several = tuple((name, size * WAVES) for name, size in facts.array_bytes)
    system = MemorySystem(replace(facts, array_bytes=several), machine, seed=SEED)
    system.begin(*names)
    first = np.flatnonzero(np.r_[True, chunk.block[1:] != chunk.block[:-1]])
    ends = np.r_[first[1:], len(chunk)]
    sizes = dict(facts.array_bytes)
    each = np.array([sizes.get(name, 0) for name in names[1]] + [0], np.int64)
    for wave in range(min(WAVES, waves)):
        moved = _moved(chunk, wave * each[chunk.array])
        own = [_rows(moved, np.arange(a, b)) for a, b in zip(first, ends, strict=True)]
        for place, slot in enumerate(block_slots(wave, sms, held, SEED).tolist()):
            block = own[slot % held]
            number = np.full(len(block), wave * sms * held + place, np.int32)
            system.chunk(replace(block, block=number))
    return system.traffic()


def _moved(chunk: TraceChunk, by: NDArray[np.int64]) -> TraceChunk:
    """``chunk`` with each access moved ``by`` (n,) bytes forward in its array."""
    listed = chunk.row >= 0
    count = np.bitwise_count(chunk.mask[listed]).astype(np.int64)
    before = np.repeat(np.cumsum(count) - count, count)
    places = np.repeat(chunk.row[listed].astype(np.int64), count) + np.arange(count.sum()) - before
    offsets = chunk.offsets.astype(np.int64)
    offsets[places] += np.repeat(by[listed], count)
    return replace(chunk, base=chunk.base + by, upper=chunk.upper + by, offsets=offsets)


def of_blocks(chunk: TraceChunk, numbers: NDArray[np.int64]) -> TraceChunk:
    """The accesses of some of a chunk's blocks."""
    kept = np.isin(chunk.block, numbers)
    return chunk if kept.all() else _rows(chunk, np.flatnonzero(kept))


def _rows(chunk: TraceChunk, rows: NDArray[np.int64]) -> TraceChunk:
    """Some accesses of a chunk."""
    columns = ("site", "block", "warp", "phase", "mask", "array", "base", "upper", "stride", "row")
    return replace(chunk, **{name: getattr(chunk, name)[rows] for name in columns})


def _part_of(machine: Machine, sms: int, busy: int) -> Machine:
    """``machine`` with ``sms`` of its ``busy`` SMs and the same share of its last-level cache."""
    processor = replace(machine.processor, tpcs=1, sms_per_tpc=sms)
    return replace(part_of_l2(machine, sms / busy), processor=processor)


def part_of_l2(machine: Machine, share: float) -> Machine:
    """``machine`` with a share of the cache of the die."""
    memories = tuple(
        replace(m, size_bytes=max(1, int(m.size_bytes * share)))
        if m.scope == "die" and not m.software_managed and m.size_bytes
        else m
        for m in machine.memories
    )
    return replace(machine, memories=memories)


def l2_bytes(machine: Machine) -> float:
    """Size of the cache of the die; 0 where there is none, or its size is not known."""
    return 0.0 if machine.l2 is None else float(machine.l2.size_bytes or 0)
