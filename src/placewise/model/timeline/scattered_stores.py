"""What stores cost an SM that write only a part of each sector that they touch.

A transpose whose lanes store a row apart writes 4 bytes to each of 32 lines at once. L2 puts the
parts of a sector together, so DRAM and L2's bandwidth are not the limit. Still an A100 takes up to
6.3 times as long as for whole sectors. Measured times tell how long; no document says why. A
profile of such a transpose on a Turing GPU has L1 busy for 95 % of the time, L2 for 15 %
(gwenzek/cudaz).

An H100 of our own (benchmarks/results/gpu) shows the rule that is used here, though not its reason:

- The time comes on top of what the launch takes otherwise. Of pieces of 8 and 16 bytes stored a row
  apart, stores alone take 576 and 357 us, together with their loads 751 and 545, and a copy 178
  and 181; a softmax by rows takes the sum of both, too.
- A line costs the more, the more lines a store reaches: per line 3.3 to 5.8 cycles of an SM where
  it reaches 32, 1.2 to 3 where it reaches 16. The A100's published times say the same, 5.2 and 2.7.
  So a line is taken to cost in proportion to the lines of its store.
- How few of a sector's bytes are written makes no difference: 1, 4 or 8.

The rule was chosen on these times, on the published ones of benchmarks/breadth, and on sums by
columns there. The cycles of a line were fitted before, on four published transposes.
"""

from __future__ import annotations

from placewise.machine.machine import Machine
from placewise.memory.occupancy import WARP_SIZE
from placewise.memory.simulate.metrics.traffic import SiteTraffic

SCATTERED_STORES = "scattered stores"
MOST = 0.5
"""Share of its sectors' bytes that a scattered store writes at most. For more, as where a row
begins within a sector, nothing is published."""


def scattered_cycles(t: SiteTraffic, machine: Machine, sector_bytes: int) -> float:
    """Cycles that one SM would take longer for all executions of a store that writes at most half
    of the bytes of its sectors. 0 for other accesses and stores, and where the machine file does
    not say how long a line takes."""
    each = next((c for m in machine.memories if (c := m.detail.partial_store_cycles)), None)
    sectors = t.sectors - t.merged
    if each is None or t.site.kind != "store" or t.site.space == "shared" or sectors <= 0:
        return 0.0
    if t.lanes * t.site.lane_bytes > MOST * sectors * sector_bytes:
        return 0.0
    return t.lines * each * t.lines / (t.requests * WARP_SIZE)
