"""The latency-centric model that preceded PORPLE's path model: a reconstruction.

Chen et al. 2017 (section 1) say that the path model "replaces the previous memory latency-centric
performance model", but do not print its formula. Here it is the sum of the latencies of all
transactions, as if data paths did not overlap: T = Σ_i Σ_j N_ij · T_j · α_j.
"""

from __future__ import annotations

from placewise.memory.reuse.intensity import Intensity
from placewise.model.additive import AdditiveModel


def latency_model(
    *, intensity: Intensity | None = None, alpha: float | None = None
) -> AdditiveModel:
    """The latency-centric model. ``intensity`` chooses one of a memory's two concurrency factors,
    in place of the one for the kernel's own intensity; ``alpha`` replaces the machine file's
    factors in all memories but constant."""
    return AdditiveModel("latency", "sum", intensity, alpha)
