"""Instructions between bursts, against code that can be counted by eye."""

from itertools import pairwise

import pytest

from placewise.memory.simulate.dram.distances import distances, followers_of_ptx


def chain(*places):
    return {a: (b,) for a, b in pairwise(places)}


def test_straight_code():
    executed = dict.fromkeys(range(10), 5.0)
    found = distances(executed, chain(*range(10)), {2, 3, 7})
    assert found == pytest.approx({2: 2, 3: 1, 7: 4})


def test_loop_with_an_inner_loop():
    """Once 0; ten times: 1 (the burst), twenty times 2 and 3, then 4; once 5."""
    executed = {0: 1.0, 1: 10.0, 2: 200.0, 3: 200.0, 4: 10.0, 5: 1.0}
    followers = {0: (1,), 1: (2,), 2: (3,), 3: (2, 4), 4: (1, 5), 5: ()}
    found = distances(executed, followers, {1})
    # All 422 instructions but the last, and those after the last burst.
    assert found[1] == pytest.approx((1 + 9 * 42) / 10, rel=0.02)


def test_nothing_executed():
    assert distances({}, {}, {1}) == {}


PTX = """.visible .entry k()
{
ld.global.f32 a, [b];
$L__BB0_1:
add.f32 a, a, a;
@%p1 bra $L__BB0_1;
st.global.f32 [b], a;
bra.uni $L__BB0_3;
$L__BB0_3:
ret;
}
"""


def test_followers_of_ptx():
    found = followers_of_ptx(PTX, (3, 5, 6, 7, 8, 10))
    assert found == {3: (5,), 5: (6,), 6: (5, 7), 7: (8,), 8: (10,), 10: ()}
