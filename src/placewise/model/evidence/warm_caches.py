"""Traffic of a launch that finds in L2 what an earlier launch on the same data left there.

A kernel that is launched again and again on the same data fetches less from DRAM than one that
starts with empty caches. If all that it touches fits L2, it fetches nothing. If not, L2 has lost a
part of it by the time it is wanted again: each launch walks through the same lines in the same
order, so as much is left as the cache's policy leaves of a loop over that many lines.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from placewise.machine.machine import Machine, Memory
from placewise.memory.reuse.miss_curves import misses
from placewise.memory.simulate.caches.geometry import Geometry
from placewise.memory.simulate.caches.hierarchy import DEFAULT_WAYS
from placewise.memory.simulate.metrics.traffic import Estimate, Traffic
from placewise.model.base import Evidence
from placewise.model.evidence.footprint import fetching_less

SETS = 256
"""Sets of the small cache that stands for L2."""
ROUNDS = 8
"""Rounds through the lines before the one that is counted; by then the shares change no more."""
FAR_TOO_LARGE = 4.0
"""Nothing is left of a loop over this many times as many lines as the cache holds."""


def at_launch(evidence: Evidence, machine: Machine) -> Evidence:
    """``evidence`` of a launch that finds L2 empty, as it is on ``machine``: unchanged, or where
    its caches are warm that of a launch which comes after the same one on the same data."""
    run = evidence.run
    cache = machine.l2
    if not machine.warm_caches or run is None or cache is None:
        return evidence
    traffic = run.traffic
    came_in = _came_in(traffic) * traffic.sector_bytes
    kept = share_kept(came_in / (cache.size_bytes or 1), cache)
    note = f"warm caches: L2 still holds {kept:.0%} of the {came_in / 2**20:.3g} MB that it touches"
    warm = _warm(traffic, kept)
    return replace(evidence, run=replace(run, traffic=warm, notes=(*run.notes, note)))


def with_array_held(evidence: Evidence, array: str) -> Evidence:
    """``evidence`` of a launch for which L2 holds all of ``array``: its loads fetch nothing from
    DRAM."""
    run = evidence.run
    if run is None:
        return evidence
    sites = tuple(fetching_less(t, 0.0) if t.array == array else t for t in run.traffic.sites)
    return replace(evidence, run=replace(run, traffic=replace(run.traffic, sites=sites)))


def share_kept(ratio: float, cache: Memory) -> float:
    """Share of its accesses that a loop over ``ratio`` times as many lines as ``cache`` holds finds
    there, once it has gone round a few times. The lines are spread evenly over the sets."""
    if ratio <= 1.0:
        return 1.0
    if ratio >= FAR_TOO_LARGE:
        return 0.0
    detail = cache.detail
    ways = detail.ways or DEFAULT_WAYS
    geometry = Geometry(1, SETS, ways, detail.policy or "lru", detail.way_probabilities)
    lines = np.arange(round(ratio * SETS * ways))
    before, after = (misses(np.tile(lines, n), geometry) for n in (ROUNDS, ROUNDS + 1))
    return 1.0 - (after - before) / len(lines)


def _came_in(traffic: Traffic) -> float:
    """Sectors that come into L2, each counted once as far as that is known."""
    if traffic.came_in is not None:
        return traffic.came_in
    return traffic.dirtied.value + sum(max(0.0, t.dram_sectors.value) for t in traffic.sites)


def _warm(traffic: Traffic, kept: float) -> Traffic:
    """``traffic`` with a share ``kept`` of what it fetches found in L2. As much of the data that
    the launch before left dirty is overwritten there; the rest is written back meanwhile."""
    dirtied = traffic.dirtied.value
    left = max(0.0, dirtied - traffic.written_back.value)
    most_dirty, held = traffic.most_dirty, traffic.held
    return replace(
        traffic,
        sites=tuple(
            replace(fetching_less(t, 1.0 - kept), left=kept * t.dram_sectors.value)
            for t in traffic.sites
        ),
        most_dirty=None if most_dirty is None else kept * min(dirtied, most_dirty),
        held=kept * min(held, _came_in(traffic)),
        written_back=Estimate(dirtied - kept * left, traffic.written_back.error),
    )
