"""What a proof compares, and what it says where outputs differ."""

from dataclasses import replace

import numpy as np
import pytest

import placewise
from placewise import make_case

SOURCE = """
__device__ int total;
__global__ void k(const float *a, const float *b, float *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) o[i] = a[i] * b[i] + 0.3f;
    if (i == 0) total = 1;
}
"""


@pytest.fixture
def case():
    rng = np.random.default_rng(2)
    arrays = [rng.uniform(-1, 1, 500).astype(np.float32) for _ in range(3)]
    return make_case("k", SOURCE, [*arrays, np.int32(500)], block=64, problem=500)


def with_source(case, source):
    written = placewise.rewrite(case, {"a": "readonly"}, "A100")
    return replace(written, case=replace(written.case, source=source))


def test_a_device_variable_does_not_hinder_a_proof(case):
    found = placewise.verify(with_source(case, SOURCE + "\n"), case)
    assert found.identical
    assert found.arrays == ("a", "b", "o")


def test_contraction_alone_is_told_from_another_result(case):
    apart = SOURCE.replace("a[i] * b[i] + 0.3f", "__fmul_rn(a[i], b[i]) + 0.3f")
    found = placewise.verify(with_source(case, apart), case)
    assert found.identical
    assert "--fmad=false" in found.detail
    other = SOURCE.replace("0.3f", "0.30001f")
    found = placewise.verify(with_source(case, other), case)
    assert not found.identical
    assert "o differs in" in found.detail
