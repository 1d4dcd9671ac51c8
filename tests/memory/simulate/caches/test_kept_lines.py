"""Lines that are evicted last, reads that bring no line in, and groups of sectors fetched together,
against caches of plain lists and sets."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.memory.simulate.caches.cache import (
    BYPASS,
    EVICT_FIRST,
    FETCH_GROUP,
    KEEP,
    READ,
    new_caches,
    one_access,
)
from placewise.memory.simulate.caches.geometry import Geometry

ORDERED = ("lru", "fifo")
DRAWN = ("random", "weighted", "plru")
PLAIN, KEPT, FIRST = READ, READ | KEEP, READ | EVICT_FIRST

sequences = st.lists(
    st.tuples(st.integers(0, 25), st.sampled_from([PLAIN, KEPT, FIRST])), min_size=1, max_size=300
)


def new_set(ways, policy, kept_ways):
    return new_caches([Geometry(1, 1, ways, policy=policy, evicts_first=True, kept_ways=kept_ways)])


def access(cache, line, kind, sectors=1):
    return one_access(cache, 0, 0, line, sectors, 16, kind)


def held(cache, ways):
    return {int(tag) for tag in cache.tags[:ways] if tag >= 0}


class OrderedSet:
    """One set as two lists, each with the next to go last: lines that are kept, and the others."""

    def __init__(self, ways, policy, most):
        self.ways, self.policy, self.most = ways, policy, most
        self.kept, self.others = [], []

    def access(self, line, kind):
        found = line in self.kept or line in self.others
        if not found and len(self.kept) + len(self.others) == self.ways:
            (self.others or self.kept).pop()
        if kind == KEPT:
            if line in self.kept:
                self.renew(self.kept, line)
                return found
            if line in self.others:
                self.others.remove(line)
            self.kept.insert(0, line)
            if len(self.kept) > self.most:
                self.others.insert(0, self.kept.pop())
        elif not found:
            self.others.insert(len(self.others) if kind == FIRST else 0, line)
        elif kind == PLAIN:
            self.renew(self.kept if line in self.kept else self.others, line)
        return found

    def renew(self, lines, line):
        if self.policy == "lru":
            lines.remove(line)
            lines.insert(0, line)


@settings(max_examples=150, deadline=None)
@given(
    sequences, st.sampled_from([1, 2, 4, 7, 16, 18]), st.integers(1, 18), st.sampled_from(ORDERED)
)
def test_in_an_order_kept_lines_come_last(sequence, ways, most, policy):
    most = min(most, ways)
    cache, model = new_set(ways, policy, most), OrderedSet(ways, policy, most)
    for line, kind in sequence:
        missing = access(cache, line, kind)[0]
        assert bool(missing) != model.access(line, kind)
        lines = model.kept + model.others
        assert cache.tags[: len(lines)].tolist() == lines


@settings(max_examples=150, deadline=None)
@given(sequences, st.sampled_from([1, 2, 4, 16]), st.integers(1, 16), st.sampled_from(DRAWN))
def test_where_chance_decides_kept_lines_stay(sequence, ways, most, policy):
    most = min(most, ways)
    cache = new_set(ways, policy, most)
    kept = set()
    for line, kind in sequence:
        before = held(cache, ways)
        assert bool(access(cache, line, kind)[0]) == (line not in before)
        gone = before - held(cache, ways)
        assert len(gone) == (line not in before and len(before) == ways)
        if gone and before - kept:
            assert not gone & kept, "another line could have gone"
        bits = int(cache.kept[0])
        now = {int(cache.tags[w]) for w in range(ways) if bits >> w & 1}
        assert now <= (kept - gone) | ({line} if kind == KEPT else set())
        assert len(now) == min(most, len((kept - gone) | ({line} if kind == KEPT else set())))
        assert kind != KEPT or line in now
        kept = now


@pytest.mark.parametrize("policy", [*ORDERED, *DRAWN])
def test_a_table_is_kept_whatever_passes(policy):
    cache = new_caches([Geometry(1, 8, 4, policy=policy, kept_ways=4)])
    missed = 0
    for turn in range(2000):
        access(cache, 1000 + turn, PLAIN)
        missed += access(cache, turn % 24, KEPT)[0] if turn >= 24 else 0
        if turn < 24:
            access(cache, turn, KEPT)
    assert missed == 0


@pytest.mark.parametrize("policy", [*ORDERED, *DRAWN])
def test_a_set_aside_keeps_no_more_than_it_holds(policy):
    """Lines that ask to be kept, more than fit the two ways set aside: others keep the rest."""
    cache = new_set(4, policy, 2)
    for line in range(50):
        access(cache, line, KEPT)
    kept = {int(cache.tags[w]) for w in range(4)} & set(range(48, 50)) if policy == "lru" else None
    assert kept is None or kept == {48, 49}
    for line in range(100, 120):
        access(cache, line, PLAIN)
    left = held(cache, 4) & set(range(50))
    assert len(left) == 2


accesses = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 15), st.booleans()), min_size=1, max_size=200
)


@settings(max_examples=100, deadline=None)
@given(accesses, st.sampled_from([*ORDERED, "random"]))
def test_a_read_that_brings_nothing_in(sequence, policy):
    """Compared with a set that keeps all: lines come in by other reads only, and of a line that is
    there a missing sector is fetched."""
    cache = new_caches([Geometry(1, 1, 16, policy=policy)])
    known = {}
    for line, sectors, passes in sequence:
        missing, fetched, lost = access(cache, line, READ | (BYPASS if passes else 0), sectors)
        assert missing == sectors & ~known.get(line, 0)
        if line in known or not passes:
            assert fetched == missing
            known[line] = known.get(line, 0) | sectors
        else:
            assert fetched == 0
        assert lost == 0


@settings(max_examples=100, deadline=None)
@given(accesses, st.sampled_from([2, 4, 8]))
def test_groups_of_sectors_are_fetched_together(sequence, group):
    cache = new_caches([Geometry(1, 1, 16)])
    known = {}
    for line, sectors, prefetches in sequence:
        have = known.get(line, set())
        asked = {s for s in range(4) if sectors >> s & 1}
        wanted = asked - have
        if prefetches:
            wanted |= {
                s for a in wanted for s in range(a // group * group, a // group * group + group)
            }
            wanted -= have
        kind = READ | (group << FETCH_GROUP if prefetches else 0)
        missing, fetched, _ = access(cache, line, kind, sectors)
        assert missing == sum(1 << s for s in asked - have)
        assert fetched == sum(1 << s for s in wanted)
        known[line] = have | wanted
