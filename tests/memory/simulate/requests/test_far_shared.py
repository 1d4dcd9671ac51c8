"""Stores beyond the near part of shared memory: shares by hand, and counters of a launch."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.machine import load_machine
from placewise.memory.occupancy import Occupancy
from placewise.memory.simulate.launch import simulate_launch
from placewise.memory.simulate.metrics.ncu_metrics import launch_metrics
from placewise.memory.simulate.requests.far_shared import far_share

KB = 1024
MACHINE = load_machine("RTX2080Ti")
STORES = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"
LOADS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"


@pytest.mark.parametrize(
    ("blocks", "shared", "share"),
    [
        (1, 0, 0.0),
        (1, 32 * KB, 0.0),  # the carve-out of 32 KB
        (4, 8 * KB, 0.0),
        (1, 40 * KB, 0.2),  # 8 of 40 KB
        (1, 64 * KB, 0.5),
        (2, 18 * KB, 0.5),  # the second begins at 32 KB
        (4, 9 * KB, 0.5),
        (3, 15 * KB, (4.333333333 + 15) / 45),  # at 0, 21.3 and 42.7 KB
    ],
)
def test_share_beyond_the_near_part(blocks, shared, share):
    occupancy = Occupancy(blocks, blocks, 32, ())
    assert far_share(MACHINE, occupancy, shared, 32 * KB) == pytest.approx(share, abs=1e-4)


@pytest.mark.parametrize(
    ("held", "share"), [(1, 0.0), (2, 0.0), (3, 8 / 36), (4, 20 / 48), (9, 20 / 48)]
)
def test_a_grid_smaller_than_the_machine_fills_the_near_part_first(held, share):
    """Four of 12 KB could be held, at 0, 16, 32 and 48 KB of 64."""
    occupancy = Occupancy(4, 4, 32, ())
    # Of the third 8 of 12 KB lie beyond 36 KB, of the fourth all.
    assert far_share(MACHINE, occupancy, 12 * KB, 36 * KB, held) == pytest.approx(share)


SOURCE = """
extern "C" __global__ void staged(float *a) {
    __shared__ float s[WORDS];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = s[threadIdx.x ^ 32];
}
"""


def counters(tmp_path, words, machine):
    path = tmp_path / "staged.cu"
    path.write_text(SOURCE)
    arrays = {"a": np.zeros(64, np.float32)}
    case = make_case(
        "staged", path, arrays, block=64, grid=(1,), defines={"WORDS": words}, arch="sm_75"
    )
    run = simulate_launch(compile_case(case), case.launch, case.inputs, machine)
    return {m.name: m.value for m in launch_metrics(run)}


def test_stores_of_a_block_that_lies_beyond(tmp_path):
    """Two warps' stores: 8 of 40 KB are far, of 2 KB none; loads stay as they are."""
    far = next(m for m in MACHINE.memories if m.name == "sharedMem").detail.far_stores
    assert far is not None
    large = counters(tmp_path, 10 * KB, MACHINE)
    assert large[STORES] == pytest.approx(2 * (1 + 0.2 * far))
    assert large[LOADS] == 2
    assert counters(tmp_path, KB // 2, MACHINE)[STORES] == 2


def test_other_machines_have_no_far_part(tmp_path):
    memories = tuple(
        replace(m, detail=replace(m.detail, near_bytes=None)) for m in MACHINE.memories
    )
    machine = replace(MACHINE, memories=memories)
    assert counters(tmp_path, 10 * KB, machine)[STORES] == 2
