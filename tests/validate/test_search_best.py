"""The search for the least predictions, on spaces whose least are known."""

import math
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.validate.features import normalized, parameter_features
from placewise.validate.search import FIRST, search

SPACE = [
    (("x", x), ("y", y), ("way", way))
    for x, y, way in product((1, 2, 4, 8, 16, 32), (1, 3, 5, 7, 9, 11, 13), ("a", "b", "c"))
    if (x, y) != (4, 5)
]


def valley(configuration):
    """Convex along every axis, least at x = 16, y = 3, way = b."""
    values = dict(configuration)
    return (
        abs(math.log2(values["x"]) - 4) + abs(values["y"] - 3) + abs(ord(values["way"]) - ord("b"))
    )


def counted(values, asked):
    def predict(rows):
        asked.extend(rows)
        return [values[row] for row in rows]

    return predict


def test_the_least_of_a_valley_is_found_from_few():
    asked = []
    values = [valley(c) for c in SPACE]
    found = search(SPACE, counted(values, asked), budget=len(SPACE), seed=1)
    assert found.finished
    assert dict(SPACE[found.order[0]]) == {"x": 16, "y": 3, "way": "b"}
    few = search(SPACE, counted(values, asked), budget=60, seed=1)
    assert len(few.predicted) <= 60
    assert few.predicted[few.order[0]] == 0
    assert few.sampled == FIRST


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 70) | st.just(140), st.data())
def test_within_its_budget_each_once_and_all_neighbours_where_it_says_so(seed, budget, data):
    values = data.draw(
        st.lists(st.integers(0, 9) | st.just(math.inf), min_size=len(SPACE), max_size=len(SPACE))
    )
    asked = []
    found = search(SPACE, counted(values, asked), budget=budget, seed=seed)
    assert len(asked) == len(set(asked)) <= budget
    assert found.predicted == {row: values[row] for row in asked}
    order = [values[row] for row in found.order]
    assert order == sorted(order)
    if found.finished:
        for row in found.order[:FIRST]:
            assert one_step_away(row) <= set(found.predicted)


def one_step_away(row):
    """Rows with one other value, with none of the space's between, by looking at all rows."""
    here = dict(SPACE[row])
    near = set()
    for name in here:
        rest = {k: v for k, v in here.items() if k != name}
        line = [
            (dict(c)[name], at)
            for at, c in enumerate(SPACE)
            if {k: v for k, v in c if k != name} == rest
        ]
        below = max((item for item in line if item[0] < here[name]), default=None)
        above = min((item for item in line if item[0] > here[name]), default=None)
        near |= {item[1] for item in (below, above) if item is not None}
    return near


def test_what_is_known_is_not_predicted_again():
    values = [valley(c) for c in SPACE]
    known = dict(enumerate(values[:50]))
    asked = []
    found = search(SPACE, counted(values, asked), budget=len(SPACE), seed=3, known=known)
    assert not set(asked) & set(known)
    assert found.predicted[found.order[0]] == 0


def test_what_is_known_of_a_far_valley_leads_there():
    """A second, deeper valley that no step leads to is found by what tells its rows apart."""
    space = [(("x", x), ("y", y)) for x in range(40) for y in range(40)]
    inside = np.array([float(x % 8 == 0 and y % 8 == 0) for (_, x), (_, y) in space])
    values = [10 + abs(x - 20) + abs(y - 20) - 9 * here + 0.1 * x * here
              for ((_, x), (_, y)), here in zip(space, inside, strict=True)]  # fmt: skip
    features = np.column_stack([parameter_features(space), normalized(inside[:, None])])
    alone = search(space, counted(values, []), budget=120, seed=0)
    led = search(space, counted(values, []), budget=120, seed=0, features=features)
    least = sorted(values)[:FIRST]

    def of_the_least(found):
        return sum(values[row] <= least[-1] for row in found.predicted)

    assert led.predicted[led.order[0]] == least[0]
    assert of_the_least(led) > of_the_least(alone)
