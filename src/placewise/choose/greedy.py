"""PORPLE's greedy search (Chen et al. 2017, section 3.2, Procedure 1), for many arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placewise.choose.table import CostTable


def greedy(table: CostTable) -> NDArray[np.int64]:
    """(arrays,) options of one good placement, found without combining arrays.

    Procedure 1: arrays that gain in constant memory fill it, those with the largest gain first;
    each of the others then gets its best space given all earlier ones, in descending order of what
    it could gain at most. δ is the reduction of the array's own time against its present space,
    where the paper says "extra memory performance (i.e., reduction of memory transactions)"; only
    arrays with a positive δ_c are "appropriate arrays" for constant memory.
    """
    arrays = range(len(table.arrays))
    choice = np.array(table.present, dtype=np.int64)
    gains = [_gains(table, a) for a in arrays]
    machine = table.legality.machine

    placed = set()
    constant: list[tuple[float, int, int]] = []
    for a in arrays:
        for o, space in enumerate(table.options[a]):
            if machine.space(space).way.facts.host_filled and gains[a][o] > 0:
                constant.append((gains[a][o], a, o))
    for _, a, o in sorted(constant, reverse=True):
        tried = choice.copy()
        tried[a] = o
        if table.fits(tried[None])[0]:
            choice = tried
            placed.add(a)

    rest = sorted((a for a in arrays if a not in placed), key=lambda a: -max(gains[a]))
    for a in rest:
        tried = np.tile(choice, (len(table.options[a]), 1))
        tried[:, a] = np.arange(len(table.options[a]))
        tried = tried[table.fits(tried)]
        if len(tried):
            times = table.model.total(table.path_times(tried))
            moved = table.moves(tried)
            choice = tried[np.lexsort((moved, times))[0]]
    return choice


def _gains(table: CostTable, array: int) -> list[float]:
    """δ_x of one array for each of its options, contention for caches left out."""
    times = [
        float(table.cost(array, o, table.uses[array][o]).sum())
        for o in range(len(table.options[array]))
    ]
    return [times[table.present[array]] - t for t in times]
