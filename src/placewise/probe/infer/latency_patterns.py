"""The six latencies of global memory that Mei et al. 2014 tell apart, by cache and TLB."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.probe.chase import Chase, ProbeDevice
from placewise.probe.infer.hierarchy import Hierarchy
from placewise.probe.infer.latencies import places
from placewise.probe.infer.page_tables import find_page_tables, going_round

PATTERNS = (
    "data cache hit, L1 TLB hit",
    "data cache hit, L1 TLB miss, L2 TLB hit",
    "data cache hit, L2 TLB miss",
    "data cache miss, L1 TLB hit",
    "data cache miss, L2 TLB miss",
    "data cache miss, L2 TLB miss, page table not at hand",
)
"""Numbers 1 to 6 of their table."""
_SPREAD = 128
_LINES = 64
"""Loads within one page."""
_LAPS = 8


@dataclass(frozen=True)
class PatternLatency:
    """The latency of one of :data:`PATTERNS`."""

    number: int
    cycles: float
    """Median latency of loads of this pattern."""

    @property
    def what(self) -> str:
        return PATTERNS[self.number - 1]


def latency_patterns(device: ProbeDevice, found: Hierarchy) -> tuple[PatternLatency, ...]:
    """Latencies of those of the six patterns whose levels ``found`` has; of the sixth where loads
    are seen to switch page tables (:mod:`.page_tables`).

    Levels that loads can bypass are left out: on current GPUs their hits use no TLB."""
    entries = [_pages(tlb.capacity_bytes, tlb.line_bytes) for tlb in found.tlbs]
    page = max((tlb.line_bytes or 0 for tlb in found.tlbs), default=0) or 1 << 21
    reach = device.reach_bytes // page
    first = entries[0] if entries else reach
    last = entries[-1] if entries else reach
    laps: dict[int, Chase] = {1: _warm(device, _within_a_page(page, 0))}
    between = (first + last) // 2
    if len(entries) > 1 and first < between < last and between <= reach:
        laps[2] = _warm(device, places(np.arange(between), page, _SPREAD))
    beyond = 2 * last
    if entries and beyond <= reach:
        laps[3] = _warm(device, places(np.arange(beyond), page, _SPREAD))
        cold = places(np.arange(beyond), page, _SPREAD)
        laps[5] = Chase((cold + page // 2) % (beyond * page), before=cold, bypass=device.bypasses)
    touched = _within_a_page(page, 1)[:1]
    laps[4] = Chase(_within_a_page(page, 0), before=touched, bypass=device.bypasses)
    tables = find_page_tables(device, found.tlbs)
    if tables is not None:
        first_loads = going_round(last + 1, page, tables.active + 1, tables.region_bytes)
        laps[6] = Chase(first_loads, bypass=device.bypasses)
    return tuple(
        PatternLatency(number, float(np.median(device.run(chase).cycles)))
        for number, chase in sorted(laps.items())
    )


def _pages(capacity: int | None, page: int | None) -> int:
    return (capacity or 0) // (page or 1)


def _within_a_page(page: int, part: int) -> NDArray[np.int64]:
    """Lines of one page, 512 bytes apart; ``part`` moves them by half as much."""
    stride = 512
    return np.arange(min(_LINES, page // (2 * stride))) * stride + part * stride // 2


def _warm(device: ProbeDevice, lap: NDArray[np.int64]) -> Chase:
    return Chase(lap, laps=_LAPS, warm=2, bypass=device.bypasses)
