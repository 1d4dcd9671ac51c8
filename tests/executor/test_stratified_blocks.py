"""Samples of blocks against full runs."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_run import Collector, run
from hypothesis import given
from hypothesis import strategies as st
from test_kernels import BASIC

from placewise.errors import CaseError
from placewise.executor.stratified_blocks import BlockCounts, SampledBlocks, sample_blocks
from placewise.kernel.launch import Launch

grids = st.tuples(st.integers(1, 40), st.integers(1, 12), st.integers(1, 4))


@given(grids, st.integers(1, 60), st.integers(0, 5))
def test_a_sample_is_a_part_of_the_launch_with_two_of_each_stratum(
    grid: tuple[int, int, int], count: int, seed: int
) -> None:
    launch = Launch(grid, (32, 1, 1))
    sample = sample_blocks(launch, count, seed=seed)
    assert int(sample.stratum_sizes.sum()) == launch.blocks
    assert (np.diff(sample.chosen) > 0).all()
    assert 0 <= sample.chosen[0] <= sample.chosen[-1] < launch.blocks
    drawn = np.bincount(sample.stratum, minlength=len(sample.stratum_sizes))
    assert (drawn >= np.minimum(sample.stratum_sizes, 2)).all()
    assert sample.flags.sum() == len(sample.chosen)
    assert sample.complete == (len(sample.chosen) == launch.blocks)
    again = sample_blocks(launch, count, seed=seed)
    assert np.array_equal(sample.chosen, again.chosen)
    # Eight kinds of edge with two blocks each, and rounding, at most.
    assert len(sample.chosen) <= count + 16 + len(sample.stratum_sizes)


@given(grids, st.integers(2, 60), st.integers(0, 5))
def test_totals_of_what_all_blocks_share_are_exact(
    grid: tuple[int, int, int], count: int, seed: int
) -> None:
    launch = Launch(grid, (32, 1, 1))
    sample = sample_blocks(launch, count, seed=seed)
    # What depends on the edges alone is exact too.
    last = sample.chosen % grid[0] == grid[0] - 1
    found = sample.estimate(np.stack([np.full(len(sample.chosen), 7), 3 * last], axis=1))
    assert found.total == pytest.approx([7 * launch.blocks, 3 * launch.blocks / grid[0]])
    assert found.standard_error == pytest.approx([0, 0])


def test_estimates_of_random_values_have_the_error_they_state() -> None:
    """Over many samples the mean is right, and its spread is the stated standard error."""
    launch = Launch((50, 10, 1), (32, 1, 1))
    rng = np.random.default_rng(3)
    values = rng.exponential(10, launch.blocks) + np.arange(launch.blocks) / 20
    found = []
    for seed in range(400):
        sample = sample_blocks(launch, 60, seed=seed)
        estimate = sample.estimate(values[sample.chosen])
        found.append((estimate.total[0], estimate.standard_error[0]))
    totals, errors = np.array(found).T
    spread = totals.std()
    assert abs(totals.mean() - values.sum()) < 4 * spread / np.sqrt(len(totals))
    assert np.sqrt((errors**2).mean()) == pytest.approx(spread, rel=0.15)
    covered = (abs(totals - values.sum()) < 2 * errors).mean()
    assert covered > 0.85


def sparse() -> dict[str, np.ndarray | np.generic]:
    rng = np.random.default_rng(8)
    rows = 96 * 4
    start = np.r_[0, np.cumsum(np.minimum(rng.zipf(1.6, rows), 90))].astype(np.int32)
    return {
        "rp": start, "ci": rng.integers(0, 999, start[-1]).astype(np.int32),
        "v": np.ones(start[-1], np.float32), "x": np.ones(1000, np.float32),
        "y": np.zeros(rows, np.float32), "n": np.int32(rows),
    }  # fmt: skip


def counted(sample: SampledBlocks) -> BlockCounts:
    counts = BlockCounts(sample)
    options = {"consumer": counts, "trace_blocks": sample.flags}
    run(BASIC, "spmv", 96, 128, options=options, **sparse())
    return counts


def test_a_full_sample_counts_exactly() -> None:
    launch = Launch((96, 1, 1), (128, 1, 1))
    counts = counted(sample_blocks(launch, 96))
    trace = Collector()
    result = run(BASIC, "spmv", 96, 128, options={"consumer": trace}, **sparse())
    sites = len(result.sites)
    assert np.array_equal(counts.accesses().total, result.site_executions)
    lanes, sectors = np.zeros(sites), np.zeros(sites)
    for site, _, _, mask, _, offsets in trace.accesses:
        lanes[site] += mask.bit_count()
        size = result.sites[site].lane_bytes
        touched = [(o // 32, (o + size - 1) // 32) for o in offsets if o is not None]
        sectors[site] += len({sector for pair in touched for sector in pair})
    assert np.array_equal(counts.lanes().total, lanes)
    assert np.array_equal(counts.sectors().total, sectors)
    assert not counts.sectors().standard_error.any()


def test_samples_of_a_skewed_kernel_come_near_the_full_run() -> None:
    launch = Launch((96, 1, 1), (128, 1, 1))
    exact = counted(sample_blocks(launch, 96)).sectors().total
    inside = []
    for seed in range(8):
        found = counted(sample_blocks(launch, 24, seed=seed)).sectors()
        assert (found.standard_error[exact > 0] < exact[exact > 0]).all()
        inside.append(abs(found.total - exact) <= 3 * found.standard_error + 1e-9)
    assert np.mean(inside) > 0.85


def test_an_empty_sample_is_refused() -> None:
    with pytest.raises(CaseError, match="a sample of 0 blocks"):
        sample_blocks(Launch((4, 1, 1), (32, 1, 1)), 0)
