"""Races of random programs against all pairs of accesses, compared one by one."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_run import compiled
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from placewise.executor import DeviceMemory
from placewise.executor.check import Checker, Kind
from placewise.kernel.launch import Launch

PLAY = """
__global__ void play(const int *kinds, const int *places, const unsigned *masks, int steps,
                     int *memory, int *out) {
    __shared__ int cells[4];
    int t = threadIdx.x, n = blockDim.x, total = 0;
    if (t < 4) cells[t] = 0;
    __syncthreads();
    int *target = memory ? memory : cells;
    for (int k = 0; k < steps; k++) {
        int kind = kinds[k], at = places[k * n + t];
        if (kind == 0) {
            __syncthreads();
        } else if (kind == 1) {
            __syncwarp(masks[k * n + t]);
        } else if (at >= 0) {
            if (kind == 2) total += target[at];
            if (kind == 3) target[at] = 1000 * k + t + 1;
            if (kind == 4) atomicAdd(&target[at], 1);
        }
    }
    out[t] = total;
}
"""
BARRIER, SYNCWARP, LOAD, STORE, ATOMIC = range(5)
THREADS = 64
GROUPS = (0xFFFFFFFF, 0xFFFF, 0xFF, 0x3)
"""Lanes that synchronise together: neighbours in groups of 32, 16, 8 and 2."""


def mask_of(thread: int, group: int) -> int:
    size = GROUPS[group].bit_count()
    return GROUPS[group] << (thread % 32 // size * size)


def members(thread: int, group: int) -> set[int]:
    mask = mask_of(thread, group)
    return {thread // 32 * 32 + lane for lane in range(32) if mask >> lane & 1}


@st.composite
def programs(draw):
    """(kind, group, {thread: place}) of each step; few threads and places, so that they meet."""
    busy = draw(st.lists(st.sampled_from([0, 1, 2, 9, 17, 31, 32, 33, 50]), min_size=2, max_size=3))
    steps = []
    for _ in range(draw(st.integers(2, 8))):
        kind = draw(st.sampled_from([BARRIER, SYNCWARP, LOAD, STORE, STORE, ATOMIC]))
        group = draw(st.integers(0, 3)) if kind == SYNCWARP else 0
        places = {}
        if kind >= LOAD:
            active = draw(st.sets(st.sampled_from(busy), min_size=1, max_size=2))
            places = {t: draw(st.integers(0, 1)) for t in sorted(active)}
        steps.append((kind, group, places))
    return steps


def is_ordered(steps, first, thread, then, other):
    """Whether what ``thread`` does in step ``first`` comes before ``other``'s step ``then``."""
    knows = {thread}
    for kind, group, _ in steps[first + 1 : then]:
        if kind == BARRIER:
            return True
        if kind == SYNCWARP:
            for t in sorted(knows):
                knows |= members(t, group)
    return other in knows


def has_race(steps):
    accesses = [
        (k, kind, t, place)
        for k, (kind, _, places) in enumerate(steps)
        for t, place in places.items()
    ]
    for n, (k, kind, t, place) in enumerate(accesses):
        for j, other_kind, u, there in accesses[n + 1 :]:
            if (
                place != there
                or t == u
                or kind == other_kind == LOAD
                or kind == other_kind == ATOMIC
            ):
                continue
            if not is_ordered(steps, k, t, j, u):
                return True
    return False


def found(steps, *, in_global):
    kinds = np.array([kind for kind, _, _ in steps], np.int32)
    places = np.full((len(steps), THREADS), -1, np.int32)
    masks = np.zeros((len(steps), THREADS), np.uint32)
    for k, (_, group, wanted) in enumerate(steps):
        masks[k] = [mask_of(t, group) for t in range(THREADS)]
        for t, place in wanted.items():
            places[k, t] = place
    memory = DeviceMemory()
    checker = Checker()
    target = memory.upload("memory", np.zeros(4, np.int32)) if in_global else None
    memory.launch(
        compiled(PLAY, "play"),
        Launch((1, 1, 1), (THREADS, 1, 1)),
        [
            memory.upload("kinds", kinds),
            memory.upload("places", places),
            memory.upload("masks", masks),
            np.int32(len(steps)),
            target,
            memory.upload("out", np.zeros(THREADS, np.int32)),
        ],
        check=checker,
    )
    wanted_kind = Kind.global_race if in_global else Kind.shared_race
    assert {f.kind for f in checker.findings} <= {wanted_kind}
    assert not checker.remarks
    return bool(checker.findings)


@pytest.mark.parametrize("in_global", [False, True])
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=programs())
@example(steps=[(ATOMIC, 0, {0: 0, 1: 0}), (LOAD, 0, {1: 0})])
@example(
    steps=[
        (STORE, 0, {0: 0}),
        (BARRIER, 0, {}),
        (ATOMIC, 0, {1: 0}),
        (ATOMIC, 0, {0: 0}),
        (LOAD, 0, {0: 0}),
    ]
)
def test_races_are_those_of_all_pairs(in_global, steps):
    assert found(steps, in_global=in_global) == has_race(steps)
