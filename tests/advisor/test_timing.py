"""Finalists are timed from their own machine code where the machine's code can be read."""

import json
from dataclasses import replace

import numpy as np
import pytest

from placewise import make_case
from placewise.advisor import advise
from placewise.advisor.forms.timing import time_form
from placewise.errors import UnsupportedError
from placewise.executor.slice_interpreter import PathTooLongError
from placewise.kernel.cases.prepare_case import named_case
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.machine import load_machine
from placewise.model.base import Sampling
from placewise.model.evidence import evidence
from placewise.report.advice.files import as_text


@pytest.fixture(scope="module")
def timed_advice(gather_case):
    return advise(gather_case, "A100", finalists=2)


def test_finalists_and_the_present_form_have_times(timed_advice):
    timed = [option for option in timed_advice.options if option.timed is not None]
    # Two finalists, both arrays with the read-only load, the table in constant memory, which the
    # memory model ranks behind them, what only passes through L2 with a longer prefetch, and tiles
    # of the two arrays that take most of the time.
    assert 2 <= len(timed) <= 8
    assert {"constant", "shared"} <= {option.placement["table"] for option in timed}
    assert timed_advice.present.ratio == 1.0
    for option in (*timed, timed_advice.present):
        assert option.predicted_ms is not None
        assert option.predicted_ms > 0
        assert option.low <= option.ratio <= option.high
        present_ms = timed_advice.present.predicted_ms
        assert option.ratio == pytest.approx(option.predicted_ms / present_ms)
    assert timed == list(timed_advice.options[: len(timed)])
    ratios = [option.ratio for option in timed]
    assert ratios == sorted(ratios)


def test_a_time_is_that_of_the_form_alone(gather_case, timed_advice):
    rewritten = timed_advice.options[0].rewritten.case
    kernel = compile_kernel(
        rewritten.source, rewritten.filename, rewritten.kernel, rewritten.options
    )
    again = time_form(kernel, named_case(rewritten), load_machine("A100"))
    assert again.ms == pytest.approx(timed_advice.options[0].predicted_ms)
    # Its range takes what the clock changes from the present form.
    assert timed_advice.options[0].timed.range_ms == pytest.approx(again.range_ms, rel=0.1)


def test_a_form_like_another_is_timed_alike_at_every_clock(gather_case):
    machine = load_machine("A100")
    kernel = compile_kernel(
        gather_case.source, gather_case.filename, gather_case.kernel, gather_case.options
    )
    alone = time_form(kernel, gather_case, machine)
    alike = time_form(kernel, gather_case, machine, like=alone)
    assert len(alone.prediction.at_clocks) == 2
    assert alike == alone
    every = time_form(kernel, gather_case, machine, like=replace(alone, sampling=Sampling.EVERY))
    assert every.sampling is Sampling.EVERY
    assert every.ms == pytest.approx(alone.ms, rel=0.05)


def test_the_report_says_what_limits(timed_advice):
    text = as_text(timed_advice)
    for words in ("limited by", "What each part of the machine alone would take", "all together"):
        assert words in text
    data = json.loads(json.dumps(timed_advice.to_dict(), allow_nan=False))
    assert data["options"][0]["timed"]["prediction"]["absolute"] is True
    assert data["options"][0]["timed"]["ms"] == data["options"][0]["predicted_ms"]
    assert data["options"][-1]["timed"] is None


def test_an_old_machine_says_why_it_has_no_times(gather_advice):
    assert gather_advice.present.timed.ms is None
    assert any("no times" in note and "7.0" in note for note in gather_advice.notes)


def test_a_measured_time_goes_before_a_predicted_one(gather_case):
    advice = advise(gather_case, "A100", finalists=1, measured_ms=4.0)
    assert advice.present.predicted_ms == 4.0
    assert advice.options[0].predicted_ms == pytest.approx(4.0 * advice.options[0].ratio)


POLYNOMIAL = """
__global__ void poly(const float *x, const float *coeff, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], s = 0.f;
    for (int k = 0; k < 64; ++k) s = s * v + coeff[k];
    y[i] = s;
}
__global__ void all_pairs(const float4 *p, float *s, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = p[i];
    float t = 0.f;
    for (int k = 0; k < n; ++k) t += p[k].w * (p[k].x - me.x) * (p[k].y - me.y) * (p[k].z - me.z);
    s[i] = t;
}
__global__ void reads_its_address(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] + ((size_t)x & 1); y += 1; y[i] = 0.f;
}
"""


@pytest.mark.slow
def test_coefficients_that_all_threads_read_go_to_constant_memory():
    """There they are operands of the arithmetic; anywhere else each of them is a load. The launch
    is large enough that what every launch takes does not hide the gain."""
    n = 1 << 20
    arrays = [np.linspace(-1, 1, n, dtype=np.float32), np.ones(64, np.float32)]
    arguments = [*arrays, np.zeros(n, np.float32), np.int32(n)]
    found = advise(make_case("poly", POLYNOMIAL, arguments, block=256, problem=n), "A100")
    assert found.recommended is not None
    moves = found.recommended.placement.moved(found.present.placement)
    assert moves == (("coeff", "global", "constant"),)
    assert found.recommended.high < 1.0 < found.recommended.traffic.ratio


def test_the_present_form_has_a_time_where_nothing_can_move():
    arguments = [np.ones(4096, np.float32), np.zeros(4097, np.float32)]
    found = advise(
        make_case("reads_its_address", POLYNOMIAL, arguments, block=256, problem=4096), "A100"
    )
    assert not found.options
    assert found.present.predicted_ms > 0
    assert "limited by" in as_text(found)


@pytest.mark.slow
def test_a_form_timed_in_another_way_is_reported_as_its_ratio(gather_case, monkeypatch):
    """A form that cannot be sliced is timed from the whole launch, the present too."""
    sliced = evidence._sliced

    def refusing(kernel, *rest, **options):
        if "ld.const" in kernel.ptx:
            raise UnsupportedError("no slice")
        return sliced(kernel, *rest, **options)

    monkeypatch.setattr(evidence, "_sliced", refusing)
    found = advise(gather_case, "A100", finalists=12)
    whole = [o for o in found.options if o.beside and o.beside is not found.present.timed]
    assert whole
    for option in whole:
        assert option.timed.whole
        assert option.ratio == pytest.approx(option.timed.ms / option.beside.ms)
        assert option.predicted_ms == pytest.approx(option.ratio * found.present.predicted_ms)
    assert any("run of the whole launch" in note for note in found.notes)


@pytest.mark.slow
def test_constant_memory_that_misses_its_cache_is_not_recommended():
    """64 KB that every thread walks through: the cache nearest to the SM has 2 KB."""
    n = 4096
    points = np.random.default_rng(0).random((n, 4), dtype=np.float32)
    case = make_case(
        "all_pairs",
        POLYNOMIAL,
        [points, np.zeros(n, np.float32), np.int32(n)],
        block=128,
        problem=n,
    )
    found = advise(case, "A100", finalists=1)
    constant = next(o for o in found.options if o.placement["p"] == "constant")
    assert constant.timed is not None
    assert found.recommended is not constant
    assert any("miss the nearest constant cache" in note for note in found.notes)


def test_forms_of_a_launch_that_was_run_whole_are_run_whole_at_once(monkeypatch):
    sliced = []

    def too_long(kernel, *_, **__):
        sliced.append(kernel)
        raise PathTooLongError("too long", with_guards=False)

    monkeypatch.setattr(evidence, "slice_launch", too_long)
    source = """
    __global__ void f(const float *table, float *out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        float sum = 0;
        for (int k = 0; k < 64; k++) sum += table[k];
        out[i] = sum;
    }"""
    arrays = [np.ones(64, np.float32), np.zeros(512, np.float32)]
    advice = advise(make_case("f", source, arrays, block=64, grid=8), "RTX3090")
    moved = [o.timed for o in advice.options if o.timed is not None]
    assert len(moved) > 1
    assert all(timed.whole for timed in moved)
    assert len(sliced) == 1
