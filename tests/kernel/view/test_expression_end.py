"""Ends of expressions, found in the text."""

import pytest

from placewise.kernel.view.tree.places import expression_end


@pytest.mark.parametrize(
    ("text", "closing", "expression"),
    [
        ("k < LENGTH; k++)", ";", "k < LENGTH"),
        ("k < BOUND(a, b) ; k++)", ";", "k < BOUND(a, b)"),
        ("k++) { x(); }", ")", "k++"),
        ("f(a)[b{c}] && d) return;", ")", "f(a)[b{c}] && d"),
        ("x == ')' || s == \");\") y;", ")", "x == ')' || s == \");\""),
        ("n /* ; */ > 1 // ;\n ;", ";", "n /* ; */ > 1 // ;"),
        ("", ";", None),
        ("k < n", ";", None),
        ("k] ;", ";", None),
    ],
)
def test_an_expression_ends_before_what_follows_outside_its_brackets(text, closing, expression):
    before = b"for (k = 0; "
    end = expression_end(before + text.encode(), len(before), closing.encode())
    found = None if end is None else text[: end - len(before)]
    assert found == expression
