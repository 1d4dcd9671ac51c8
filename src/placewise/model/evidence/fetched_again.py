"""Sectors of arrays that leave the L2 which all SMs share before they are wanted again.

The blocks of one SM, simulated with an L2 to themselves, lose nothing of it. Here they go through
their part of it: as much as their share of the resident blocks is of it, times how many SMs fetch
the same sectors. What they miss there and not in the whole L2 is fetched again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from placewise.executor.trace import Site, TraceChunk
from placewise.machine.machine import Machine
from placewise.memory.simulate.metrics.traffic import Estimate, SiteTraffic, Traffic
from placewise.memory.simulate.system import LaunchFacts, MemorySystem
from placewise.model.evidence.spills import SEED, l2_bytes, part_of_l2

LEAST_KEPT = 0.05
"""Share of the loads' sectors that L2 must hold for others to be worth a second simulation."""


def fetched_again(
    traffic: Traffic,
    own: TraceChunk,
    alone: Traffic,
    names: tuple[tuple[Site, ...], tuple[str, ...]],
    facts: LaunchFacts,
    machine: Machine,
    *,
    sharing: float,
    placement: Mapping[str, str] | None = None,
) -> Traffic:
    """``traffic``, the launch's, with what its loads of arrays fetch more than once.

    ``own`` has the accesses of some blocks to the sites and arrays of ``names``, ``alone`` is what
    they ask with an L2 to themselves, scaled to the launch, and ``sharing`` how many SMs, on the
    average, fetch the same data.
    """
    whole = l2_bytes(machine)
    asked = sum(t.l2_sectors.value for t in traffic.sites if _counts(t))
    kept = sum(t.l2_hits.value for t in traffic.sites if _counts(t))
    came_in = traffic.came_in or 0.0
    if came_in * traffic.sector_bytes <= whole or kept < LEAST_KEPT * asked:
        return traffic
    resident = machine.processor.sms * max(1, facts.occupancy.blocks)
    blocks = len(np.unique(own.block))
    share = min(1.0, sharing * blocks / min(facts.launch.blocks, resident))
    if share == 1.0:
        return traffic
    system = MemorySystem(facts, part_of_l2(machine, share), seed=SEED, placement=placement)
    system.begin(*names)
    system.chunk(own)
    less = {t.site: t for t in system.traffic().sites}
    before = {t.site: t for t in alone.sites}
    sites = tuple(
        _more(t, before[t.site], less[t.site])
        if _counts(t) and t.site in less and t.site in before
        else t
        for t in traffic.sites
    )
    again = sum(
        a.dram_sectors.value - b.dram_sectors.value
        for a, b in zip(sites, traffic.sites, strict=True)
    )
    return replace(traffic, sites=sites, came_in=came_in + again)


def _counts(t: SiteTraffic) -> bool:
    return t.site.kind == "load" and t.array is not None


def _more(t: SiteTraffic, whole: SiteTraffic, part: SiteTraffic) -> SiteTraffic:
    """``t`` with the sectors that miss in a part of L2 and not in all of it, as many of them as
    other SMs have not just fetched."""
    asked = t.l2_sectors.value
    if asked <= 0.0 or whole.l2_sectors.value <= 0.0 or part.l2_sectors.value <= 0.0:
        return t
    missed = whole.dram_sectors.value / whole.l2_sectors.value
    extra = max(0.0, part.dram_sectors.value / part.l2_sectors.value - missed) * asked
    once = missed * asked
    extra *= min(1.0, t.dram_sectors.value / once) if once > 0.0 else 1.0
    extra = min(extra, t.l2_hits.value)
    return replace(
        t,
        dram_sectors=Estimate(t.dram_sectors.value + extra, t.dram_sectors.error),
        l2_hits=Estimate(t.l2_hits.value - extra, t.l2_hits.error),
    )
