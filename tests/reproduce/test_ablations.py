"""Pairs of placements, their errors, and the regression of the overlap, on made-up launches."""

from dataclasses import replace
from pathlib import Path

import pytest

from placewise.errors import CaseError
from placewise.machine import load_machine
from placewise.model.huang_li.model import BASELINE, WHOLE
from placewise.model.huang_li.observe import Observed, Requests
from placewise.model.huang_li.replays import Replays
from placewise.recorded.time_tables import MeasuredTime
from placewise.reproduce.ablations import (
    Form,
    ablations,
    held_out_words,
    pair_up,
    predicted_ratio,
    ratio_errors,
    train_overlap,
)

A100 = load_machine("A100")


def seen(instructions, requests=1e4):
    return Observed(
        total_warps=10_800.0,
        active_sms=108.0,
        resident_warps=48.0,
        instructions=instructions,
        special=0.0,
        stall=2.0,
        mlp=1.0,
        replays=Replays(),
        global_=Requests(requests, requests / 2, 0.0),
        texture=Requests(),
        constant=Requests(),
        shared=Requests(),
        passes_per_request=1.0,
        dram_sectors=0.0,
        sector_bytes=32.0,
    )


def form(nanoseconds, instructions=1000.0, **configuration):
    return Form(MeasuredTime(tuple(configuration.items()), nanoseconds), seen(instructions))


def test_every_form_is_paired_with_the_plainest_of_its_group():
    forms = [
        form(3.0, block=32, staged=1, ldg=0),
        form(2.0, block=32, staged=0, ldg=0),
        form(5.0, block=32, staged=1, ldg=1),
        form(7.0, block=64, staged=1, ldg=0),
        form(8.0, block=64, staged=1, ldg=1),
        form(9.0, block=96, staged=1, ldg=1),
    ]
    pairs = pair_up(forms, ("staged", "ldg"))
    found = {(p.switch, p.measured_sample, p.measured_target) for p in pairs}
    assert found == {("staged", 2.0, 3.0), ("staged+ldg", 2.0, 5.0), ("ldg", 7.0, 8.0)}


def test_error_of_a_pair():
    """Bound by computation, twice the instructions take twice the time; measured, thrice."""
    forms = [form(100.0, 1e4, ldg=0), form(300.0, 2e4, ldg=1)]
    (pair,) = pair_up(forms, ("ldg",))
    assert predicted_ratio(WHOLE, pair, A100) == pytest.approx(2.0, rel=1e-3)
    (error,) = ratio_errors(WHOLE, [pair], A100)
    assert error == pytest.approx(1 / 3, rel=1e-3)
    # Without counting, the target has the sample's instructions: no change.
    (blind,) = ratio_errors(BASELINE, [pair], A100)
    assert blind == pytest.approx(2 / 3, rel=1e-3)


def test_trained_overlap_gives_back_the_times_it_was_trained_on():
    forms = []
    for n in range(1, 5):
        observed = replace(seen(2000.0), global_=Requests(n * 1e6, n * 4e5, n * 1e5))
        parts = WHOLE.parts(observed, A100)
        cycles = parts.t_comp + parts.t_mem - 0.3 * min(parts.t_comp, parts.t_mem)
        measured = MeasuredTime((("n", n),), cycles * 1e3 / A100.limits.clock_mhz)
        forms.append(Form(measured, observed))
    fitted = train_overlap(WHOLE, forms[:1], A100, "A100")
    assert fitted.trained_on == ("A100: n 1",)
    assert fitted.held_out == "not tested"
    trained = replace(WHOLE, regression=fitted)
    parts = trained.parts(forms[0].observed, A100)
    expected = forms[0].measured.nanoseconds * A100.limits.clock_mhz / 1e3
    assert parts.total == pytest.approx(expected)


def test_machines_and_files_must_fit():
    with pytest.raises(CaseError, match="1 files of measured times and 2 machines"):
        ablations([Path("a.csv")], Path("case.toml"), ["A100", "A4000"], configurations=4)


def test_held_out_names_every_gpu_that_trained_nothing():
    figures = {
        f"{gpu}, whole model, overlap trained, A100: mean error, %": error
        for gpu, error in (("A100", 3.0), ("A4000", 11.25), ("RTX3090", 20.0))
    }
    words = held_out_words("A100", ["A100", "A4000", "RTX3090"], figures, "whole model")
    assert words == "A4000: mean error 11.2 %; RTX3090: mean error 20.0 %"
    # No other GPU's times were given: there is nothing that it was tested on.
    assert held_out_words("A100", ["A100"], figures, "whole model") == "not tested"
