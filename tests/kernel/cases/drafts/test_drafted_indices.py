"""Arrays of indices are known by how a kernel uses them."""

import pytest

from placewise.kernel.cases.drafts.drafted_indices import are_starts, indexed_by


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for (int j = s[row]; j < s[row + 1]; ++j) sum += v[j];", True),
        ("int end = s[ 1+i ], begin = s [i];", True),
        ("out[i] = s[i - 1] + s[i] + s[i + 1];", False),
        ("out[i] = s[i] + s[i + 2];", False),
        ("s[i + 1] = s[i];", False),
        ("if (s[i + 1] == s[i]) out[i] = 0;", True),
        ("out[i] = s[i];", False),
    ],
)
def test_where_rows_start(body, expected):
    assert are_starts(body, "s") is expected


def test_arrays_are_indexed_directly_or_by_a_variable():
    body = """
        y[i] = x[at[i]] + x[at[i + 1]] + local[at[i]];
        int node = at[i];
        if (!seen[node]) seen[node] = at[at[i]] + other[i];
    """
    assert indexed_by(body, "at", ["x", "y", "at", "seen", "other"]) == ("x", "seen")
