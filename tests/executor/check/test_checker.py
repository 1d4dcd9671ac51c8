"""What findings say, and what a checked run leaves behind."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_run import arguments, compiled, run

from placewise.errors import ExecutionError
from placewise.executor import DeviceMemory, execute
from placewise.executor.check import Checker, Kind, Severity
from placewise.kernel.launch import Inputs, Launch

KERNELS = """
__global__ void fill(float *a, int n) {
    int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 0.5f * i;
}
__global__ void gather(const int *index, const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[index[i]] + 1.0f;
}
__global__ void row(float *image, int x) {
    image[threadIdx.x * 8 + x] = 1.0f;
    image[threadIdx.x * 8 + x] = image[((threadIdx.x + 1) % 4) * 8 + x] + threadIdx.x;
}
__global__ void copy(const float *in, float *out) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void one(int *flag) { *flag = 1; }
__global__ void halves(unsigned short *a) {
    a[threadIdx.x] = threadIdx.x;
    unsigned *words = reinterpret_cast<unsigned *>(a);
    if (threadIdx.x < 16) words[threadIdx.x] += 1;
}
__global__ void vectors(float *out, int written, int used) {
    __shared__ __align__(16) float tile[32 * 4];
    float *mine = tile + 4 * threadIdx.x;
    for (int k = 0; k < written; k++) mine[k] = k;
    __syncwarp();
    asm volatile("" ::: "memory");
    float4 v = *reinterpret_cast<float4 *>(mine);
    out[threadIdx.x] = used > 3 ? v.x + v.w : v.x;
}
__global__ void three(float *out, int written) {
    __shared__ __align__(16) float tile[32 * 4];
    float *mine = tile + 4 * threadIdx.x;
    for (int k = 0; k < written; k++) mine[k] = k;
    __syncwarp();
    asm volatile("" ::: "memory");
    float4 v = *reinterpret_cast<float4 *>(mine);
    out[threadIdx.x] = v.x + v.y * v.z;
}
__global__ void counted(int *flag, int *out) {
    if (blockIdx.x) out[0] = *flag;
    else atomicAdd(flag, 1);
}
"""


def checked(kernel, grid, block, **values):
    checker = Checker()
    result = run(KERNELS, kernel, grid, block, options={"check": checker}, **values)
    return checker, result


def test_an_access_out_of_bounds_is_told_in_full_and_the_run_goes_on():
    n = np.int32(1003)
    checker, result = checked("fill", (2, 4), 128, a=np.zeros(1000, np.float32), n=n)
    (finding,) = checker.findings
    assert finding.kind is Kind.out_of_bounds
    assert finding.severity is Severity.error
    assert finding.array == "a"
    assert finding.index == (1000,)
    assert finding.byte_offset == 4000
    assert finding.count == 3
    assert finding.place.line == 4
    # Element 1000 is of linear block 7, thread 1000 - 7 * 128.
    assert finding.thread.block == (1, 3, 0)
    assert finding.thread.thread == (104, 0, 0)
    assert np.array_equal(result.output("a"), 0.5 * np.arange(1000, dtype=np.float32))
    with pytest.raises(ExecutionError, match="index 1000"):
        run(KERNELS, "fill", (2, 4), 128, a=np.zeros(1000, np.float32), n=n)


def test_loads_out_of_bounds_give_zero_and_every_lane_is_counted():
    rng = np.random.default_rng(3)
    index = rng.integers(-50, 150, 500).astype(np.int32)
    values = rng.random(100).astype(np.float32)
    checker, result = checked(
        "gather", 4, 128, index=index, **{"in": values}, out=np.zeros(500, np.float32),
        n=np.int32(500),
    )  # fmt: skip
    inside = (index >= 0) & (index < 100)
    (finding,) = checker.findings
    assert finding.count == np.count_nonzero(~inside)
    assert finding.index == (index[~inside][0],)
    wanted = np.where(inside, values[np.clip(index, 0, 99)], 0) + np.float32(1)
    assert np.array_equal(result.output("out"), wanted)


def test_races_name_both_threads_and_the_element_of_a_matrix():
    checker, _ = checked("row", 1, 4, image=np.zeros((4, 8), np.float32), x=np.int32(5))
    finding = next(f for f in checker.findings if f.counts)
    assert finding.kind is Kind.global_race
    assert finding.severity is Severity.warning
    assert finding.index is not None
    assert finding.index[1] == 5
    assert finding.thread != finding.other_thread
    assert finding.other_place is not None
    assert {finding.place.line, finding.other_place.line} <= {11, 12}


def test_the_same_value_by_all_is_a_note():
    checker, _ = checked("one", 4, 64, flag=np.zeros(1, np.int32))
    assert {f.severity for f in checker.findings} == {Severity.note}
    assert checker.clean


def test_parts_of_one_word_are_told_apart():
    checker, _ = checked("halves", 1, 32, a=np.zeros(32, np.uint16))
    # Lanes 2k and 2k + 1 write the halves of word k, which lane k then changes.
    assert {f.place.line for f in checker.findings} == {19}
    checker, _ = checked("halves", 1, 1, a=np.zeros(32, np.uint16))
    assert not checker.findings


def test_elements_that_a_vector_load_brings_along_need_no_value():
    out = np.zeros(32, np.float32)
    checker, result = checked("three", 1, 32, out=out, written=np.int32(3))
    assert not checker.findings
    assert np.array_equal(result.output("out"), np.full(32, 2.0, np.float32))
    # Of bytes that are used some may still be loaded ahead of a condition: a note.
    for kernel, given in (("three", {"written": 2}), ("vectors", {"written": 3, "used": 0})):
        numbers = {name: np.int32(number) for name, number in given.items()}
        checker, _ = checked(kernel, 1, 32, out=out, **numbers)
        assert {f.kind for f in checker.findings} == {Kind.uninitialised}
        assert checker.clean
    checker, _ = checked("three", 1, 32, out=out, written=np.int32(0))
    assert {f.severity for f in checker.findings} == {Severity.error}


def test_memory_is_initialised_by_earlier_launches():
    memory = DeviceMemory()
    fresh = memory.alloc("fresh", 64, np.float32)
    out = memory.upload("out", np.zeros(64, np.float32))
    fill, copy = compiled(KERNELS, "fill"), compiled(KERNELS, "copy")
    checker = Checker()
    shape = Launch((1, 1, 1), (64, 1, 1))
    memory.launch(fill, shape, [fresh, np.int32(60)], check=checker)
    assert not checker.findings
    memory.launch(copy, shape, [fresh, out], check=checker)
    (finding,) = checker.findings
    assert finding.kind is Kind.uninitialised
    assert finding.count == 4
    assert finding.index == (60,)
    assert finding.launch == 1
    fresh.write(np.ones(4, np.float32), 60)
    again = Checker()
    memory.launch(copy, shape, [fresh, out], check=again)
    assert not again.findings


def test_a_mistake_of_every_launch_is_one_finding():
    memory = DeviceMemory()
    short, long = (memory.upload(n, np.zeros(k, np.float32)) for n, k in (("a", 60), ("b", 64)))
    fill = compiled(KERNELS, "fill")
    checker = Checker()
    for array in (long, short, short, long, short):
        memory.launch(fill, Launch((1, 1, 1), (64, 1, 1)), [array, np.int32(64)], check=checker)
    (finding,) = checker.findings
    assert finding.kind is Kind.out_of_bounds
    assert (finding.array, finding.index) == ("a", (60,))
    assert finding.count == 3 * 4
    assert (finding.launch, finding.launches) == (1, 3)
    assert checker.launches == 5


def test_too_many_accesses_out_of_bounds_end_the_run():
    checker = Checker(bad_limit=100)
    run(
        KERNELS, "fill", 64, 256, a=np.zeros(10, np.float32), n=np.int32(1 << 20),
        options={"check": checker},
    )  # fmt: skip
    (finding,) = checker.findings
    assert 100 <= finding.count < 64 * 256
    assert "ended after" in checker.remarks[0]


def test_a_checked_run_computes_and_counts_the_same():
    rng = np.random.default_rng(5)
    inputs = Inputs(
        arguments(
            index=rng.integers(0, 100, 500).astype(np.int32),
            values=rng.random(100).astype(np.float32),
            out=np.zeros(500, np.float32),
            n=np.int32(500),
        )
    )
    launch = Launch((4, 1, 1), (128, 1, 1))
    kernel = compiled(KERNELS, "gather")
    checker = Checker()
    plain, watched = execute(kernel, launch, inputs), execute(kernel, launch, inputs, check=checker)
    assert not checker.findings
    assert plain.output("out").tobytes() == watched.output("out").tobytes()
    assert plain.thread_instructions == watched.thread_instructions
    assert plain.site_executions.tolist() == watched.site_executions.tolist()
    assert plain.written == watched.written


def test_a_plain_read_races_an_atomic_of_another_block():
    checker, _ = checked("counted", 2, 1, flag=np.zeros(1, np.int32), out=np.zeros(1, np.int32))
    (message,) = {f.message for f in checker.findings}
    # Which of the two comes second is up to the threads that run the blocks.
    assert "races an atomic by another block" in message or "races a read by another" in message
