"""The expected error of a histogram from a few clusters, by hand and by drawing many samples."""

import numpy as np
import pytest

from placewise.memory.reuse.distance_shares import shares_apart
from placewise.memory.reuse.sampling.sampling_error import sampling_error


def histogram(*rows):
    return np.array(rows, np.float64)


def test_clusters_that_are_alike_tell_of_no_error():
    one = histogram([3, 1], [0, 8])
    assert sampling_error([one, 2 * one, one], 0.9) == 0.0


def test_two_clusters_by_hand():
    """Shares of 1/2; each cluster is off by 1 of 4 in both ranges. The variance of a share is
    2 / 1 * (1 + 1) / 8^2 = 1 / 16, so its mean error is 1/4 * sqrt(2 / pi)."""
    found = sampling_error([histogram([3, 1]), histogram([1, 3])], 1.0)
    assert found == pytest.approx(2 * 0.25 * (2 / np.pi) ** 0.5)


def test_arrays_count_by_how_often_they_are_touched():
    apart = [histogram([3, 1], [24, 0]), histogram([1, 3], [24, 0])]
    alone = sampling_error([h[:1] for h in apart], 1.0)
    assert sampling_error(apart, 1.0) == pytest.approx(alone * 8 / 56)


def test_nothing_seen_is_nothing_known():
    assert sampling_error([np.zeros((1, 4))] * 2, 1.0) == 2.0


def test_samples_of_clusters_are_as_far_off_as_it_says():
    random = np.random.default_rng(4)
    shares = random.dirichlet([2.0, 3.0, 1.0, 0.5], 400)
    sizes = random.integers(500, 1500, 400)
    clusters = [
        random.multinomial(n, p)[None].astype(float) for n, p in zip(sizes, shares, strict=True)
    ]
    everything = np.sum(clusters, axis=0)
    told, true = [], []
    for _ in range(300):
        drawn = [clusters[k] for k in random.choice(400, 8, replace=False)]
        told.append(sampling_error(drawn, 1 - 8 / 400))
        true.append(shares_apart(np.sum(drawn, axis=0), everything))
    assert np.mean(told) == pytest.approx(np.mean(true), rel=0.15)
