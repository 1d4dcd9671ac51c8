"""Additional wavefronts of stores to the slower part of an SM's shared memory.

If an SM's shared memory is larger than ``near`` in the machine's file, stores beyond this size take
more wavefronts than bank conflicts explain. Recorded counters show which stores, but not why. On
Turing no store takes an additional wavefront if shared memory has 32 KB. If it has 64 KB and one
block is on the SM, the number of additional wavefronts is proportional to the part of the block's
memory beyond 32 KB. Several blocks behave as if shared memory were divided evenly among them: two
blocks of 18 KB have more memory beyond 32 KB than if they were next to each other. The counts vary
a little from run to run of the same code, so the additional wavefronts depend on other accesses: a
fraction of the stores takes one, and it is not always the same stores.
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
    """Share of the shared memory of an SM's blocks (``shared_bytes`` each) that lies beyond the
    first ``near_bytes``. ``held`` is the number of blocks on the SM, if there are fewer than it
    could hold; the size of its shared memory still is the one for as many blocks as it could
    hold."""
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
    """Traffic of a launch of ``blocks`` blocks, with the additional wavefronts of stores beyond
    ``near``, if the machine's file states them."""
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
