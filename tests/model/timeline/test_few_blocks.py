"""Launches that leave SMs unevenly filled: what SMs share is shared by all, and no part is done
sooner than the busiest SM can do it."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from placewise import make_case, predict_time
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch, ScalarArgument
from placewise.machine import load_machine
from placewise.model import timeline_model
from placewise.model.evidence.evidence import evidence_of
from placewise.model.evidence.warp_paths import WarpPaths
from placewise.model.timeline.issues import NOT_RECORDED
from placewise.model.timeline.launch import course, sms_alike
from placewise.model.timeline.pace import dram_bytes_per_cycle
from placewise.model.timeline.schedule import Row
from placewise.model.timeline.warps import Pace, run

MACHINE = load_machine("RTX2080Ti")
PACE = Pace(1, 1.0, 0.0, 200.0, 400.0, 5, 1.0, 10.0, 0.0)
MATH = Row(0, 2.0, 0, 0.0, 0.0, 0.0, 4.0, -1, -1, 0, 0, 0.0, 0.0, 0.0, 0.0)
MISS = Row(1, 1.0, 1, 2.0, 30.0, 10.0, 1.0, 0, -1, 0, 0, 128.0, 0.0, 1.0, 0.0)
USE = MATH._replace(waits=1)


def timeline(rows, path, *, blocks, sms, resident=1, pace=PACE):
    zero = np.zeros(1, np.int64)
    return run(
        np.array(rows, np.float64), np.array(path, np.int64), zero, np.array([len(path)]),
        np.zeros((1, 1), np.int64), resident, np.zeros(blocks, np.int64), pace, sms,
        NOT_RECORDED,
    )  # fmt: skip


def paths_of(places, warps=1):
    zero = np.zeros(1, np.int64)
    return WarpPaths(
        np.array(places), zero, np.array([len(places)]), np.zeros((1, warps), np.int64),
        frozenset(), 1.0,
    )  # fmt: skip


def test_sms_share_the_bandwidth_of_l2():
    path = [0] * 50 + [1]
    # Its share of L2 gives one SM a byte a cycle; two SMs with a block each have two.
    alone = timeline([MISS, USE], path, blocks=1, sms=1)
    assert alone == pytest.approx(50 * 128 + 200, abs=10)
    assert timeline([MISS, USE], path, blocks=2, sms=2) == pytest.approx(alone, rel=0.02)
    # One block alone on the two has what the other leaves, unless the SM's port is narrower.
    both = timeline([MISS, USE], path, blocks=1, sms=2)
    assert both == pytest.approx(50 * 64 + 200, abs=10)
    narrow = PACE._replace(port_cycles_per_byte=1.0)
    assert timeline([MISS, USE], path, blocks=1, sms=2, pace=narrow) == alone


def test_blocks_go_to_whichever_sm_has_room():
    one = timeline([MATH], [0] * 100, blocks=1, sms=1)
    assert timeline([MATH], [0] * 100, blocks=3, sms=3) == one
    assert timeline([MATH], [0] * 100, blocks=4, sms=3) == pytest.approx(2 * one, rel=0.01)
    # Two on one SM hide each other's stalls.
    assert timeline([MATH], [0] * 100, blocks=4, sms=3, resident=2) < 1.1 * one


def test_a_few_sms_stand_for_all():
    assert sms_alike(68, 68) == 1
    assert sms_alike(4, 4) == 1
    # 7 blocks on 6 SMs are 1.167, 79 on 68 are 1.162.
    assert sms_alike(79, 68) == 6
    assert sms_alike(102, 68) == 2
    assert sms_alike(79, 68, most=0.5) == 1


@pytest.mark.parametrize("instructions", [10**6, 5_000, 10])
def test_what_overlaps_is_not_added_up(instructions):
    # Bound by the bandwidth that all SMs share: as long as 79 blocks on 68 SMs need on the
    # average, though some have two, however many SMs are run: 68, 6, or 1.
    table, offsets = np.array([MISS, USE], np.float64), np.array([0, 16])
    found = course(table, paths_of([0] * 200 + [16]), offsets, 4, 79, 68, PACE, instructions)
    assert found.total == pytest.approx(200 * 128 * 79 / 68, rel=0.03)
    # Bound by a pipe of the SM: as long as the SMs with two.
    table, offsets = np.array([MATH], np.float64), np.zeros(1, np.int64)
    found = course(table, paths_of([0] * 200, warps=2), offsets, 4, 79, 68, PACE, instructions)
    assert found.total == pytest.approx(2 * 200 * 2 * 2, rel=0.03)


COLUMNS = """extern "C" __global__ void sums(const float *a, float *to, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int r = 0; r < rows; r++) sum += a[r * columns + c];
    to[c] = sum; }"""


def test_a_column_sum_by_79_blocks_takes_what_dram_needs():
    rows, columns = 400, 79 * 256
    kernel = compile_kernel(COLUMNS, "c.cu", "sums", CompileOptions(arch="sm_75"))
    arrays = {"a": np.zeros(rows * columns, np.float32), "to": np.zeros(columns, np.float32)}
    inputs = Inputs(
        (
            *(ArrayArgument(name, values) for name, values in arrays.items()),
            ScalarArgument("rows", np.int32(rows)),
            ScalarArgument("columns", np.int32(columns)),
        )
    )
    evidence = evidence_of(kernel, Launch((79, 1, 1), (256, 1, 1)), inputs, MACHINE)
    found = timeline_model().predict(evidence, MACHINE)
    overhead = next(p.cycles for p in found.parts if p.path == "launch")
    needed = 4 * rows * columns / dram_bytes_per_cycle(MACHINE)
    assert found.total - overhead == pytest.approx(needed, rel=0.1)


MIXED = """
extern "C" __global__ void mixed(const float *a, float *to, int rounds, int step, int n) {
    __shared__ float tile[1024];
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f, x = threadIdx.x;
    tile[threadIdx.x] = x;
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        if (MEMORY) sum += a[(t * step + r * 32) & (n - 1)];
        if (SHARED) sum += tile[(threadIdx.x * step + r) & 1023];
        for (int k = 0; k < MATH; k++) x = x * 1.5f + sum;
    }
    if (t < n) to[t] = sum + x; }"""
N = 1 << 20
"""More elements than any launch here has threads, so that all blocks execute alike."""
_kernels = {}


def mixed(memory, shared, math):
    key = (("MEMORY", str(memory)), ("SHARED", str(shared)), ("MATH", str(math)))
    if key not in _kernels:
        options = CompileOptions(arch="sm_75", defines=key)
        _kernels[key] = compile_kernel(MIXED, "m.cu", "mixed", options)
    return _kernels[key]


@settings(max_examples=25, deadline=None)
@example(code=(1, 0, 0), grid=545, threads=1, rounds=1, step=0)
@given(
    code=st.sampled_from([(1, 0, 0), (0, 1, 4), (1, 1, 32), (0, 0, 64)]),
    grid=st.integers(1, 700),
    threads=st.integers(1, 1024),
    rounds=st.integers(1, 20),
    step=st.sampled_from([0, 1, 8, 33]),
)
def test_no_prediction_is_below_its_bounds(code, grid, threads, rounds, step):
    launch = Launch((grid, 1, 1), (threads, 1, 1))
    inputs = Inputs(
        (
            ArrayArgument("a", np.zeros(N, np.float32)),
            ArrayArgument("to", np.zeros(N, np.float32)),
            ScalarArgument("rounds", np.int32(rounds)),
            ScalarArgument("step", np.int32(step)),
            ScalarArgument("n", np.int32(N)),
        )
    )
    evidence = evidence_of(mixed(*code), launch, inputs, MACHINE)
    found = timeline_model().predict(evidence, MACHINE)
    parts = {p.path: p.cycles for p in found.parts}
    overhead = parts.pop("launch")
    assert found.total - overhead >= max(parts.values()) * (1 - 1e-9)
    # The busiest SM issues the instructions of so many blocks, one a cycle in each partition.
    busiest = -(-grid // MACHINE.processor.sms)
    issued = evidence.run.execution.warp_instructions / grid * busiest / 4
    assert found.total - overhead >= issued * (1 - 1e-9)
    assert parts["issue"] == pytest.approx(issued, rel=0.01)


HALVING = """
__global__ void halving(const float *x, float *sums) {
    extern __shared__ float tile[];
    int t = threadIdx.x;
    tile[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = tile[0];
}
"""


def test_a_warp_without_an_active_lane_takes_one_cycle_of_the_load_store_unit():
    threads, blocks = 512, 4096
    x, sums = np.ones(threads * blocks, np.float32), np.zeros(blocks, np.float32)
    case = make_case(
        "halving", HALVING, [x, sums], block=threads, grid=blocks, shared_bytes=4 * threads
    )
    (part,) = (
        p for p in predict_time(case, "RTX3060").prediction.parts if p.path == "load/store unit"
    )
    # Of 16 warps 8, 4, 2 and 1, and 1 for each of 5 further rounds, load two words and store one;
    # all store once, warp 0 loads the sum. Memory is read once and written once a block.
    shared = (8 + 4 + 2 + 1 + 5) * 3 + 16 + 1
    requests = (shared + 16 + 1) * blocks
    # In nine rounds all warps come to three instructions, and at the end to two, most of them idle.
    idle = (9 * 16 * 3 + 16 * 2) * blocks - (shared - 16 + 1) * blocks
    turns = 2  # 32 lanes on a unit 16 lanes wide
    busiest = -(-blocks // load_machine("RTX3060").processor.sms) / blocks
    assert part.cycles == pytest.approx((requests * turns + idle) * busiest, rel=0.1)
