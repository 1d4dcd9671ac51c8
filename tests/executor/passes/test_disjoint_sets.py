"""Joined sets against a search by hand."""

import numpy as np
import pytest

from placewise.executor.passes.disjoint_sets import smallest_of_sets


def by_spreading(first, second):
    """The smallest number of each set: numbers spread along the pairs until nothing changes."""
    least = {one: one for pair in zip(first, second, strict=True) for one in pair}
    changed = True
    while changed:
        changed = False
        for a, b in zip(first, second, strict=True):
            both = min(least[a], least[b])
            changed |= (least[a], least[b]) != (both, both)
            least[a] = least[b] = both
    return least


@pytest.mark.parametrize("seed", range(30))
def test_sets_are_named_by_their_smallest_number(seed):
    random = np.random.default_rng(seed)
    first, second = random.integers(0, random.integers(1, 60), (2, random.integers(0, 60)))
    assert smallest_of_sets(first, second) == by_spreading(first.tolist(), second.tolist())
