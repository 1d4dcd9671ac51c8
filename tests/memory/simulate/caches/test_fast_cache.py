"""The fast way through usual caches against the one for all caches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from placewise.memory.simulate.caches.cache import GOLDEN, READ, WRITE_BACK, access_line, new_caches
from placewise.memory.simulate.caches.fast_cache import (
    access_lru,
    find_random,
    first_ways,
    is_fast,
)
from placewise.memory.simulate.caches.geometry import AGED, Geometry, shape_of

accesses = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 15), st.booleans()), min_size=1, max_size=300
)


@njit
def in_detail(caches, instance, line, wanted, kind):
    return access_line(caches, shape_of(caches.geometry, 1), instance, line, wanted, kind)


@njit
def recent(caches, instance, line, wanted, dirty, first):
    g = shape_of(caches.geometry, 1)
    first_ways(g, instance, np.full(1, line), 1, 0, first)
    seed = g.first_seed + instance
    if g.policy == AGED:
        caches.seed[seed] += GOLDEN
    state = caches.seed[seed]
    missing, lost, turned = access_lru(caches, g, first[0], line, wanted, dirty, state)
    return missing, lost, turned


@njit
def drawn(caches, instance, line, wanted):
    g = shape_of(caches.geometry, 1)
    own = g.first_way + instance * g.sets * g.lanes
    seed = g.first_seed + instance
    caches.seed[seed] += GOLDEN
    at = own + find_random(caches, g, own, line, caches.seed[seed])
    held = caches.held[at]
    caches.held[at] = held | wanted
    return wanted & ~np.int64(held)


@njit
def known(caches):
    return is_fast(shape_of(caches.geometry, 1))


def two_of(sets, ways, line_sectors=4, **more):
    """On the second of two caches, so that every offset matters."""
    geometry = Geometry(1, 3, 2), Geometry(2, sets, ways, **more)
    return new_caches(geometry, 1, line_sectors), new_caches(geometry, 1, line_sectors)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    accesses, st.sampled_from([1, 2, 7, 8, 16]), st.sampled_from([1, 3, 8]), st.booleans(),
    st.sampled_from([4, 16]), st.sampled_from(["lru", "aged"]),
)  # fmt: skip
def test_by_order_of_use(sequence, ways, sets, hashed, line_sectors, policy):
    """Whether what is known of a way takes a byte or a word."""
    fast, slow = two_of(sets, ways, line_sectors, hashed=hashed, policy=policy)
    first = np.zeros(1, np.int64)
    dirty = 0
    for line, wanted, write in sequence:
        kind = WRITE_BACK if write else READ
        missing, _, lost, _ = in_detail(slow, 1, line, wanted, kind)
        found = recent(fast, 1, line, wanted, wanted if write else 0, first)
        assert found[:2] == (missing, lost)
        dirty += found[2].bit_count() - lost.bit_count()
        assert dirty == slow.dirty[0] == np.bitwise_count(slow.held >> 4 * slow.held.itemsize).sum()
    np.testing.assert_array_equal(fast.tags, slow.tags)
    np.testing.assert_array_equal(fast.held, slow.held)


@settings(max_examples=100, deadline=None)
@given(accesses, st.sampled_from([1, 4, 16]), st.sampled_from([1, 3, 8]), st.booleans())
def test_random(sequence, ways, sets, hashed):
    """Both draw the same ways, so that they hold the same lines at all times, in two instances."""
    fast, slow = two_of(sets, ways, policy="random", hashed=hashed)
    for line, wanted, other in sequence:
        missing, _, _, _ = in_detail(slow, int(other), line, wanted, READ)
        assert drawn(fast, int(other), line, wanted) == missing
    np.testing.assert_array_equal(fast.tags, slow.tags)
    np.testing.assert_array_equal(fast.held, slow.held)


@pytest.mark.parametrize(
    ("more", "plain"),
    [({}, True), ({"policy": "random"}, True), ({"policy": "fifo"}, False), ({"split": 2}, False),
     ({"grain": 2}, False), ({"policy": "plru"}, False)],
)  # fmt: skip
def test_other_caches_go_the_other_way(more, plain):
    assert known(two_of(4, 16, **more)[0]) == plain
    assert not known(two_of(4, 32, **more)[0])
