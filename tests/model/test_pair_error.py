"""Intervals and probabilities of predicted ratios against synthetic pairs of known error."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placewise.machine.load import load_machine
from placewise.memory.reuse.counters import ArrayCounters, Counters
from placewise.memory.reuse.staging import LevelCount
from placewise.model import SAME, latency_model, path_model, relative, relative_times
from placewise.model.base import PathTime, Prediction
from placewise.model.pair_error import (
    PairError,
    as_stored,
    change_of,
    fit_pair_error,
    stored_error,
)
from placewise.model.uncertainty import ratio_of_sums
from placewise.space import Placement

K20C = load_machine("K20c")
BY_HAND = PairError(0.1, 0.5, 0.0, tuple(float(s) for s in range(-4, 5)), "by hand")


def pairs(count, seed):
    """Ratios whose error grows with the change: a tenth of it, and 1 % at least."""
    random = np.random.default_rng(seed)
    predicted = np.exp(random.uniform(-0.7, 0.7, count))
    change = random.uniform(0.0, 1.0, count)
    error = random.standard_normal(count) * (0.01 + 0.1 * change)
    return predicted, predicted * np.exp(error), change


def test_interval_and_probability_by_hand():
    # Nine scores: the 80 % interval runs from the first to the ninth, ⌈0.9 · 10⌉ = 9.
    low, high = BY_HAND.interval(0.5, 0.2)
    assert (low, high) == pytest.approx((0.5 * math.exp(-0.8), 0.5 * math.exp(0.8)))
    # log 2 over a size of 0.2 is 3.47: eight of nine scores lie below.
    assert BY_HAND.faster(0.5, 0.2) == pytest.approx(8.5 / 10)
    assert BY_HAND.faster(2.0, 0.2) == pytest.approx(1.5 / 10)


def test_unseen_pairs_lie_in_the_interval_as_often_as_it_says():
    predicted, measured, change = pairs(3000, 1)
    error = fit_pair_error(predicted, measured, change, range(3000), "synthetic")
    assert error.by_change == pytest.approx(0.08, abs=0.02), "the mean of |normal| is 0.8"
    unseen = list(zip(*pairs(3000, 2), strict=True))
    held = [
        low <= m <= high for p, m, c in unseen for low, high in [error.interval(p, c)]
    ]  # fmt: skip
    assert np.mean(held) == pytest.approx(0.8, abs=0.03)
    for narrow in (True, False):
        part = [h for h, (_, _, c) in zip(held, unseen, strict=True) if (c < 0.5) == narrow]
        assert np.mean(part) == pytest.approx(0.8, abs=0.05), "normalised by the change"


def test_probabilities_are_frequencies():
    predicted, measured, change = pairs(4000, 3)
    error = fit_pair_error(predicted, measured, change, range(4000), "synthetic")
    unseen = list(zip(*pairs(4000, 4), strict=True))
    chances = np.array([error.faster(p, c) for p, _, c in unseen])
    really = np.array([m < 1.0 for _, m, _ in unseen])
    for low, high in ((0.1, 0.4), (0.4, 0.6), (0.6, 0.9)):
        within = (chances >= low) & (chances < high)
        assert really[within].mean() == pytest.approx(chances[within].mean(), abs=0.12)


@given(st.floats(0.1, 10.0), st.floats(0.0, 1.0))
def test_an_interval_holds_the_prediction_and_a_chance_is_none_for_certain(ratio, change):
    low, high = BY_HAND.interval(ratio, change)
    assert low <= ratio <= high
    assert 0.0 < BY_HAND.faster(ratio, change) < 1.0
    assert BY_HAND.faster(ratio, change) >= BY_HAND.faster(ratio * 1.1, change)


def test_a_fit_needs_both_halves():
    with pytest.raises(ValueError, match="half"):
        fit_pair_error([1.0, 2.0], [1.0, 2.0], [0.0, 0.0], [0, 2], "even shapes alone")


def test_the_change_of_two_forms_is_that_of_their_most_changed_part():
    assert change_of({"DRAM": 0.5, "issue": 0.2}, {"DRAM": 0.4, "shared": 0.3}) == pytest.approx(
        0.3
    )
    assert change_of({}, {}) == 0.0


def test_stored_errors_read_back_as_written():
    for model in ("timeline", "path"):
        error = stored_error(model)
        assert error is not None
        assert list(error.scores) == sorted(error.scores)
        assert as_stored(error)["scores"] == list(error.scores)
    assert stored_error("latency") is None


def prediction(total, **parts):
    made = tuple(PathTime(name, cycles) for name, cycles in parts.items())
    return Prediction("timeline", total, made, (total, total), True, 1000.0)


def test_forms_that_take_the_machine_the_same_have_no_width():
    assert relative_times(prediction(10, dram=9), prediction(10, dram=9)) is SAME
    other = relative_times(prediction(10, dram=9), prediction(10, dram=8))
    assert other.ratio == 1.0
    assert other.low < 1.0 < other.high


def test_more_change_is_a_wider_interval():
    little = relative_times(prediction(90, dram=89), prediction(100, dram=99))
    much = relative_times(prediction(90, dram=10, issue=89), prediction(100, dram=99, issue=5))
    assert little.ratio == much.ratio == 0.9
    assert much.high / much.low >= little.high / little.low


def _counters(space, loads):
    path = K20C.space(space).path
    memory = K20C.space(space).levels[0]
    level = LevelCount(memory, loads, 0.0, loads, None, 0.0)
    array = ArrayCounters("A", space, path, 1.0, 32.0, 1.0, (level,))
    return Counters(Placement((("A", space),)), (array,))


def test_ratio_of_memory_times_is_widened_where_the_placement_differs():
    # L2 (222 cycles) to shared memory (48 cycles), both with the same α.
    found = relative(path_model(), _counters("shared", 100), _counters("global", 100), K20C)
    assert found.ratio == pytest.approx(48 / 222)
    assert (found.parameter_low, found.parameter_high) == pytest.approx((48 / 222, 48 / 222))
    assert found.low <= found.ratio <= found.high
    assert found.faster is not None
    assert found.faster > 0.9
    same = relative(path_model(), _counters("global", 100), _counters("global", 100), K20C)
    assert same == SAME


def test_a_model_of_unknown_error_is_not_widened():
    found = relative(latency_model(), _counters("shared", 100), _counters("global", 100), K20C)
    assert (found.low, found.high) == (found.parameter_low, found.parameter_high)
    assert found.faster is None


def test_a_sum_of_equal_parts_is_as_sure_as_one_of_them():
    one = relative_times(prediction(90, dram=10), prediction(100, dram=99))
    both = ratio_of_sums([(0.25, one), (0.75, one)])
    assert (both.ratio, both.low, both.high) == pytest.approx((one.ratio, one.low, one.high))
    assert both.faster == pytest.approx(one.faster)


def test_a_sum_weighs_its_parts_and_what_is_added():
    one = relative_times(prediction(50, dram=10), prediction(100, dram=99))
    found = ratio_of_sums([(0.4, one), (0.6, SAME)], 0.1)
    assert found.ratio == pytest.approx(0.4 * 0.5 + 0.6 + 0.1)
    assert found.low == pytest.approx(0.4 * one.low + 0.7)
    assert found.faster is not None
    assert found.faster < ratio_of_sums([(0.4, one), (0.6, SAME)]).faster
    assert ratio_of_sums([(1.0, SAME)]) is SAME
    assert ratio_of_sums([(1.0, SAME)], 0.1).faster == 0.0


def test_a_sum_with_a_part_of_unknown_error_has_no_probability():
    unknown = relative(latency_model(), _counters("shared", 100), _counters("global", 100), K20C)
    assert ratio_of_sums([(0.5, unknown), (0.5, SAME)]).faster is None
    with pytest.raises(ValueError, match="no times"):
        ratio_of_sums([])
