"""Local memory of all SMs in the L2 that they share.

Every resident thread of a launch has local memory of its own, so that what the SMs spill asks for
as much of L2 as all of them hold threads, while the blocks of one SM are simulated with an L2 to
themselves. Here a few SMs, each with the same blocks, go through their part of L2. The data of
arrays are the same for all of them: as many are taken as read the same data in the launch, where
neighbours are at work at one time.
"""

from __future__ import annotations

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
"""Waves simulated in a row: the first finds empty caches, and each later block reuses the local
memory of the block before it."""
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
) -> Traffic:
    """``traffic``, with local memory sought in an L2 that all SMs fill.

    ``chunk`` has the accesses of one SM's blocks to the sites and arrays of ``names``; ``sharing``
    is how many SMs, on the average, read the same data of arrays.
    """
    sites = names[0]
    kept = np.array([site.space in _SPACES and _counts(site) for site in sites], np.bool_)
    local = [n for n, site in enumerate(sites) if site.space == "local"]
    if not np.isin(chunk.site, local).any():
        return traffic
    chunk = _rows(chunk, np.flatnonzero(kept[chunk.site]))
    held = len(np.unique(chunk.block))
    busy = min(machine.processor.sms, -(-facts.launch.blocks // held))
    sms = int(np.clip(round(sharing), 1, min(MOST_SMS, busy)))
    crowd = _simulated(chunk, names, facts, _part_of(machine, sms, busy), held)
    seen = {t.site: t for t in crowd.sites}
    stored = sum(t.sectors for t in traffic.sites if _stores_locally(t))
    of_crowd = sum(t.sectors for t in crowd.sites if _stores_locally(t))
    dirtied = crowd.dirtied.value * (stored / of_crowd if of_crowd else 0.0)
    dirtied += stored_in_arrays(traffic, facts.array_bytes)
    return replace(
        traffic,
        sites=tuple(
            _beyond(t, seen[t.site]) if t.site.space == "local" else t for t in traffic.sites
        ),
        dirtied=Estimate(dirtied, 0.0),
    )


def _counts(site: Site) -> bool:
    """Stores to arrays are left out: which of L2's lines are dirty is asked of local memory."""
    return site.space == "local" or site.kind == "load"


def _stores_locally(t: SiteTraffic) -> bool:
    return t.site.space == "local" and t.site.kind != "load"


def _beyond(t: SiteTraffic, crowd: SiteTraffic) -> SiteTraffic:
    """``t`` with the share of L2's misses that it has among all SMs."""
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
    """The blocks of ``chunk`` on every SM of ``machine``, again in each wave with other data of
    arrays."""
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
    """``chunk`` with its accesses ``by`` (n,) bytes further on in their arrays."""
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
    """``machine`` with some of its ``busy`` SMs, and as large a part of the cache of the die."""
    processor = replace(machine.processor, tpcs=1, sms_per_tpc=sms)
    memories = tuple(
        replace(m, size_bytes=max(1, m.size_bytes * sms // busy))
        if m.scope == "die" and not m.software_managed and m.size_bytes
        else m
        for m in machine.memories
    )
    return replace(machine, processor=processor, memories=memories)
