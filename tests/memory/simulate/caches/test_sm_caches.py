"""What an SM's warps miss, burst by burst and round by round, against a simulator of its own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.memory.simulate.caches.cache import READ, new_caches, one_access
from placewise.memory.simulate.caches.constant_caches import new_constant_caches
from placewise.memory.simulate.caches.geometry import Geometry
from placewise.memory.simulate.caches.miss_queue import Missed
from placewise.memory.simulate.caches.sm_caches import SmCaches, new_workspace
from placewise.memory.simulate.dram.arrivals import new_issued
from placewise.memory.simulate.requests.line_requests import (
    LAST,
    LINE_BIT,
    SECTOR_BIT,
    SLOW_PATH,
    STREAM_BIT,
    new_buffer,
)
from placewise.memory.simulate.requests.streams import LOAD, STORE, new_streams
from placewise.memory.simulate.schedule.wave import Wave, run_sms, sort_segments

PER_LINE, WARPS = 4, 2
LOADS, STORES = 0, 1


def request(line, sectors, stores, last):
    stream = STORES if stores else LOADS
    flags = (SLOW_PATH if stores else 0) | (LAST if last else 0)
    return (line << LINE_BIT) | (sectors << SECTOR_BIT) | (stream << STREAM_BIT) | flags


bursts = st.lists(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 15), st.booleans()), min_size=1,
             max_size=20),
    max_size=12,
)  # fmt: skip
warps = st.lists(st.lists(bursts, min_size=1, max_size=2), min_size=4, max_size=4)


def streams():
    found = new_streams(2, 1)
    for row, kind in zip(found.rows, (LOAD, STORE), strict=False):
        row["kind"] = kind
    found.used[0] = 2
    return found


def expected(of_warps, geometry):
    """(line, sectors, stores) that each round passes on, of two blocks of WARPS warps. Of a block,
    only the warps in its earliest phase go on."""
    caches = new_caches([geometry])
    left = [[list(phase) for phase in warp] for warp in of_warps]
    rounds = []
    while any(phase for warp in left for phase in warp):
        phase_of = [next((n for n, p in enumerate(w) if p), None) for w in left]
        passed = []
        for warp, phase in enumerate(phase_of):
            block = phase_of[warp // WARPS * WARPS :][:WARPS]
            if phase is None or phase != min(p for p in block if p is not None):
                continue
            for line, sectors, stores in left[warp][phase].pop(0):
                if stores:
                    passed.append((line, sectors, stores))
                    continue
                missing, _, _ = one_access(caches, 0, 0, line, sectors, PER_LINE, READ)
                if missing:
                    passed.append((line, missing, stores))
        rounds.append(passed)
    return rounds


def found(of_warps, geometry, shards, line_sectors=16):
    """The same by the simulation."""
    buffer = new_buffer(2)
    n = 0
    for slot, warp in enumerate(of_warps):
        for phase, many in enumerate(warp):
            if not many:
                continue
            buffer.segment[buffer.used[1]] = slot, phase, n
            buffer.used[1] += 1
            for burst in many:
                for k, (line, sectors, stores) in enumerate(burst):
                    buffer.request[n] = request(line, sectors, stores, k == len(burst) - 1)
                    n += 1
    buffer.used[0] = n
    slots, segments = len(of_warps), int(buffer.used[1])
    wave = Wave(
        buffer.request, np.zeros(slots + 1, np.int64), np.zeros((segments, 3), np.int64),
        np.zeros(2, np.int64), new_issued(),
    )  # fmt: skip
    sort_segments(buffer, wave, np.zeros(slots, np.int64))
    missed = Missed(
        np.zeros(shards * n, np.int64), np.zeros(shards * n, np.int32),
        *np.zeros((2, shards, 1), np.int64), *np.zeros((2, 1), np.int64),
    )  # fmt: skip
    caches = SmCaches(
        new_caches([geometry], 1, line_sectors), new_constant_caches((), 1, 128, 32, 2), PER_LINE,
        missed, np.zeros(2, np.int64), new_workspace(slots, 1, 2, shards, [False]),
    )  # fmt: skip
    run_sms(0, 1, wave, streams(), WARPS, caches)
    rounds = []
    for number in range(int(missed.rounds[0])):
        passed = []
        for shard in range(shards):
            ends = missed.end[shard * n :]
            for word in missed.request[shard * n :][
                ends[number - 1] if number else 0 : ends[number]
            ]:
                stores = bool((int(word) >> STREAM_BIT) & 1)
                passed.append((int(word) >> LINE_BIT, (int(word) >> SECTOR_BIT) & 15, stores))
        rounds.append(passed)
    return rounds


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(warps, st.sampled_from(["lru", "random", "fifo"]), st.booleans(), st.sampled_from([1, 2]))
def test_what_each_round_passes_on(of_warps, policy, hashed, shards):
    if not any(many for warp in of_warps for many in warp):
        return
    geometry = Geometry(1, 2, 4, policy=policy, hashed=hashed)
    rounds = expected(of_warps, geometry)
    shared = [[p for s in range(shards) for p in r if p[0] % shards == s] for r in rounds]
    assert found(of_warps, geometry, shards) == shared


@pytest.mark.parametrize("requests", [1, 700, 5000])
def test_long_bursts_and_rounds(requests):
    """More parts of a burst, and of a round, than are put in order at once."""
    rng = np.random.default_rng(requests)
    of_warps = [
        [[[(int(line), 1, False) for line in rng.integers(0, 600, requests)]]] for _ in range(WARPS)
    ]
    geometry = Geometry(1, 16, 16, policy="random", hashed=True)
    assert found(of_warps, geometry, 1) == expected(of_warps, geometry)


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 1 << 30), st.sampled_from([300, 5000]), st.sampled_from([3, 5]),
    st.sampled_from([1, 2]), st.sampled_from([0, 0.001]), st.sampled_from([4, 16]),
)  # fmt: skip
def test_gathers_in_no_order(seed, lines, ways, shards, stores, line_sectors):
    """Lines that come in no order, often not there: some share a set with one shortly before, or
    are the one before, and some parts go past the cache."""
    rng = np.random.default_rng(seed)
    of_warps = []
    for _ in range(2 * WARPS):
        size = rng.integers(1, 12, 240)
        numbers = iter(rng.integers(0, lines, size.sum()).tolist())
        sectors = iter(rng.integers(1, 16, size.sum()).tolist())
        past = iter((rng.random(size.sum()) < stores).tolist())
        of_warps.append([[[(next(numbers), next(sectors), next(past)) for _ in range(n)]
                          for n in size]])  # fmt: skip
    geometry = Geometry(1, 128, ways, policy="random", hashed=True)
    rounds = expected(of_warps, geometry)
    shared = [[p for s in range(shards) for p in r if p[0] % shards == s] for r in rounds]
    assert found(of_warps, geometry, shards, line_sectors) == shared
