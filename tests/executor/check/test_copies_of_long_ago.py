"""The checker knows that a copy has been waited for, however many groups have followed it."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_run import run

from placewise.executor.check import Checker
from placewise.executor.check.finding import Kind

SOURCE = """
#include <cuda_pipeline.h>
extern "C" __global__ void k(const float *in, float *out, int groups, int barriers) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], 4);
    for (int group = 0; group < groups; group++) {
        __pipeline_commit();
        __pipeline_wait_prior(0);
        if (group < barriers) __syncthreads();
    }
    out[t] = tile[63 - t];
}"""


@pytest.mark.parametrize("groups", [1, 2, 8, 9, 10, 16, 17, 40])
@pytest.mark.parametrize("barriers", [0, 1])
def test_one_barrier_after_the_wait_is_enough(groups, barriers):
    checker = Checker()
    run(
        SOURCE, "k", 1, 64, arch="sm_86", in_=np.ones(64, np.float32),
        out=np.zeros(64, np.float32), groups=np.int32(groups), barriers=np.int32(barriers),
        options={"check": checker},
    )  # fmt: skip
    kinds = {finding.kind for finding in checker.findings}
    assert (Kind.copy_pending in kinds) == (barriers == 0)
