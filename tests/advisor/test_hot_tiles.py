"""Arrays whose loads take much of the time are tried in a tile, whatever their traffic says."""

import numpy as np

from placewise import advise, make_case

SEARCH = """
__global__ void first_above(const double *sums, const double *wanted, int *found, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int at = 0;
    while (at < n - 1 && sums[at] < wanted[i]) at++;
    found[i] = at;
}
"""


def test_a_table_that_every_thread_walks_through_is_timed_in_shared_memory():
    n = 256
    sums = np.arange(n, dtype=np.float64)
    arrays = [sums, np.full(1024, n - 1.0), np.zeros(1024, np.int32), np.int32(n)]
    case = make_case("first_above", SEARCH, arrays, block=128, grid=8)
    advice = advise(case, "H100", finalists=1)
    tiles = [
        o
        for o in advice.options
        if o.rerun is not None
        and o.placement.moved(advice.present.placement) == (("sums", "global", "shared"),)
    ]
    assert len(tiles) == 1
    assert tiles[0].proven
    assert tiles[0].ratio < 1.0
