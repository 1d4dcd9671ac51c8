"""Estimates predictions that are not made yet, by a Gaussian process over the features of
configurations.

Rasmussen and Williams 2006 ("Gaussian Processes for Machine Learning"): Matérn's covariance with
ν = 5/2 (equation 4.17), a length scale for every feature, chosen with the noise by the marginal
likelihood (equation 5.8, the process's variance taken out), mean and variance by 2.25 and 2.26.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

Array = NDArray[np.float64]

_LENGTHS = (-2.0, 4.0)
"""Bounds of the logarithm of length scales; features have a standard deviation of 1."""
_BEGIN_LENGTH = 0.7
_NOISE = (math.log(1e-5), math.log(0.3))
"""Bounds of the logarithm of the noise's share of the variance."""
_BEGIN_NOISE = math.log(1e-3)
_SPREAD = 2.0
"""Standard deviation of the prior of log length scales."""
_STEPS = 30


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A process fitted to some rows."""

    at: Array
    """(known, features)"""
    scales: Array
    """(features + 1,) logarithms of length scales and of the noise."""
    mean: float
    deviation: float
    weights: Array
    """(known,)"""
    factor: tuple[Array, bool]
    """Cholesky factor of the known rows' covariance, as of SciPy."""

    def guess(self, features: Array) -> tuple[Array, Array]:
        """(n,) mean and (n,) standard deviation of the estimate for ``features`` (n, features)."""
        between, _ = _covariance(_squares(features, self.at), self.scales[:-1])
        mean = between @ self.weights
        known = np.einsum("ij,ji->i", between, cho_solve(self.factor, between.T))
        variance = np.maximum(1.0 - known, 1e-9)
        return mean * self.deviation + self.mean, np.sqrt(variance) * self.deviation


def fit(features: Array, values: Array, *, begin: Array | None = None) -> Surrogate:
    """Fit to ``values`` (n,) at ``features`` (n, features), n at least 1, all finite.

    ``begin`` are the scales of an earlier fit, to start from.
    """
    mean, spread = float(values.mean()), float(values.std()) or 1.0
    ys = (values - mean) / spread
    squares = _squares(features, features)
    count = features.shape[1]
    start = np.array([_BEGIN_LENGTH] * count + [_BEGIN_NOISE]) if begin is None else begin
    found = minimize(
        likelihood,
        start,
        args=(squares, ys),
        jac=True,
        method="L-BFGS-B",
        bounds=[_LENGTHS] * count + [_NOISE],
        options={"maxiter": _STEPS},
    )
    scales = np.asarray(found.x, np.float64)
    among, _ = _covariance(squares, scales[:-1])
    factor = cho_factor(among + np.exp(scales[-1]) * np.eye(len(ys)), lower=True)
    weights = cho_solve(factor, ys)
    variance = float(ys @ weights) / len(ys)
    return Surrogate(features, scales, mean, spread * math.sqrt(max(variance, 1e-12)),
                     weights / math.sqrt(max(variance, 1e-12)), factor)  # fmt: skip


def likelihood(scales: Array, squares: Array, values: Array) -> tuple[float, Array]:
    """Negative logarithm of the marginal likelihood, up to a constant, and its gradient.

    ``scales`` are logarithms of length scales and of the noise's share; ``squares`` (features, n,
    n) are the squared differences of the rows' features.
    """
    lengths, noise = scales[:-1], float(np.exp(scales[-1]))
    among, slope = _covariance(squares, lengths)
    count = len(values)
    factor = cho_factor(among + noise * np.eye(count), lower=True)
    weights = cho_solve(factor, values)
    variance = max(float(values @ weights) / count, 1e-12)
    value = 0.5 * count * math.log(variance) + float(np.log(np.diag(factor[0])).sum())
    value += float((lengths**2).sum()) / (2.0 * _SPREAD**2)
    inner = 0.5 * (cho_solve(factor, np.eye(count)) - np.outer(weights, weights) / variance)
    gradient = np.empty_like(scales)
    sloped = inner * slope
    gradient[:-1] = -2.0 * np.exp(-2.0 * lengths) * np.tensordot(squares, sloped, 2)
    gradient[:-1] += lengths / _SPREAD**2
    gradient[-1] = float(np.trace(inner)) * noise
    return value, gradient


def _squares(some: Array, others: Array) -> Array:
    """(features, n, m) squared differences of the features of ``some`` and ``others``."""
    difference = some.T[:, :, None] - others.T[:, None, :]
    return np.square(difference)


def _covariance(squares: Array, lengths: Array) -> tuple[Array, Array]:
    """Matérn's covariance for log length scales, and its derivative by the squared distance."""
    distance = np.sqrt(5.0 * np.tensordot(np.exp(-2.0 * lengths), squares, 1) + 1e-12)
    falling = np.exp(-distance)
    value = (1.0 + distance + distance**2 / 3.0) * falling
    return value, -(5.0 / 6.0) * (1.0 + distance) * falling
