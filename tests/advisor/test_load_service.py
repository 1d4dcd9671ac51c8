"""Hit rates that ``advise`` tells against those that ``counters`` predicts."""

import numpy as np
import pytest

from placewise import advise, make_case, predict_counters
from placewise.advisor.advice import ArrayFacts, Service
from placewise.advisor.explain.load_service import with_simulated_hits
from placewise.advisor.forms.timing import LoadHits, Timed
from placewise.machine import load_machine

ROWS, LENGTH = 8192, 32
SUMS = """
__global__ void sums(const float *rows, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < 32; ++k) sum += rows[i * 32 + k];
    out[i] = sum;
}
"""


@pytest.fixture(scope="module")
def sums():
    """Each thread reads a row of its own: a line of 128 bytes for each lane, 32 loads long."""
    rows = np.ones((ROWS, LENGTH), np.float32)
    arguments = [rows, np.zeros(ROWS, np.float32), np.int32(ROWS)]
    return make_case("sums", SUMS, arguments, block=256, problem=ROWS)


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["A100", "RTX2080Ti"])
def test_advice_and_counters_tell_the_same_hit_rates(sums, machine):
    values = {m.name: m.value for m in predict_counters(sums, machine).metrics}
    asked = values["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]
    found = values["l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"]
    advice = advise(sums, machine)
    facts = next(f for f in advice.arrays if f.array == "rows")
    served = dict(facts.service.served)
    assert served["L1"] == pytest.approx(found / asked, abs=0.02)
    assert sum(served.values()) == pytest.approx(1.0)
    for option in advice.options:
        for reason in option.reasons:
            if option.timed is not None and reason.array == "rows":
                assert reason.before.served == facts.service.served


def test_what_a_prefetch_brings_too_much_serves_no_load():
    facts = ArrayFacts("a", 4, Service("global", "global", 1.0, 32.0, 32.0, (), 1.0), 1.0, None)
    timed = Timed(None, loads=(LoadHits("a", 100.0, 40.0, 180.0),))
    (found,) = with_simulated_hits((facts,), timed, load_machine("A100"))
    shares = dict(found.service.served)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["L1"] == pytest.approx(0.4)


def test_without_a_timed_form_the_shares_are_those_of_the_memory_model(sums):
    advice = advise(sums, "K20c", finalists=1)
    facts = next(f for f in advice.arrays if f.array == "rows")
    assert sum(share for _, share in facts.service.served) == pytest.approx(1.0)
