"""How much memory a GPU's page tables serve without a switch, and what a switch costs.

On Kepler page tables of 512 MB are active at a time (Mei et al. 2014): a load that no TLB covers
takes longer when the load before it was of another such region. Loads that go round several
regions, each to a page of its own, miss every TLB and switch at every load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.probe.chase import Chase, ProbeDevice
from placewise.probe.infer.latencies import places
from placewise.probe.infer.structure import Structure

_LONGER = 1.05
"""Ratio of latencies from which loads take longer; noise is 2 % of a load's time."""
_FASTEST = 0.1
"""Share of the loads that may be faster by chance where all of them switch. Of regions smaller than
those that a page table serves, two neighbours need no switch: then half of the loads are fast."""
_SPREAD = 128
_LAPS = 4


@dataclass(frozen=True)
class PageTables:
    """Page tables that are active at a time."""

    region_bytes: int
    """Memory that one page table serves, a power of two."""
    active: int
    """Page tables that are active together."""
    switch_cycles: float
    """Cycles that a load takes longer if its page table is not active."""
    at_most: bool = False
    """Whether ``region_bytes`` is an upper bound: smaller regions were not looked at, because too
    few pages lie in them to miss all TLBs."""


def find_page_tables(device: ProbeDevice, tlbs: Sequence[Structure]) -> PageTables | None:
    """Page tables of ``device``, whose TLBs are ``tlbs``; None where no load takes longer for
    going to another region, or where too little memory can be reached to tell."""
    page = max((tlb.line_bytes or 0 for tlb in tlbs), default=0)
    if not page:
        return None
    pages = max((tlb.capacity_bytes or 0) // (tlb.line_bytes or 1) for tlb in tlbs) + 1
    smallest = 1 << (pages * page - 1).bit_length()
    if 2 * pages * page > device.reach_bytes:
        return None
    alone = float(np.median(_cycles(device, going_round(pages, page, 1, smallest))))

    def switches(regions: int, distance: int) -> bool:
        """Whether all loads take longer that go round ``regions``."""
        cycles = _cycles(device, going_round(pages, page, regions, distance))
        return float(np.quantile(cycles, _FASTEST)) > _LONGER * alone

    distance = smallest
    while not switches(device.reach_bytes // distance, distance):
        distance *= 2
        if 2 * distance > device.reach_bytes:
            return None
    regions = 2
    while not switches(regions, distance):
        regions += 1
    slow = float(np.median(_cycles(device, going_round(pages, page, regions, distance))))
    return PageTables(distance, regions - 1, slow - alone, distance == smallest)


def going_round(pages: int, page_bytes: int, regions: int, distance: int) -> NDArray[np.int64]:
    """(n,) addresses, each of another page: one in each of ``regions`` that are ``distance`` bytes
    apart, then one page further in each of them; at least twice ``pages`` in all."""
    each = -(-2 * pages // regions)
    pages_from = np.arange(each)[:, None] * page_bytes + np.arange(regions) * distance
    # Each load is of another place within its page, so that no set of a data cache overflows.
    numbers = np.arange(each * regions)
    result: NDArray[np.int64] = pages_from.reshape(-1) + (
        places(numbers, page_bytes, _SPREAD) - numbers * page_bytes
    )
    return result


def _cycles(device: ProbeDevice, lap: NDArray[np.int64]) -> NDArray[np.float32]:
    return device.run(Chase(lap, laps=_LAPS, warm=2, bypass=device.bypasses)).cycles
