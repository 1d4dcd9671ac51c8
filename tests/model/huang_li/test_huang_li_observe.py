"""What is observed of a launch, and of one whose arrays are seen elsewhere, counted by hand."""

import numpy as np
import pytest

from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.machine import load_machine
from placewise.memory.simulate.launch import simulate_launch
from placewise.model.base import Evidence
from placewise.model.hu_liu import hu_liu_model
from placewise.model.huang_li.model import huang_li_model
from placewise.model.huang_li.observe import observe
from placewise.model.huang_li.replays import global_passes
from placewise.model.roofline import roofline_model
from placewise.model.timeline.pace import l2_bytes_per_cycle

SIZE, WARPS = 4096, 128
SOURCE = """
__global__ void twice(const float *a, float *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = 2 * a[i];
}
"""
MACHINE = load_machine("A4000")


@pytest.fixture(scope="module")
def launch():
    zeros = np.zeros(SIZE, np.float32)
    case = make_case(
        "twice", SOURCE, [zeros, zeros.copy(), np.int32(SIZE)], block=128, problem=SIZE,
        arch="sm_86",
    )  # fmt: skip
    case = named_case(case)
    return compile_case(case), case.launch, case.inputs


def run(launch, placement=None):
    return simulate_launch(*launch, MACHINE, placement=placement)


def test_streaming_kernel(launch):
    """128 warps on 32 SMs, a load and a store each; every load misses L1 and L2, four sectors of a
    line at a time; stores go to L2 and no further."""
    seen = observe(run(launch), MACHINE)
    assert (seen.total_warps, seen.active_sms, seen.resident_warps) == (WARPS, 32, 4)
    assert (seen.global_.requests, seen.global_.first_misses) == (2 * WARPS, 2 * WARPS)
    assert (seen.global_.dram, seen.dram_sectors) == (WARPS, 4 * WARPS)
    assert seen.requests == seen.off_chip == 2 * WARPS
    assert seen.replays.total == 0
    assert seen.passes_per_request == 1
    # The load and the store each wait for what is before them.
    assert seen.mlp == 1
    assert seen.instructions == run(launch).execution.warp_instructions / WARPS


@pytest.mark.parametrize(
    ("space", "kind", "instructions"),
    [("texture", "texture", -1), ("constant", "constant", 0), ("shared", "shared", -1)],
)
def test_moved_array_counts_where_it_is_seen(launch, space, kind, instructions):
    """IMAD.WIDE makes the global address; a texture and, on sm_86, shared memory need none, and
    constant memory a shift."""
    before = observe(run(launch), MACHINE)
    placement = {"a": space}
    after = observe(run(launch, placement), MACHINE, placement)
    assert getattr(after, kind).requests == WARPS
    assert after.global_.requests == WARPS
    assert after.instructions - before.instructions == instructions


def test_different_addresses_in_constant_memory_are_replays(launch):
    placement = {"a": "constant"}
    seen = observe(run(launch, placement), MACHINE, placement)
    assert seen.replays.constant_divergence == 31 * WARPS
    # Lines of constant memory come from DRAM once: 4,096 floats are 512 sectors.
    assert seen.dram_sectors == SIZE * 4 / 32


def test_models_answer_and_name_their_parts(launch):
    evidence = Evidence(run=run(launch))
    for model in (huang_li_model(), roofline_model(), hu_liu_model()):
        found = model.predict(evidence, MACHINE)
        assert found.absolute
        assert found.total > 0
        low, high = found.uncertainty
        assert low <= found.total <= high
        assert found.parts
        assert found.nanoseconds > 0
    # 4,096 floats read and none written back, at the peak bandwidth.
    parts = {p.path: p.cycles for p in roofline_model().predict(evidence, MACHINE).parts}
    clock, bandwidth = MACHINE.limits.clock_mhz, MACHINE.limits.dram_bandwidth_gb_per_s
    assert parts["DRAM"] == pytest.approx(4 * SIZE / bandwidth * clock / 1e3)
    assert parts["fp32"] == pytest.approx(WARPS * 32 / (128 * 48))
    # 2 × 4 sectors for each warp, one after the other at 32 bytes over the bandwidth.
    hu = hu_liu_model().predict(evidence, MACHINE)
    assert hu.nanoseconds == pytest.approx(8 * WARPS * 32 / bandwidth)


NEIGHBOURS = """
__global__ void neighbours(const float *a, float *b, int step) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * step;
    float sum = 0;
    #pragma unroll
    for (int j = 0; j < 8; ++j) sum += a[i + j + 1];
    b[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


def neighbours(step):
    arrays = [np.zeros(SIZE * step + 8, np.float32), np.zeros(SIZE, np.float32), np.int32(step)]
    case = named_case(
        make_case("neighbours", NEIGHBOURS, arrays, block=128, problem=SIZE, arch="sm_86")
    )
    return compile_case(case), case.launch, case.inputs


def test_loads_at_fixed_distances_take_one_address():
    """Eight loads of a thread have one address in registers: moving them to shared memory, which
    needs no multiply-add, saves one instruction and not eight."""
    parts, placement = neighbours(1), {"a": "shared"}
    before = observe(simulate_launch(*parts, MACHINE), MACHINE)
    after = observe(simulate_launch(*parts, MACHINE, placement=placement), MACHINE, placement)
    assert after.shared.requests == 8 * WARPS
    assert after.instructions - before.instructions == -1


def test_words_side_by_side_across_two_lines_take_a_pass_since_volta():
    """Loads that begin one to eight words inside a line touch two lines and read 128 bytes. With a
    step of 32 words every lane has a line of its own. On Kepler each line is a replay."""
    dense = simulate_launch(*neighbours(1), MACHINE)
    load = next(t for t in dense.traffic.sites if t.array == "a")
    assert load.lines == 2 * load.requests
    assert global_passes(load, (8, 6)) == 1.25 * load.requests
    assert global_passes(load, (3, 7)) == 2 * load.requests
    scattered = simulate_launch(*neighbours(32), MACHINE)
    load = next(t for t in scattered.traffic.sites if t.array == "a")
    assert global_passes(load, (8, 6)) == global_passes(load, (3, 7)) == 32 * load.requests


def test_l2_has_what_several_blocks_stage(launch):
    """DRAM delivers each byte once, L2 every copy."""
    placement = {"a": "shared"}
    moved = run(launch, placement)

    def staging(copied, once):
        seen = observe(moved, MACHINE, placement, staged_bytes=copied, staged_once=once)
        return huang_li_model().parts(seen, MACHINE).staging

    limits = MACHINE.limits
    of_dram = limits.dram_bandwidth_gb_per_s / limits.clock_mhz * 1e3
    assert staging(1e8, 0.0) == pytest.approx(1e8 / of_dram)
    assert staging(1e8, 5e7) == pytest.approx(5e7 / of_dram)
    assert staging(1e9, 1e6) == pytest.approx(1e9 / l2_bytes_per_cycle(MACHINE))
