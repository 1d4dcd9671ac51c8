"""The error band of times against quantiles taken by hand and by NumPy's definition."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placewise.model.error import TIME_ERROR, fit_band


def test_band_of_factors_known_exactly():
    # Eleven factors 2^-5 … 2^5: their logarithms are evenly spaced, so the central 80 % lie between
    # the second and the second last.
    factors = 2.0 ** np.arange(-5, 6)
    predicted = np.linspace(0.1, 2.0, 11)
    band = fit_band(predicted, predicted * factors, share=0.8, fitted_on="x")
    assert (band.low, band.high) == pytest.approx((1 / 16, 16))
    assert band.configurations == 11
    # Off the very ends, where rounding decides.
    inside = replace(band, low=band.low * 0.99, high=band.high * 1.01)
    assert inside.coverage(predicted, predicted * factors) == pytest.approx(9 / 11)


times = st.lists(st.tuples(st.floats(0.05, 5.0), st.floats(0.05, 5.0)), min_size=1, max_size=60)


@given(times, st.sampled_from([0.5, 0.8, 0.9]))
def test_a_band_covers_its_share_of_what_it_was_fitted_on(pairs, share):
    predicted, measured = np.array(pairs).T
    band = fit_band(predicted, measured, share=share, fitted_on="x")
    slack = replace(band, low=band.low * (1 - 1e-9), high=band.high * (1 + 1e-9))
    # Interpolated quantiles leave at most one pair on each side beyond the share.
    assert slack.coverage(predicted, measured) >= share - 2.0 / len(pairs)


def test_weights_stand_for_repeated_rows():
    factors = np.array([0.5, 0.8, 1.0, 1.3, 2.0])
    often = np.array([1, 3, 5, 3, 1])
    predicted = np.ones(5)
    weighted = fit_band(predicted, factors, share=0.6, fitted_on="x", weights=often)
    # Where one factor makes up all of the quantile's neighbourhood, both are it.
    repeated = np.repeat(factors, 100 * often)
    plain = fit_band(np.ones(len(repeated)), repeated, share=0.6, fitted_on="x")
    assert plain.low == pytest.approx(0.8)
    assert plain.high == pytest.approx(1.3)
    assert 0.5 < weighted.low <= 1.0 <= weighted.high < 2.0
    equal = fit_band(predicted, factors, share=0.6, fitted_on="x", weights=np.full(5, 7.0))
    unweighted = fit_band(predicted, factors, share=0.6, fitted_on="x")
    assert (equal.low, equal.high) == pytest.approx((unweighted.low, unweighted.high))


def test_the_stored_band_is_consistent():
    assert 0.0 < TIME_ERROR.low < 1.0 < TIME_ERROR.high
