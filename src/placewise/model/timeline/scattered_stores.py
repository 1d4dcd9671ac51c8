"""What stores cost an SM that write only a part of each sector that they touch.

A transpose whose lanes store a row apart writes 4 bytes to each of 32 lines at once. L2 puts the
parts of a sector together, so DRAM and L2's bandwidth are not the limit. Still an A100 takes up to
6.3 times as long as for whole sectors. Published times tell how long; no document says why. A
profile of such a transpose on a Turing GPU has L1 busy for 95 % of the time, L2 for 15 %
(gwenzek/cudaz). Cycles of an SM for each line of a store:

- 4 bytes a sector, 32 lines a store: A100 6.2 (4096 x 4096 and 8192 x 8192), RTX 2080 Ti 5.8, H100
  3.9, RTX 3090 3.9 (leimao/CUTLASS-Examples), the profiled GPU 4.1, RTX 2060 SUPER 5.0 (10000 x
  5000, so no power of two is the cause; domai-tb/fundamentals-of-gpu-programming-ws2526);
- 8 bytes a sector, 16 lines a store: A100 2.9. On both GPUs of xlite-dev/LeetCUDA, which it does
  not name, such a line takes as long as one with 4 bytes a sector, at eight sizes and shapes.

So a line is taken to need as long however few of its bytes are written. benchmarks/breadth has
those times whose GPU is among the machine files.
"""

from __future__ import annotations

from placewise.machine.machine import Machine
from placewise.memory.simulate.metrics.traffic import SiteTraffic

SCATTERED_STORES = "scattered stores"
MOST = 0.5
"""Share of its sectors' bytes that a scattered store writes at most. For more, as where a row
begins within a sector, nothing is published."""


def scattered_cycles(t: SiteTraffic, machine: Machine, sector_bytes: int) -> float:
    """Cycles that one SM would need for all lines of a store that writes at most half of the bytes
    of its sectors. 0 for other accesses and stores, and where the machine file does not say how
    long a line takes."""
    each = next((c for m in machine.memories if (c := m.detail.partial_store_cycles)), None)
    sectors = t.sectors - t.merged
    if each is None or t.site.kind != "store" or t.site.space == "shared" or sectors <= 0:
        return 0.0
    if t.lanes * t.site.lane_bytes > MOST * sectors * sector_bytes:
        return 0.0
    return t.lines * each
