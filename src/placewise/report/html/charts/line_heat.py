"""Memory traffic of each source line, for the colours beside the source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from placewise.advisor.lint import Remark, least_sectors, least_wavefronts
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.memory.simulate.metrics.ncu_metrics import (
    WARP_INSTRUCTIONS,
    metrics_by_line,
    sites_by_line,
)
from placewise.memory.simulate.metrics.traffic import SiteTraffic
from placewise.report.html.charts.memory_chart import CACHED, memory_of


def line_heat(run: SimulatedLaunch, remarks: Sequence[Remark]) -> list[dict[str, Any]]:
    """A document for each source line with memory accesses or executed instructions
    (:class:`placewise.schemas.page.LineHeat`), in the order of the source. ``remarks`` are those on
    the launch; a line has the largest saving of its own."""
    savings = {r.line: r.saving or 0.0 for r in sorted(remarks, key=lambda r: r.saving or 0.0)}
    by_line = sites_by_line(run)
    executed = {
        place: sum(m.value for m in metrics if m.name == WARP_INSTRUCTIONS)
        for place, metrics in metrics_by_line(run)
    }
    found = []
    for place in sorted({*by_line, *executed}):
        sites = [s for s in by_line.get(place, ()) if s.requests > 0]
        cached = [s for s in sites if memory_of(s) in CACHED]
        banked = [s for s in sites if memory_of(s) not in CACHED]
        sector = run.traffic.sector_bytes
        found.append(
            {
                "file": place.file,
                "line": place.line,
                "instructions": executed.get(place, 0.0),
                "requests": sum(s.requests for s in sites),
                "cached_requests": sum(s.requests for s in cached),
                "sectors": sum(s.sectors for s in cached),
                "least_sectors": sum(least_sectors(s, sector) for s in cached),
                "wavefronts": sum(s.wavefronts for s in banked),
                "least_wavefronts": sum(_least_wavefronts(s) for s in banked),
                "l2_sectors": sum(max(0.0, s.l2_sectors.value) for s in cached),
                "dram_sectors": sum(max(0.0, s.dram_sectors.value) for s in cached),
                "saving": savings.get(place, 0.0),
            }
        )
    return found


def _least_wavefronts(site: SiteTraffic) -> float:
    """Wavefronts without bank conflicts; in constant memory, one for each request."""
    return least_wavefronts(site) if site.site.space == "shared" else site.requests
