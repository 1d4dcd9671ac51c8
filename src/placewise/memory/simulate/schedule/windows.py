"""Which waves of a large launch are traced, and how the rest is estimated from them.

What one access takes (requests, sectors, wavefronts) does not depend on the wave, so any sample of
blocks gives it. What caches hold depends on what ran before, so a launch that is too large is
traced in evenly spread stretches of consecutive waves: the last wave of a stretch counts, those
before it fill the caches. One filling wave is enough, except where a row of the grid is longer than
a wave: the block above another one ran a whole row before. The first wave, with its cold caches,
counts only for itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_STRETCHES = 2


@dataclass(frozen=True, eq=False)
class WaveCounts:
    """What one wave did to the caches, by memory instruction."""

    wave: int
    blocks: int
    counted: bool
    """Whether its figures are used; False where it only fills the caches."""
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
    """(2, levels, sites) lines asked of each cache of constant memory, and those missed."""


def filling_waves(
    grid: tuple[int, int, int], per_wave: int, affordable: int, least: int = 1
) -> int:
    """Waves that fill caches before one that counts: those of a row of the grid, if it has several
    rows and the stretches are affordable, else as few as ``least``."""
    row = -(-grid[0] // per_wave) if grid[1] * grid[2] > 1 else 1
    return max(1, least, min(row, (affordable - 1) // LEAST_STRETCHES - 1))


def sampled_waves(waves: int, affordable: int, filling: int = 1) -> NDArray[np.bool_]:
    """(waves,) True where a wave is traced: all, or the first and stretches of ``filling`` waves
    and one that counts, spread over the rest."""
    chosen = np.ones(waves, np.bool_)
    length = filling + 1
    stretches = max(LEAST_STRETCHES, (affordable - 1) // length)
    if waves <= max(affordable, length * LEAST_STRETCHES + 1):
        return chosen
    chosen[1:] = False
    # The last wave is rarely full; it is left to the others to stand for.
    starts = np.linspace(1, waves - 1 - length, stretches + 1)[1:].round().astype(int)
    for start in starts:
        chosen[start : start + length] = True
    return chosen


def counted_waves(chosen: NDArray[np.bool_], filling: int = 1) -> NDArray[np.bool_]:
    """(waves,) True where a wave counts: it is the first, or follows ``filling`` that were
    traced."""
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
    """Sum of figures over the launch, and its standard error, both (figures,).

    ``of`` is (waves, figures); ``weights``, of the same shape, says how much of what causes a
    figure each wave had (warp accesses, say), ``total`` (figures,) how much the launch has: so
    waves with more blocks at the edge of the grid than others do not mislead. The first wave
    stands for itself, the other counted ones for the rest; the error is that of a ratio estimate
    (Cochran, "Sampling Techniques", 3rd edition, 1977, equation 2.39), waves being drawn.
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
