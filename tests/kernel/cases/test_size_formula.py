"""Formulas of sizes against Python's own arithmetic."""

import ast
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placewise.kernel.cases.size_formula import evaluate_size

SIZES = {"n": 12, "A.rows": 7, "in": 3}
_SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv}


def formulas():
    """(text, value or None where it divides by 0)."""
    leaves = st.one_of(
        st.integers(0, 50).map(lambda n: (str(n), n)), st.sampled_from(sorted(SIZES.items()))
    )

    def joined(children):
        def join(parts):
            (one, x), sign, (other, y) = parts
            text = f"({one}) {sign} ({other})"
            if x is None or y is None or (sign == "//" and y == 0):
                return text, None
            return text, _SIGNS[sign](x, y)

        return st.tuples(children, st.sampled_from(sorted(_SIGNS)), children).map(join)

    return st.recursive(leaves, joined, max_leaves=6)


@given(formulas())
def test_formulas_in_parentheses(formula):
    text, expected = formula
    if len(text) > 200:
        return
    if expected is None:
        with pytest.raises(ValueError, match="divides by 0"):
            evaluate_size(text, SIZES.__getitem__)
    else:
        assert evaluate_size(text, SIZES.__getitem__) == expected


@pytest.mark.parametrize(
    "text", ["2 + 3 * 4 - 5", "20 - 6 - 3", "100 // 7 // 2", "100 % 7 * 2", "-3 + 5", "2 * -3"]
)
def test_order_is_as_in_python(text):
    tree = ast.parse(text, mode="eval")
    expected = eval(compile(tree, "formula", "eval"))  # noqa: S307
    assert evaluate_size(text, SIZES.__getitem__) == expected


@pytest.mark.parametrize("text", ["", "n n", "2n m", "n(2)", "max(1, 2)", "1.5", "(" * 300, "a'b"])
def test_what_is_no_formula_is_refused(text):
    with pytest.raises((ValueError, KeyError)):
        evaluate_size(text, SIZES.__getitem__)
