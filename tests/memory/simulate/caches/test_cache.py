"""Every cache geometry and policy against a cache of plain lists."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from placewise.errors import MachineError
from placewise.memory.simulate.caches.cache import (
    BYPASS,
    WRITE_THROUGH,
    new_caches,
    one_access,
    set_of,
)
from placewise.memory.simulate.caches.geometry import Geometry, shape_of


@njit
def set_in(geometry, line):
    return set_of(shape_of(geometry, 1), line)


def new_cache(instances, sets, ways, **more):
    return new_caches([Geometry(1, 3, 2), Geometry(instances, sets, ways, **more)])


def access(cache, instance, line, sectors, per_line, fetch):
    """On the second of two caches, so that every offset matters."""
    missing, fetched, lost = one_access(cache, 1, instance, line, sectors, per_line, int(fetch))
    return missing, fetched.bit_count(), lost


def tags(cache, instance, sets, ways):
    lanes = Geometry(instance, sets, ways).lanes
    first = cache.geometry[1, 0] + instance * sets * lanes
    return cache.tags[first : first + sets * lanes].reshape(sets, lanes)[:, :ways].ravel()


class ListCache:
    """One set: lines in the order in which they would be replaced, the next one first."""

    def __init__(self, ways, policy):
        self.ways, self.policy = ways, policy
        self.lines = []  # [line, valid sectors, dirty sectors]

    def access(self, line, wanted, fetch):
        entry = next((e for e in self.lines if e[0] == line), None)
        lost = 0
        if entry is None:
            if len(self.lines) == self.ways:
                lost = self.lines.pop(0)[2]
            entry = [line, 0, 0]
            self.lines.append(entry)
        elif self.policy == "lru":
            self.lines.remove(entry)
            self.lines.append(entry)
        missing = wanted & ~entry[1]
        entry[1] |= wanted
        if not fetch:
            entry[2] |= wanted
        return missing, lost.bit_count()


accesses = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 15), st.booleans()), min_size=1, max_size=300
)


@settings(max_examples=150, deadline=None)
@given(accesses, st.sampled_from([1, 2, 3, 4, 7, 9, 16, 18, 40]), st.sampled_from([1, 2, 3, 8]),
       st.sampled_from(["lru", "fifo"]), st.booleans())  # fmt: skip
def test_recency_and_age_against_lists(sequence, ways, sets, policy, hashed):
    cache = new_cache(2, sets, ways, policy=policy, hashed=hashed)
    lists = [ListCache(ways, policy) for _ in range(sets)]
    for line, sectors, fetch in sequence:
        missing, fetched, lost = access(cache, 1, line, sectors, 4, fetch)
        expected, lost_there = lists[set_in(cache.geometry, line)].access(line, sectors, fetch)
        assert (missing, lost) == (expected, lost_there)
        assert fetched == (expected.bit_count() if fetch else 0)
    assert (tags(cache, 0, sets, ways) == -1).all(), "the other instance stays untouched"


def tree_victim(history, ways):
    """Way that tree pseudo-LRU replaces after ``history`` of used ways: at each node of the tree
    the half that was not the last one used."""
    low, high = 0, ways
    while high - low > 1:
        middle = (low + high) // 2
        last = next((w for w in reversed(history) if low <= w < high), None)
        if last is not None and last < middle:
            low = middle
        else:
            high = middle
    return low


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=200), st.sampled_from([2, 4, 8]))
def test_tree_pseudo_lru(lines, ways):
    cache = new_cache(1, 1, ways, policy="plru")
    held, history = [None] * ways, []
    for line in lines:
        if line in held:
            way = held.index(line)
            expected = 0
        else:
            way = held.index(None) if None in held else tree_victim(history, ways)
            held[way] = line
            expected = 1
        history.append(way)
        missing, _, _ = access(cache, 0, line, 1, 1, True)
        assert missing == expected
        assert tags(cache, 0, 1, ways).tolist() == [-1 if h is None else h for h in held]


@pytest.mark.parametrize(
    ("policy", "probabilities"),
    [("random", (0.25,) * 4), ("weighted", (1 / 6, 1 / 2, 1 / 6, 1 / 6))],
)
def test_ways_are_drawn_with_their_probabilities(policy, probabilities):
    given_ones = probabilities if policy == "weighted" else ()
    cache = new_cache(1, 1, 4, policy=policy, probabilities=given_ones)
    drawn = np.zeros(4)
    for line in range(20_004):
        before = tags(cache, 0, 1, 4).copy()
        access(cache, 0, line, 1, 1, True)
        if line >= 4:
            drawn[np.flatnonzero(tags(cache, 0, 1, 4) != before)] += 1
    # Five standard deviations of a binomial share.
    bound = 5 * np.sqrt(0.25 / 20_000)
    assert np.abs(drawn / 20_000 - probabilities).max() < bound


@settings(max_examples=60, deadline=None)
@given(accesses)
def test_smaller_lines_in_larger_requests(sequence):
    """A cache of 1-sector lines behind 4-sector requests is one that is asked sector by sector."""
    split = new_cache(1, 4, 2, split=4)
    single = new_cache(1, 4, 2)
    for line, sectors, fetch in sequence:
        missing, fetched, lost = access(split, 0, line, sectors, 4, fetch)
        one_by_one = [
            (k, access(single, 0, 4 * line + k, 1, 1, fetch)) for k in range(4) if sectors >> k & 1
        ]
        assert missing == sum(m << k for k, (m, _, _) in one_by_one)
        assert (fetched, lost) == (
            sum(f for _, (_, f, _) in one_by_one), sum(out for _, (_, _, out) in one_by_one)
        )  # fmt: skip


def test_sectors_fetched_in_pairs():
    cache = new_cache(1, 1, 1, grain=2)
    assert access(cache, 0, 0, 0b0001, 4, True) == (0b0001, 2, 0)
    assert access(cache, 0, 0, 0b0010, 4, True) == (0, 0, 0)
    assert access(cache, 0, 0, 0b1100, 4, True) == (0b1100, 2, 0)


def test_a_tree_needs_a_power_of_two():
    with pytest.raises(MachineError, match="power of two"):
        new_cache(1, 1, 6, policy="plru")


def test_fully_associative_lru_is_a_stack():
    """Misses are the accesses whose reuse distance is no smaller than the number of ways."""
    rng = random.Random(7)
    lines = [rng.randrange(30) for _ in range(2000)]
    cache = new_cache(1, 1, 12)
    stack = []
    for line in lines:
        distance = stack.index(line) if line in stack else None
        missing, _, _ = access(cache, 0, line, 1, 1, True)
        assert bool(missing) == (distance is None or distance >= 12)
        if distance is not None:
            stack.remove(line)
        stack.insert(0, line)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(1, 15), st.booleans()), min_size=1, max_size=200
    ),
    st.sampled_from([1, 3, 8, 16, 20]),
    st.sampled_from([1, 2, 5]),
    st.sampled_from(["lru", "fifo"]),
    st.sampled_from([WRITE_THROUGH, BYPASS, WRITE_THROUGH | BYPASS]),
)
def test_write_policies_against_lists(sequence, ways, sets, policy, write):
    """Written through nothing is ever dirty; bypassing, a write that finds no line brings none."""
    cache = new_cache(1, sets, ways, policy=policy)
    lists = [ListCache(ways, policy) for _ in range(sets)]
    for line, sectors, fetch in sequence:
        mine = lists[line % sets]
        kind = 1 if fetch else write
        missing, _, lost = one_access(cache, 1, 0, line, sectors, 4, kind)
        if not fetch and write & BYPASS and all(e[0] != line for e in mine.lines):
            assert (missing, lost) == (sectors, 0)
            continue
        keeps_clean = fetch or write & WRITE_THROUGH
        expected = mine.access(line, sectors, keeps_clean)
        assert (missing, lost) == expected


def missed_in_rounds(policy, lines, ways=16, rounds=300):
    """Share of misses where ``lines`` are walked round and round in one set."""
    cache = new_cache(1, 1, ways, policy=policy)
    for line in range(lines):
        access(cache, 0, line, 1, 1, True)
    walked = [access(cache, 0, n % lines, 1, 1, True)[0] for n in range(lines * rounds)]
    return sum(walked) / len(walked)


def drawn_from_the_oldest(lines, ways=16, rounds=2000, seed=3):
    """The share, with lists and Python's own random numbers."""
    draw, used, missed = random.Random(seed), [], 0
    for n in range(lines * (rounds + 1)):
        line = n % lines
        if line in used:
            used.remove(line)
        else:
            missed += n >= lines
            if len(used) == ways:
                del used[draw.randrange(ways // 4)]
        used.append(line)
    return missed / lines / rounds


@pytest.mark.parametrize("lines", [16, 17, 18, 20, 24])
def test_aged_against_lists(lines):
    assert missed_in_rounds("aged", lines) == pytest.approx(drawn_from_the_oldest(lines), abs=0.03)


def test_aged_is_between_lru_and_random():
    """As are latencies of an L40 whose L2 is a little too small for what is walked."""
    assert missed_in_rounds("random", 18) < missed_in_rounds("aged", 18) < 1.0
    assert missed_in_rounds("lru", 18) == 1.0
