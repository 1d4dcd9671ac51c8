"""Lanes of accesses against NumPy, access by access."""

import numpy as np
import pytest

from placewise.executor.slice_interpreter.affine_lanes import describe_lanes


@pytest.mark.parametrize("seed", range(20))
def test_strides_hold_for_all_lanes_of_each_half(seed):
    random = np.random.default_rng(seed)
    n = 50
    first = random.integers(0, 1 << 40, n)
    stride = random.choice([0, 1, 4, -8, 1 << 30, 1 << 31], n)
    gap = random.choice([0, 64], n)
    lane = np.arange(32)
    offset = first[:, None] + stride[:, None] * lane + gap[:, None] * (lane >= 16)
    mask = np.ones((n, 32), bool)
    mask[random.random(n) < 0.3] = random.random(32) < 0.5
    for row in np.flatnonzero(random.random(n) < 0.3):
        offset[row, random.integers(0, 32)] += 4
    bits, affine = np.zeros(n, np.uint32), np.zeros(n, bool)
    starts = np.zeros((3, n), np.int64)
    describe_lanes(mask, offset, bits, *starts, affine)
    for row in range(n):
        assert int(bits[row]) == sum(1 << k for k in range(32) if mask[row, k])
        steps = np.concatenate([np.diff(offset[row, :16]), np.diff(offset[row, 16:])])
        regular = mask[row].all() and len(set(steps)) == 1 and abs(steps[0]) < 1 << 31
        assert affine[row] == regular
        active = offset[row, mask[row].argmax()]
        expected = (offset[row, 0], offset[row, 16], steps[0]) if regular else (active, active, 0)
        assert tuple(starts[:, row]) == expected
