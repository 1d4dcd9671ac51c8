"""How often loads wait for L2, against hand-worked patterns and a count of every request."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placewise import load_machine, make_case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.model.evidence.evidence import evidence_of
from placewise.model.evidence.waiting_loads import Reuse

A100 = load_machine("A100")


def test_a_thread_that_walks_along_its_row_waits_once_per_sector():
    # Eight floats a sector, a row each lane: 32 sectors miss in one request of eight.
    rows = Reuse(sectors=32.0, again=7 / 8, warps=1.0)
    assert rows.waiting(32 / 8) == pytest.approx(1 / 8)
    # Where L1 keeps nothing, every request misses.
    assert rows.waiting(32.0) == 1.0


def test_warps_that_load_the_same_wait_together():
    # Four doubles a sector, which one of four warps fetches: all four wait in one load of four.
    assert Reuse(sectors=1.0, again=3 / 4, warps=4.0).waiting(1 / 16) == pytest.approx(1 / 4)


@given(
    st.floats(1, 32), st.floats(0, 1), st.floats(1, 32), st.floats(0, 1), st.floats(0, 1)
)  # fmt: skip
def test_it_is_a_share_that_grows_with_the_misses(sectors, again, warps, one, other):
    reuse = Reuse(sectors, again, warps)
    few, many = sorted((one * sectors, other * sectors))
    assert 0.0 <= reuse.waiting(few) <= reuse.waiting(many) + 1e-9 <= 1.0 + 1e-9
    assert reuse.waiting(0.0) == 0.0
    # Nobody waits for less than the sectors that a request of misses alone would hold.
    assert reuse.waiting(few) >= few / sectors - 1e-9


WALK = """
__global__ void walk(const double *table, const float *rows, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0.0;
#pragma unroll 1
    for (int k = 0; k < n; k++) sum += table[k] * rows[i * n + k];
    out[i] = sum;
}
"""


def reuse_of(name, source, arguments, threads):
    """Reuse of each array's only load."""
    case = make_case(name, source, arguments, block=128, grid=threads // 128, arch="sm_80")
    evidence = evidence_of(compile_case(case), case.launch, case.inputs, A100)
    arrays = {t.site.ptx_line: t.array for t in evidence.run.traffic.sites}
    return {arrays[place]: r for place, r in evidence.warp_paths.kinds[0].reuse.items()}


def test_reuse_is_seen_in_the_traced_blocks():
    n, threads = 64, 512
    rows = np.ones(n * threads, np.float32)
    found = reuse_of("walk", WALK, [np.ones(n), rows, np.zeros(threads), np.int32(n)], threads)
    # All lanes of the block's four warps read the first array's element k, and each lane a row of
    # its own of the second one.
    assert found["#1"] == Reuse(1.0, pytest.approx(48 / 64), 4.0)
    assert found["#2"] == Reuse(32.0, pytest.approx(56 / 64), 1.0)


ROUNDS = """
__global__ void rounds(const float *x, float *y, int n, int rows) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int round = 0; round < 5; round++)
#pragma unroll 1
        for (int row = 0; row < rows; row++) sum = sum * 0.5f + x[row * n + i];
    y[i] = sum;
}
"""


def test_a_request_of_an_earlier_round_is_one_again():
    n, rows = 256, 10
    x = np.ones(n * rows, np.float32)
    arguments = [x, np.zeros(n, np.float32), np.int32(n), np.int32(rows)]
    (reuse,) = reuse_of("rounds", ROUNDS, arguments, n).values()
    assert reuse == Reuse(4.0, pytest.approx(4 / 5), 1.0, comes_back=True)
    # All four sectors miss in the first of five rounds: one request in five waits.
    assert reuse.waiting(4.0 / 5) == pytest.approx(1 / 5)
