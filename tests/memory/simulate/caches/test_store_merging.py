"""Neighbouring stores to the same sectors: by hand, and against sets."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.machine import load_machine
from placewise.memory.simulate.caches.store_merging import count_neighbours
from placewise.memory.simulate.launch import simulate_launch
from placewise.memory.simulate.metrics.ncu_metrics import launch_metrics
from placewise.memory.simulate.requests.line_requests import (
    LINE_BIT,
    SECTOR_BIT,
    STREAM_BIT,
    new_buffer,
)

STORES = np.array([False, True, True, True])
WRITES = "lts__t_sectors_op_write.sum"


def buffer_of(segments):
    """Segments of accesses ``(pair, ((line, sectors), …))``."""
    words, rows = [], []
    for n, accesses in enumerate(segments):
        rows.append((n, 0, len(words)))
        for stream, requests in accesses:
            words += [
                (a << LINE_BIT) | (s << SECTOR_BIT) | (stream << STREAM_BIT) for a, s in requests
            ]
    return new_buffer(1)._replace(
        request=np.array([*words, 0], np.int64),
        segment=np.array([*rows, (0, 0, 0)], np.int64),
        used=np.array([len(words), len(segments)], np.int64),
    )


def count(segments, left_out=()):
    shared = np.zeros(len(STORES), np.int64)
    count_neighbours(buffer_of(segments), STORES, np.isin(np.arange(len(STORES)), left_out), shared)
    return shared.tolist()


def test_only_the_store_just_before_counts():
    a, b = ((7, 0b0011), (9, 0b1000)), ((7, 0b0110), (9, 0b1000))
    assert count([[(1, a), (2, b)]]) == [0, 0, 2, 0]
    assert count([[(1, a), (3, ((8, 0b1111),)), (2, b)]]) == [0, 0, 0, 0]
    assert count([[(1, a), (0, a), (2, b)]]) == [0, 0, 0, 0]
    assert count([[(1, a), (0, a), (2, b)]], [0]) == [0, 0, 2, 0]
    assert count([[(1, a), (0, a), (1, b)]], [0]) == [0, 0, 0, 0], "its own store"
    assert count([[(1, a)], [(2, b)]]) == [0, 0, 0, 0], "another warp"
    assert count([]) == [0, 0, 0, 0]


access = st.tuples(
    st.integers(0, 3),
    st.dictionaries(st.integers(0, 3), st.integers(1, 15), min_size=1, max_size=3).map(
        lambda d: tuple(d.items())
    ),
)


@given(st.lists(st.lists(access, max_size=8), max_size=4))
def test_against_sets_of_sectors(segments):
    segments = [s for s in segments if s]
    for s in segments:  # one instruction does not follow itself here
        for k in range(len(s) - 1, 0, -1):
            if s[k][0] == s[k - 1][0]:
                del s[k]
    wanted = [0] * 4
    for s in segments:
        sets = [
            (p, {(a, n) for a, m in requests for n in range(4) if m >> n & 1}) for p, requests in s
        ]
        for (before, first), (stream, second) in pairwise(sets):
            if STORES[stream] and STORES[before]:
                wanted[stream] += len(first & second)
    assert count(segments) == wanted


SOURCE = """
extern "C" __global__ void halves(float *a) {
    float *row = a + (threadIdx.x / 4) * 64 + threadIdx.x % 4;
    row[0] = 1.0f;
    row[4] = 2.0f;
}
"""


def test_halves_of_a_sector_are_written_together(tmp_path):
    """A warp writes halves of eight sectors twice."""
    path = tmp_path / "halves.cu"
    path.write_text(SOURCE)
    case = make_case("halves", path, {"a": np.zeros(512, np.float32)}, block=32, grid=(1,))
    machine = load_machine("RTX2080Ti")
    l1 = next(m for m in machine.memories if m.name == "L1")
    for share in (None, 0.0, 0.25, 1.0):
        memories = tuple(
            replace(m, detail=replace(m.detail, merged_stores=share)) if m is l1 else m
            for m in machine.memories
        )
        kernel = compile_case(case)
        run = simulate_launch(kernel, case.launch, case.inputs, replace(machine, memories=memories))
        metrics = {m.name: m.value for m in launch_metrics(run)}
        assert metrics[WRITES] == pytest.approx(16 - 8 * (share or 0.0))
        assert metrics["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] == 16
