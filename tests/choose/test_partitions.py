"""The search over partitions of fields, against all partitions."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.choose.partitions import EXACT_FIELDS, all_partitions, best_partition

BELL = (1, 1, 2, 5, 15, 52, 203, 877)


def test_there_are_as_many_partitions_as_the_bell_number():
    for fields, number in enumerate(BELL[1:], start=1):
        found = {frozenset(groups) for groups in all_partitions(fields)}
        assert len(found) == number
        everything = (1 << fields) - 1
        assert all(sum(groups) == everything for groups in found)


@given(st.integers(1, 6), st.integers(0, 10_000))
@settings(deadline=None)
def test_the_exact_search_finds_the_least_of_all_partitions(fields, seed):
    costs = np.random.default_rng(seed).uniform(0.1, 1.0, 1 << fields)
    least = min(sum(costs[g] for g in groups) for groups in all_partitions(fields))
    found = best_partition(fields, lambda g: float(costs[g]))
    assert sum(found) == (1 << fields) - 1
    assert np.isclose(sum(costs[g] for g in found), least)


def test_each_group_is_priced_once():
    asked = []

    def cost(group):
        asked.append(group)
        return 1.0

    best_partition(12, cost)
    assert len(asked) == len(set(asked))


def test_many_fields_that_belong_together_are_found():
    """Groups of three consecutive fields cost least; no other partition is as good."""
    fields = EXACT_FIELDS + 5
    wanted = tuple(0b111 << n for n in range(0, fields, 3))
    found = best_partition(fields, lambda g: 1.0 if g in wanted else float(1 + g.bit_count()))
    assert found == wanted


def test_no_fields_make_no_groups():
    assert best_partition(0, lambda _: 1.0) == ()
