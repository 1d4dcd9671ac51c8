"""What all data paths share bounds a placement's memory time on older GPUs, too."""

import numpy as np
import pytest

from placewise import advise, make_case
from placewise.machine import load_machine
from placewise.model import path_model

TRIAD = """
__global__ void triad(float *a, const float *b, const float *c, float s, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = b[i] + s * c[i];
}
"""


@pytest.fixture(scope="module")
def triad():
    arrays = [np.ones(1 << 18, np.float32) for _ in range(3)]
    arguments = [*arrays, np.float32(2), np.int32(1 << 18)]
    return make_case("triad", TRIAD, arguments, block=256, problem=1 << 18)


@pytest.mark.parametrize("machine", ["K20c", "K80", "M2075", "C1060"])
def test_a_second_path_does_not_make_dram_faster(triad, machine):
    """As the paper has it, one of three streams on another path takes a third off the time."""
    advice = advise(triad, machine, finalists=0)
    assert min(o.ratio for o in advice.options) > 0.85


def test_the_shared_memories_are_named():
    k20c = load_machine("K20c")
    assert path_model().path_names(k20c) == ("global", "texture", "constant")
    names = path_model(joint=True).path_names(k20c)
    assert set(names) - {"global", "texture", "constant"} == {"L2 and DRAM of all paths"}
