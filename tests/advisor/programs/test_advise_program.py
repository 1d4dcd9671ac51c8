"""Advice on programs of several launches that share arrays."""

import numpy as np
import pytest

from placewise import KernelLaunch, advise_program, make_program
from placewise.advisor.finalists import Demand
from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.kernel.cases.prepare_case import compile_case, named_case

# The sum reads all weights in every thread, which constant memory is made for.
SOURCE = """
__global__ void sum(const float *x, const float *weights, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    if (i < n) {
        for (int k = 0; k < 64; k++) s = s * x[i] + weights[k];
        y[i] = s;
    }
}
__global__ void again(const float *y, const float *table, float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    if (i < n) {
        for (int k = 63; k >= 0; k--) s = s * y[i] * 0.5f + table[k];
        x[i] = 1.0f / (1.0f + s * s);
    }
}
__global__ void change(float *weights, const float *x) {
    weights[threadIdx.x] = 0.5f * weights[threadIdx.x] + x[threadIdx.x];
}
"""
N = 1 << 17
GRID = {"problem": N, "block": 128}
SUM = KernelLaunch("sum", ["x", "weights", "y", "n"], **GRID)
AGAIN = KernelLaunch("again", ["y", "weights", "x", "n"], **GRID)
CHANGE = KernelLaunch("change", ["weights", "x"], grid=1, block=64)
ANY_GAIN = Demand(0.5, 0.0)


def program(*launches, rounds=1):
    random = np.random.default_rng(1)
    values = {
        "x": random.random(N).astype(np.float32),
        "weights": random.random(64).astype(np.float32),
        "y": np.zeros(N, np.float32),
        "n": np.int32(N),
    }
    return make_program(SOURCE, values, launches, rounds=rounds)


@pytest.mark.slow
def test_kernels_share_one_buffer_and_it_is_filled_once():
    advice = advise_program(program(SUM, AGAIN), "RTX3060", finalists=2)
    best = advice.recommended
    assert best is not None, advice.verdict
    assert {f.function: dict(f.placement.spaces) for f in best.forms} == {
        "sum": {"weights": "constant"},
        "again": {"table": "constant"},
    }
    assert [(f.array, f.times) for f in best.fills] == [("weights", 0)]
    assert advice.written.source.count("__constant__") == 1
    assert advice.written.host.count("cudaMemcpyToSymbol(") == 1
    assert advice.verification.identical
    # The written source computes what the kernels did, whatever the proof says.
    case = named_case(advice.launches[0].step.case)
    truth = execute(compile_case(case), case.launch, case.inputs).output("y")
    form = advice.written.rewritten[1].case
    assert np.array_equal(execute(compile_case(form), form.launch, form.inputs).output("y"), truth)


@pytest.mark.slow
def test_copies_between_launches_are_counted():
    once = advise_program(program(SUM, AGAIN, rounds=50), "RTX3060", finalists=2, demand=ANY_GAIN)
    each = advise_program(
        program(SUM, AGAIN, CHANGE, rounds=50), "RTX3060", finalists=2, demand=ANY_GAIN
    )
    assert once.recommended is not None, once.verdict
    both = next(
        c
        for c in each.combinations
        if [f.moves for f in c.forms] == ["weights → constant", "table → constant", ""]
    )
    (fill,) = both.fills
    assert (fill.before, fill.times) == ((1,), 50)
    moved = sum(
        50 * s.present_ns * o.ratio
        for s, (_, o) in ((s, both.by_launch[s.step.number]) for s in each.launches)
    )
    assert both.nanoseconds == pytest.approx(moved + fill.nanoseconds)
    assert both.ratio.ratio == pytest.approx(both.nanoseconds / each.present_ns)
    # Even so it pays here, and is proven with the copies that it makes.
    assert each.recommended is both, each.verdict
    assert "cudaMemcpyDeviceToDevice" in each.written.host
    assert each.verification.detail == "bit-identical in sequence over 2 rounds"


def test_machines_whose_times_are_not_predicted_are_refused():
    with pytest.raises(UnsupportedError, match="weighed by their predicted times"):
        advise_program(program(CHANGE), "K20c")
