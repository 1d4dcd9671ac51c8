"""Whether what was found is what was hidden, parameter by parameter."""

from __future__ import annotations

import numpy as np

from placewise.probe.infer.hierarchy import Hierarchy
from placewise.probe.infer.structure import Structure
from placewise.probe.simulated.chases import SimulatedCache, SimulatedHierarchy

ODDS = 0.05
"""How far off a way's probability may be."""
CYCLES = 0.02
"""How far off a latency may be, of itself."""


def wrong(
    found: Structure, hidden: SimulatedCache, slices: tuple[float, ...] = (0.0,)
) -> list[str]:
    """Parameters that differ, each as ``name: found, hidden``.

    ``slices`` is what they add to the latency: that of the middle half of them is right.
    """
    pairs: list[tuple[str, object, object]] = [
        ("capacity", found.capacity_bytes, hidden.capacity_bytes),
        ("fetched", found.sector_bytes, hidden.sector_bytes or hidden.line_bytes),
        ("line", found.line_bytes, hidden.line_bytes),
        ("ways", tuple(sorted(found.ways)), tuple(sorted(hidden.ways))),
        ("policy", found.policy, _policy(hidden)),
    ]
    if len(hidden.ways) > 1 and not hidden.table:
        pairs.append(("index", found.index, "hashed" if hidden.hashed else "modulo"))
        pairs.append(("run", found.run, hidden.run))
    if hidden.table and found.labels:
        pairs.append(("mapping", _renamed(found.labels), _renamed(hidden.table)))
    differ = [f"{name}: {one}, {other}" for name, one, other in pairs if one != other]
    if hidden.policy == "weighted" and found.policy == "weighted":
        off = [
            abs(a - b) for a, b in zip(found.way_probabilities, hidden.probabilities, strict=True)
        ]
        if max(off) > ODDS:
            differ.append(f"odds: off by {max(off):.3f}")
    low, high = (hidden.cycles + np.quantile(slices, q) for q in (0.25, 0.75))
    within = max(CYCLES * hidden.cycles, 2.0)
    if not low - within <= found.latency_cycles <= high + within:
        differ.append(f"latency: {found.latency_cycles}, {low} to {high}")
    return differ


def wrong_hierarchy(found: Hierarchy, hidden: SimulatedHierarchy) -> tuple[list[str], list[str]]:
    """What is wrong with high, and what with low confidence."""
    sure: list[str] = []
    unsure: list[str] = []
    for kind, some, others in (
        ("cache", found.caches, hidden.caches),
        ("TLB", found.tlbs, hidden.tlbs),
    ):
        if len(some) != len(others):
            (unsure if found.doubts else sure).append(f"{len(some)} {kind}s, not {len(others)}")
        for number, (one, other) in enumerate(zip(some, others, strict=False)):
            slices = hidden.slices if kind == "cache" and number else ()
            texts = [f"{kind} {number + 1} {text}" for text in wrong(one, other, slices or (0.0,))]
            (unsure if one.doubts else sure).extend(texts)
    return sure, unsure


def _policy(hidden: SimulatedCache) -> str:
    """The first of those that cannot be told apart."""
    ways = min(hidden.ways)
    if ways == 1 or (ways == 2 and hidden.policy == "plru"):
        return "lru"
    return hidden.policy


def _renamed(labels: tuple[int, ...]) -> tuple[int, ...]:
    order = list(dict.fromkeys(labels))
    return tuple(order.index(label) for label in labels)
