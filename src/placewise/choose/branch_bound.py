"""Branch and bound over placements (Chen et al. 2017, section 3.2): finds the best without visiting
all.

Each level of the tree chooses the option of one array. The subtrees below the combinations of the
first few arrays are searched on several cores, which share the best time found so far. The bounds
are those of :mod:`placewise.choose.bounds`.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.choose.bounds import best_weights
from placewise.choose.costs import NOT_WORSE, Costs, fits, time_of
from placewise.choose.descend import descend
from placewise.choose.greedy import climb, greedy_choice
from placewise.choose.table import CostTable

MOST_BRANCHES = 20_000_000
"""Branches that are visited before the search gives up; this takes some seconds of one core."""
_STEPS = 150
"""Steps of the subgradient method."""
_TASKS_PER_CORE = 16


@dataclass(frozen=True, eq=False)
class Found:
    """What the search found."""

    choice: NDArray[np.int64]
    """(arrays,) option of each array."""
    time: float
    exact: bool
    """True: no placement is better. False: the search gave up before it had visited all
    branches."""
    branches: int
    """Number of branches visited."""


def branch_and_bound(
    table: CostTable, *, most_branches: int = MOST_BRANCHES, threads: int | None = None
) -> Found:
    """A placement with the least time, on several cores (``threads``, else all).

    Greedy search, improved by changes of one and of two arrays, gives the first placement. The
    search gives up after about ``most_branches``.
    """
    costs = table.costs
    placed = len(table.arrays)
    best = _first(costs, placed)
    least = np.array([time_of(costs, best)])
    options = np.zeros(len(costs.options), np.int64)
    bound, weights = best_weights(costs, float(least[0]), _STEPS, options)
    if fits(costs, options) and climb(costs, options, placed) < least[0] * NOT_WORSE:
        best, least[0] = options, time_of(costs, options)
    if bound >= least[0] * NOT_WORSE:
        return Found(best[:placed], float(least[0]), True, 0)
    order = _order(costs, placed)
    cores = threads or len(os.sched_getaffinity(0))
    prefixes, depth = _prefixes(costs, order, cores * _TASKS_PER_CORE if cores > 1 else 1)
    spare = most_branches // len(prefixes)

    def search(prefix: NDArray[np.int64]) -> tuple[NDArray[np.int64], int, bool]:
        found, nodes = best.copy(), np.array([0, spare])
        done = descend(costs, weights, order, prefix, depth, least, found, nodes)
        return found, int(nodes[0]), bool(done)

    with ThreadPoolExecutor(cores) as pool:
        results = list(pool.map(search, prefixes))
    best = min((best, *(r[0] for r in results)), key=lambda choice: float(time_of(costs, choice)))
    return Found(
        best[:placed],
        float(time_of(costs, best)),
        all(done for _, _, done in results),
        sum(nodes for _, nodes, _ in results),
    )


def _first(costs: Costs, placed: int) -> NDArray[np.int64]:
    """A good placement to start from: the better of the greedy and the present one, each improved
    by local search."""
    starts = [greedy_choice(costs, placed), costs.present.copy()]
    for choice in starts:
        climb(costs, choice, placed)
    return min(starts, key=lambda choice: float(time_of(costs, choice)))


def _order(costs: Costs, placed: int) -> NDArray[np.int64]:
    """Order of the arrays: those with one option first, then by falling difference between their
    options."""
    at_stake = np.full(len(costs.options), np.inf)
    for a in range(placed):
        options = np.arange(costs.options[a])
        if len(options) > 1:
            alone = (costs.stride[a, options] * costs.uses[a, options]).sum(axis=1)
            at_stake[a] = np.ptp(costs.floor[costs.start[a, options] + alone].sum(axis=1))
    return np.argsort(-at_stake, kind="stable").astype(np.int64)


def _prefixes(
    costs: Costs, order: NDArray[np.int64], wanted: int
) -> tuple[list[NDArray[np.int64]], int]:
    """All combinations of options of the first few arrays of the order that fit, and how many
    arrays that is. As many arrays are taken as give ``wanted`` combinations, but never all."""
    found = [costs.present.copy()]
    depth = 0
    while depth < len(order) - 1 and (len(found) < wanted or costs.options[order[depth]] == 1):
        array = order[depth]
        longer = []
        for choice in found:
            for option in range(costs.options[array]):
                other = choice.copy()
                other[array] = option
                if fits(costs, other):
                    longer.append(other)
        found, depth = longer, depth + 1
    return found, depth
