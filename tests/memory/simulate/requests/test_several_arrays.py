"""Accesses whose lanes point into several arrays: one request for the sectors of all of them."""

from __future__ import annotations

import numpy as np
import pytest

from placewise import PointerTo, make_case
from placewise.advisor.predictions.predicted_counters import predict_counters

ROWS, COLUMNS, TURNS = 5, 256, 3
SOURCE = """
__global__ void gather(const float *const *rows, const int *which, float *out) {
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < 3; ++k) sum += rows[which[t]][PLACE];
    out[t] = sum;
}
"""
LOADS = "pipe_lsu_mem_global_op_ld"


PLACES = {
    "line": ("64 * k + t", lambda t, k: 64 * k + t),
    "apart": ("(37 * t + 11 * k) % 256", lambda t, k: (37 * t + 11 * k) % COLUMNS),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("order", ["halves", "mixed", "single"])
def test_lanes_of_all_arrays_are_one_request(order, place):
    lanes, (text, column) = np.arange(32), PLACES[place]
    which = {
        "halves": lanes // 16,
        "mixed": np.random.default_rng(3).integers(0, ROWS, 32),
        "single": np.full(32, 2),
    }[order]
    rows = {f"row{n}": np.ones(COLUMNS, np.float32) for n in range(ROWS)}
    case = make_case(
        "gather",
        SOURCE.replace("PLACE", text),
        {
            "rows": [PointerTo(name) for name in rows],
            "which": which.astype(np.int32),
            "out": np.zeros(32, np.float32),
        },
        buffers=rows,
        block=32,
        grid=1,
    )
    found = {m.name: m.value for m in predict_counters(case, "A4000").metrics}
    asked = [{(which[t], column(t, k) * 4 // 32) for t in lanes} for k in range(TURNS)]
    table = {("rows", 8 * n // 32) for n in which}
    # The loads of the indices, of the pointers, and three of rows.
    assert found[f"l1tex__t_requests_{LOADS}.sum"] == 2 + TURNS
    sectors = 4 + len(table) + sum(map(len, asked))
    assert found[f"l1tex__t_sectors_{LOADS}.sum"] == sectors
    lacking = 4 + len(table) + len(set().union(*asked))
    assert found["lts__t_sectors_op_read.sum"] == lacking
    assert found.get(f"l1tex__t_sectors_{LOADS}_lookup_hit.sum", 0) == sectors - lacking


def test_variables_of_the_module_have_lines_of_their_own():
    source = """
    __device__ float table[1024];
    __device__ float other[1024];
    __global__ void add(const float *a, float *out) {
        int t = threadIdx.x;
        out[t] = table[t] + other[t] + a[t];
    }
    """
    a = np.zeros(32, np.float32)
    case = make_case("add", source, {"a": a, "out": a.copy()}, block=32, grid=1)
    found = {m.name: m.value for m in predict_counters(case, "A4000").metrics}
    assert found["lts__t_sectors_op_read.sum"] == found["dram__sectors_read.sum"] == 12
