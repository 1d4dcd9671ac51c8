"""Loads that a warp makes again and again for the same data miss in the first round."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from placewise.model.timeline.first_touches import RARE, with_misses_first
from placewise.model.timeline.schedule import COLUMNS

ROWS = 4
EARLY, MISSES, L2, DRAM = (COLUMNS.index(n) for n in ("early", "misses", "l2_bytes", "dram_bytes"))
rows = st.lists(
    st.tuples(st.booleans(), st.floats(0, 1), st.floats(0, 128)), min_size=ROWS, max_size=ROWS
)
paths = st.lists(st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=40), min_size=1)


@given(rows, paths)
def test_the_first_executions_on_each_path_miss(listed, walked):
    table = np.zeros((ROWS, len(COLUMNS)))
    for row, (early, misses, l2_bytes) in zip(table, listed, strict=True):
        row[[EARLY, MISSES, L2, DRAM]] = early, misses, l2_bytes, l2_bytes / 2
    length = np.array([len(p) for p in walked])
    path = np.concatenate([np.array(p) for p in walked])
    start = np.cumsum(length) - length
    found, split = with_misses_first(table, path, start, length)

    assert np.array_equal(split % ROWS, path)
    for begin, own in zip(start, walked, strict=True):
        here = split[begin : begin + len(own)]
        for row, (early, misses, l2_bytes) in enumerate(listed):
            executions = here[np.array(own) == row]
            if not early or not RARE <= misses < 1:
                assert (found[executions] == table[row]).all()
                continue
            # The first misses, the others do not: as many as the share says, rounded up.
            waiting = found[executions, MISSES]
            expected = math.ceil(misses * len(executions) - 1e-9)
            assert waiting.tolist() == [1.0] * expected + [0.0] * (len(executions) - expected)
            assert np.allclose(found[executions, L2], waiting * l2_bytes / misses)
            assert np.allclose(found[executions, DRAM], waiting * l2_bytes / 2 / misses)
