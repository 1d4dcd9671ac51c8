"""What warps wait for in the timeline: worked out by hand, and adding up for any program."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise import load_machine, make_case
from placewise.advisor.predictions.predicted_time import targeted
from placewise.kernel.cases.prepare_case import compile_case
from placewise.model import timeline_model
from placewise.model.evidence.evidence import evidence_of
from placewise.model.timeline.issues import Issue
from placewise.model.timeline.schedule import Row
from placewise.model.timeline.warps import Pace, run
from placewise.model.timeline.watch import REASONS, pipe_free

A100 = load_machine("A100")
PACE = Pace(1, 0.0, 0.0, 200.0, 400.0, 5, 1.0, 10.0, 0.0)
MATH = Row(0, 2.0, 0, 0.0, 0.0, 0.0, 4.0, -1, -1, 0, 0, 0.0, 0.0, 0.0, 0.0)
LOAD = Row(1, 1.0, 1, 2.0, 30.0, 10.0, 1.0, 0, -1, 0, 0, 0.0, 0.0, 0.0, 0.0)
USE = MATH._replace(waits=1)
SYNC = MATH._replace(pipe=2, busy=1.0, barrier=1)
ROWS = [MATH, LOAD, USE, SYNC]


def recorded(path, *, rows=ROWS, warps=1, blocks=1, resident=1, room=10_000, pace=PACE):
    issues = np.full((room, len(Issue._fields)), np.nan)
    one = np.zeros(1, np.int64)
    cycles = run(
        np.array(rows, np.float64), np.array(path, np.int64), one, np.array([len(path)]),
        np.zeros((1, warps), np.int64), resident, np.zeros(blocks, np.int64), pace, 1, issues,
    )  # fmt: skip
    return cycles, [Issue(*row) for row in issues[~np.isnan(issues[:, 0])].tolist()]


def test_a_user_waits_for_its_load():
    _, (load, use) = recorded([1, 2])
    assert (load.since, load.issued, load.producer) == (0, 0, -1)
    # The load's stall count has passed at 1, its turn ends at 2, and its result comes at 32.
    assert (use.since, use.fixed, use.data, use.code, use.issued) == (0, 1, 32, 32, 32)
    assert use.producer == 1


def test_a_warp_waits_for_the_others_at_a_barrier():
    _, issues = recorded([3, 0], warps=2)
    first, second = (i for i in issues if i.row == 0)
    # The barriers are issued at 0 and 1; both warps may go on 10 cycles after the second.
    # The scheduler prefers the one that it issued from last.
    assert (first.since, first.fixed, first.code, first.barrier) == (1, 5, 5, 11)
    assert (second.since, second.fixed, second.barrier) == (0, 4, 11)
    assert (first.issued, second.pipe, second.issued) == (11, 13, 13)


def test_recording_ends_where_its_room_does():
    cycles, issues = recorded([0] * 8, room=3)
    assert [i.issued for i in issues] == [0, 4, 8]
    assert cycles == recorded([0] * 8)[0]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=40),
    st.integers(1, 6), st.integers(1, 4), st.integers(1, 2), st.booleans(),
)  # fmt: skip
def test_recording_changes_nothing_and_leaves_no_gap(path, warps, blocks, resident, meets):
    path = [*path, 3, 0] if meets else path
    pace = PACE._replace(launch=50.0, code_lines=1, fetch=7.0)
    rows = [row._replace(line=n // 2) for n, row in enumerate(ROWS)]
    options = {"rows": rows, "warps": warps, "blocks": blocks, "resident": resident, "pace": pace}
    cycles, issues = recorded(path, **options)
    assert recorded(path, **options, room=0) == (cycles, [])
    assert len(issues) == len(path) * warps * blocks
    assert len({i.issued for i in issues}) == len(issues), "one partition issues one a cycle"
    by_warp = {}
    for issue in issues:
        times = issue[4:]
        assert list(times) == sorted(times)
        before = by_warp.get(issue.warp)
        if before is not None:
            assert issue.since == before.issued
        by_warp[issue.warp] = issue
    assert max(i.issued for i in issues) + 1 <= cycles


SUM = """__global__ void sum(const float *a, float *out) {
    __shared__ float part[128];
    float x = a[(blockIdx.x * 128 + threadIdx.x) * 32];
    part[threadIdx.x] = x;
    __syncthreads();
    out[blockIdx.x * 128 + threadIdx.x] = part[127 - threadIdx.x];
}"""


@pytest.fixture(scope="module")
def watched():
    arguments = [np.ones(64 * 128 * 32, np.float32), np.zeros(64 * 128, np.float32)]
    case = targeted(make_case("sum", SUM, arguments, block=128, grid=64), A100)
    kernel = compile_case(case)
    evidence = evidence_of(kernel, case.launch, case.inputs, A100)
    return timeline_model().watch(evidence, A100)


def test_reasons_are_those_of_the_code(watched):
    assert (watched.blocks, watched.block_warps, watched.slots) == (1, 4, 4)
    waits = dict(zip(REASONS, watched.waits.sum(axis=0).tolist(), strict=True))
    # Every warp waits for its own load from DRAM, whose latency is the longest by far.
    dram = A100.memories[-1].latency_cycles if A100.memories[-1].latency_cycles else 0
    assert waits["data of arrays"] >= 4 * 0.9 * max(dram, 300)
    assert waits["shared memory"] > 0
    assert waits["code"] >= 0
    others = sum(v for k, v in waits.items() if k != "data of arrays")
    assert waits["data of arrays"] > others


def test_waits_and_issues_fill_the_time_of_a_warp(watched):
    warp, since, issued = (Issue._fields.index(n) for n in ("warp", "since", "issued"))
    waits = watched.waits.sum(axis=1)
    for own in range(4):
        rows = np.flatnonzero(watched.issues[:, warp] == own)
        life = watched.issues[rows[-1], issued] + 1 - watched.issues[rows[0], since]
        assert waits[rows].sum() + len(rows) == pytest.approx(life)


def test_a_pipe_of_a_partition_is_waited_for_only_while_it_is_closed():
    # Ready at 10, the pipe of other warps' instructions until 14: open in every second cycle if it
    # takes two for each, in every cycle if it takes one; what queues for a shared pipe waits.
    rows = [MATH, MATH._replace(busy=1.0), LOAD]
    issues = np.zeros((3, len(Issue._fields)))
    issues[:, Issue._fields.index("barrier")] = 10.0
    issues[:, Issue._fields.index("pipe")] = 14.0
    found = pipe_free(np.array(rows, np.float64), np.arange(3), issues)
    assert found.tolist() == [12.0, 10.0, 14.0]
