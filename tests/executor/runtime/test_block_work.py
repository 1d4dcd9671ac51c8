"""How much each block did, beside counts that follow from the kernel's loops."""

import numpy as np
import pytest

from placewise import make_case
from placewise.advisor.prepare import Profiling, prepare
from placewise.executor import execute
from placewise.kernel.cases.prepare_case import read_case
from placewise.machine import load_machine

SOURCE = """
__global__ void rounds(const int *count, float *out) {
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < count[blockIdx.x]; k++) sum = sum * 0.5f + out[(k * 37) % 64];
    out[64 + blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void in_turns(const int *count, float *out) {
    __shared__ float tile[64];
    tile[threadIdx.x] = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < count[blockIdx.x]; k++) {
        __syncthreads();
        tile[(threadIdx.x + 1) % 64] += 1.0f;
    }
    out[64 + blockIdx.x * blockDim.x + threadIdx.x] = tile[threadIdx.x];
}
"""
BLOCKS = 200


def _read(kernel):
    count = np.random.default_rng(3).integers(1, 50, BLOCKS).astype(np.int32)
    arguments = [count, np.zeros(64 + 64 * BLOCKS, np.float32)]
    return count, read_case(make_case(kernel, SOURCE, arguments, block=64, grid=BLOCKS))


@pytest.mark.parametrize("kernel", ["rounds", "in_turns"])
@pytest.mark.parametrize("threads", [1, 3])
def test_work_grows_by_the_same_for_each_round_of_a_loop(kernel, threads):
    count, read = _read(kernel)
    found = execute(
        read.kernel, read.case.launch, read.case.inputs, threads=threads, count_by_block=True
    )
    rounds = np.unique(count)
    works = [np.unique(found.block_work[count == r]) for r in rounds]
    assert all(len(work) == 1 for work in works)
    grown = np.diff(np.concatenate(works)) / np.diff(rounds)
    assert grown.min() == grown.max() >= 2  # at least one basic block of each of two warps
    assert found.block_work.sum() == found.block_executions[:, 0].sum()


def test_work_is_counted_only_if_asked_for_and_only_of_blocks_that_run():
    _, read = _read("rounds")
    case = read.case
    assert not execute(read.kernel, case.launch, case.inputs).block_work.size
    some = np.array([3, 150])
    found = execute(read.kernel, case.launch, case.inputs, run_blocks=some, count_by_block=True)
    assert np.flatnonzero(found.block_work).tolist() == some.tolist()


def test_a_worker_that_is_used_again_counts_anew():
    _, read = _read("rounds")
    case = read.case
    first, second = (
        execute(read.kernel, case.launch, case.inputs, count_by_block=True) for _ in range(2)
    )
    np.testing.assert_array_equal(first.block_work, second.block_work)


def test_an_active_profile_keeps_the_run_that_counted():
    _, read = _read("rounds")
    found = prepare(read.case, load_machine("T4"), profiling=Profiling.ACTIVE)
    assert found.looked is not None
    assert found.execution.block_work.shape == (BLOCKS,)
