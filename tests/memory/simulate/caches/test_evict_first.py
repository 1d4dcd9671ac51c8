"""Reads whose lines are driven out before others, against sets of plain objects."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.errors import MachineError
from placewise.memory.simulate.caches.cache import EVICT_FIRST, READ, new_caches, one_access
from placewise.memory.simulate.caches.geometry import Geometry

ORDERED = ("lru", "fifo")
DRAWN = ("random", "weighted")

accesses = st.lists(st.tuples(st.integers(0, 25), st.booleans()), min_size=1, max_size=300)


def held(cache, ways):
    return {int(tag) for tag in cache.tags[:ways] if tag >= 0}


def read(cache, line, *, first_out):
    kind = READ | (EVICT_FIRST if first_out else 0)
    return one_access(cache, 0, 0, line, 1, 1, kind)[0]


@settings(max_examples=100, deadline=None)
@given(accesses, st.sampled_from([1, 2, 4, 7, 16, 18]), st.sampled_from(ORDERED))
def test_in_an_order_they_come_last(sequence, ways, policy):
    cache = new_caches([Geometry(1, 1, ways, policy=policy, evicts_first=True)])
    lines = []  # the next to go last
    for line, first_out in sequence:
        expected = line not in lines
        if expected:
            del lines[ways - 1 :]
            lines.insert(len(lines) if first_out else 0, line)
        elif policy == "lru" and not first_out:
            lines.remove(line)
            lines.insert(0, line)
        assert read(cache, line, first_out=first_out) == expected
        assert cache.tags[: len(lines)].tolist() == lines


@settings(max_examples=100, deadline=None)
@given(accesses, st.sampled_from([1, 2, 4, 7, 16, 18]), st.sampled_from(DRAWN))
def test_where_chance_decides_one_of_them_goes(sequence, ways, policy):
    cache = new_caches([Geometry(1, 1, ways, policy=policy, evicts_first=True)])
    first = set()
    for line, first_out in sequence:
        before = held(cache, ways)
        assert read(cache, line, first_out=first_out) == (line not in before)
        gone = before - held(cache, ways)
        if line not in before:
            assert len(gone) == (len(before) == ways)
            assert not first or not gone or gone <= first
            first -= gone
            first |= {line} if first_out else set()
        elif not first_out:
            first.discard(line)


@pytest.mark.parametrize("ways", [2, 4, 8])
def test_a_tree_goes_on_pointing_at_them(ways):
    cache = new_caches([Geometry(1, 1, ways, policy="plru", evicts_first=True)])
    for line in range(ways - 1):
        read(cache, line, first_out=False)
    for line in range(100, 120):
        read(cache, line, first_out=True)
        assert held(cache, ways) == {*range(ways - 1), line}


@pytest.mark.parametrize("policy", [*ORDERED, *DRAWN])
def test_a_stream_leaves_the_others_alone(policy):
    """The purpose: a table stays, whatever passes by."""
    cache = new_caches([Geometry(1, 8, 4, policy=policy, evicts_first=True)])
    for line in range(24):
        read(cache, line, first_out=False)
    missed = 0
    for line in range(100, 2000):
        read(cache, line, first_out=True)
        missed += read(cache, line % 24, first_out=False)
    assert missed == 0


def test_marks_have_room_for_64_ways():
    with pytest.raises(MachineError, match="64 ways"):
        new_caches([Geometry(1, 1, 65, evicts_first=True)])
