"""Finalists are timed from their own machine code where the machine's code can be read."""

import json

import pytest

from placewise.advise import advise
from placewise.advise.timing import time_form
from placewise.kernel.nvrtc import compile_kernel
from placewise.kernel.prepare_case import named_case
from placewise.machine import load_machine
from placewise.report import as_text, document


@pytest.fixture(scope="module")
def timed_advice(gather_case):
    return advise(gather_case, "A100", finalists=2)


def test_finalists_and_the_present_form_have_times(timed_advice):
    first, second, *rest = timed_advice.options
    assert timed_advice.present.ratio == 1.0
    for option in (first, second, timed_advice.present):
        assert option.predicted_ms is not None
        assert option.predicted_ms > 0
    assert first.ratio == pytest.approx(first.predicted_ms / timed_advice.present.predicted_ms)
    assert first.ratio <= second.ratio
    assert all(option.rerun is None and option.timed is None for option in rest)
    assert all(option.low <= option.ratio <= option.high for option in (first, second))


def test_a_time_is_that_of_the_form_alone(gather_case, timed_advice):
    rewritten = timed_advice.options[0].rewritten.case
    kernel = compile_kernel(
        rewritten.source, rewritten.filename, rewritten.kernel, rewritten.options
    )
    again = time_form(kernel, named_case(rewritten), load_machine("A100"))
    assert again.ms == pytest.approx(timed_advice.options[0].predicted_ms)


def test_the_report_says_what_limits(timed_advice):
    text = as_text(timed_advice)
    for words in ("limited by", "What each part of the machine alone would take", "all together"):
        assert words in text
    data = json.loads(json.dumps(document(timed_advice), allow_nan=False))
    assert data["options"][0]["timed"]["prediction"]["absolute"] is True
    assert data["options"][0]["timed"]["ms"] == data["options"][0]["predicted_ms"]
    assert data["options"][-1]["timed"] is None


def test_an_old_machine_says_why_it_has_no_times(gather_advice):
    assert gather_advice.present.timed.ms is None
    assert any("no times" in note and "7.5" in note for note in gather_advice.notes)


def test_a_measured_time_goes_before_a_predicted_one(gather_case):
    advice = advise(gather_case, "A100", finalists=1, measured_ms=4.0)
    assert advice.present.predicted_ms == 4.0
    assert advice.options[0].predicted_ms == pytest.approx(4.0 * advice.options[0].ratio)
