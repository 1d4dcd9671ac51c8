"""Duplicates of arrays that their readers see."""

import numpy as np
import pytest

from placewise import execute, make_case
from placewise.errors import UnsupportedError
from placewise.kernel.cases.prepare_case import read_case
from placewise.rewriter.ways.duplicate import duplicate_for_readers

SHIFT = """__global__ void shift(int *x, int n) {
    int i = threadIdx.x;  // from the last to the first
    for (int k = 0; k < 2; k++)
        if (i + 1 < n) x[i + 1] = x[i] + 1;
}"""


def duplicated(source, n=64):
    case = make_case("shift", source, [np.arange(n, dtype=np.int32), np.int32(n)], grid=1, block=n)
    read = read_case(case)
    return duplicate_for_readers(read.case, read.view, "x")


def test_readers_see_what_was_there_before_the_launch():
    made = duplicated(SHIFT)
    assert "void shift(int *x, const int *x_before, int n)" in made.case.source
    assert "x[i + 1] = x_before[i] + 1;" in made.case.source
    assert "// from the last to the first" in made.case.source
    found = dict(execute(made.case).execution.outputs)
    assert found["x"].tolist() == [0, *range(1, 64)]
    assert found["x_before"].tolist() == list(range(64))


def test_a_name_that_the_source_has_is_not_taken():
    made = duplicated(SHIFT.replace("int k", "int x_before = 0, k"))
    assert made.copy == "x_before2"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("x[i + 1] = x[i] + 1", "{ int *p = x + i; p[1] = x[i]; }", "other pointers"),
        ("x[i + 1] = x[i] + 1", "x[i + 1] += x[i]", "line 4 updates it in place"),
        ("int *x", "volatile int *x", "volatile"),
    ],
)
def test_what_cannot_be_followed_is_refused(old, new, message):
    with pytest.raises(UnsupportedError, match=message):
        duplicated(SHIFT.replace(old, new))
