"""The search for the layout of least static cost, against every partition."""

import numpy as np
import pytest

from placewise.choose.partitions import all_partitions
from placewise.choose.static_layouts import search_static
from placewise.model.static_layout import CostVector
from placewise.space.layout import Field, Record, structure_of_arrays


def record(fields):
    return Record("S", tuple(Field(f"f{n}", 4, 4) for n in range(fields)))


def random_cost(seed):
    """A cost of whole layouts that does not add up over groups."""
    known = {}

    def cost(layout):
        key = frozenset(frozenset(group.fields) for group in layout)
        if key not in known:
            words = sorted(",".join(sorted(group)) for group in key)
            number = np.random.default_rng([seed, *"|".join(words).encode()]).random()
            known[key] = CostVector((float(number),))
        return known[key]

    return cost


@pytest.mark.parametrize("seed", range(4))
def test_few_fields_are_searched_completely(seed):
    struct, cost = record(5), random_cost(seed)
    search = search_static(struct, struct.names, cost)
    assert search.exact
    # B(5) = 52 partitions, the declared layout and the structure of arrays among them.
    assert (
        len({frozenset(frozenset(g.fields) for g in layout) for layout, _ in search.ranked}) == 52
    )
    costs = [c for _, c in search.ranked]
    assert costs == sorted(costs)


def test_fields_that_are_not_accessed_share_a_struct():
    struct = record(4)
    search = search_static(struct, ["f1"], lambda layout: CostVector((float(len(layout.groups)),)))
    assert [layout.describe() for layout, _ in search.ranked] == [
        "{f0 f1 f2 f3}", "{f1} {f0 f2 f3}", "{f0} {f1} {f2} {f3}"
    ]  # fmt: skip


def test_of_equal_layouts_the_simplest_comes_first():
    struct = record(3)
    search = search_static(struct, struct.names, lambda _: CostVector((1.0,)))
    assert search.ranked[0][0] == struct.declared
    assert search.ranked[1][0] == structure_of_arrays(struct)


def test_more_fields_are_searched_by_descent():
    """With a cost that adds up over pairs of fields kept together, moves find the optimum."""
    fields = 7
    struct = record(fields)
    apart = np.random.default_rng(3).normal(size=(fields, fields))

    def worth(groups):
        return float(sum(apart[a, b] for g in groups for a in g for b in g if a < b))

    def cost(layout):
        return CostVector((worth([[int(n[1:]) for n in g.fields] for g in layout]),))

    search = search_static(struct, struct.names, cost)
    assert not search.exact
    best = min(
        worth([[n for n in range(fields) if g >> n & 1] for g in groups])
        for groups in all_partitions(fields)
    )
    assert search.ranked[0][1].total == pytest.approx(best)
