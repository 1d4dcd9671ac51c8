"""How far a launch reaches into its arrays, beside all offsets of all active lanes."""

import numpy as np

from placewise.executor.access_ends import AccessEnds, highest_offsets
from placewise.executor.one_launch import execute
from placewise.executor.trace import lane_offsets
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case

SOURCE = """
__global__ void k(const float *x, const int *at, double *y, char *none, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 3 == 1 || i >= n) return;
    y[n - i] = x[at[i]] + x[(i & 15) * 7];
}
"""


class Beside(AccessEnds):
    """Compares every chunk with its lanes' own offsets."""

    looked = 0

    def chunk(self, chunk):
        active = (chunk.mask[:, None] >> np.arange(32, dtype=np.uint32) & 1).astype(bool)
        some = active.any(axis=1)
        own = np.where(active, lane_offsets(chunk), -1).max(axis=1)
        np.testing.assert_array_equal(highest_offsets(chunk)[some], own[some])
        Beside.looked += int(some.sum())
        super().chunk(chunk)


def test_ends_are_those_of_the_lanes():
    n = 1000
    at = np.random.default_rng(3).integers(0, 5000, n).astype(np.int32)
    data = {
        "x": np.zeros(8000, np.float32),
        "at": at,
        "y": np.zeros(4000),
        "none": np.zeros(9, np.int8),
    }
    case = make_case("k", SOURCE, grid=4, block=256, arguments={**data, "n": np.int32(n)})
    ends = Beside()
    execute(compile_case(case), case.launch, case.inputs, consumer=ends)
    live = [i for i in range(n) if i % 3 != 1]
    farthest = max(int(at[live].max()), 15 * 7)
    assert ends.bytes == {"x": 4 * farthest + 4, "at": 4 * n, "y": 8 * n + 8}
    assert ends.loaded == {"x", "at"}
    assert Beside.looked > 100
