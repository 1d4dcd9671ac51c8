"""Instruction replays: the ten reasons of section III-B of Huang and Li 2017, and Eq. 3.

On Kepler and before, an instruction that the load/store units cannot serve at once is issued again:
a replay takes an issue slot. From Maxwell on, and so on Volta and later, it is issued once and
passes the data stage of its unit several times; Nsight Compute counts these passes as wavefronts.
They keep the pipe as replays kept the issue port, so one replay here is one wavefront beyond the
first of a request there, and Eq. 3 holds of either (NVIDIA, Nsight Compute documentation, "Metrics
Decoder"; Maxwell Tuning Guide, "Instruction Scheduling").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from placewise.memory.simulate.metrics.traffic import SiteTraffic


class Reason(IntEnum):
    """Why an instruction is replayed, as numbered in section III-B."""

    GLOBAL_DIVERGENCE = 1
    """Addresses of a warp diverge in global memory, or are more words than one cycle loads."""
    CONSTANT_MISS = 2
    CONSTANT_DIVERGENCE = 3
    BANK_CONFLICT = 4
    TWO_CYCLES = 5
    """Instructions issued over two cycles, those of double precision among them."""
    ATOMIC_CONFLICT = 6
    LOCAL_MISS = 7
    INSTRUCTION_MISS = 8
    LOCAL_DIVERGENCE = 9
    UNIT_FULL = 10


COUNTED = (
    Reason.GLOBAL_DIVERGENCE,
    Reason.CONSTANT_MISS,
    Reason.CONSTANT_DIVERGENCE,
    Reason.BANK_CONFLICT,
)
"""Reasons that follow from the trace; the others are carried over from the sample."""


@dataclass(frozen=True)
class Replays:
    """Replays of a launch by the four reasons that are counted."""

    global_divergence: float = 0.0
    constant_misses: float = 0.0
    constant_divergence: float = 0.0
    bank_conflicts: float = 0.0

    @property
    def total(self) -> float:
        """All four."""
        return (
            self.global_divergence
            + self.constant_misses
            + self.constant_divergence
            + self.bank_conflicts
        )


def replays_of(sites: Iterable[SiteTraffic], constant_misses: float = 0.0) -> Replays:
    """Replays of the memory instructions ``sites``: for each request, the lines (global), different
    addresses (constant) and bank passes (shared) beyond the first.

    ``constant_misses`` are the misses of the nearest constant cache, each one replay. Lines and
    passes are those of the machine whose traffic it is: a wide access that needs several counts as
    several, and one whose threads want neighbouring words as the words' bytes over the size of a
    line, as the paper counts reason (1).
    """
    divergence = constant = conflicts = 0.0
    for site in sites:
        match site.site.space:
            case "global" | "generic":
                divergence += max(0.0, site.lines - site.requests)
            case "constant":
                constant += max(0.0, site.wavefronts - site.requests)
            case "shared" if site.site.kind != "atomic":
                conflicts += max(0.0, site.wavefronts - site.requests)
    return Replays(divergence, constant_misses, constant, conflicts)


def carried_replays(sites: Iterable[SiteTraffic], two_cycles: float = 0.0) -> float:
    """Replays of a launch by the reasons that no placement changes and that can be counted: (5)
    ``two_cycles``, executed instructions that issue over two cycles; (6) passes of shared atomics
    beyond the first; (7) misses and (9) lines beyond the first of local memory. Misses of
    instructions (8) and full units (10) only a profiler counts."""
    replays = two_cycles
    for site in sites:
        if site.site.space == "shared" and site.site.kind == "atomic":
            replays += max(0.0, site.wavefronts - site.requests)
        elif site.site.space == "local":
            replays += max(0.0, site.lines - site.requests)
            if site.site.kind == "load" and site.sectors:
                missed = 1.0 - min(1.0, site.l1_hits.value / site.sectors)
                replays += site.requests * missed
    return replays


def replays_of_target(of_sample: float, sample_counted: float, target_counted: float) -> float:
    """Eq. 3: replays of the target placement, from all those of the sample (measured, or counted)
    and from what reasons (1) to (4) give in either; (5) to (10) are carried over."""
    return of_sample - sample_counted + target_counted
