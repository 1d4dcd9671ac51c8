"""Lists and formulas of tuning problems, read by hand, as Python itself reads them."""

import pytest

from placewise.kernel.cases.tuning.tuning_conditions import Condition, nearest_valid
from placewise.kernel.cases.tuning.tuning_values import (
    line_of_generator,
    listed_values,
    resolved_size,
)

LISTS = {
    "[1, 2, 4]": [1, 2, 4],
    "(16, 32)": [16, 32],
    "list(range(32, 1025, 32))": list(range(32, 1025, 32)),
    "range(3)": [0, 1, 2],
    "[1, 2] + list(range(32, 64+1, 32))": [1, 2, 32, 64],
    "[2**i for i in range(0, 6)]": [1, 2, 4, 8, 16, 32],
    "[32 * i for i in range(1, 4)]": [32, 64, 96],
    "[i*j for j in [1, 2]]": None,
    "['a', 'b']": ["a", "b"],
    "[0.5, -1]": [0.5, -1],
    "[True]": [True],
}


@pytest.mark.parametrize("text", LISTS)
def test_lists_are_what_python_makes_of_them(text):
    if LISTS[text] is None:
        with pytest.raises(ValueError, match="no list"):
            listed_values(text)
    else:
        assert listed_values(text) == LISTS[text]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "5", "[", "open('x')", "[__import__('os')]", "list(range(10**9))", "[9**9**9]",
     "[i for i in range(5) if i]", "[1] * 1000000", "range(1.5)", "[2**99]", "[1/0]"],
)  # fmt: skip
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match="list"):
        listed_values(text)


def test_sizes_are_resolved():
    choices = {"tile": [1, 8, 4], "word": ["a"]}
    text = "(ProblemSize[0]+max(tile)-1) * ProblemSize[ 1 ] + min(tile)"
    assert resolved_size(text, [10, "2 * n"], choices) == "((10)+8-1) * (2 * n) + 1"
    assert resolved_size(7, [], {}) == 7
    with pytest.raises(ValueError, match="word"):
        resolved_size("max(word)", [], choices)


@pytest.mark.parametrize(
    ("text", "line"),
    [("i", (0, 1)), ("2 * i + 3", (3, 2)), ("1+i*0.1", (1, 0.1)), ("-(i - 4) * 2", (8, -2)),
     ("5", (5, 0)), ("i * i", None), ("i % 4", None), ("f(i)", None), ("j", None), ("(", None)],
)  # fmt: skip
def test_generators_are_lines_or_nothing(text, line):
    assert line_of_generator(text) == line


def test_the_fewest_defaults_are_given_up():
    choices = {"a": [1, 2, 3], "b": [1, 2, 3], "c": [1, 2, 3]}
    defaults = {"a": 1, "b": 1, "c": 1}

    def nearest(*texts):
        return nearest_valid(choices, defaults, [Condition(text) for text in texts])

    assert nearest("a + b == 2") == defaults
    assert nearest("b == 3") == {"a": 1, "b": 3, "c": 1}
    assert nearest("a + c == 6") == {"a": 3, "b": 1, "c": 3}
    assert nearest("a * b * c == 27") == {"a": 3, "b": 3, "c": 3}
    assert nearest("a > 3") is None
