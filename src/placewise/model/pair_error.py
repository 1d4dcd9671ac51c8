"""The error of predicted ratios of two forms' times: intervals and probabilities from pairs of
forms whose times were measured.

Split conformal prediction, normalised by how much the two forms differ (Papadopoulos et al. 2008;
Lei et al. 2018, section 5.2). On one half of the measured shapes the size of the error is fitted
as a function of the difference; on the other half each pair's error is divided by that size. The
quantiles of these scores, times the size for a new pair, are its interval. Forms that do not
differ have ratio 1 and no width.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

SHARE = 0.8
"""Share of measured ratios that an interval is to hold."""
_FILE = "pair_errors.json"


@dataclass(frozen=True)
class PairError:
    """The fitted error of one model's ratios of times; errors are in the logarithm of the ratio."""

    base: float
    """Size of the error of forms that hardly differ."""
    by_change: float
    """Size of the error per unit of change (see :func:`change_of`)."""
    by_ratio: float
    """Size of the error per unit of |log ratio|."""
    scores: tuple[float, ...]
    """(log measured - log predicted) / size of the error, one for each measured pair, ascending."""
    fitted_on: str
    """GPUs, kernel, forms and the number of pairs."""

    def size(self, ratio: float, change: float) -> float:
        """Size of the error of a predicted ratio, in its logarithm."""
        return self.base + self.by_change * change + self.by_ratio * abs(math.log(ratio))

    def interval(self, ratio: float, change: float, share: float = SHARE) -> tuple[float, float]:
        """(low, high) between which the measured ratio lies with probability ``share``. The
        predicted ratio always lies between them."""
        size = self.size(ratio, change)
        tail = (1.0 - share) / 2.0
        low, high = _quantile(self.scores, tail), _quantile(self.scores, 1.0 - tail)
        return ratio * math.exp(min(0.0, low) * size), ratio * math.exp(max(0.0, high) * size)

    def faster(self, ratio: float, change: float) -> float:
        """Probability that the measured ratio is below 1: the share of the measured pairs whose
        error would leave this predicted ratio below 1. It is never 0 or 1, as the number of pairs
        is finite."""
        limit = -math.log(ratio) / self.size(ratio, change)
        below = bisect_right(self.scores, limit)
        return (below + 0.5) / (len(self.scores) + 1.0)


def fit_pair_error(
    predicted: Sequence[float], measured: Sequence[float], change: Sequence[float],
    shape: Sequence[int], fitted_on: str,
) -> PairError:  # fmt: skip
    """The error of (n,) predicted ratios whose (n,) measured ratios are known. ``change`` (n,) is
    how much the forms of each pair differ, ``shape`` (n,) is the number of the kernel's shape.
    Pairs of even shapes fit the size of the error, pairs of odd shapes give the scores.

    Raises ValueError where either half is empty.
    """
    from scipy.optimize import nnls  # SciPy takes long to load, and only a fit needs it.

    p, m = np.log(np.asarray(predicted, float)), np.log(np.asarray(measured, float))
    features = np.stack([np.ones_like(p), np.asarray(change, float), np.abs(p)], axis=1)
    odd = np.asarray(shape) % 2 == 1
    if odd.all() or not odd.any():
        raise ValueError("pairs of one half are missing")
    residual = np.abs(m - p)
    weights, _ = nnls(features[~odd], residual[~odd])
    # Without a base, the interval of a pair that hardly differs would have no width.
    weights[0] = max(weights[0], float(np.median(residual[~odd])) / 10.0)
    sizes = features @ weights
    scores = np.sort(((m - p) / sizes)[odd])
    base, by_change, by_ratio = (round(float(w), 5) for w in weights)
    return PairError(
        base, by_change, by_ratio, tuple(round(float(s), 4) for s in scores), fitted_on
    )


def change_of(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """How much two forms differ: the largest difference of the times that any one part of the
    machine needs in both. The arguments map parts to times, and the result has their unit."""
    names = {*one, *other}
    return max((abs(one.get(n, 0.0) - other.get(n, 0.0)) for n in names), default=0.0)


@cache
def stored_error(model: str) -> PairError | None:
    """The stored error of the model called ``model``; None where it is not known."""
    stored = json.loads(resources.files("placewise.model").joinpath(_FILE).read_text())
    found = stored.get(model)
    return None if found is None else PairError(**{**found, "scores": tuple(found["scores"])})


def as_stored(error: PairError) -> dict[str, object]:
    """The error as the package's data file keeps it."""
    return {**asdict(error), "scores": list(error.scores)}


def _quantile(scores: Sequence[float], share: float) -> float:
    """Conformal quantile: of n scores the ⌈share (n + 1)⌉-th from the near end."""
    values: NDArray[np.float64] = np.asarray(scores, np.float64)
    count = len(values)
    if share >= 0.5:
        at = min(count, math.ceil(share * (count + 1))) - 1
    else:
        at = max(1, math.floor(share * (count + 1))) - 1
    return float(values[at])
