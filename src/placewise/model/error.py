"""How wrong the timeline model's times have been where times were measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class ErrorBand:
    """Bounds ``low`` and ``high`` of measured over predicted time that ``share`` of the measured
    configurations lie between."""

    share: float
    low: float
    high: float
    configurations: int
    fitted_on: str
    """GPUs, kernel and when."""

    def coverage(self, predicted: ArrayLike, measured: ArrayLike) -> float:
        """Share of configurations whose measured time lies between ``low`` and ``high`` times the
        predicted one. Both are (n,) positive, n at least 1."""
        factor = np.asarray(measured, np.float64) / np.asarray(predicted, np.float64)
        return float(np.mean((factor >= self.low) & (factor <= self.high)))


def fit_band(
    predicted: ArrayLike,
    measured: ArrayLike,
    *,
    share: float,
    fitted_on: str,
    weights: ArrayLike | None = None,
) -> ErrorBand:
    """Band of the central ``share`` of log(measured / predicted).

    ``predicted`` and ``measured`` are (n,) times, positive, n at least 1. ``weights``, (n,) and
    positive, say how much each configuration counts; without them all count the same.
    """
    p, m = np.asarray(predicted, np.float64), np.asarray(measured, np.float64)
    w = np.ones(len(p)) if weights is None else np.asarray(weights, np.float64)
    tail = (1.0 - share) / 2.0
    errors = np.log(m / p)
    order = np.argsort(errors)
    # With equal weights these are NumPy's positions, i / (n - 1).
    places = np.cumsum(w[order]) - 0.5 * w[order]
    places = (places - places[0]) / max(places[-1] - places[0], 1e-300)
    low, high = np.exp(np.interp((tail, 1.0 - tail), places, errors[order]))
    return ErrorBand(share, float(low), float(high), len(p), fitted_on)


# From `benchmarks.models.bands`.
TIME_ERROR = ErrorBand(
    share=0.8,
    low=0.874,
    high=1.244,
    configurations=508,
    fitted_on=(
        "twelve kernels, each counting as much, every table and GPU with one factor: a convolution "
        "in two dimensions (A100, RTX A4000, RTX 2080 Ti), a point-in-polygon test (RTX 2080 Ti, "
        "RTX 3090), and the published measurements of benchmarks.breadth, both halves"
    ),
)
"""Measured over predicted time of the timeline model, configuration by configuration."""
