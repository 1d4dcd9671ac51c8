"""Rules of the lint on kernels whose traffic is known by hand; savings beside mended kernels."""

from dataclasses import replace

import numpy as np
import pytest

import placewise
from placewise import make_case
from placewise.advisor.lint import Rule
from placewise.advisor.lint_rules.hints import dropped_hints
from placewise.advisor.lint_rules.partly_used import partly_used
from placewise.advisor.lint_rules.redundant import redundant_loads, reuse_of
from placewise.advisor.lint_rules.registers import FEW, with_fewer_registers
from placewise.advisor.lint_rules.whole import lint_launch
from placewise.advisor.predictions.predicted_counters import predict_counters
from placewise.memory.occupancy import occupancy

SOURCE = """
extern "C" __global__ void table(const float *t, float *o) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;
    for (int k = 0; k < 64; ++k) s += t[k] * i;
    o[i] = s; }
extern "C" __global__ void updated(float *t, float *o) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;
    for (int k = 0; k < 64; ++k) s += t[k] * i;
    o[i] = s; if (i == 0) t[0] = s; }
extern "C" __global__ void once(const float *t, float *o) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; o[i] = t[i]; }
extern "C" __global__ void first(const float *t, float *o) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 32 == 0) o[i / 32] = t[i]; }
extern "C" __global__ void sums(const float *t, float *o) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;
    for (int k = 0; k < 8; ++k) s += t[8 * i + k];
    o[i] = s; }
extern "C" __global__ void hinted(const float *t, float *o) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; float v;
    asm("ld.global.nc.L1::no_allocate.L2::256B.f32 %0, [%1];" : "=f"(v) : "l"(t + i));
    o[i] = v; }
extern "C" __global__ void turned(const float *t, float *o) {
    __shared__ float tile[32][32 + PAD];
    int x = threadIdx.x, y = threadIdx.y; float s = 0;
    for (int k = 0; k < 16; ++k) {
        tile[y][x] = t[(blockIdx.x * 16 + k) * 1024 + y * 32 + x];
        __syncthreads();
        for (int j = 0; j < 8; ++j) s += tile[x][(y + j) % 32];
        __syncthreads();
    }
    o[blockIdx.x * 1024 + y * 32 + x] = s; }
extern "C" __global__ void columns(const float *t, float *o, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    o[y * n + x] = t[TRANSPOSED ? x * n + y : y * n + x]; }
"""
N = 65536


def case(kernel, size=N, block=128, threads=N, scalars=(), **defines):
    arguments = [np.ones(size, np.float32), np.zeros(threads, np.float32), *scalars]
    shape = {"grid": threads // block, "block": block} if isinstance(block, int) else {
        "grid": block[1], "block": block[0]
    }  # fmt: skip
    return make_case(
        kernel, SOURCE, arguments, defines={"PAD": "0", "TRANSPOSED": "0"} | defines, **shape
    )


def counted(kernel, machine="A100", **settings):
    return predict_counters(case(kernel, **settings), machine)


def test_a_table_that_all_threads_walk_is_loaded_again_and_again():
    report = counted("table", size=64)
    (reuse,) = reuse_of(report.run, report)
    # 4 warps ask for each of 64 numbers, one (vector) load for each or for some at a time.
    assert reuse.array == "t"
    assert reuse.distinct == 64 * 4 / 32
    assert reuse.asked in (4 * 64, 4 * 64 / 2, 4 * 64 / 4)
    assert reuse.one_address
    (remark,) = redundant_loads(report)
    assert remark.line.line == 4
    assert "constant memory would serve all lanes at once" in remark.message


@pytest.mark.parametrize("kernel", ["updated", "once", "sums"])
def test_data_that_is_written_or_loaded_once_is_no_redundant_load(kernel):
    assert redundant_loads(counted(kernel, size=8 * N)) == []


def test_one_element_of_each_sector_is_a_partly_used_sector():
    (remark,) = partly_used(counted("first").run)
    assert (remark.rule, remark.array, remark.times) == (Rule.partly_used, "t", 8.0)
    # Also where the counters are numbers of NumPy.
    assert type(remark.warning) is bool
    assert "at most 4 of the 32 bytes" in remark.message
    assert remark.warning


@pytest.mark.parametrize("kernel", ["once", "sums", "table"])
def test_sectors_whose_elements_are_all_used_are_not(kernel):
    assert partly_used(counted(kernel, size=8 * N).run) == []


@pytest.mark.parametrize(("machine", "number"), [("A100", 1), ("H100", 0)])
def test_hints_that_did_not_survive_are_notes(machine, number):
    # The compiler shortens this prefetch for sm_80 alone.
    found = dropped_hints(counted("hinted", machine).run.kernel)
    assert len(found) == number
    for remark in found:
        assert not remark.warning
        assert remark.line.line == 21
        assert "L2::256B" in remark.message


@pytest.mark.parametrize("registers", [*range(30, 90), 128, 129, 255])
@pytest.mark.parametrize("threads", [96, 256, 640])
def test_fewer_registers_help_as_occupancy_says(registers, threads):
    run = counted("once").run
    launch = replace(run.launch, block=(threads, 1, 1), grid=(100_000, 1, 1))
    kernel = replace(run.kernel, registers=registers)

    def blocks(count):
        return occupancy(launch, run.machine, registers=count, shared_bytes=0).blocks

    now = occupancy(launch, run.machine, registers=registers, shared_bytes=0)
    found = with_fewer_registers(replace(run, launch=launch, kernel=kernel, occupancy=now))
    better = [n for n in range(1, FEW + 1) if blocks(registers - n) > now.blocks]
    assert (found[0] if found else None) == (better[0] if better else None)


def test_a_launch_without_blocks_to_spare_lost_no_occupancy():
    run = counted("once").run
    launch = replace(run.launch, block=(256, 1, 1), grid=(200, 1, 1))
    now = occupancy(launch, run.machine, registers=33, shared_bytes=0)
    small = replace(run, launch=launch, kernel=replace(run.kernel, registers=33), occupancy=now)
    assert with_fewer_registers(small) is None
    assert with_fewer_registers(replace(small, launch=replace(launch, grid=(2000, 1, 1))))


MENDED = {
    "turned": (Rule.bank_conflict, {"PAD": "0"}, {"PAD": "1"}),
    "columns": (Rule.uncoalesced, {"TRANSPOSED": "1"}, {"TRANSPOSED": "0"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("kernel", MENDED)
def test_a_saving_is_about_what_the_mended_kernel_saves(kernel):
    rule, wrong, right = MENDED[kernel]
    settings = {"threads": 1024 * 1024, "size": 1024 * 1024 * 16}
    if kernel == "turned":
        settings |= {"block": ((32, 32), (1024, 1))}
    else:
        settings |= {"block": ((32, 32), (32, 32)), "scalars": (np.int32(1024),)}
    remarks = lint_launch(counted(kernel, **settings, **wrong))
    (saving,) = {r.saving for r in remarks if r.rule is rule}
    before = placewise.predict_time(case(kernel, **settings, **wrong), "A100").milliseconds
    after = placewise.predict_time(case(kernel, **settings, **right), "A100").milliseconds
    assert saving == pytest.approx(1.0 - after / before, abs=0.1)
    assert saving > 0.1


def test_where_no_time_is_predicted_no_saving_is():
    remarks = lint_launch(counted("columns", "K20c", threads=1024 * 1024, size=1024 * 1024,
                                  block=((32, 32), (32, 32)), scalars=(np.int32(1024),),
                                  TRANSPOSED="1"))  # fmt: skip
    assert [r.rule for r in remarks] == [Rule.uncoalesced]
    assert remarks[0].saving is None


def test_the_greatest_saving_comes_first():
    savings = [r.saving for r in lint_launch(predict_counters("spmv", "A100"))]
    assert savings == sorted(savings, reverse=True)


@pytest.mark.parametrize(("block", "warning"), [(128, None), (48, False), (8, True)])
def test_blocks_that_leave_lanes_idle_are_named(block, warning):
    report = counted("once", block=block, threads=N // block * block)
    found = [r for r in lint_launch(report) if r.rule is Rule.block_size]
    assert [r.warning for r in found] == ([] if warning is None else [warning])
    assert all(r.message.startswith(f"blocks of {block} threads leave ") for r in found)
