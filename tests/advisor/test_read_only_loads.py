"""Arrays read by the read-only load, whose gain a model of memory traffic does not see."""

from dataclasses import replace

import numpy as np
import pytest

from placewise import advise, make_case
from placewise.advisor.explain.why import array_facts
from placewise.advisor.finalists import MOST_READ, read_only
from placewise.advisor.forms.same_code import differs_in_marks_alone
from placewise.advisor.prepare import prepare
from placewise.choose import search
from placewise.kernel.cases.prepare_case import compile_case
from placewise.machine import load_machine
from placewise.model import path_model

N = 4096
# Each store may change what the next load reads, as far as the compiler knows.
STEPS = """
__global__ void steps(const float *a, const float *b, const int *at, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < 8; k++) out[k * n + i] = a[at[k * n + i]] + b[i];
}
"""
SUM = """
__global__ void sum(const float *a, const float *b, const float *c, const float *d,
                    const float *few, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = i ? 0.0f : few[0];
    for (int k = 0; k < 4; k++) s += a[i] + b[i + k] * d[i ^ k];
    out[i] = s + c[i];
}
"""


def steps():
    rng = np.random.default_rng(1)
    at = rng.integers(0, N, 8 * N).astype(np.int32)
    a, b = rng.random(N, np.float32), rng.random(N, np.float32)
    out = np.zeros(8 * N, np.float32)
    return make_case("steps", STEPS, [a, b, at, out, np.int32(N)], block=256, problem=N)


def test_loads_that_may_move_before_stores_are_found():
    found = advise(steps(), "H100")
    moved = {a for a, _, to in found.recommended.placement.moved(found.present.placement)}
    assert "at" in moved or "a" in moved
    assert found.recommended.ratio < 0.9


def facts_of(case, machine):
    prepared = prepare(case, machine)
    model = path_model(joint=True)
    now = next(c for c in search(prepared.profile, prepared.legality, machine, model) if c.present)
    return array_facts(prepared.profile, now), prepared.legality


def test_the_most_read_arrays_are_tried_alone_and_all_often_read_ones_together():
    machine = load_machine("H100")
    rng = np.random.default_rng(2)
    arrays = [rng.random(N + 4, np.float32) for _ in range(4)]
    arguments = [*arrays, np.ones(1, np.float32), np.zeros(N, np.float32)]
    facts, legality = facts_of(make_case("sum", SUM, arguments, block=256, problem=N), machine)
    moved = [
        {a for a, _, to in p.moved(legality.present) if to == "readonly"}
        for p in read_only(facts, legality, machine)
    ]
    # The compiler loads a, which no iteration changes, once, as it does c.
    *alone, together = moved
    assert together == {"a", "b", "c", "d"}
    assert len(alone) == MOST_READ
    assert all(len(arrays) == 1 for arrays in alone)
    assert {"b", "d"} <= set().union(*alone)


def beside(case, kernel, old, new):
    written = replace(case, source=case.source.replace(old, new))
    return differs_in_marks_alone(compile_case(written), written, kernel, case)


@pytest.fixture(scope="module")
def compiled():
    arguments = [np.ones(N, np.float32), np.zeros(N, np.float32)]
    source = """
__global__ void twice(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2.0f * x[i];
}
"""
    case = make_case("twice", source, arguments, block=256, problem=N)
    return case, compile_case(case)


def test_a_mark_alone_changes_no_time(compiled):
    assert beside(*compiled, "x[i]", "__ldg(&x[i])")


@pytest.mark.parametrize(
    "new", ["__ldcs(&x[i])", "x[i + 1]", "__ldg(&x[i]) + 1.0f"], ids=["hint", "index", "more"]
)
def test_what_takes_time_or_changes_results_is_more_than_a_mark(compiled, new):
    assert not beside(*compiled, "x[i]", new)
