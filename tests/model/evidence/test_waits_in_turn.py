"""How often a warp waits for loads in turn, against kernels whose loads depend on each other as
their source says."""

import numpy as np
import pytest

from placewise import advise, load_machine, make_case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.model.evidence.evidence import evidence_of
from placewise.model.evidence.waits_in_turn import waits_in_turn

SOURCE = """
__global__ void k(const int *next, int *out, int turns) {
    int i = threadIdx.x;
    BODY
}
"""
BODIES = {
    "out[i] = i;": 0,
    "out[i] = next[i] + next[i + 64] * next[i + 128];": 1,
    "out[i] = next[next[i]] + next[i + 64];": 2,
    "int at = i;\n#pragma unroll 1\nfor (int k = 0; k < turns; k++) at = next[at];out[i] = at;": 12,
}


def case_of(body, n=256):
    values = np.random.default_rng(1).integers(0, n, n).astype(np.int32)
    source = SOURCE.replace("BODY", body)
    arguments = [values, np.zeros(n, np.int32), np.int32(12)]
    return make_case("k", source, arguments, block=64, grid=1)


@pytest.mark.parametrize("machine", ["RTX2080Ti", "A100", "H100"])
@pytest.mark.parametrize("body", BODIES)
def test_loads_that_depend_on_each_other_are_waited_for_in_turn(body, machine):
    case, machine = case_of(body), load_machine(machine)
    kernel = compile_case(case)
    evidence = evidence_of(kernel, case.launch, case.inputs, machine)
    assert waits_in_turn(kernel, evidence.warp_paths) == BODIES[body]


def test_the_reason_of_a_verdict_names_them():
    (body,) = (b for b, waits in BODIES.items() if waits == 12)
    assert "A warp waits for loads 12 times, one after another" in advise(case_of(body), "A100").why
