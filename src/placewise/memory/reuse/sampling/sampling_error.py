"""How far a histogram of reuse distances from a few SMs is expected to be from that of all SMs.

The SMs of a sample are clusters of accesses: what one of them sees differs from what another sees,
while two parts of one SM's accesses are alike. So the spread between groups of SMs tells the error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_MEAN_OVER_DEVIATION = (2.0 / np.pi) ** 0.5
"""Mean of the absolute value of a normal variable over its standard deviation."""


def sampling_error(groups: Sequence[NDArray[np.float64]], left: float) -> float:
    """Expected L1 distance (:func:`placewise.memory.reuse.distance_shares.shares_apart`) of the
    histogram of all groups together from that of the launch.

    ``groups`` are at least two histograms (arrays, ranges) of disjoint SMs, chosen alike; ``left``
    is the share of the launch that is in none of them. The variance of each share is that of a
    ratio of sums over clusters (Cochran, "Sampling Techniques", 3rd edition, 1977, equation 6.13).
    It is 2 where nothing was seen.
    """
    counts = np.stack(groups)
    touched = counts.sum(axis=(0, 2))
    if not touched.sum():
        return 2.0
    seen = touched > 0
    counts, touched = counts[:, seen], touched[seen]
    shares = counts.sum(axis=0) / touched[:, None]
    residual = counts - counts.sum(axis=2, keepdims=True) * shares
    number = len(groups)
    variance = number / (number - 1) * (residual**2).sum(axis=0) / touched[:, None] ** 2
    apart = _MEAN_OVER_DEVIATION * np.sqrt(left * variance).sum(axis=1)
    return float((apart * touched).sum() / touched.sum())
