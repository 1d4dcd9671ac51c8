"""Blocks that access no memory are traced like others."""

import numpy as np
import pytest

from placewise import make_case
from placewise.advisor.predictions.predicted_counters import predict_counters

SOURCE = """
__global__ void add(const float *a, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + 1;
}
"""
BLOCK = 256


def counted(blocks, busy):
    """Counters of memories, and the share of blocks that was traced, of a launch of whose
    ``blocks`` the first ``busy`` have something to do."""
    n = busy * BLOCK
    array = np.zeros(max(1, n), np.float32)
    case = make_case("add", SOURCE, [array, array, np.int32(n)], block=BLOCK, grid=blocks)
    report = predict_counters(case, "T1000")
    memories = ("l1tex__", "lts__", "dram__")
    found = {m.name: m.value for m in report.metrics if m.name.startswith(memories)}
    return found, report.run.traffic.traced


def test_a_grid_larger_than_its_data_changes_no_traffic():
    """What is written exceeds L2, so that most of it, but not all, comes to DRAM."""
    exact, all_ = counted(2500, 2500)
    assert all_ == 1.0
    sectors = 2500 * BLOCK * 4 // 32
    assert 0 < exact["dram__sectors_write.sum"] < sectors
    assert counted(6000, 2500) == (exact, 1.0)


@pytest.mark.parametrize("blocks", [1, 3000])
def test_a_launch_without_any_access(blocks):
    assert counted(blocks, 0) == ({}, 1.0)
