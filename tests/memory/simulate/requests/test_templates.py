"""Accesses alike but for where they start, and gathers in order, against sets of sectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.executor.trace import Site, TraceChunk
from placewise.kernel.launch import Launch
from placewise.machine import load_machine
from placewise.memory import occupancy
from placewise.memory.simulate import system
from placewise.memory.simulate.requests.line_requests import new_buffer
from placewise.memory.simulate.system import LaunchFacts, MemorySystem

BYTES = 1 << 20
TYPES = {"mask": np.uint32, "base": np.int64, "upper": np.int64}
NAMES = ("site", "block", "warp", "phase", "mask", "array", "base", "upper", "stride", "row")


def simulated(records, offsets, width, kind="load", offset=np.int32):
    """Traffic of one warp's accesses, each (mask, base, upper, stride, row), on a machine whose
    caches hold all of the array. ``offset``: type of the offsets."""
    columns = {name: [0] * len(records) for name in NAMES}
    for name, values in zip(
        ("mask", "base", "upper", "stride", "row"), zip(*records, strict=True), strict=True
    ):
        columns[name] = list(values)
    chunk = TraceChunk(
        **{name: np.array(v, TYPES.get(name, np.int32)) for name, v in columns.items()},
        offsets=np.array(offsets, offset),
    )
    machine = load_machine("A100")
    launch = Launch((1, 1, 1), (32, 1, 1))
    resident = occupancy(launch, machine, registers=None, shared_bytes=0)
    memory = MemorySystem(LaunchFacts(launch, resident, 0, 0, (("a", BYTES),)), machine)
    memory.begin((Site("access", "global", kind, width, 1, 1),), ("a",))
    memory.chunk(chunk)
    return memory.traffic()


def sectors_of(addresses, width):
    """Sectors that lanes of ``width`` bytes touch."""
    return {byte // 32 for a in addresses for byte in (a, a + width - 1)}


def judged(traffic, touched):
    """Whether a site's counts are those of the sets of sectors that its accesses touched."""
    (site,) = traffic.sites
    assert site.requests == len(touched)
    assert site.sectors == sum(len(t) for t in touched)
    assert site.lines == sum(len({s // 4 for s in t}) for t in touched)
    assert site.dram_sectors.value == len(set().union(*touched))
    assert site.l1_hits.value == site.sectors - len(set().union(*touched))


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([1, 2, 4, 8, 16]), st.integers(0, 8), st.integers(-40, 40),
    st.integers(1, (1 << 32) - 1), st.booleans(),
    st.lists(st.integers(0, 2000), min_size=2, max_size=20),
)  # fmt: skip
def test_one_form_many_places(width, elements, gap, mask, dense, starts):
    stride = elements * width
    if dense:
        mask = 0xFFFFFFFF >> (mask & 15)
    delta = 16 * stride + gap * width
    lane = np.arange(32)
    active = (mask >> lane & 1).astype(bool)
    reach = (stride * (lane & 15) + delta * (lane >> 4))[active]
    low = max(0, -int(reach.min()), -delta)
    records, touched = [], []
    for start in starts:
        base = low + width * start
        records.append((mask, base, base + delta, stride, -1))
        touched.append(sectors_of(base + reach, width))
    judged(simulated(records, [], width), touched)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([1, 4, 8, 12]), st.booleans(),
    st.lists(st.lists(st.integers(0, 3000), min_size=1, max_size=32), min_size=2, max_size=20),
    st.sampled_from([np.int32, np.int64]),
)  # fmt: skip
def test_gathers(width, rising, rows, offset):
    records, touched, offsets = [], [], []
    for row in rows:
        mine = [width * n for n in (sorted(row) if rising else row)]
        records.append(((1 << len(row)) - 1, 0, 0, 0, len(offsets)))
        offsets += mine
        touched.append(sectors_of(np.array(mine), width))
    # Room behind the last, as the executor has it.
    judged(simulated(records, offsets + [0] * 32, width, offset=offset), touched)


PLACES = 60
ALL = 0xFFFFFFFF
KINDS = ((ALL, 64, 4), (ALL, 0, 4), (ALL, 2048, 4), (ALL, 2048, 0), (7, 48, 4), (ALL, 128, 8),
         (0xFFFF0000, 4096, 4), (0x55, 0, 512), (0, 0, 4))  # fmt: skip
"""Lanes, lane 16 from lane 0, stride: mostly what has a form, of one or two ranges."""


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, len(KINDS) - 1)), min_size=1, max_size=12),
    st.lists(st.integers(0, 3), min_size=0, max_size=3),
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 1)), min_size=1, max_size=4),
    st.integers(0, 200), st.integers(1, 50),
)  # fmt: skip
def test_bursts_of_instructions_in_turn(turns, joining, warps, odd, piece):
    """Parts of accesses by instructions that take turns, in chunks that end anywhere, with a gather
    now and then: each access's lines in order, the last part marked unless the next goes on with
    the burst."""
    machine, launch = load_machine("A100"), Launch((1, 1, 1), (128, 1, 1))
    resident = occupancy(launch, machine, registers=None, shared_bytes=0)
    facts = LaunchFacts(
        launch, resident, 0, 0, (("a", BYTES), ("b", BYTES)),
        frozenset(n for n in range(4) if n not in joining),
    )  # fmt: skip
    memory = MemorySystem(facts, machine)
    memory.begin(tuple(Site("LDG", "global", "load", 4, n, None) for n in range(4)), ("a", "b"))
    assert memory._levels is not None
    columns = {name: [] for name in NAMES}
    expected, counts, offsets = [], np.zeros((4, 4), int), []
    number, runs = 0, [(w, p, n) for w, (n, most) in enumerate(warps) for p in range(most + 1)]
    for warp, phase, length in runs:
        first = True
        for k in range(length):
            site, kind = turns[k % len(turns)]
            mask, delta, stride = KINDS[kind]
            number += 1
            base, row = 4096 + 36 * (number * 7 % PLACES), -1
            lanes = np.flatnonzero(mask >> np.arange(32) & 1)
            bytes_ = base + np.where(lanes < 16, 0, delta) + stride * (lanes & 15)
            if number % 13 == odd:
                row, bytes_ = len(offsets), base + 4 * (lanes * 5 % 32)
                offsets += bytes_.tolist()
            given_ = (site, 0, warp, phase, mask, site % 2, base, base + delta, stride, row)
            for name, value in zip(NAMES, given_, strict=True):
                columns[name].append(value)
            if not len(lanes):
                continue
            lines = {}
            for byte in (*bytes_, *(bytes_ + 3)):
                lines.setdefault(byte >> 7, set()).add(byte >> 5 & 3)
            counts[site] += 1, len(lanes), sum(map(len, lines.values())), len(lines)
            if not first and site in joining:
                expected[-1][2] = False
            first = False
            expected.append([site, lines, True])
    for start in range(0, number, piece):
        request = slice(start, start + piece)
        memory.chunk(TraceChunk(
            **{n: np.array(v[request], TYPES.get(n, np.int32)) for n, v in columns.items()},
            offsets=np.array([*offsets, *[0] * 32], np.int32),
        ))  # fmt: skip
    requests = memory._buffer.request[: memory._buffer.used[0]].tolist()
    rows = memory._streams.rows
    for site, lines, ends in expected:
        mine, requests = requests[: len(lines)], requests[len(lines) :]
        array = int(memory._rules.array_line[site % 2 + 1])
        found = {(p >> 32) - array: {s for s in range(4) if p >> 16 + s & 1} for p in mine}
        assert found == lines
        assert all(rows[p >> 2 & 0x3FFF]["site"] == site for p in mine)
        assert [p & 1 for p in mine] == [0] * (len(mine) - 1) + [ends]
    assert not requests
    for row in rows[: int(memory._streams.used[0])]:
        of_site = [row[name] for name in ("accesses", "lanes", "sectors", "lines")]
        assert of_site == counts[row["site"]].tolist()


@pytest.mark.parametrize(("kind", "dirtied"), [("load", 0), ("store", 8), ("atomic", 8)])
def test_what_writes_makes_sectors_dirty(kind, dirtied):
    records = [(0xFFFFFFFF, start, start + 64, 4, -1) for start in (0, 128, 128)]
    assert simulated(records, [], 4, kind).dirtied.value == dirtied


@pytest.mark.parametrize("times", [1, 20])
@pytest.mark.parametrize("row", [-1, 0])
def test_an_access_of_no_lane_touches_nothing(row, times):
    """Before there is a form, after one of another access, and after an access that has none."""
    nobody, somebody, scattered = (0, 0, 0, 0, row), (1, 0, 0, 0, -1), (5, 0, 0, 512, -1)
    nobodies = [nobody] * times
    records = [*nobodies, somebody, *nobodies, scattered, *nobodies, somebody]
    (site,) = simulated(records, [], 4).sites
    assert (site.requests, site.sectors, site.lanes) == (3, 1 + 2 + 1, 1 + 2 + 1)


def test_more_accesses_than_there_is_room_for(monkeypatch):
    """They are run in pieces, on caches that stay as they are."""
    monkeypatch.setattr(system, "new_buffer", lambda blocks: new_buffer(blocks, 300))
    bases = [128 * (k * 37 % 1000) + 4 * k % 64 for k in range(2000)]
    records = [((1 << 32) - 1, base, base + 64, 4, -1) for base in bases]
    touched = [sectors_of(range(base, base + 128, 4), 4) for base in bases]
    judged(simulated(records, [], 4), touched)
