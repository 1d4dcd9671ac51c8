"""Samples of blocks: nested, whole SMs first, down to one block."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from placewise.memory.reuse.sampling.trace_sample import SamplePlan

plans = st.builds(
    SamplePlan,
    blocks=st.integers(1, 5000),
    sms=st.integers(1, 120),
    run=st.sampled_from([3, 4]),
    resident=st.integers(1, 16),
    seed=st.integers(0, 3),
)


@given(plans)
def test_samples_are_nested_and_end_with_one_block(plan):
    sample = plan.sample(0)
    assert sample.complete
    assert sample.block_scale == 1.0
    while not sample.smallest:
        smaller = plan.sample(sample.level + 1)
        assert not (smaller.traced & ~sample.traced).any()
        assert smaller.traced.any()
        # Traced blocks lie on sampled SMs.
        assert smaller.sms[np.flatnonzero(smaller.traced) % plan.sms].all()
        sample = smaller
        assert sample.level < 60
    assert sample.traced.sum() == 1


def test_whole_sms_are_kept_while_there_are_many():
    plan = SamplePlan(blocks=108 * 40, sms=108, run=4, resident=8, seed=0)
    sample = plan.sample(2)
    # 27 runs of four SMs, halved twice: 7.
    assert sample.sms.sum() == 28
    assert sample.traced.sum() == 28 * 40
    assert sample.sm_scale == 108 / 28
    assert sample.wave_scale == 1.0


def test_waves_come_from_the_start_and_the_middle():
    plan = SamplePlan(blocks=4 * 80, sms=4, run=4, resident=8, seed=0)  # ten waves of 32 blocks
    sample = plan.sample(2)
    waves = np.unique(np.flatnonzero(sample.traced) // 32)
    assert waves.tolist() == [0, 5]
    assert sample.middle == 5 * 32
    assert sample.wave_scale == 5.0


def test_first_sample_bounds_the_warps():
    plan = SamplePlan(blocks=10_000_000, sms=108, run=4, resident=8, seed=0)
    assert plan.first(8).traced.sum() * 8 <= 1 << 19
