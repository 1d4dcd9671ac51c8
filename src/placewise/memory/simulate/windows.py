"""Which waves of a launch are traced, and how they stand for the others.

What one access takes (requests, sectors, wavefronts) is alike in all waves as far as blocks are
alike: any sample of blocks tells it. What caches hold is a matter of what ran before: so a launch
that is too large is traced in pairs of neighbouring waves, spread evenly, of which the first only
fills the caches and the second counts. The launch's first wave, with its cold caches, stands for
itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_PAIRS = 2


@dataclass(frozen=True, eq=False)
class WaveCounts:
    """What one wave did to the caches, by memory instruction."""

    wave: int
    blocks: int
    counted: bool
    """Not, where it only fills the caches."""
    sectors: NDArray[np.int64]
    """(sites,) asked of the first cache."""
    l1_hits: NDArray[np.int64]
    l2_hits: NDArray[np.int64]
    dram: NDArray[np.int64]
    """(sites,) sectors fetched from DRAM."""
    written: int
    """Dirty sectors that the last cache drove out."""
    dirtied: int
    """Sectors that were written while the last cache held no newer data of them than DRAM."""


def sampled_waves(waves: int, affordable: int) -> NDArray[np.bool_]:
    """(waves,) True where a wave is traced: all, or the first and pairs spread over the rest."""
    chosen = np.ones(waves, np.bool_)
    pairs = max(LEAST_PAIRS, (affordable - 1) // 2)
    if waves <= max(affordable, 2 * LEAST_PAIRS + 1):
        return chosen
    chosen[1:] = False
    # The last wave is rarely full; it is left to the others to stand for.
    starts = np.linspace(1, waves - 3, pairs + 1)[1:].round().astype(int)
    for start in starts:
        chosen[start : start + 2] = True
    return chosen


def counted_waves(chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(waves,) True where a wave counts: it is the first, or follows one that was traced."""
    counted = chosen.copy()
    counted[1:] &= chosen[:-1]
    return counted


def whole_launch(
    waves: list[WaveCounts], blocks: int, of: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum of a figure over the launch, and its standard error, both (sites,).

    ``of`` is (waves, sites). The first wave stands for itself, the other counted ones for all other
    blocks; the error is that of their mean, blocks being drawn wave by wave.
    """
    sizes = np.array([w.blocks for w in waves], np.float64)
    counted = np.array([w.counted for w in waves])
    total = of[0].astype(np.float64)
    rest = counted.copy()
    rest[0] = False
    left = blocks - sizes[0]
    if left <= 0 or not rest.any():
        return total * (blocks / sizes[0]), np.zeros_like(total)
    per_block = of[rest] / sizes[rest, None]
    total += left * np.average(per_block, axis=0, weights=sizes[rest])
    n = int(rest.sum())
    if n < 2 or sizes[rest].sum() >= left:
        return total, np.zeros_like(total)
    return total, left * per_block.std(axis=0, ddof=1) / np.sqrt(n)
