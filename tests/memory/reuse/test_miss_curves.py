"""Reuse distances against simulation, and both against a plain list."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.memory.reuse.miss_curves import miss_curve, misses
from placewise.memory.simulate.caches.geometry import Geometry


def stack_misses(lines, capacity):
    stack, missed = [], 0
    for line in lines:
        if line in stack:
            missed += stack.index(line) >= capacity
            stack.remove(line)
        else:
            missed += 1
        stack.insert(0, line)
    return missed


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 40), max_size=200), st.sampled_from([1, 2, 5, 8, 16, 17, 33, 64]))
def test_the_two_speeds_agree_for_full_associativity(sequence, capacity):
    lines = np.array(sequence, np.int64)
    expected = stack_misses(sequence, capacity)
    assert misses(lines, Geometry(1, 1, capacity)) == expected
    assert misses(lines, Geometry(1, 1, capacity), exact=False) == expected


def test_one_curve_serves_all_sizes():
    lines = np.random.default_rng(3).integers(0, 50, 3000)
    curve = miss_curve(lines)
    sizes = np.array([0, 1, 7, 20, 49, 50, 1000])
    expected = [3000, *(stack_misses(lines.tolist(), int(s)) for s in sizes[1:])]
    np.testing.assert_allclose(curve.rates(sizes) * 3000, expected)
    assert [curve.misses(int(s)) for s in sizes] == expected


def test_sets_of_few_ways_make_the_difference():
    """Lines a set's number apart: four ways thrash where the whole cache has room for all."""
    lines = np.tile(np.arange(8) * 16, 50)
    geometry = Geometry(1, 16, 4)
    assert misses(lines, geometry) == 400
    assert misses(lines, geometry, exact=False) == 8


@pytest.mark.parametrize("ways", [8, 16])
def test_the_estimate_is_close_for_hashed_sets(ways):
    """Lines of a hashed cache fall into sets by chance: a set's load is binomial."""
    rng = np.random.default_rng(5)
    lines = rng.zipf(1.2, 40_000) % 5000
    exact = misses(lines, Geometry(1, 64, ways, hashed=True))
    estimate = misses(lines, Geometry(1, 64, ways, hashed=True), exact=False)
    assert estimate == pytest.approx(exact, rel=0.05)
