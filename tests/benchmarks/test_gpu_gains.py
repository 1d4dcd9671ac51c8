"""Measured beside predicted gains, from measurements made by hand."""

import json
from dataclasses import asdict

import pytest

from benchmarks.gpu.gains import PredictedGain, figures, read_predictions
from placewise.executor.compare import OutputCheck
from placewise.gpu import PlacementRecord, Timing

GAIN = PredictedGain(
    "multiply", "A → shared", (("A", "global"),), (("A", "shared"),), 64, 2, True,
    1.5, 1.2, 1.9, 3.0, 2.0,
)  # fmt: skip


def record(median, identical=True, error=None):
    timing = Timing("warm", (median,), median, (median, median))
    output = OutputCheck("C", identical, 0 if identical else 1, 4, None)
    return PlacementRecord((), (timing,), (output,), error=error)


@pytest.mark.parametrize(("chosen_ms", "inside"), [(2.0, True), (2.9, False), (1.0, False)])
def test_a_measured_gain_holds_inside_the_predicted_interval(chosen_ms, inside):
    found = figures(GAIN, record(3.0), record(chosen_ms))
    (gain,) = (f for f in found if f.unit == "times as fast")
    assert gain.value == pytest.approx(3.0 / chosen_ms)
    assert gain.holds is inside


def test_other_bits_do_not_hold():
    found = figures(GAIN, record(3.0), record(2.0, identical=False))
    assert [f.holds for f in found if "outputs" in f.figure] == [False]


def test_a_form_that_was_refused_does_not_hold():
    (found,) = figures(GAIN, record(3.0), record(2.0, error="refused"))
    assert (found.value, found.holds) == ("refused", False)


def test_predictions_come_back_as_they_were_written(tmp_path):
    file = tmp_path / "gains.json"
    file.write_text(json.dumps({"machine": "H100", "gains": [asdict(GAIN)]}))
    assert read_predictions(file) == ("H100", [GAIN])
