"""The first groups of the order stand for all of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from placewise.memory.reuse.sampling.balanced_order import REACH, balanced_order

GROUPS, BLOCKS = 60, 40


def _spread():
    places = np.floor(np.arange(GROUPS) * (5**0.5 - 1) / 2 % 1.0 * GROUPS).astype(int).tolist()
    return list(dict.fromkeys([*places, *range(GROUPS)]))


def _groups():
    return np.arange(GROUPS * BLOCKS) % GROUPS


@given(st.integers(0, 2**32 - 1))
def test_every_group_comes_once_and_the_first_stays(seed):
    work = np.random.default_rng(seed).integers(0, 1000, GROUPS * BLOCKS)
    order = balanced_order(_spread(), _groups(), work)
    assert sorted(order) == list(range(GROUPS))
    assert order[0] == _spread()[0]
    assert all(abs(a - b) <= REACH for a, b in zip(order[:10], _spread()[:10], strict=True))


def test_equal_blocks_leave_the_order_as_it_is():
    assert balanced_order(_spread(), _groups(), np.full(GROUPS * BLOCKS, 7)) == _spread()


def test_few_groups_are_nearer_to_all_than_an_even_spread():
    """Of heavy-tailed work, as rows of a skewed matrix have it, over a hundred launches."""
    generator = np.random.default_rng(5)
    apart = []
    for _ in range(100):
        work = generator.pareto(2.0, GROUPS * BLOCKS) * 1000
        of_group = np.bincount(_groups(), work)
        orders = (balanced_order(_spread(), _groups(), work.astype(np.int64)), _spread())
        apart.append([abs(of_group[o[:8]].mean() / of_group.mean() - 1.0) for o in orders])
    balanced, spread = np.mean(apart, axis=0)
    assert balanced < 0.6 * spread
