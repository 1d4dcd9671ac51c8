"""PORPLE's path-based model (Chen et al. 2017, section 3.1.2).

T = max over paths p of T(p), T(p) = Σ_{i ∈ A(p)} Σ_{j ∈ memHier(i)} N_ij · T_j · α_j.

The paths of a machine carry data at the same time, so the slowest decides. T is a sum of latencies
over all SMs, reduced by the concurrency factors: a measure to rank placements by. It has no term
for costs that placement does not change, such as computation, so a ratio of two T's overstates the
change in time of a kernel that memory does not limit.
"""

from __future__ import annotations

from placewise.memory.reuse.intensity import Intensity
from placewise.model.additive import AdditiveModel


def path_model(
    *,
    intensity: Intensity | None = None,
    alpha: float | None = None,
    joint: bool = False,
) -> AdditiveModel:
    """The path model. ``intensity`` chooses one of a memory's two concurrency factors, in place of
    the one for the kernel's own instructions per cycle; ``alpha`` replaces the machine file's
    factors in all memories but constant.

    ``joint`` is an addition of Placewise: the transactions of all paths together in the L2 and DRAM
    that they share bound the time, too. In the paper's model two paths halve the time of a stream
    that one DRAM delivers. Global and shared memory, which share the load/store units, are one path
    either way.
    """
    return AdditiveModel("path", "max", intensity, alpha, joint)
