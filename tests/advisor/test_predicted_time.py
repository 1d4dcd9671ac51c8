"""Predicted times of one case on several machines."""

import json

import pytest

import placewise
from placewise.advisor.predictions.predicted_time import NEARLY
from placewise.errors import MachineError, UnsupportedError


@pytest.fixture(scope="module")
def report():
    return placewise.predict_times(
        "matmul", ["A100", "K20c", "T4"], measured_ms={"A100": 0.6, "T4": 2.0}
    )


@pytest.mark.slow
def test_each_machine_has_the_time_that_it_has_alone(report):
    assert [p.machine.name for p in report.predictions] == ["A100", "T4"]
    alone = placewise.predict_time("matmul", "T4")
    assert report.predictions[1].milliseconds == alone.milliseconds
    assert report.predictions[1].measured_ms == 2.0
    assert alone.measured_ms is None
    low, high = alone.range_ms
    assert low < alone.milliseconds < high


def test_a_machine_without_a_time_says_why(report):
    ((name, why),) = report.refused
    assert name == "K20c"
    assert "7.0 and later" in why


def test_volta_is_timed_from_its_own_code_or_from_turings():
    stand_in = placewise.predict_time("triad", "V100")
    own = placewise.predict_time("triad", "V100", nvrtc="12.9")
    assert "compiled for sm_75" in stand_in.prediction.notes[0]
    assert not any("compiled for" in note for note in own.prediction.notes)
    assert own.case.options.arch == "sm_70"
    assert own.milliseconds == pytest.approx(stand_in.milliseconds, rel=0.1)


def test_what_nearly_binds_is_close_to_what_binds(report):
    for found in report.predictions:
        cycles = {part.path: part.cycles for part in found.prediction.parts}
        longest = cycles[found.limited_by]
        assert longest == max(cycles.values())
        for name, value in cycles.items():
            is_near = name != found.limited_by and value >= NEARLY * longest
            assert (name in found.nearly) == is_near


def test_data_and_table_say_the_same(report):
    data = json.loads(json.dumps(report.to_dict()))
    assert [t["machine"] for t in data["times"]] == ["A100", "T4"]
    assert data["refused"][0]["machine"] == "K20c"
    frame = report.to_dataframe()
    assert list(frame["milliseconds"]) == [t["milliseconds"] for t in data["times"]]


def test_no_machine_with_a_time_is_an_error():
    with pytest.raises(UnsupportedError, match="no time is predicted"):
        placewise.predict_times("matmul", ["K20c", "C1060"])
    with pytest.raises(MachineError, match="no machine named"):
        placewise.predict_times("matmul", ["A1000"])
