"""Sectors that are moved from L2 although the launch uses only a part of each."""

from __future__ import annotations

from placewise.advisor.lint import LEAST_SHARE, WORTH_A_NOTE, WORTH_A_WARNING, Remark, Rule
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.memory.simulate.metrics.ncu_metrics import line_of
from placewise.memory.simulate.metrics.traffic import SiteTraffic


def partly_used(run: SimulatedLaunch) -> list[Remark]:
    """A remark for each array whose loads move many more bytes from L2 than all lanes together ask
    for, at the line that moves most.

    Bytes that lanes ask for are counted over the whole launch, so an element that is asked for
    later, and then found in the SM's caches, counts as used.
    """
    sector = run.traffic.sector_bytes
    arrays: dict[str, list[SiteTraffic]] = {}
    for site in run.traffic.sites:
        if site.array and site.site.kind == "load" and site.sectors and site.requests:
            arrays.setdefault(site.array, []).append(site)
    moved = {name: sum(_moved(s) for s in sites) for name, sites in arrays.items()}
    everything = sum(moved.values())
    found = []
    for name, sites in arrays.items():
        useful = sum(s.lanes * s.site.lane_bytes for s in sites) / sector
        if not useful or not everything:
            continue
        times, share = moved[name] / useful, moved[name] / everything
        if times < WORTH_A_NOTE or share < LEAST_SHARE:
            continue
        text = (
            f"{name}: at most {sector / times:.2g} of the {sector} bytes of each sector that loads "
            "move from L2 are used by any thread: put elements that are used together side by side"
        )
        heaviest = max(sites, key=_moved)
        warning = times >= WORTH_A_WARNING
        found.append(
            Remark(Rule.partly_used, warning, text, line_of(heaviest), name, times, share, "load")
        )
    return found


def _moved(site: SiteTraffic) -> float:
    """Sectors that L2 gives."""
    return max(0.0, float(site.l2_sectors.value))
