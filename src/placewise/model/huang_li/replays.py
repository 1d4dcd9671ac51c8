"""Instruction replays: the ten reasons of section III-B of Huang and Li 2017, and Eq. 3.

On Kepler and before, an instruction that the load/store units cannot serve at once is issued again:
a replay takes an issue slot. From Maxwell on, and so on Volta and later, it is issued once and
passes the data stage of its unit several times; Nsight Compute counts these passes as wavefronts.
They keep the pipe as replays kept the issue port, so one replay here is one wavefront beyond the
first of a request there, and Eq. 3 holds of either (NVIDIA, Nsight Compute documentation, "Metrics
Decoder"; Maxwell Tuning Guide, "Instruction Scheduling").
"""

from __future__ import annotations

import math
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


def global_replays(words: float, word_bytes: float, transaction_bytes: float) -> float:
    """Replays of one global request, reason (1): the bytes of all its threads' words over the size
    of a transaction, less one. ``words`` counts each address of the warp once."""
    return max(0.0, math.ceil(words * word_bytes / transaction_bytes) - 1.0)


def replays_of(sites: Iterable[SiteTraffic], constant_misses: float = 0.0) -> Replays:
    """Replays of the memory instructions ``sites``: for each request, the lines (global), different
    addresses (constant) and bank passes (shared) beyond the first.

    ``constant_misses`` are the misses of the nearest constant cache, each one replay. Lines and
    passes are those of the machine whose traffic it is, so that a wide access that needs several
    counts as several.
    """
    divergence = constant = conflicts = 0.0
    for site in sites:
        match site.site.space:
            case "global" | "generic":
                divergence += max(0.0, site.lines - site.requests)
            case "constant":
                constant += max(0.0, site.wavefronts - site.requests)
            case "shared":
                conflicts += max(0.0, site.wavefronts - site.requests)
    return Replays(divergence, constant_misses, constant, conflicts)


def replays_of_target(of_sample: float, sample_counted: float, target_counted: float) -> float:
    """Eq. 3: replays of the target placement, from all those of the sample (measured, or counted)
    and from what reasons (1) to (4) give in either; (5) to (10) are carried over."""
    return of_sample - sample_counted + target_counted
