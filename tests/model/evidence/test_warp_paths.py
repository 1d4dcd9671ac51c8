"""Use of L1 by accesses, each counted by itself."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from placewise.model.evidence.warp_paths import NEXT_LINE, passes_of


@given(
    st.lists(st.lists(st.integers(0, 400), min_size=32, max_size=32), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=12),
    st.integers(1, (1 << 32) - 1),
    st.sampled_from([1, 4, 8, 16]),
)
def test_passes_are_those_of_each_access_by_itself(patterns, moved, mask, width):
    of_lane = np.array(patterns)[[p % len(patterns) for p, _ in moved]] * width
    offsets = of_lane + 64 * np.array([by for _, by in moved])[:, None]
    active = np.tile(mask >> np.arange(32) & 1 == 1, (len(moved), 1))
    for lanes, on, found in zip(offsets, active, passes_of(offsets, active, width), strict=True):
        first = lanes[on]
        ends = np.concatenate([first, first + width - 1])
        touched = sorted(set((ends // 128).tolist()))
        neighbours = len(touched) == 2 and touched[1] == touched[0] + 1
        assert found[1] == (1 + NEXT_LINE if neighbours else len(touched))
        # Groups of lanes that ask for 128 bytes together; different words of a bank take turns.
        per_group, words = min(32, 128 // max(width, 4)), max(1, width // 4)
        turns = 0
        for group in range(0, 32, per_group):
            own = slice(group, group + per_group)
            asked = {int(a) // 4 + w for a in lanes[own][on[own]] for w in range(words)}
            banks = [word % 32 for word in asked]
            turns += max((banks.count(bank) for bank in set(banks)), default=0)
        assert found[0] == turns
        assert found[2] == len({int(a) // 4 + w for a in first for w in range(words)}) / 32
