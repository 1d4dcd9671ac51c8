"""Estimates the traffic of the whole launch, by memory instruction, from the waves that were
traced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from placewise.executor.trace import Site
from placewise.memory.simulate.caches.hierarchy import Hierarchy
from placewise.memory.simulate.caches.levels import Levels
from placewise.memory.simulate.caches.tlb import TlbTraffic
from placewise.memory.simulate.metrics.traffic import (
    CodeTraffic,
    ConstantFill,
    ConstantTraffic,
    Estimate,
    SiteTraffic,
    Traffic,
)
from placewise.memory.simulate.metrics.wave_counts import Closed, wave_counts
from placewise.memory.simulate.requests import generic_addresses as ga
from placewise.memory.simulate.requests.streams import CONSTANT, LOAD, Streams
from placewise.memory.simulate.schedule.windows import WaveCounts, counted_waves, whole_launch


@dataclass(frozen=True, eq=False)
class TracedLaunch:
    """Counts of the traced part of a launch, by access stream (instruction and array)."""

    sites: tuple[Site, ...]
    arrays: tuple[str, ...]
    streams: Streams
    kind: NDArray[np.int32]
    """(sites,) LOAD, STORE or ATOMIC."""
    banked: NDArray[np.float64]
    """(streams,) transactions in memories without cache lines."""
    neighbours: NDArray[np.int64]
    """(streams,) sectors of stores that the previous store wrote, too."""
    merging: float
    """Share of ``neighbours`` that reaches L2 together with the sectors of the previous store."""
    closed: list[Closed]
    chosen: NDArray[np.bool_]
    """(waves,) whether the wave was traced."""
    filling: int
    """Number of waves that only fill the caches before a wave that is counted."""
    blocks: int
    traced: int
    """Blocks of the launch, and how many of them were traced."""


# Long, because it sets the result's many fields, one on each line.
def launch_traffic(
    traced: TracedLaunch,
    levels: Levels,
    caches: Hierarchy,
    executions: NDArray[np.int64] | None,
) -> Traffic:
    """Traffic of the whole launch. ``executions`` (sites,) is how often each instruction was
    executed in it; if it is None, the traced counts are scaled by the number of blocks."""
    used = int(traced.streams.used[0])
    rows = traced.streams.rows[:used]
    sites, origin = ga.told_apart(traced.sites, traced.streams.number, traced.streams.rows)

    def by_site(of_streams: NDArray[Any]) -> NDArray[Any]:
        sums = np.zeros(max(1, len(sites)), of_streams.dtype)
        np.add.at(sums, rows["site"], of_streams[:used])
        return sums

    counted, lanes, sectors, lines = (
        by_site(rows[name]) for name in ("accesses", "lanes", "sectors", "lines")
    )
    scale = np.full(len(counted), traced.blocks / traced.traced)
    if executions is not None and len(executions):
        together = np.bincount(origin, counted)[origin]
        np.divide(executions[origin], together, out=scale, where=together > 0)
    no_constant = np.zeros((2, levels.constant_levels, len(counted)), np.int64)
    none = [WaveCounts(0, traced.blocks, True, *(np.zeros_like(counted),) * 5, 0, 0, no_constant)]
    counting = counted_waves(traced.chosen, traced.filling)
    waves = wave_counts(traced.closed, rows, len(counted), counting) or none
    requests = np.array([w.requests for w in waves])
    total = counted * scale

    def whole(name: str) -> list[Estimate]:
        return _estimates(waves, np.array([getattr(w, name) for w in waves]), requests, total)

    l1_hits, l2_asked, l2_hits, dram = map(whole, ("l1_hits", "l2_asked", "l2_hits", "dram"))
    writing = (traced.kind[origin] != LOAD) & (sectors > 0)
    written_back, dirtied = _estimates(
        waves,
        np.array([[w.written, w.dirtied] for w in waves]),
        np.repeat(requests[:, writing].sum(1, keepdims=True), 2, axis=1),
        np.repeat(total[writing].sum(), 2),
    )
    constant = [
        [_estimates(waves, found, requests, total) for found in np.moveaxis(of_level, 1, 0)]
        for of_level in np.moveaxis(np.array([w.constant for w in waves]), 2, 0)
    ]
    loads = np.zeros(len(counted), np.bool_)
    loads[rows["site"][rows["cache"] == CONSTANT]] = True
    first = waves[0]
    fill = (float(n[loads].sum()) for n in (first.l2_asked, first.l2_hits, first.dram))
    tlb_asked = [by_site(level) for level in levels.tlb_asked]
    tlb_hits = [by_site(level) for level in levels.tlb_hits]
    wavefronts, merged = by_site(traced.banked), by_site(traced.neighbours) * traced.merging
    return Traffic(
        tuple(
            SiteTraffic(
                site=site,
                array=ga.first_array(site, traced.streams.number[origin[n]], traced.arrays),
                requests=float(total[n]),
                lanes=float(lanes[n] * scale[n]),
                sectors=float(sectors[n] * scale[n]),
                lines=float(lines[n] * scale[n]),
                wavefronts=float(wavefronts[n] * scale[n]),
                l1_hits=l1_hits[n],
                l2_hits=l2_hits[n],
                l2_asked=l2_asked[n] if caches.last else None,
                dram_sectors=dram[n],
                merged=float(merged[n] * scale[n]),
                constant=tuple(
                    ConstantTraffic(g.memory.name, asked[n], missed[n])
                    for g, (asked, missed) in zip(caches.constant, constant, strict=False)
                    if loads[n]
                ),
                tlbs=tuple(
                    TlbTraffic(name, int(asked[n]), int(hits[n]))
                    for name, asked, hits in zip(levels.tlb_names, tlb_asked, tlb_hits, strict=True)
                ),
            )
            for n, site in enumerate(sites)
        ),
        written_back=written_back,
        dirtied=dirtied,
        instructions=CodeTraffic(),
        held=levels.held,
        most_dirty=_most_dirty(caches),
        traced=traced.traced / traced.blocks,
        sector_bytes=caches.sector_bytes,
        line_bytes=caches.line_bytes,
        slices=levels.slices,
        arrived=levels.arrived,
        constant_fill=ConstantFill(*fill),
    )


def _most_dirty(caches: Hierarchy) -> float | None:
    """Number of sectors of L2 that may be dirty; None if it is unknown."""
    last = caches.last
    if last is None or last.memory.detail.most_dirty is None:
        return None
    return last.memory.detail.most_dirty * (last.size_bytes // caches.sector_bytes)


def _estimates(
    waves: list[WaveCounts],
    of: NDArray[np.int64],
    weights: NDArray[np.int64],
    total: NDArray[np.float64],
) -> list[Estimate]:
    """The result of :func:`whole_launch` as one Estimate for each figure."""
    return [Estimate(v, e) for v, e in zip(*whole_launch(waves, of, weights, total), strict=True)]
