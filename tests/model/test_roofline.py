"""What counts as arithmetic of the FP32 lanes."""

import numpy as np
import pytest

from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.machine import load_machine
from placewise.memory.simulate.launch import simulate_launch
from placewise.model.base import Evidence
from placewise.model.roofline import roofline_model

SOURCE = """
__global__ void clamped(const float *a, float *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = fmaxf(fminf(a[i] + 3.0f, 7.0f), 1.0f) > 2.0f ? 5.0f : 6.0f;
}
"""


def test_comparisons_and_selections_are_not_counted():
    machine = load_machine("A4000")
    arrays = [np.zeros(4096, np.float32), np.zeros(4096, np.float32)]
    case = named_case(make_case("clamped", SOURCE, arrays, block=128, problem=4096, arch="sm_86"))
    run = simulate_launch(compile_case(case), case.launch, case.inputs, machine)
    parts = {p.path: p.cycles for p in roofline_model().predict(Evidence(run=run), machine).parts}
    # One addition in 4,096 threads; 48 SMs of 128 lanes.
    assert parts["fp32"] == pytest.approx(4096 / (128 * 48))
