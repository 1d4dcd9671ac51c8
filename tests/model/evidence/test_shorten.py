"""Long paths of basic blocks, shortened."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise.model.evidence.shorten import shortened

SIZES = np.array([5, 10, 20, 3])


def test_a_short_path_is_left_as_it_is():
    path = np.array([0, 1, 1, 1, 3])
    assert shortened(path, SIZES, 38) is path


def test_a_loop_stays_a_loop():
    path = np.array([0] + [1, 2] * 5000 + [3])
    found = shortened(path, SIZES, 3000)
    assert 2400 <= SIZES[found].sum() <= 3600
    assert found[0] == 0
    body = found[found != 0]
    body = body[body != 3]
    assert set(pairwise(body.tolist())) == {(1, 2), (2, 1)}


def test_phases_keep_their_shares():
    path = np.array([1] * 30_000 + [2] * 5_000)
    found = shortened(path, SIZES, 8_000)
    work = SIZES[found]
    share = work[found == 2].sum() / work.sum()
    assert abs(share - 0.25) < 0.01


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=400),
    st.integers(8, 2000),
)
def test_what_is_kept_are_steps_of_the_path_in_their_order(path, longest):
    path = np.array(path)
    found = shortened(path, SIZES, longest)
    left = iter(path.tolist())
    assert all(step in left for step in found.tolist())
    if SIZES[path].sum() <= longest:
        assert found.tolist() == path.tolist()
    else:
        # A step more than its room may be in every section.
        assert SIZES[found].sum() <= longest + 8 * SIZES.max()
