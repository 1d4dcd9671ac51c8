"""The latency-centric model that preceded PORPLE's path model: a reconstruction.

Chen et al. 2017 (section 1) say that the path model "replaces the previous memory latency-centric
performance model", whose formula is not in that text. It is taken here as the sum of the same
transactions' latencies without paths that overlap: T = Σ_i Σ_j N_ij · T_j · α_j.
"""

from __future__ import annotations

from placewise.memory.reuse.intensity import Intensity
from placewise.model.additive import AdditiveModel


def latency_model(
    *, intensity: Intensity | None = None, alpha: float | None = None
) -> AdditiveModel:
    """The latency-centric model; parameters as in :func:`placewise.model.path.path_model`."""
    return AdditiveModel("latency", "sum", intensity, alpha)
