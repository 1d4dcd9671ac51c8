"""Misses of L2 caches of other sizes: simulated for each size, and estimated for all sizes at once
from reuse distances (:mod:`placewise.memory.reuse.miss_curves`)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from placewise.errors import CaseError
from placewise.memory.simulate.caches.hierarchy import hierarchy
from placewise.memory.simulate.launch import SimulatedLaunch

LINES = 4_000_000
"""Number of line requests of the SMs that are used; they take about a second."""
DOUBLINGS = range(-5, 4)


@dataclass(frozen=True)
class OtherSize:
    """Misses of an L2 of another size."""

    size_bytes: int
    estimated: float
    """Miss rate of a fully associative cache with LRU replacement, from reuse distances."""
    simulated: float
    """Miss rate with the ways, set index and policy of the machine's L2."""


def other_sizes(run: SimulatedLaunch) -> tuple[OtherSize, ...]:
    """Misses of L2 caches of half, twice, … the size of the machine's L2, on the recorded lines of
    a launch.

    Loads, stores and atomics bring in whole lines here, whatever sectors they access. Raises
    CaseError where the machine has no L2 of a known size, or no lines were recorded.
    """
    from placewise.memory.reuse.miss_curves import miss_curve, misses

    last = hierarchy(run.machine, run.occupancy, 0).last
    lines = run.traffic.arrived
    if last is None or not last.size_bytes or lines is None or not len(lines):
        raise CaseError(
            f"the accesses reach no L2 of {run.machine.name}, or one of unknown size",
            where="--sizes",
        )
    line_bytes = run.traffic.line_bytes
    whole = last.geometry(1, line_bytes, line_bytes)
    whole = replace(whole, split=1, grain=1)
    curve = miss_curve(lines)
    found = []
    for doubling in DOUBLINGS:
        size = int(last.size_bytes * 2.0**doubling)
        held = size // line_bytes
        sets = max(1, held // whole.ways)
        exact = misses(lines, replace(whole, sets=sets, ways=min(whole.ways, max(1, held))))
        found.append(OtherSize(size, curve.misses(held) / len(lines), exact / len(lines)))
    return tuple(found)
