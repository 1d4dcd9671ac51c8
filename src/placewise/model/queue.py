"""One queue before one server, with any distributions of arrivals and of service times (G/G/1).

Kingman 1961 ("The single server queue in heavy traffic", Proc. Cambridge Phil. Soc. 57)
approximates the mean wait by ρ / (1 − ρ) · (c_a² + c_s²) / 2 · τ_s. Huang and Li 2017 print it with
c_a + c_s and τ_a in their place (Eq. 9). For many distributions and loads, a discrete-event
simulation is several times nearer to the usual form than to the printed one (figures:
docs/explanation/papers.md), so the usual form is the default.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

Kingman = Literal["usual", "printed"]


@dataclass(frozen=True)
class QueueMoments:
    """Mean and standard deviation of the times between arrivals and of service, in one unit."""

    arrival_mean: float
    arrival_deviation: float
    service_mean: float
    service_deviation: float

    @property
    def utilization(self) -> float:
        """ρ = τ_s / τ_a (Eq. 10)."""
        return self.service_mean / self.arrival_mean if self.arrival_mean else math.inf

    @property
    def arrival_variation(self) -> float:
        """c_a = σ_a / τ_a (Eq. 10)."""
        return self.arrival_deviation / self.arrival_mean if self.arrival_mean else 0.0

    @property
    def service_variation(self) -> float:
        """c_s = σ_s / τ_s (Eq. 10)."""
        return self.service_deviation / self.service_mean if self.service_mean else 0.0


def moments(between_arrivals: ArrayLike, service: ArrayLike) -> QueueMoments:
    """Moments of samples: (n,) times between arrivals and (m,) service times, both not empty."""
    a, s = np.asarray(between_arrivals, np.float64), np.asarray(service, np.float64)
    return QueueMoments(float(a.mean()), float(a.std()), float(s.mean()), float(s.std()))


def kingman(queue: QueueMoments, reading: Kingman = "usual") -> float:
    """Mean wait before service (Eq. 9), in the unit of ``queue``; infinite where requests arrive
    faster than they are served."""
    load = queue.utilization
    if load >= 1.0:
        return math.inf
    c_a, c_s = queue.arrival_variation, queue.service_variation
    if reading == "printed":
        return (c_a + c_s) / 2.0 * load / (1.0 - load) * queue.arrival_mean
    return (c_a**2 + c_s**2) / 2.0 * load / (1.0 - load) * queue.service_mean


def mean_wait(queue: QueueMoments, requests: float, reading: Kingman = "usual") -> float:
    """Mean wait of the first ``requests`` arrivals at an empty queue.

    Kingman's formula is for a queue in its steady state, but a launch is finite. Where requests
    arrive faster than they are served, the k-th waits about k (τ_s − τ_a), so the mean wait of n is
    (n − 1) / 2 · (τ_s − τ_a). The mean wait is never longer than if all had arrived at once, (n −
    1) / 2 · τ_s. The paper does not say what it does at ρ ≥ 1.
    """
    ahead = max(0.0, requests - 1.0) / 2.0
    at_once = ahead * queue.service_mean
    if queue.utilization >= 1.0:
        backlog = ahead * (queue.service_mean - queue.arrival_mean)
        return min(at_once, backlog)
    return min(at_once, kingman(queue, reading))
