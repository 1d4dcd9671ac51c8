"""The leaderboard's figures against brute force and small examples worked by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from placewise.validate.figures import (
    accuracy,
    best_factor,
    placement_errors,
    rank_correlation,
    regret,
    relative_errors,
)

POSITIVE = st.floats(0.01, 100.0)


@st.composite
def pairs(draw):
    n = draw(st.integers(1, 12))
    return tuple(draw(arrays(np.float64, n, elements=POSITIVE)) for _ in range(2))


@given(pairs())
def test_no_other_factor_has_a_smaller_mean_error(both):
    predicted, measured = both
    found = relative_errors(best_factor(predicted, measured) * predicted, measured).mean()
    kinks = measured / predicted
    tried = np.concatenate([kinks, np.geomspace(kinks.min(), kinks.max(), 50)])
    assert found <= min(relative_errors(f * predicted, measured).mean() for f in tried) + 1e-9


def test_a_prediction_of_nothing_leaves_the_factor_to_the_others():
    assert best_factor(np.array([0.0, 2.0]), np.array([1.0, 6.0])) == 3.0
    assert best_factor(np.zeros(2), np.ones(2)) == 1.0


def test_regret_is_the_price_of_the_models_choice():
    measured = np.array([4.0, 2.0, 1.0, 3.0])
    assert regret(np.array([1.0, 2.0, 3.0, 4.0]), measured, 1) == 3.0
    assert regret(np.array([1.0, 2.0, 3.0, 4.0]), measured, 2) == 1.0
    assert regret(np.array([1.0, 2.0, 3.0, 4.0]), measured, 3) == 0.0
    # It sees no difference between the first two: their mean.
    assert regret(np.array([1.0, 1.0, 3.0, 4.0]), measured, 1) == 2.0


def test_figures_of_a_small_table():
    predicted = np.array([1.0, 2.0, 4.0, 8.0])
    measured = np.array([2.0, 4.0, 8.0, 8.0])
    found = accuracy(
        predicted, measured, absolute=True, intervals=(0.5 * predicted, 2.0 * predicted)
    )
    assert found.mean_error == pytest.approx(3 * 0.5 / 4)
    assert found.median_error == 0.5
    assert found.factor == 2.0
    assert found.scaled_mean_error == pytest.approx(1.0 / 4)
    assert found.coverage == 1.0
    ratios_only = accuracy(predicted, measured, absolute=False)
    assert math.isnan(ratios_only.mean_error)
    assert math.isnan(ratios_only.coverage)


def test_a_constant_answer_has_no_rank():
    assert math.isnan(rank_correlation(np.ones(3), np.arange(3.0)))


def test_pairs_differ_in_one_parameter_only():
    rows = [
        (("tile", 1), ("shared", 0), ("pad", 0)),
        (("tile", 1), ("shared", 1), ("pad", 0)),
        (("tile", 1), ("shared", 1), ("pad", 1)),
        (("tile", 2), ("shared", 0), ("pad", 0)),
        (("tile", 2), ("shared", 1), ("pad", 0)),
    ]
    measured = np.array([1.0, 2.0, 3.0, 1.0, 4.0])
    predicted = np.array([10.0, 10.0, 30.0, 5.0, 20.0])
    shared, pad, either = placement_errors(rows, predicted, measured, ("shared", "pad"))
    # Ratios of tile 1 and 2: 1 for 2, and 4 for 4.
    assert (shared.pairs, shared.error) == (2, pytest.approx((0.5 + 0.0) / 2))
    assert shared.no_change == pytest.approx((0.5 + 0.75) / 2)
    assert (pad.pairs, pad.error) == (1, pytest.approx(1.0))
    # All against the form without any: 1 for 2, 3 for 3, 4 for 4.
    assert (either.parameter, either.pairs) == ("any of them", 3)
    assert either.error == pytest.approx(0.5 / 3)


def test_a_parameter_that_never_changes_has_no_pairs():
    rows = [(("tile", n), ("shared", 0)) for n in range(3)]
    assert placement_errors(rows, np.ones(3), np.ones(3), ("shared",)) == ()
