"""Miss curves of a page against what can be worked out by hand, and the order of an SM's loads."""

import numpy as np
import pytest

import placewise
from placewise.report.html.charts.cache_curves import L2_LINES, cache_curves
from placewise.report.html.charts.sm_accesses import ARRAY_SHIFT, sm_accesses

KB = 1024
AGAIN = """__global__ void again(const float *a, float *out, int n) {
    float sum = 0.0f;
    for (int round = 0; round < 4; round++)
        for (int i = threadIdx.x; i < n; i += 32) sum += a[i];
    out[blockIdx.x * 32 + threadIdx.x] = sum;
}"""
PHASES = """__global__ void phases(const float *a, const float *b, float *out) {
    int i = blockIdx.x * 64 + threadIdx.x;
    float x = a[i] + a[i + 4096];
    __syncthreads();
    out[i] = x + b[i];
}"""


def counted(source, name, arguments, **launch):
    case = placewise.make_case(name, source, arguments, **launch)
    return placewise.predict_counters(case, "A100", lines=L2_LINES)


@pytest.fixture(scope="module")
def again():
    n = 64 * KB // 4
    arguments = [np.ones(n, np.float32), np.zeros(32, np.float32), np.int32(n)]
    report = counted(AGAIN, "again", arguments, block=32, grid=1)
    return report, cache_curves(report.run, sm_accesses(report.run, report.case.inputs))


def test_a_loop_over_more_than_a_cache_holds_misses_all(again):
    report, (l1, _) = again
    rates = dict(zip(l1["x"], l1["y"], strict=True))
    # LRU, 64 KB four times over: all is missed below, and the first round alone from 64 KB on.
    assert rates[32.0] == 100.0
    assert rates[64.0] == rates[128.0] == 25.0
    assert l1["x"] == sorted(l1["x"])
    assert l1["marks"] == [(192.0, "L1: 192 KB")]
    assert l1["title"].startswith("L1: loads of a block")
    # The simulated L1, which holds the array, agrees.
    loads = [s for s in report.run.traffic.sites if s.array == "a"]
    found = sum(s.l1_hits.value for s in loads) / sum(s.sectors for s in loads)
    assert found == pytest.approx(0.75)


def test_l2_sees_what_l1_missed(again):
    report, (_, l2) = again
    lines = report.run.traffic.arrived
    assert lines is not None
    # Every line of the array and of the output once: no cache of any size holds one before.
    assert len(np.unique(lines)) == 64 * KB // 128 + 1
    assert l2["y"][-1] == pytest.approx(100.0 * len(np.unique(lines)) / len(lines), abs=0.01)
    assert l2["marks"] == [(40960.0, "L2: 40 MB")]


def test_warps_of_an_sm_load_in_turn_and_wait_at_barriers():
    a, b = np.ones(8192, np.float32), np.ones(4096, np.float32)
    report = counted(PHASES, "phases", [a, b, np.zeros(4096, np.float32)], block=64, grid=64)
    seen = sm_accesses(report.run, report.case.inputs)
    assert seen is not None
    # 64 blocks on 108 SMs: the middle one has its SM to itself.
    assert (seen.middle, seen.blocks, seen.resident) == (32, 1, 1)
    first = 32 * 64 * 4 // 32
    of_a, of_b = (seen.arrays.index(name) << ARRAY_SHIFT for name in ("a", "b"))
    halves = [first + 4 * warp for warp in range(2)]
    expected = [of_a + s + n for s in halves for n in range(4)]
    expected += [of_a + 4096 * 4 // 32 + s + n for s in halves for n in range(4)]
    expected += [of_b + s + n for s in halves for n in range(4)]
    assert seen.loaded_sectors().tolist() == expected


def test_blocks_that_share_an_sm_are_looked_at_together():
    arguments = [np.ones(4096 * 64 * 2, np.float32), np.ones(4096 * 64, np.float32)]
    arguments.append(np.zeros(4096 * 64, np.float32))
    report = counted(PHASES, "phases", arguments, block=64, grid=4096)
    seen = sm_accesses(report.run, report.case.inputs)
    assert seen is not None
    assert seen.blocks == seen.resident == report.run.occupancy.blocks
    # Three loads of two warps of each block, four sectors each, none of them twice.
    sectors = seen.loaded_sectors()
    assert len(sectors) == len(np.unique(sectors)) == 3 * 2 * 4 * seen.blocks


def test_without_loads_there_is_no_curve_of_l1():
    source = "__global__ void fill(float *a) { a[blockIdx.x * 32 + threadIdx.x] = 1.0f; }"
    report = counted(source, "fill", [np.zeros(1024, np.float32)], block=32, grid=32)
    curves = cache_curves(report.run, sm_accesses(report.run, report.case.inputs))
    assert [c["title"].split(":")[0] for c in curves] == ["L2"]
