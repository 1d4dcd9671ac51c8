"""The comparison of two program versions finds what differs, and only that."""

import pytest

from benchmarks.readability.measure import measure
from benchmarks.unchanged.compare import differences


def test_equal_documents_do_not_differ():
    document = {"a": [1, 2.5, {"b": "x"}], "c": None}
    assert differences(document, document) == (4, ())


@pytest.mark.parametrize(
    ("before", "after", "is_words"),
    [
        (0.1 + 0.2, 0.3, False),
        (1, None, False),
        ("texture", "global", False),
        ("keep it as it is", "leave it as it is", True),
        ([1], [1, 2], False),
    ],
)
def test_a_leaf_that_differs_is_found(before, after, is_words):
    _, found = differences({"x": before}, {"x": after})
    assert [d.is_words for d in found] == [is_words]


def test_times_of_the_program_itself_are_left_out():
    assert differences({"seconds": 1}, {"seconds": 2}) == (0, ())


def test_source_figures_are_those_of_a_small_tree(tmp_path):
    (tmp_path / "module.py").write_text(
        '"""Adds numbers."""\n\n\n'
        "def add(a, b):\n"
        '    """The same, but for two."""\n'
        "    if a and b:\n"
        "        return a + b\n"
        "    return a or b\n"
    )
    tree = measure(tmp_path)
    [found] = tree.functions
    assert (found.lines, found.parameters, found.complexity) == (4, 2, 4)
    assert (tree.files, tree.lines, tree.docstrings) == (1, 8, 2)
    assert tree.anaphoric == ("module.py:5 The same, but for two.",)
