"""How wrong the path model's ratio of two placements has been where times were measured.

The model's open parameters and the block sample say nothing of what the model leaves out: issue,
computation, latency that occupancy does not hide. That error is taken from experience: pairs of
measured kernels that differ in a placement alone, the measured ratio of their times over the
predicted one. ``docs/accuracy.md`` has the figures, and what they do not cover.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Bin:
    """Pairs whose predicted ratio is at most ``upto`` and above the bin before."""

    upto: float
    pairs: int
    faster: int
    """Pairs whose second placement really was faster."""


@dataclass(frozen=True)
class ErrorBand:
    """Measured over predicted ratio: what ``share`` of the pairs lie between."""

    share: float
    low: float
    high: float
    pairs: int
    fitted_on: str
    """GPU, kernel, what differs between the placements, and when."""
    bins: tuple[Bin, ...]
    """How often the predicted direction was right, by predicted ratio, in ascending order."""

    def bin(self, predicted: float) -> Bin | None:
        """Pairs with about this predicted ratio; None where no pair had a ratio that low or high,
        so that nothing but ``low`` and ``high`` is known."""
        at = bisect_left([b.upto for b in self.bins], predicted)
        if at == len(self.bins) or self.bins[at].pairs == 0:
            return None
        return self.bins[at]

    def coverage(self, predicted: ArrayLike, measured: ArrayLike) -> float:
        """Share of pairs whose measured ratio lies between ``low`` and ``high`` times the predicted
        one. Both are (n,) positive, n at least 1."""
        factor = np.asarray(measured, np.float64) / np.asarray(predicted, np.float64)
        return float(np.mean((factor >= self.low) & (factor <= self.high)))


def fit_band(
    predicted: ArrayLike,
    measured: ArrayLike,
    *,
    share: float,
    fitted_on: str,
    edges: Sequence[float],
) -> ErrorBand:
    """Band of the central ``share`` of log(measured / predicted), and the counts by predicted ratio
    between consecutive ``edges`` (each bin without its lower, with its upper edge).

    ``predicted`` and ``measured`` are (n,) ratios of times, positive, n at least 1.
    """
    p, m = np.asarray(predicted, np.float64), np.asarray(measured, np.float64)
    tail = (1.0 - share) / 2.0
    low, high = np.exp(np.quantile(np.log(m / p), (tail, 1.0 - tail)))
    return ErrorBand(
        share, float(low), float(high), len(p), fitted_on, count_directions(p, m, edges)
    )


def count_directions(
    predicted: ArrayLike, measured: ArrayLike, edges: Sequence[float]
) -> tuple[Bin, ...]:
    """Per bin of the predicted ratio, how many pairs there are and how many got faster. The first
    bin (up to ``edges[0]``) counts what lies below all others."""
    p, m = np.asarray(predicted, np.float64), np.asarray(measured, np.float64)
    bins = []
    below = 0.0
    for upto in edges:
        within = (p > below) & (p <= upto)
        bins.append(Bin(upto, int(within.sum()), int((within & (m < 1.0)).sum())))
        below = upto
    return tuple(bins)


def error_of(model: str) -> ErrorBand | None:
    """The band of the model called ``model``; None where its error is not known."""
    return _ERRORS.get(model)


_ERRORS: dict[str, ErrorBand] = {}
