"""Advice on arrays that are indexed as matrices."""

import numpy as np
from pydantic import TypeAdapter

from placewise import advise_layout, make_case
from placewise.report.formats import json_text
from placewise.schemas import DOCUMENTS

ROWS = """__global__ void k(const float *a, float *o, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int k = 0; k < m; k++) s += a[i * m + k] * a[i * m + m - 1 - k];
    o[i] = s;
}"""


def case(source, n=1 << 15, m=96):
    a = np.random.default_rng(1).uniform(-1, 1, (n, m)).astype(np.float32)
    return make_case(
        "k", source, [a, np.zeros(n, np.float32), np.int32(n), np.int32(m)], block=256, problem=n
    )


def test_rows_that_lanes_walk_are_transposed():
    advice = advise_layout(case(ROWS), "A100")
    assert not advice.structs
    best = advice.matrices.best
    assert best is not None
    assert best.kind == "transposed"
    assert best.speedup > 1.1
    assert best.detail == "bit-identical"
    assert "a[k * a_stride + i]" in best.reordered.case.source
    assert advice.matrices.conversion.launches >= 1
    TypeAdapter(DOCUMENTS["placewise-layout"]).validate_json(json_text(advice.to_dict()))
    document = advice.to_dict()["matrices"]
    assert document["recommended"] == best.text
    assert document["matrices"][0]["sectors"] > document["matrices"][0]["best_sectors"]


def test_matrices_that_lanes_cross_are_kept():
    advice = advise_layout(case(ROWS.replace("i * m + k]", "k * n + i]").replace(
        "a[i * m + m - 1 - k]", "a[k * n + i]"), m=8), "A100")  # fmt: skip
    assert advice.matrices.best is None
    assert not advice.matrices.options


def test_a_kernel_without_either_has_nothing_to_choose():
    source = "__global__ void k(const float *a, float *o, int n, int m) { o[0] = a[0]; }"
    advice = advise_layout(case(source, n=64, m=4), "A100")
    assert not advice.structs
    assert advice.matrices is None
