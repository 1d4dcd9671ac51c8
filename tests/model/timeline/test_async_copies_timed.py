"""Asynchronous copies in the timeline: what they occupy, and who waits for them, by hand."""

import numpy as np
import pytest

from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch, ScalarArgument
from placewise.machine import load_machine
from placewise.model import timeline_model
from placewise.model.evidence.evidence import evidence_of
from placewise.model.timeline.issues import Issue
from placewise.model.timeline.pace import l2_bytes_per_cycle, pace_of
from placewise.model.timeline.schedule import (
    AWAIT_COPIES,
    COMMIT_COPIES,
    COPY,
    Reach,
    Row,
    copies,
    instructions,
)
from placewise.model.timeline.warps import Pace, run

PACE = Pace(1, 0.0, 0.0, 200.0, 400.0, 5, 1.0, 10.0, 0.0)
"""One partition, endless bandwidth, no gaps: times that can be added up by hand."""
MATH = Row(0, 2.0, 0, 0.0, 0.0, 0.0, 4.0, -1, -1, 0, 0, 0.0, 0.0, 0.0, 0.0)
FETCH = Row(1, 1.0, 1, 2.0, 30.0, 10.0, 1.0, -1, -1, 0, 0, 128.0, 0.0, 1.0, 0.0, copies=COPY)
COMMIT = MATH._replace(pipe=2, stall=1.0, write_barrier=0, copies=COMMIT_COPIES)
WAIT_ALL = MATH._replace(pipe=2, stall=1.0, copies=AWAIT_COPIES)
WAIT_OLDER = WAIT_ALL._replace(copies=AWAIT_COPIES + 1)
ROWS = [MATH, FETCH, COMMIT, WAIT_ALL, WAIT_OLDER]


def issues_of(path):
    """(instructions, fields of Issue) of one warp that takes ``path`` through ROWS."""
    table = np.array(ROWS, np.float64)
    zero = np.zeros(1, np.int64)
    issues = np.zeros((len(path), len(Issue._fields)))
    run(
        table, np.array(path, np.int64), zero, np.array([len(path)]), np.zeros((1, 1), np.int64),
        1, zero, PACE, 1, issues,
    )  # fmt: skip
    return issues[:, Issue._fields.index("issued")]


def test_only_the_wait_waits():
    # The copy's turn ends at 2 and its data are there 200 later. The commit issues at 1, arithmetic
    # at 3 (a cycle of the commit's pipe does not matter to it) and 4 later, the wait at 202.
    found = issues_of([1, 2, 0, 0, 3, 0])
    assert found.tolist() == [0, 1, 2, 6, 202, 203]


def test_a_wait_may_leave_the_newest_group():
    # Two groups, 100 cycles of arithmetic between them: the first is there at 202, the second's
    # turn begins at 102 and its data are there at 304.
    path = [1, 2, *[0] * 25, 1, 2, 4, 0, 3]
    issued = dict(zip(range(len(path)), issues_of(path).tolist(), strict=True))
    assert issued[27] == 102
    assert issued[29] == 202
    assert issued[31] == 304


def test_without_copies_there_is_nothing_to_wait_for():
    assert issues_of([4, 3, 2, 4, 3]).tolist() == [0, 2, 4, 6, 8]


def test_a_group_ends_no_sooner_than_the_one_before():
    # An empty group behind a full one: waiting for all but the newest is waiting for the first.
    assert issues_of([1, 2, 2, 4])[-1] == 202


def test_a_copy_stores_in_turns_of_its_own():
    assert Reach(4.0, 4.0, full=4.0, stored=2.0).data_cycles(1.0) == 6.0
    assert Reach(0.0, 4.0, full=0.0, stored=4.0).data_cycles(2.0) == 8.0


PIPELINE = """
#include <cuda_pipeline.h>
extern "C" __global__ void fetched(const float *a, float *out, int n) {
    __shared__ __align__(16) float tile[2][1024];
    float sum = 0.0f;
    const int at = threadIdx.x * 4;
    __pipeline_memcpy_async(&tile[0][at], &a[at], 16);
    __pipeline_commit();
    for (int k = 0; k < n; k += 1024) {
        const int now = k / 1024 & 1;
        if (k + 1024 < n) __pipeline_memcpy_async(&tile[now ^ 1][at], &a[k + 1024 + at], 16);
        __pipeline_commit();
        __pipeline_wait_prior(LEFT);
        __syncthreads();
        for (int i = 0; i < 1024; i++) sum = sum * tile[now][i] + 1.0f;
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""
CHUNKS = 8


def predicted(left):
    kernel = compile_kernel(
        PIPELINE, "p.cu", "fetched", CompileOptions(arch="sm_80", defines=(("LEFT", str(left)),))
    )
    arrays = (
        ArrayArgument("a", np.ones(1024 * CHUNKS, np.float32)),
        ArrayArgument("out", np.zeros(256 * 108, np.float32)),
    )
    inputs = Inputs((*arrays, ScalarArgument("n", np.int32(1024 * CHUNKS))))
    machine = load_machine("A100")
    evidence = evidence_of(kernel, Launch((108, 1, 1), (256, 1, 1)), inputs, machine)
    return kernel, timeline_model().predict(evidence, machine), machine


@pytest.fixture(scope="module")
def overlapped():
    return predicted(1)


def test_copies_are_found_in_machine_code(overlapped):
    kernel, _, _ = overlapped
    code = instructions(kernel)
    kinds = dict(zip((i.offset for i in code), copies(code), strict=True))
    by_name = {name: {kinds[i.offset] for i in code if i.parts[0] == name} for name in
               ("LDGSTS", "LDGDEPBAR", "DEPBAR", "LDS", "BAR")}  # fmt: skip
    assert by_name == {
        "LDGSTS": {COPY},
        "LDGDEPBAR": {COMMIT_COPIES},
        "DEPBAR": {AWAIT_COPIES + 1},
        "LDS": {0},
        "BAR": {0},
    }


def test_what_copies_fetch_comes_from_l2(overlapped):
    _, found, machine = overlapped
    l2 = next(part for part in found.parts if part.path == "L2 bandwidth")
    fetched = next(term.cycles for term in l2.terms if term.array == "a")
    per_cycle = l2_bytes_per_cycle(machine)
    assert fetched == pytest.approx(108 * 4096 * CHUNKS / per_cycle, rel=0.01)


def test_overlapped_copies_hide_the_latency_of_all_but_the_first_chunk(overlapped):
    waiting = predicted(0)[1]
    _, hidden, machine = overlapped
    # A chunk is fetched from L2 at least, whose latency nothing else hides here.
    assert waiting.total - hidden.total > pace_of(machine, 108).l2_latency * (CHUNKS - 1)
