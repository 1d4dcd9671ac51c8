"""The domain of measured launches, against bounds and launches made by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import placewise
from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.binary.sass.classes import moves_literal
from placewise.kernel.cases.prepare_case import compile_case
from placewise.machine import load_machine
from placewise.memory.simulate.launch import simulate_launch
from placewise.model.domain import (
    LEAST,
    OTHERS,
    SHARES,
    Domain,
    as_stored,
    features_of,
    measured_domain,
    scattered_stores,
    span,
)
from placewise.model.error import TIME_ERROR

BOUNDS = {"fp32": 0.5, "global atomic": 0.0, "code": 4096.0, "lanes": 0.9, "blocks": 8.0}
DOMAIN = Domain(tuple(BOUNDS.items()), 3, "by hand", 2.0)


def test_a_launch_within_all_bounds_is_nothing_new():
    assert DOMAIN.news({"fp32": 0.3, "global atomic": 0.01, "code": 512.0, "lanes": 1.0}) == ()


@pytest.mark.parametrize(
    ("features", "words"),
    [
        ({"fp32": 0.6}, "60% of instructions are single-precision arithmetic (measured: at most "
         "50%)"),
        ({"global atomic": 0.04}, "4% of instructions are atomics in global memory (measured: at "
         "most 0%)"),
        ({"code": 9000.0}, "9,000 bytes of code (measured: at most 4,096)"),
        ({"lanes": 0.5}, "50% of a warp's lanes active (measured: at least 90%)"),
        ({"blocks": 0.25}, "0.25 blocks for each SM (measured: at least 8)"),
    ],
)  # fmt: skip
def test_what_is_beyond_a_bound_is_said(features, words):
    assert DOMAIN.news(features) == (words,)


def test_features_that_no_launch_had_are_not_judged():
    assert DOMAIN.news({"occupancy": 0.1}) == ()


launches = st.lists(
    st.fixed_dictionaries(
        {**dict.fromkeys(SHARES, st.floats(0, 1)), **dict.fromkeys(OTHERS, st.floats(0.1, 1e5))}
    ),
    min_size=1,
    max_size=8,
)


@given(launches)
def test_every_launch_that_made_the_domain_is_like_it(found):
    domain = span(found, made_from="x", wider=1.0)
    assert all(domain.news(features) == () for features in found)
    bounds = dict(domain.bounds)
    for name in (*SHARES, *OTHERS):
        values = [features[name] for features in found]
        assert bounds[name] == (min(values) if name in LEAST else max(values))


def test_the_stored_domain_is_what_it_was_written_as():
    domain = measured_domain()
    assert set(dict(domain.bounds)) == {*SHARES, *OTHERS}
    assert domain.launches > 0
    assert domain.wider >= 1.0
    assert "benchmarks.breadth.domain" in domain.made_from
    assert json.loads(json.dumps(as_stored(domain)))["bounds"] == dict(domain.bounds)


SOURCE = """
__global__ void few(float *y, const float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x % 2 == 0) atomicAdd(y, x[i] * x[i]);
}
"""


def test_features_of_a_kernel_counted_by_hand():
    x = np.ones(1024, np.float32)
    case = placewise.make_case("few", SOURCE, [np.zeros(1, np.float32), x], grid=4, block=256)
    case = replace(case, options=replace(case.options, arch="sm_86"))
    machine = load_machine("RTX3090")
    run = simulate_launch(compile_case(case), case.launch, case.inputs, machine)
    found = features_of(run)
    # 32 warps execute one reduction each, or nothing but it is an atomic.
    atomics = found["global atomic"] * run.execution.warp_instructions
    assert atomics == pytest.approx(32)
    assert found["blocks"] == pytest.approx(4 / 82)
    assert found["occupancy"] == pytest.approx(48 / 48)
    assert 0.5 < found["lanes"] <= 1.0
    assert found["shared"] == found["fp64"] == found["tensor"] == 0.0


def test_a_prediction_says_what_is_new_and_widens_its_range():
    x = np.ones(1024, np.float32)
    case = placewise.make_case("few", SOURCE, [np.zeros(1, np.float32), x], grid=4, block=256)
    found = placewise.predict_time(case, "RTX3090", clock="boost")
    assert found.prediction.unlike
    assert any("blocks for each SM" in what for what in found.prediction.unlike)
    assert any(note.startswith("unlike the launches") for note in found.prediction.notes)
    low, high = found.range_ms
    plain = TIME_ERROR
    wider = measured_domain().wider
    assert low / found.milliseconds == pytest.approx(plain.low**wider)
    assert high / found.milliseconds == pytest.approx(plain.high**wider)
    assert found.to_dict()["unlike_measured"] == found.prediction.unlike


TRANSPOSE = """
__global__ void transpose(float *out, const float *in)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    out[STORED] = in[y * 256 + x];
}
"""


@pytest.mark.parametrize(
    ("stored", "block", "sectors"),
    [("x * 256 + y", (32, 8), 32), ("x * 256 + y", (8, 32), 8), ("y * 256 + x", (32, 8), 4)],
)
def test_stores_to_sixteen_sectors_at_once_are_scattered(stored, block, sectors):
    """Lanes of a row that is transposed store to as many sectors as the block has columns."""
    values = [np.zeros((256, 256), np.float32), np.ones((256, 256), np.float32)]
    source = TRANSPOSE.replace("STORED", stored)
    case = placewise.make_case("transpose", source, values, problem=(256, 256), block=block)
    case = replace(case, options=replace(case.options, arch="sm_80"))
    run = simulate_launch(compile_case(case), case.launch, case.inputs, load_machine("A100"))
    said = scattered_stores(run)
    assert (said is not None) == (sectors >= 16)
    assert said is None or f"store to {sectors} sectors" in said


def test_a_literal_that_goes_through_the_half_pipe_is_no_half_precision_arithmetic():
    source = """
    __global__ void scale(const float *table, const int *index, float *out, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = 2.0f * table[index[i]];
    }"""
    values = [np.ones(64, np.float32), np.zeros(64, np.int32), np.zeros(64, np.float32)]
    case = placewise.make_case("scale", source, [*values, np.int32(64)], block=64, grid=1)
    case = replace(case, options=replace(case.options, arch="sm_80"))
    kernel = compile_case(case)
    moves = [i for i in machine_code(kernel).instructions if moves_literal(i)]
    assert moves, "the compiler writes no such instruction any more"
    run = simulate_launch(kernel, case.launch, case.inputs, load_machine("A100"))
    assert features_of(run)["fp16"] == 0.0
