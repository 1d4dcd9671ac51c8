"""Branch and bound over placements (Chen et al. 2017, section 3.2): exact, without visiting all."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from placewise.choose.greedy import greedy
from placewise.choose.table import CostTable


def branch_and_bound(table: CostTable) -> tuple[NDArray[np.int64], float]:
    """(arrays,) options of a placement with the least time, and that time.

    Depth first, one array at a level, those with most at stake first. A branch is cut where even
    the cheapest completion (each path by itself, each array with as many others in its caches as
    suit it best) is no better than the best placement found; greedy search gives the first one.
    """
    best = greedy(table)
    least = float(table.model.total(table.path_times(best[None]))[0])
    floors = [_floors(table, a) for a in range(len(table.arrays))]
    order = sorted(
        range(len(table.arrays)), key=lambda a: -float(np.ptp(floors[a].sum(axis=1), axis=0))
    )
    # Least cycles on each path of the arrays from position k of the order on.
    rest = np.zeros((len(order) + 1, len(table.paths)))
    for k in range(len(order) - 1, -1, -1):
        rest[k] = rest[k + 1] + floors[order[k]].min(axis=0)

    choice = np.array(table.present, dtype=np.int64)

    def visit(depth: int, spent: NDArray[np.float64]) -> None:
        nonlocal best, least
        if depth == len(order):
            leaf = choice[None]
            if table.fits(leaf)[0]:
                total = float(table.model.total(table.path_times(leaf))[0])
                if total < least:
                    best, least = choice.copy(), total
            return
        array = order[depth]
        bounds = table.model.total(floors[array] + spent + rest[depth + 1])
        for option in np.argsort(bounds, kind="stable").tolist():
            if bounds[option] >= least:
                break
            choice[array] = option
            visit(depth + 1, spent + floors[array][option])
        choice[array] = table.present[array]

    visit(0, np.zeros(len(table.paths)))
    return best, least


def _floors(table: CostTable, array: int) -> NDArray[np.float64]:
    """(options, paths) least cycles of an array over all numbers of arrays in its caches."""
    most = len(table.arrays) + int(table.fixed_uses.max(initial=0))
    floors = []
    for o, used in enumerate(table.uses[array]):
        caches = np.flatnonzero(used)
        costs = []
        for shared in itertools.product(range(1, most + 1), repeat=len(caches)):
            counts = used.copy()
            counts[caches] = shared
            costs.append(table.cost(array, o, counts))
        floors.append(np.min(costs, axis=0))
    return np.array(floors)
