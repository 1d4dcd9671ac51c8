"""What stores cost an SM that write only a part of each sector that they touch.

A transpose whose lanes store a row apart writes 4 bytes to each of 32 lines at once. L2 puts the
parts of a sector together, so DRAM and L2's bandwidth are not the limit. Still an A100 takes 6.3
times as long as for whole sectors. Published times tell how long; no document says what of an SM,
or between it and L2, is busy. Per SM and line:

- 4 bytes a sector, 32 lines a store: A100 6.2 cycles at 4096 x 4096 and at 8192 x 8192, RTX 2080 Ti
  5.8, H100 3.9;
- 8 bytes a sector, 16 lines a store: A100 at most 2.9.

So the cycles are taken to fall with the bytes of a sector that a store writes. benchmarks/breadth
has the times.
"""

from __future__ import annotations

from placewise.machine.machine import Machine
from placewise.memory.simulate.metrics.traffic import SiteTraffic

SCATTERED = "scattered stores"
_MEASURED_BYTES = 4.0
"""Bytes of a sector that the measured stores write; for fewer nothing is known, and their lines are
taken to need as long."""


def scattered_cycles(t: SiteTraffic, machine: Machine, sector_bytes: int) -> float:
    """Cycles in which one SM would send L2 all lines of a store that writes parts of sectors. 0 for
    other accesses, for stores of whole sectors, and where the machine file does not say how long a
    line takes."""
    each = next((c for m in machine.memories if (c := m.detail.partial_store_cycles)), None)
    sectors = t.sectors - t.merged
    if each is None or t.site.kind != "store" or t.site.space == "shared" or sectors <= 0:
        return 0.0
    written = max(_MEASURED_BYTES, t.lanes * t.site.lane_bytes / sectors)
    if written >= sector_bytes:
        return 0.0
    return t.lines * each * _MEASURED_BYTES / written
