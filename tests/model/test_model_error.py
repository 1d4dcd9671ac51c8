"""The error band against quantiles and counts taken by hand and by NumPy's definition."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placewise.machine.load import load_machine
from placewise.memory.reuse.counters import ArrayCounters, Counters
from placewise.memory.reuse.staging import LevelCount
from placewise.model import (
    PATH_ERROR,
    PATH_ERROR_RERUN,
    Bin,
    ErrorBand,
    latency_model,
    path_model,
    relative,
)
from placewise.model.error import count_directions, error_of, fit_band
from placewise.space import Placement

K20C = load_machine("K20c")
BAND = ErrorBand(0.8, 0.5, 3.0, 10, "by hand", (Bin(0.6, 0, 0), Bin(0.8, 4, 3), Bin(1.0, 6, 2)))


def test_band_of_factors_known_exactly():
    # Eleven factors 2^-5 … 2^5: their logarithms are evenly spaced, so the central 80 % lie between
    # the second and the second last.
    factors = 2.0 ** np.arange(-5, 6)
    predicted = np.linspace(0.1, 2.0, 11)
    band = fit_band(predicted, predicted * factors, share=0.8, fitted_on="x", edges=(1.0,))
    assert (band.low, band.high) == pytest.approx((1 / 16, 16))
    assert band.pairs == 11
    # Off the very ends, where rounding decides.
    inside = replace(band, low=band.low * 0.99, high=band.high * 1.01)
    assert inside.coverage(predicted, predicted * factors) == pytest.approx(9 / 11)


ratios = st.lists(st.tuples(st.floats(0.05, 5.0), st.floats(0.05, 5.0)), min_size=1, max_size=60)


@given(ratios, st.sampled_from([0.5, 0.8, 0.9]))
def test_a_band_covers_its_share_of_what_it_was_fitted_on(pairs, share):
    predicted, measured = np.array(pairs).T
    band = fit_band(predicted, measured, share=share, fitted_on="x", edges=(1.0,))
    slack = replace(band, low=band.low * (1 - 1e-9), high=band.high * (1 + 1e-9))
    # Interpolated quantiles leave at most one pair on each side beyond the share.
    assert slack.coverage(predicted, measured) >= share - 2.0 / len(pairs)


@given(ratios)
def test_bins_count_every_pair_once(pairs):
    predicted, measured = np.array(pairs).T
    bins = count_directions(predicted, measured, (0.5, 1.0, 6.0))
    assert sum(b.pairs for b in bins) == len(pairs)
    assert sum(b.faster for b in bins) == sum(m < 1.0 for _, m in pairs)
    assert bins[0].pairs == sum(p <= 0.5 for p, _ in pairs)


def test_bin_of_a_predicted_ratio():
    assert BAND.bin(0.7) == BAND.bin(0.8) == Bin(0.8, 4, 3)
    assert BAND.bin(0.81) == Bin(1.0, 6, 2)
    assert BAND.bin(0.5) is None, "no pair was predicted that low"
    assert BAND.bin(1.01) is None, "nor that high"


def _array(space, loads):
    path = K20C.space(space).path
    memory = K20C.space(space).levels[0]
    level = LevelCount(memory, loads, 0.0, loads, None, 0.0)
    return ArrayCounters("A", space, path, 1.0, 32.0, 1.0, (level,))


def _counters(space, loads):
    return Counters(Placement((("A", space),)), (_array(space, loads),))


def test_ratio_is_widened_where_the_placement_differs():
    # L2 (222 cycles) to shared memory (48 cycles), both with the same α.
    found = relative(path_model(), _counters("shared", 100), _counters("global", 100), K20C)
    assert found.ratio == pytest.approx(48 / 222)
    assert (found.parameter_low, found.parameter_high) == pytest.approx((48 / 222, 48 / 222))
    assert found.error == PATH_ERROR
    assert found.low == pytest.approx(found.parameter_low * min(1.0, PATH_ERROR.low))
    assert found.high == pytest.approx(found.parameter_high * max(1.0, PATH_ERROR.high))
    assert found.certain_gain == (found.high < 1.0)


def test_the_same_placement_is_certainly_the_same():
    found = relative(path_model(), _counters("global", 100), _counters("global", 100), K20C)
    assert (found.ratio, found.low, found.high) == (1.0, 1.0, 1.0)
    assert found.error is None
    assert found.experience is None


def test_a_model_of_unknown_error_is_not_widened():
    assert error_of("latency") is None
    found = relative(latency_model(), _counters("shared", 100), _counters("global", 100), K20C)
    assert (found.low, found.high) == (found.parameter_low, found.parameter_high)


def test_a_rerun_has_an_error_of_its_own():
    found = relative(
        path_model(), _counters("shared", 100), _counters("global", 100), K20C, rerun=True
    )
    assert found.error == PATH_ERROR_RERUN
    assert found.low == found.parameter_low, "its ratios have only been too low"
    assert found.high == pytest.approx(found.ratio * PATH_ERROR_RERUN.high)


@pytest.mark.parametrize("band", [PATH_ERROR, PATH_ERROR_RERUN])
def test_stored_bands_are_consistent(band):
    assert sum(b.pairs for b in band.bins) == band.pairs
    assert all(0 <= b.faster <= b.pairs for b in band.bins)
    assert [b.upto for b in band.bins] == sorted(b.upto for b in band.bins)
    assert 0.0 < band.low < band.high
    assert band.checked_within <= band.checked_below <= band.checked_pairs
