"""Stores to the slower part of an SM's shared memory.

Where an SM's shared memory is larger than a machine's ``near``, stores beyond that take more
wavefronts than their banks explain. Recorded counters show where, not why: on Turing no store takes
one more where 32 KB of the array are carved out; where it is 64 KB, and a single block is on the
SM, they do so in proportion to what of the block lies beyond 32 KB. Several blocks behave as if the
carve-out were divided evenly: two of 18 KB have more of it than they would if they lay together.
The same code varies a little from run to run, so the extra wavefronts depend on other accesses: a
fraction of the stores takes one, not certain stores.
"""

from __future__ import annotations

from dataclasses import replace

from placewise.machine.machine import Machine
from placewise.memory.occupancy import Occupancy
from placewise.memory.simulate.caches.hierarchy import carve_out, shared_memory
from placewise.memory.simulate.metrics.traffic import SiteTraffic, Traffic


def far_share(
    machine: Machine,
    occupancy: Occupancy,
    shared_bytes: int,
    near_bytes: int,
    held: int | None = None,
) -> float:
    """Share of an SM's blocks' shared memory, ``shared_bytes`` each, that lies beyond the first
    ``near_bytes`` of it. ``held`` blocks are there, where that is fewer than it could hold: the
    driver carves out what it would then need."""
    arrays = [m for m in machine.memories if m.detail.unified_bytes]
    if not arrays or not shared_bytes:
        return 0.0
    blocks = max(1, occupancy.blocks)
    part = carve_out(arrays[0], machine, occupancy, shared_bytes) // blocks
    blocks = min(blocks, held or blocks)
    beyond = (n * part + shared_bytes - near_bytes for n in range(blocks))
    return sum(min(max(0, b), shared_bytes) for b in beyond) / (blocks * shared_bytes)


def with_far_stores(
    traffic: Traffic, machine: Machine, occupancy: Occupancy, shared_bytes: int, blocks: int
) -> Traffic:
    """Traffic of a launch of ``blocks`` blocks with the extra wavefronts of stores to far shared
    memory, where the machine's file states them."""
    memory = shared_memory(machine)
    detail = memory.detail if memory else None
    if detail is None or not detail.near_bytes or not detail.far_stores:
        return traffic
    held = -(-blocks // machine.processor.sms)
    far = far_share(machine, occupancy, shared_bytes, detail.near_bytes, held)
    more = 1.0 + detail.far_stores * far

    def slowed(site: SiteTraffic) -> SiteTraffic:
        if site.site.space != "shared" or site.site.kind != "store":
            return site
        return replace(site, wavefronts=site.wavefronts * more)

    return replace(traffic, sites=tuple(slowed(site) for site in traffic.sites))
