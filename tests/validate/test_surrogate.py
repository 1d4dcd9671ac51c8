"""The surrogate: against its equations by another way, its gradient, and what it is used for."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from placewise.validate.surrogate import fit, likelihood


def matern(a, b, lengths):
    """Rasmussen and Williams 4.17 with ν = 5/2, one pair at a time."""
    r = np.sqrt(sum(((x - y) / length) ** 2 for x, y, length in zip(a, b, lengths, strict=True)))
    return (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)


@pytest.fixture
def points():
    random = np.random.default_rng(7)
    features = random.normal(size=(25, 3))
    values = np.sin(features[:, 0]) + 0.3 * features[:, 1] ** 2 + 5.0
    return features, values


def test_mean_and_deviation_are_those_of_the_equations(points):
    features, values = points
    found = fit(features, values)
    lengths, noise = np.exp(found.scales[:-1]), np.exp(found.scales[-1])
    among = np.array([[matern(a, b, lengths) for b in features] for a in features])
    inverse = np.linalg.inv(among + noise * np.eye(len(features)))
    ys = (values - values.mean()) / values.std()
    here = np.array([0.2, -0.4, 1.0])
    beside = np.array([matern(here, b, lengths) for b in features])
    mean = values.mean() + values.std() * (beside @ inverse @ ys)
    variance = values.var() * (ys @ inverse @ ys) / len(ys) * (1 - beside @ inverse @ beside)
    guessed, deviation = found.guess(here[None])
    assert guessed == pytest.approx([mean], rel=1e-6)
    assert deviation == pytest.approx([np.sqrt(variance)], rel=1e-4)


def test_the_gradient_is_that_of_the_likelihood(points):
    features, values = points
    squares = (features.T[:, :, None] - features.T[:, None, :]) ** 2
    ys = (values - values.mean()) / values.std()
    scales = np.array([0.1, 0.8, -0.3, -4.0])
    _, gradient = likelihood(scales, squares, ys)
    by_steps = approx_fprime(scales, lambda at: likelihood(at, squares, ys)[0], 1e-6)
    assert gradient == pytest.approx(by_steps, rel=1e-3, abs=1e-4)


def test_what_is_known_is_guessed_and_what_is_far_is_not_known(points):
    features, values = points
    found = fit(features, values)
    at, sure = found.guess(features)
    away, unsure = found.guess(features + 100.0)
    assert at == pytest.approx(values, abs=0.1)
    assert away == pytest.approx(np.full(25, values.mean()))
    assert unsure.min() > 3 * sure.max()


def test_a_feature_without_a_say_gets_a_long_scale(points):
    features, values = points
    scales = fit(features, values).scales
    assert scales[2] > max(scales[0], scales[1])


@pytest.mark.parametrize("values", [[3.0], [2.0, 2.0, 2.0]], ids=["one row", "all the same"])
def test_where_nothing_differs_the_mean_is_guessed(values):
    features = np.arange(len(values), dtype=float)[:, None]
    guessed, deviation = fit(features, np.array(values)).guess(np.array([[10.0]]))
    assert guessed == pytest.approx([values[0]])
    assert np.isfinite(deviation).all()
