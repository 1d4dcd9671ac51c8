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


def test_the_stored_band_is_consistent():
    assert 0.0 < TIME_ERROR.low < 1.0 < TIME_ERROR.high
    assert TIME_ERROR.checked_within <= TIME_ERROR.checked
