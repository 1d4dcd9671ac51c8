"""The timeline against schedules worked out by hand, and the parts of its evidence."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.errors import UnsupportedError
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import (
    ArrayArgument,
    Inputs,
    Launch,
    ScalarArgument,
    TextureArgument,
)
from placewise.machine import load_machine
from placewise.model import Evidence, relative_times, timeline_model
from placewise.model.evidence.evidence import evidence_of
from placewise.model.evidence.warp_paths import WarpPaths, data_passes, full_passes, lines
from placewise.model.timeline.issues import NOT_RECORDED
from placewise.model.timeline.launch import course
from placewise.model.timeline.pace import dram_bytes_per_cycle, write_delay_cycles
from placewise.model.timeline.schedule import COLUMNS, FETCHED, Reach, Row, tag_cycles
from placewise.model.timeline.warps import Pace, run

A100 = load_machine("A100")
PACE = Pace(1, 0.0, 0.0, 200.0, 400.0, 5, 1.0, 10.0, 0.0)
"""One partition, endless bandwidth, no gaps: times that can be added up by hand."""
MATH = Row(0, 2.0, 0, 0.0, 0.0, 0.0, 4.0, -1, -1, 0, 0, 0.0, 0.0, 0.0, 0.0)
LOAD = Row(1, 1.0, 1, 2.0, 30.0, 10.0, 1.0, 0, -1, 0, 0, 0.0, 0.0, 0.0, 0.0)
USE = MATH._replace(waits=1)
SYNC = MATH._replace(pipe=2, busy=1.0, barrier=1)


def cycles(rows, path, *, warps=1, resident=1, blocks=1, pace=PACE, sms=1):
    table = np.array(rows, np.float64)
    table[:, COLUMNS.index("line")] = np.arange(len(rows)) // FETCHED
    path = np.array(path, np.int64)
    one = np.zeros(1, np.int64)
    order = np.zeros(blocks, np.int64)
    return run(
        table, path, one, np.array([len(path)]), np.zeros((1, warps), np.int64), resident, order,
        pace, sms, NOT_RECORDED,
    )  # fmt: skip


def test_stall_counts_pace_one_warp():
    # Issues at 0, 4, 8 and 12; the run ends in the cycle after the last issue.
    assert cycles([MATH], [0, 0, 0, 0]) == 13


def test_another_warp_fills_the_stalls_until_the_pipe_is_full():
    # Two cycles of the pipe for each of 4 · 16 instructions: 128, less what is left at the end.
    assert cycles([MATH], [0] * 16, warps=4) == pytest.approx(128, abs=6)
    # One warp alone: 15 stalls of 4 cycles.
    assert cycles([MATH], [0] * 16, warps=1) == 61


@pytest.mark.parametrize(("issue", "spent"), [(1.0, 64), (1.5, 96), (2.0, 128), (3.0, 192)])
def test_an_instruction_may_keep_the_scheduler_from_issuing(issue, spent):
    # 4 warps of 16 instructions for two pipes that take one each cycle: issue alone limits them.
    quick = MATH._replace(busy=1.0, stall=1.0, issue=issue)
    path = [0, 1] * 8
    found = cycles([quick, quick._replace(pipe=1)], path, warps=4)
    assert found == pytest.approx(spent, abs=issue)
    # Another partition's scheduler goes on meanwhile.
    apart = cycles([quick, quick._replace(pipe=1)], path, warps=4, pace=PACE._replace(partitions=2))
    assert apart == pytest.approx(spent / 2, abs=issue)


def test_a_result_is_waited_for():
    # Load at 0, its turn ends at 2, its result comes at 32; its user issues then.
    assert cycles([LOAD, USE], [0, 1]) == 33


def test_loads_queue_for_the_shared_pipe():
    # 40 loads of two passes by one warp: the pipe is busy for 80 cycles, then 30 to the result.
    assert cycles([LOAD, USE], [0] * 40 + [1]) == 40 * 2 + 30 + 1


def test_texture_fetches_and_loads_take_turns_in_l1():
    fetch = LOAD._replace(pipe=2, server=2, passes=8.0, latency=0.0, write_barrier=-1)
    path = [0, 1] * 20 + [2]
    # Side by side: the last load follows the twentieth fetch, which is sent when the pipe begins
    # with the fifth before it.
    assert cycles([fetch, LOAD, USE], path) == pytest.approx(14 * 8 + 2 + 30, abs=3)
    strided = fetch._replace(l1_passes=8.0)
    assert cycles([strided, LOAD, USE], path) == pytest.approx(20 * (8 + 2) + 30, abs=2)


def test_misses_wait_for_l2_and_its_bandwidth():
    miss = LOAD._replace(l2_bytes=128.0, misses=1.0)
    assert cycles([miss, USE], [0, 1]) == 2 + 200 + 1
    slow = PACE._replace(l2_cycles_per_byte=1.0)
    assert cycles([miss, USE], [0] * 4 + [1], pace=slow) == 2 + 4 * 128 + 200 + 1
    # Every second one misses: two of four queue up.
    half = LOAD._replace(l2_bytes=64.0, misses=0.5)
    assert cycles([half, USE], [0] * 4 + [1], pace=slow) == 2 + 4 * 64 + 200 + 1


def test_misses_of_l2_wait_for_dram():
    far = LOAD._replace(l2_bytes=32.0, dram_bytes=32.0, misses=1.0, far=1.0)
    assert cycles([far, USE], [0, 1]) == 2 + 400 + 1


def test_a_barrier_lets_all_go_on_together():
    # Two warps on one partition: the second's barrier issues at 1, both go on 10 cycles later.
    assert cycles([SYNC, MATH], [0, 1], warps=2) == 1 + 10 + 2 + 1


def test_blocks_follow_one_another():
    launch = PACE._replace(launch=50.0)
    one = cycles([MATH], [0] * 4, pace=launch)
    three = cycles([MATH], [0] * 4, blocks=3, pace=launch)
    assert one == 50 + 13
    assert three == 3 * (50 + 12) + 1
    # Side by side they hide each other's stalls.
    assert cycles([MATH], [0] * 4, blocks=2, resident=2, pace=launch) < one + 4


def test_lines_of_code_are_fetched_before_they_are_executed():
    slow = PACE._replace(code_lines=4, fetch=20.0)
    straight = list(range(32))
    # Eight instructions a line: each of the four lines is waited for 20 cycles from the issue
    # before it, the first one from the first issue on; seven stalls of 4 cycles in between.
    assert cycles([MATH] * 32, straight, pace=slow) == 4 * 20 + 1 + 6 * 4 + 3 * 7 * 4
    # A loop that fits is fetched once, one that does not in every round.
    twice = cycles([MATH] * 32, straight * 2, pace=slow)
    assert twice == cycles([MATH] * 32, straight, pace=slow) + 32 * 4
    small = slow._replace(code_lines=2)
    assert cycles([MATH] * 32, straight * 2, pace=small) == twice + 4 * 16
    # Warps of a partition share what they fetch, those of two partitions queue up.
    assert cycles([MATH] * 32, straight, pace=slow, warps=2) < twice / 1.5
    # The other partition's first line comes 20 cycles later, further ones while this one computes.
    apart = cycles([MATH] * 32, straight, pace=slow._replace(partitions=2), warps=2)
    assert apart == cycles([MATH] * 32, straight, pace=slow) + 20


def test_a_block_ends_when_its_stores_have_arrived():
    store = LOAD._replace(l2_bytes=32.0)
    pace = PACE._replace(drain=100.0, launch=50.0)
    # Its turn ends at 50 + 2, it has arrived 100 later; the next block begins 50 after that.
    assert cycles([store], [0], pace=pace) == 152
    assert cycles([store], [0], blocks=3, pace=pace) == 3 * 152


def test_dram_turns_between_reads_and_writes():
    # gpu-benches, gpu-stream on an A100, all SMs full, of 1,555 GB/s.
    for written, measured in ((0.0, 1490), (1 / 3, 1360), (0.5, 1381), (1.0, 1503)):
        own = dram_bytes_per_cycle(A100, written) * 1.41
        assert own == pytest.approx(measured, rel=0.03)


def paths_of_math(warps):
    zero = np.zeros(1, np.int64)
    return WarpPaths(
        np.zeros(64, np.int64), zero, np.array([64]), np.zeros((1, warps), np.int64), frozenset(),
        1.0,
    )  # fmt: skip


def test_a_long_launch_goes_on_as_it_began():
    table, offsets = np.array([MATH], np.float64), np.zeros(1, np.int64)
    found = course(table, paths_of_math(4), offsets, 2, 10_000, 10, PACE)
    # 4 warps · 64 instructions · 2 cycles of the pipe for each block.
    assert found.per_block == pytest.approx(512, rel=0.02)
    assert found.total == pytest.approx(1000 * 512, rel=0.02)


def test_a_short_launch_is_as_long_as_its_busiest_sm():
    table, offsets = np.array([MATH], np.float64), np.zeros(1, np.int64)
    one = course(table, paths_of_math(4), offsets, 2, 3, 3, PACE)
    assert one.total == pytest.approx(512, rel=0.02)


def strided(step, lane_bytes=4, start=0):
    lane = np.arange(32) * step * 4 + start
    return lane[None, :], np.ones((1, 32), bool), lane_bytes


@pytest.mark.parametrize(("step", "measured"), [(1, 1.0), (2, 2.0), (4, 4.0), (8, 8.0), (16, 16.0)])
def test_data_passes_are_bank_conflicts(step, measured):
    # gpu-benches, gpu-strides: cycles of strided loads of floats in L1 on an A100.
    assert data_passes(*strided(step))[0] == measured


@pytest.mark.parametrize(
    ("step", "measured"), [(1, 1.02), (3, 1.63), (5, 2.20), (7, 2.67), (9, 3.03), (31, 8.5)]
)
def test_tags_bound_odd_strides(step, measured):
    # No bank conflicts; the same source. Accesses start anywhere in a line there.
    assert data_passes(*strided(step))[0] == 1.0
    starts = range(0, 128, 4)
    touched = np.mean([lines(*strided(step, start=s))[0] for s in starts])
    aligned = step == 1
    found = tag_cycles(1.0 if aligned else float(touched), A100)
    assert found == pytest.approx(measured, rel=0.2)


def test_wide_loads_take_a_pass_for_each_128_bytes():
    wide = np.arange(32)[None, :] * 16
    assert data_passes(wide, np.ones((1, 32), bool), 16)[0] == 4.0
    assert lines(wide, np.ones((1, 32), bool), 16)[0] == 4.0
    some = np.arange(32)[None, :] < 8
    assert data_passes(wide, some, 16)[0] == 1.0


def test_a_turn_of_few_words_through_l1_takes_a_cycle():
    """Where the array moves 64 bytes a cycle: full turns take two, those of a word do not."""
    column = np.arange(32)[None, :] * 4096, np.ones((1, 32), bool), 4
    assert full_passes(*column)[0] == 1.0
    assert Reach(data_passes(*column)[0], 32.0, full=1.0).data_cycles(2.0) == 32.0
    assert full_passes(*strided(1))[0] == 1.0
    assert Reach(1.0, 1.0, full=1.0).data_cycles(2.0) == 2.0
    assert full_passes(*strided(0))[0] == 1 / 32
    # Recorded counters of shared memory say otherwise.
    assert Reach(32.0, 0.0).data_cycles(2.0) == 64.0


STREAM = """extern "C" __global__ void copy(const float4 *from, float4 *to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i]; }"""


def predicted(source, name, arrays, launch, machine=A100):
    kernel = compile_kernel(source, f"{name}.cu", name, CompileOptions(arch="sm_80"))
    n = arrays[0].size // 4
    arguments = [ArrayArgument(f"a{k}", a) for k, a in enumerate(arrays)]
    inputs = Inputs((*arguments, ScalarArgument("n", np.int32(n))))
    return timeline_model().predict(evidence_of(kernel, launch, inputs, machine), machine)


def test_a_copy_takes_what_dram_needs():
    n = 1 << 22
    arrays = [np.ones(4 * n, np.float32), np.zeros(4 * n, np.float32)]
    found = predicted(STREAM, "copy", arrays, Launch((n // 256, 1, 1), (256, 1, 1)))
    assert found.binding == "DRAM bandwidth"
    # What is read, and what is written but for a part that stays in L2.
    read = 16 * n / dram_bytes_per_cycle(A100)
    assert 1.4 * read <= found.total <= 2.2 * read
    low, high = found.uncertainty
    assert low < found.total < high
    assert found.nanoseconds == pytest.approx(found.total / 1.41)
    dram = next(part for part in found.parts if part.path == "DRAM bandwidth")
    assert {"a0"} <= {name for name, _ in dram.arrays}


def test_a_ratio_of_times_has_the_models_error():
    arrays = [np.ones(1 << 14, np.float32), np.zeros(1 << 14, np.float32)]
    one = predicted(STREAM, "copy", arrays, Launch((16, 1, 1), (256, 1, 1)))
    same = relative_times(one, one)
    assert (same.low, same.ratio, same.high, same.faster) == (1.0, 1.0, 1.0, 0.0)
    slower = replace(one, total=one.total * 1.1)
    ratio = relative_times(one, slower)
    assert ratio.low < ratio.ratio < ratio.high
    assert ratio.faster is not None
    assert ratio.faster > 0.5


def test_refusals():
    with pytest.raises(UnsupportedError, match="needs a simulated launch"):
        timeline_model().predict(Evidence(), A100)
    kernel = compile_kernel(STREAM, "copy.cu", "copy", CompileOptions(arch="sm_80"))
    inputs = Inputs(
        (
            ArrayArgument("from", np.ones(1024, np.float32)),
            ArrayArgument("to", np.ones(1024, np.float32)),
            ScalarArgument("n", np.int32(256)),
        )
    )
    evidence = evidence_of(kernel, Launch((1, 1, 1), (256, 1, 1)), inputs, A100)
    pipes = tuple(p for p in A100.pipes if p.name != "lsu")
    without = replace(A100, pipes=pipes)
    with pytest.raises(UnsupportedError, match=r"no pipe of A100 is known to run 'LDG"):
        timeline_model().predict(evidence, without)


def test_a_texture_is_read_from_dram_as_its_array_is():
    n = 1 << 20
    data, launch = np.ones(n, np.float32), Launch((n // 256, 1, 1), (256, 1, 1))
    found = []
    for parameter, read in (
        ("const float *", "x[i]"),
        ("cudaTextureObject_t ", "tex1Dfetch<float>(x, i)"),
    ):
        source = f"""extern "C" __global__ void copy({parameter}x, float *y) {{
            int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = {read}; }}"""
        kernel = compile_kernel(source, "copy.cu", "copy", CompileOptions(arch="sm_80"))
        x = TextureArgument("x", data) if "tex" in read else ArrayArgument("x", data)
        inputs = Inputs((x, ArrayArgument("y", np.zeros_like(data))))
        evidence = evidence_of(kernel, launch, inputs, A100)
        parts = timeline_model().predict(evidence, A100).parts
        found.append({p.path: p.cycles for p in parts if p.path.endswith("bandwidth")})
    assert found[0]["DRAM bandwidth"] > 0
    assert found[1] == pytest.approx(found[0], rel=0.01)


ATOMICS = """
extern "C" __global__ void one(int *bins, const int *keys, int n) {
    atomicAdd(bins, keys[threadIdx.x] | n);
}
extern "C" __global__ void many(int *bins, const int *keys, int n) {
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    atomicAdd(bins + (i * 2654435761u >> 20), 1);
}
"""


@pytest.mark.parametrize(("entry", "bound"), [("one", True), ("many", False)])
def test_atomics_on_one_address_come_one_after_the_other(entry, bound):
    blocks = 4096
    arrays = [np.zeros(4096, np.int32), np.zeros(256, np.int32)]
    found = predicted(ATOMICS, entry, arrays, Launch((blocks, 1, 1), (256, 1, 1)))
    part = next(p for p in found.parts if p.path == "atomics on one address")
    assert (found.binding == part.path) is bound
    if bound:
        # Each warp's lanes are added up first (by the compiler), or each of them counts.
        assert part.cycles in (blocks * 8, blocks * 256)
    else:
        # 4,096 addresses, hit alike.
        assert part.cycles < blocks * 256 / 100


def test_a_machine_file_says_how_long_an_atomic_on_one_address_takes():
    arrays = [np.zeros(4096, np.int32), np.zeros(256, np.int32)]
    launch = Launch((4096, 1, 1), (256, 1, 1))

    def cycles(machine):
        found = predicted(ATOMICS, "one", arrays, launch, machine)
        return next(p.cycles for p in found.parts if p.path == "atomics on one address")

    slow = replace(
        A100,
        memories=tuple(
            replace(m, detail=replace(m.detail, same_address_cycles=1.5))
            if m.name == A100.l2.name
            else m
            for m in A100.memories
        ),
    )
    assert cycles(slow) == pytest.approx(1.5 * cycles(A100))


FROM_DRAM = LOAD._replace(l2_bytes=128.0, dram_bytes=128.0, misses=1.0, far=1.0)
TO_DRAM = LOAD._replace(latency=0.0, write_barrier=-1, l2_bytes=128.0, dram_bytes=128.0)


def test_a_load_waits_longer_for_dram_that_is_busy_with_stores_too():
    # A load or a store takes DRAM 64 cycles.
    slow = PACE._replace(dram_cycles_per_byte=0.5)
    delayed = slow._replace(write_delay=1000.0)

    def extra(path):
        rows = [FROM_DRAM, USE, TO_DRAM]
        return cycles(rows, path, pace=delayed) - cycles(rows, path, pace=slow)

    assert extra([0, 1]) == 0.0
    # A store and a load: DRAM is busy for 128 of the first 401 cycles, half of them with the store.
    assert extra([2, 0, 1]) == pytest.approx(1000.0 * (128 / 401) ** 2, abs=1)
    # Three stores and a load: 256 of 403 cycles, of which three quarters.
    assert extra([2, 2, 2, 0, 1]) == pytest.approx(750.0 * (256 / 403) ** 2, abs=4)


def test_the_machine_file_says_how_long_loads_wait_for_stores():
    h200 = load_machine("H200")
    stated = h200.levels("global")[-1].detail.write_delay_ns
    assert write_delay_cycles(h200) == pytest.approx(stated * 1.98)
    assert write_delay_cycles(load_machine("L40")) == 0.0


STRIDED = """
extern "C" __global__ void strided(float *out, const float *in, int n) {
    __shared__ float tile[32 * 4];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float sum = 0.0f;
    int at = threadIdx.x % 32 * STEP % 128;
#pragma unroll 1
    for (int i = 0; i < 500; i++) {
        sum += tile[at] + tile[at ^ 1] + tile[at ^ 2] + tile[at ^ 3];
        at ^= i & 4;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


@pytest.mark.parametrize(("step", "wavefronts"), [(1, 1), (2, 2), (4, 4)])
def test_turing_moves_half_of_the_banks_in_a_cycle(step, wavefronts):
    # Counters of an RTX 2080 Ti: at most 49 % of one wavefront a cycle, however many a request has.
    machine = load_machine("RTX2080Ti")
    defines = (("STEP", str(step)),)
    kernel = compile_kernel(
        STRIDED, "s.cu", "strided", CompileOptions(arch="sm_75", defines=defines)
    )
    arrays = [ArrayArgument(name, np.zeros(1 << 17, np.float32)) for name in ("out", "in")]
    inputs = Inputs((*arrays, ScalarArgument("n", np.int32(0))))
    launch = Launch((68 * 8, 1, 1), (128, 1, 1))
    found = timeline_model().predict(evidence_of(kernel, launch, inputs, machine), machine)
    part = next(p for p in found.parts if p.path == "load/store unit")
    loads = 8 * 4 * 500 * 4
    assert part.cycles == pytest.approx(loads * wavefronts * 2, rel=0.05)
