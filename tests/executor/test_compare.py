"""Differences in units of the last place."""

import numpy as np
import pytest

from placewise.executor.compare import compare, max_ulp


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_steps_between_neighbours(dtype):
    one = np.array([1, -1, 0, 3.5], dtype)
    up = one
    for steps in range(1, 4):
        up = np.nextafter(up, np.array(np.inf, dtype))
        assert max_ulp(one, up) == steps
        assert max_ulp(up, one) == steps


def test_zeros_nans_and_the_widest_distance():
    f = np.float64
    assert max_ulp(f([0.0]), f([-0.0])) == 0
    assert max_ulp(f([np.nan]), -f([np.nan])) == 0
    assert max_ulp(f([np.nan]), f([1.0])) is None
    assert max_ulp(np.int32([1]), np.int32([2])) is None
    tiny = np.nextafter(f(0), f(1))
    assert max_ulp(f([tiny]), f([-tiny])) == 2
    largest = np.finfo(f).max
    assert max_ulp(f([largest]), f([-largest])) == 2 * int(f(largest).view(np.int64))


def test_signed_zero_is_not_identical():
    check = compare("y", np.float32([0.0, 1]), np.float32([-0.0, 1]))
    assert (check.identical, check.different, check.max_ulp) == (False, 1, 0)


def test_equal_nans_are_identical():
    x = np.float32([[np.nan, 1], [2, 3]])
    assert compare("y", x, x.copy()).identical
