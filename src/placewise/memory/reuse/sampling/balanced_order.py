"""An order of groups of blocks whose first few are like all groups in how much their blocks do.

A sample is balanced on a quantity that is known of every unit if the sample's mean is the mean of
all units (Tillé, "Sampling Algorithms", 2006, chapter 8). What is correlated with that quantity is
then estimated better than from a sample that is only spread evenly. Accesses of a block often are
correlated with the number of its instructions: rows of a sparse matrix, nodes with neighbours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

REACH = 1
"""How many neighbours on either side of a place may be taken instead of it: few, so that the order
stays spread evenly."""


def balanced_order(
    places: list[int], group: NDArray[np.int64], work: NDArray[np.int64]
) -> list[int]:
    """Groups in the order of ``places``, each exchanged for a neighbour that is still free where
    the groups so far are then more like all blocks.

    ``places`` are all groups' numbers, once each; ``group`` is (blocks,) the group of each block,
    ``work`` (blocks,) how much it does. The mean of the work and that of its logarithm are
    compared, each in units of its standard deviation among groups. The first group stays.
    """
    quantities = np.stack([work.astype(np.float64), np.log1p(work)], axis=1)
    count = len(places)
    blocks = np.bincount(group, minlength=count).astype(np.float64)
    sums = np.stack([np.bincount(group, q, count) for q in quantities.T], axis=1)
    spread = (sums / np.maximum(blocks, 1.0)[:, None]).std(axis=0)
    differing = spread > 0.0
    goal = quantities.mean(axis=0)

    def apart(taken: list[int]) -> float:
        mean = sums[taken].sum(axis=0) / max(1.0, float(blocks[taken].sum()))
        return float((np.abs(mean - goal)[differing] / spread[differing]).sum())

    free = set(places)
    order: list[int] = []
    for place in places:
        near = [place + step for step in sorted(range(-REACH, REACH + 1), key=abs)]
        candidates = [n for n in (near if order else [place]) if n in free]
        candidates = candidates or [min(free, key=lambda n: abs(n - place))]
        chosen = min(candidates, key=lambda n: apart([*order, n]))
        order.append(chosen)
        free.remove(chosen)
    return order
