"""Chooses the waves of a large launch that are traced, and estimates the whole launch from them.

The requests, sectors and wavefronts of one access do not depend on the wave, so any sample of
blocks gives them. The content of the caches depends on earlier blocks. So, if a launch is too
large, stretches of consecutive waves are traced, spread evenly over the launch: the last wave of a
stretch is counted, and those before it only fill the caches. One such filling wave is enough,
unless a row of the grid is longer than a wave: then the block above a block ran a whole row
earlier. The first wave, which starts with empty caches, is counted, but only stands for itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_STRETCHES = 2


@dataclass(frozen=True, eq=False)
class WaveCounts:
    """Counts of one wave, by memory instruction."""

    wave: int
    blocks: int
    counted: bool
    """Whether its figures are used; False if it only fills the caches."""
    requests: NDArray[np.int64]
    """(sites,) warp accesses."""
    l1_hits: NDArray[np.int64]
    l2_asked: NDArray[np.int64]
    l2_hits: NDArray[np.int64]
    dram: NDArray[np.int64]
    """(sites,) sectors fetched from DRAM."""
    written: int
    """Dirty sectors that L2 evicted."""
    dirtied: int
    """Sectors that became dirty in L2."""
    constant: NDArray[np.int64]
    """(2, levels, sites) lines requested from each cache of constant memory, and those missed."""


def filling_waves(
    grid: tuple[int, int, int], per_wave: int, affordable: int, least: int = 1
) -> int:
    """Number of waves that fill the caches before a counted one: those of a row of the grid, if the
    grid has several rows and so many waves are affordable; else ``least``."""
    row = -(-grid[0] // per_wave) if grid[1] * grid[2] > 1 else 1
    return max(1, least, min(row, (affordable - 1) // LEAST_STRETCHES - 1))


def sampled_waves(waves: int, affordable: int, filling: int = 1) -> NDArray[np.bool_]:
    """(waves,) whether each wave is traced: all are, or the first and stretches of ``filling``
    waves and a counted one, spread over the rest."""
    chosen = np.ones(waves, np.bool_)
    length = filling + 1
    stretches = max(LEAST_STRETCHES, (affordable - 1) // length)
    if waves <= max(affordable, length * LEAST_STRETCHES + 1):
        return chosen
    chosen[1:] = False
    # The last wave is rarely full, so it is not traced; the others stand for it.
    starts = np.linspace(1, waves - 1 - length, stretches + 1)[1:].round().astype(int)
    for start in starts:
        chosen[start : start + length] = True
    return chosen


def counted_waves(chosen: NDArray[np.bool_], filling: int = 1) -> NDArray[np.bool_]:
    """(waves,) whether each wave is counted: it is the first, or follows ``filling`` traced
    waves."""
    counted = chosen.copy()
    for back in range(1, filling + 1):
        counted[back:] &= chosen[:-back]
    return counted


def whole_launch(
    waves: list[WaveCounts],
    of: NDArray[np.int64],
    weights: NDArray[np.int64],
    total: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum of each figure over the launch, and its standard error, both (figures,).

    ``of`` (waves, figures) has the figures of each wave. Each figure has a cause, such as warp
    accesses: ``weights``, of the same shape as ``of``, is the amount of this cause in each wave,
    and ``total`` (figures,) the amount in the launch. So waves that have more blocks at the edge of
    the grid than others do not distort the sum. The first wave stands for itself, the other counted
    waves for the rest. The error is that of a ratio estimate with randomly chosen waves (Cochran,
    "Sampling Techniques", 3rd edition, 1977, equation 2.39).
    """
    rest = np.array([w.counted for w in waves])
    rest[0] = False
    sums = of[0].astype(np.float64)
    error = np.zeros_like(sums)
    left = np.maximum(0.0, total - weights[0])
    seen = weights[rest].sum(axis=0).astype(np.float64)
    rate = np.divide(of[rest].sum(axis=0), seen, out=np.zeros_like(sums), where=seen > 0)
    alone = (seen == 0) & (weights[0] > 0)
    rate[alone] = of[0][alone] / weights[0][alone]
    sums += np.where(seen == left, of[rest].sum(axis=0), left * rate)
    n = int(rest.sum())
    if n > 1:
        residual = of[rest] - rate * weights[rest]
        spread = np.sqrt((residual**2).sum(axis=0) / (n - 1) / n)
        mean = seen / n
        np.divide(left * spread, mean, out=error, where=(mean > 0) & (seen < left))
    return sums, error
