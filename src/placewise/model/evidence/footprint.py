"""Corrects the traffic of one SM's blocks for data that other SMs have brought into L2.

A few blocks of one SM are simulated with an L2 that no other SM has filled. Scaled to the launch, a
sector that several SMs need would be fetched from DRAM once for each of them. Here DRAM delivers
each sector that the launch touches once (:mod:`.touched`). Sectors that leave L2 and are fetched
again are added by :mod:`.fetched_again`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from placewise.memory.simulate.metrics.traffic import Estimate, SiteTraffic, Traffic


def within_arrays(
    traffic: Traffic, most: Mapping[str, float], full: Mapping[str, float], l2_sectors: float = 0.0
) -> Traffic:
    """``traffic`` with no array fetched more than once, nor more of it written back than there is.

    ``most`` are the sectors that the launch touches of each array, ``full`` what part they are of
    their lines, by name; ``l2_sectors`` are those that L2 has room for. One SM's blocks may touch a
    part of each line and others the rest.
    """
    fetched = _fetched(traffic)
    share = {
        name: min(1.0, most[name] / amount) if name in most and amount else 1.0
        for name, amount in fetched.items()
    }
    dirtied = stored_in_arrays(traffic, most) + sum(
        t.sectors for t in traffic.sites if t.site.kind != "load" and t.array not in most
    )
    bounded = replace(
        traffic,
        sites=tuple(fetching_less(t, share.get(t.array or "", 1.0)) for t in traffic.sites),
        dirtied=Estimate(min(traffic.dirtied.value, dirtied), 0.0),
        written_back=Estimate(min(traffic.written_back.value, dirtied), 0.0),
    )
    came_in = _came_in(bounded, most)
    total = sum(came_in.values())
    held = traffic.held
    if total and l2_sectors > held:
        least = held / l2_sectors
        held = sum(n * max(least, full.get(name, 0.0)) for name, n in came_in.items())
        held *= l2_sectors / total
    return replace(bounded, came_in=total, held=held)


def _came_in(traffic: Traffic, most: Mapping[str, float]) -> dict[str, float]:
    """Different sectors that come into L2, by array: what is loaded and stored comes in once."""
    stored = _stored(traffic)
    found = {}
    for name, amount in _fetched(traffic).items():
        together = amount + stored.get(name, 0.0)
        found[name] = min(together, most[name]) if name in most else together
    return found


def missed_as_often(traffic: Traffic, usual: Traffic) -> Traffic:
    """``traffic`` of some blocks in which each load misses L2 as often as in ``usual`` blocks.
    Simulated alone, blocks of an uncommon kind would find an L2 without the data that they share
    with their neighbours."""
    shares = {
        t.site: t.dram_sectors.value / t.l2_sectors.value
        for t in usual.sites
        if t.site.kind == "load" and t.l2_sectors.value > 0.0
    }
    return replace(
        traffic,
        sites=tuple(_missing(t, shares[t.site]) if t.site in shares else t for t in traffic.sites),
    )


def _missing(t: SiteTraffic, share: float) -> SiteTraffic:
    asked = max(0.0, t.l2_sectors.value)
    return replace(
        t,
        dram_sectors=Estimate(asked * share, t.dram_sectors.error),
        l2_hits=Estimate(asked * (1.0 - share), t.l2_hits.error),
    )


def stored_in_arrays(traffic: Traffic, most: Mapping[str, float]) -> float:
    """Number of different sectors of the arrays in ``most`` that are stored to, at most."""
    stored = _stored(traffic)
    return sum(min(amount, most[name]) for name, amount in stored.items() if name in most)


def _stored(traffic: Traffic) -> dict[str, float]:
    """Number of sectors that stores and atomics access, by array; "" stands for local memory."""
    stored: dict[str, float] = {}
    for t in traffic.sites:
        if t.site.kind != "load" and t.site.space != "shared":
            stored[t.array or ""] = stored.get(t.array or "", 0.0) + t.sectors
    return stored


def sharing(alone: Traffic, bounded: Traffic) -> float:
    """How many SMs fetch the same sector of an array, on the average: sectors that are fetched if
    each SM has its own L2 (``alone``), over those after :func:`within_arrays` has limited them
    (``bounded``)."""
    before, after = (
        sum(amount for name, amount in _fetched(t).items() if name) for t in (alone, bounded)
    )
    return before / after if after else 1.0


def sectors_of(sizes: Iterable[tuple[str, int]], sector_bytes: int) -> dict[str, float]:
    """Sectors that each array of (name, bytes) fills, by name."""
    return {name: float(-(-size // sector_bytes)) for name, size in sizes}


def _fetched(traffic: Traffic) -> dict[str, float]:
    """Sectors from DRAM by array; "" stands for local memory."""
    fetched: dict[str, float] = {}
    for t in traffic.sites:
        name = t.array or ""
        fetched[name] = fetched.get(name, 0.0) + t.dram_sectors.value
    return fetched


def fetching_less(t: SiteTraffic, share: float) -> SiteTraffic:
    """``t`` with only this share of its DRAM sectors; the others become hits in L2."""
    if share == 1.0:
        return t
    fetched = t.dram_sectors.value * share
    hits = t.l2_hits.value + t.dram_sectors.value - fetched
    return replace(
        t,
        dram_sectors=Estimate(fetched, t.dram_sectors.error * share),
        l2_hits=Estimate(hits, t.l2_hits.error),
    )
