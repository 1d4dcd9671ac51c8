import numpy as np
import pytest

from placewise.advisor import advise
from placewise.kernel.cases.make_case import make_case

GATHER = """\
__global__ void gather(const float *table, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < 8; k++)
        sum += table[(index[i] + 7 * k) % 512];
    out[i] = sum;
}
"""
N = 20_000


@pytest.fixture(scope="session")
def gather_case():
    rng = np.random.default_rng(7)
    return make_case(
        "gather",
        GATHER,
        [
            rng.random(512, dtype=np.float32),
            rng.integers(0, 512, N, dtype=np.int32),
            np.zeros(N, np.float32),
            np.int32(N),
        ],
        block=128,
        problem=N,
        name="gather",
    )


@pytest.fixture(scope="session")
def gather_advice(gather_case):
    return advise(gather_case, "K20c", measured_ms=2.0)
