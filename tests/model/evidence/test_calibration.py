"""Counters of a measured form in place of the predicted ones, and what they do to other forms."""

from dataclasses import replace

import pytest

from placewise.cases import load_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.machine import load_machine
from placewise.memory.simulate.metrics.ncu_metrics import launch_metrics
from placewise.model.evidence.calibration import (
    CARRIED,
    DRAM_READS,
    DRAM_WRITES,
    INSTRUCTIONS,
    L2_READS,
    NONE,
    SHARED_LOADS,
    corrections,
)
from placewise.model.evidence.evidence import evidence_of
from placewise.model.timeline import timeline_model

CASE = """schema = 1
kernel = "sums"
code = '''
extern "C" __global__ void sums(float *out, const float *in) {
    __shared__ float tile[256];
    tile[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = tile[threadIdx.x] + tile[255 - threadIdx.x];
}
'''

[launch]
grid = [4096]
block = [256]

[[arguments]]
name = "out"
dtype = "float32"
shape = [1048576]
fill = 0

[[arguments]]
name = "in"
dtype = "float32"
shape = [1048576]
uniform = { seed = 0 }
"""


@pytest.fixture(scope="module")
def machine():
    return load_machine("A4000")


@pytest.fixture(scope="module")
def evidence(tmp_path_factory, machine):
    path = tmp_path_factory.mktemp("sample") / "sums.toml"
    path.write_text(CASE)
    case = load_case(str(path))
    case = named_case(replace(case, options=replace(case.options, arch="sm_86")))
    return evidence_of(compile_case(case), case.launch, case.inputs, machine)


def counters(evidence):
    return {m.name: m.value for m in launch_metrics(evidence.run)}


def test_a_profile_like_the_prediction_changes_nothing(evidence):
    found = corrections(evidence.run, counters(evidence))
    assert {name for name, _ in found.factors} >= {INSTRUCTIONS, SHARED_LOADS, DRAM_READS}
    assert all(factor == pytest.approx(1.0) for _, factor in found.factors)
    assert NONE.apply(evidence) is evidence


def test_corrected_counters_are_the_measured_ones(evidence):
    predicted = counters(evidence)
    wrong = {SHARED_LOADS: 1.5, L2_READS: 1.25, DRAM_READS: 0.75}
    measured = predicted | {name: predicted[name] * by for name, by in wrong.items()}
    corrected = counters(corrections(evidence.run, measured).apply(evidence))
    # What is written back to DRAM follows from all that comes into L2.
    for name in CARRIED:
        if name in measured and name != DRAM_WRITES:
            assert corrected[name] == pytest.approx(measured[name], rel=1e-3)
    assert corrected["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] == pytest.approx(32768)


def test_more_measured_traffic_takes_longer(evidence, machine):
    def time(measured):
        form = corrections(evidence.run, measured).apply(evidence)
        return timeline_model().predict(form, machine).nanoseconds

    as_predicted = counters(evidence)
    assert time({}) == time(as_predicted)
    # 4 MB read at the machine's bandwidth are most of this launch's time.
    assert time({DRAM_READS: 2 * as_predicted[DRAM_READS]}) > 1.3 * time({})


def test_counts_too_small_to_say_anything_are_left_alone(evidence):
    assert corrections(evidence.run, {DRAM_READS: 3.0, "unknown.sum": 1e9}).factors == ()
