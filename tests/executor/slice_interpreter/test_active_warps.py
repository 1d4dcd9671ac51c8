"""Registers of some warps at a time, against arrays of all warps."""

import numpy as np
import pytest

from placewise.executor.ir.nodes import Reg
from placewise.executor.slice_interpreter.active_warps import ActiveWarps, Registers

WARPS = 6


@pytest.mark.parametrize("seed", range(20))
def test_registers_keep_their_own_values(seed):
    random = np.random.default_rng(seed)
    names = [Reg(f"%r{n}", "i32", n) for n in range(3)]
    warps = ActiveWarps(WARPS)
    registers = Registers(warps, (WARPS, 32))
    expected = {reg: np.zeros((WARPS, 32), np.uint32) for reg in names}
    for _ in range(200):
        took_part = random.random(WARPS) < random.choice([0.2, 0.5, 1.0])
        mask = took_part[:, None] & (random.random((WARPS, 32)) < random.choice([0.5, 1.0]))
        warps.choose(took_part)
        source, target = (names[n] for n in random.integers(0, len(names), 2))
        added = np.uint32(random.choice([0, 1]) * random.integers(1, 1000))
        value = registers.read(source)
        lanes = np.broadcast_to(value, warps.of(mask).shape)
        np.testing.assert_array_equal(lanes, warps.of(expected[source]))
        # Some values are the register's own array.
        registers.write(target, value + added if added else value, warps.of(mask))
        expected[target] = np.where(mask, expected[source] + added, expected[target])


def test_all_warps_are_computed_where_more_than_half_are_active():
    warps = ActiveWarps(4)
    warps.choose(np.array([True, False, True, True]))
    assert warps.rows is None
    warps.choose(np.array([False, False, True, True]))
    assert warps.of(np.arange(4)).tolist() == [2, 3]
    assert warps.numbers(np.array([1])).tolist() == [3]
    assert warps.everywhere(np.full((2, 1), True))[:, 0].tolist() == [False, False, True, True]
