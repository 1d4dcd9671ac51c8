"""Where global atomics meet, from a few blocks of a launch."""

import numpy as np
import pytest

from placewise.model.evidence.contention import largest_share

LANES = 32


def places(of_block, blocks):
    """Places of a warp of each of some blocks; ``of_block`` gives those of one."""
    where = np.concatenate([of_block(b) for b in blocks])
    return np.stack([np.zeros_like(where), where]), np.repeat(blocks, LANES)


def test_all_lanes_at_one_counter():
    where, block = places(lambda _: np.zeros(LANES, int), np.array([0, 40, 90]))
    assert largest_share(where, block, 1000) == 1.0


def test_every_block_at_the_same_counters():
    """Each block adds to 32 counters: each gets its share, whatever part of the launch is seen."""
    for seen in ([3], [0, 9], list(range(20))):
        where, block = places(lambda _: np.arange(LANES), np.array(seen))
        expected = 1 / LANES * (1 if len(seen) > 1 else 1 / 1000)
        assert largest_share(where, block, 1000) == pytest.approx(expected)


def test_a_counter_of_each_block():
    """The launch has a thousand counters, of which three are seen."""
    where, block = places(lambda b: np.full(LANES, b), np.array([0, 40, 90]))
    assert largest_share(where, block, 1000) == pytest.approx(1 / 1000)


def test_chance_is_no_contention():
    draw = np.random.default_rng(1)
    where, block = places(lambda _: draw.integers(0, 1 << 30, LANES), np.arange(50))
    assert largest_share(where, block, 5000) <= 1.0 / (50 * LANES) + 1e-9
    where, block = places(lambda _: draw.integers(0, 64, LANES), np.arange(200))
    assert largest_share(where, block, 5000) == pytest.approx(1 / 64, rel=0.25)
