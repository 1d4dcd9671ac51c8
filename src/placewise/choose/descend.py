"""The depth-first search of branch and bound, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from placewise.choose.bounds import Weights, certain_counts, relaxed
from placewise.choose.costs import NOT_WORSE, Costs, row_of, time_of
from placewise.compiled_code import compiled


# One long loop with its own stack: in compiled code that is cheaper than recursion over arrays.
@compiled(nogil=True)
def descend(
    costs: Costs,
    weights: Weights,
    order: NDArray[np.int64],
    choice: NDArray[np.int64],
    first: int,
    least: NDArray[np.float64],
    best: NDArray[np.int64],
    nodes: NDArray[np.int64],
) -> bool:
    """Search all completions of the first arrays of ``order``, depth first, an array at a level.

    ``choice`` (arrays,) has the options of the ``first`` ones; at least one array is left to
    choose. ``least`` (1,) is the least time found so far by any thread; branches that cannot be
    better are cut. A better placement is written to ``best`` (arrays,). ``nodes`` (2,) has the
    number of branches visited and the most that may be. Returns whether all completions were
    searched or cut.
    """
    n = order.size
    widest = costs.start.shape[1]
    bound = np.empty((n, widest))
    ranked = np.empty((n, widest), np.int64)
    ways = np.zeros(n, np.int64)
    at = np.zeros(n, np.int64)
    counts = np.zeros(costs.uses.shape[2], np.int64)
    taken = np.zeros(costs.room.size, np.int64)
    for k in range(first):
        _move(costs, order[k], choice[order[k]], 1, counts, taken)
    spent = np.empty(costs.cycles.shape[1])
    rest = _rest(costs, weights, order)
    depth = first
    fresh = True
    while True:
        array = order[depth]
        if fresh:
            nodes[0] += 1
            if nodes[0] > nodes[1]:
                return False
            ways[depth] = 0
            at[depth] = 0
            for o in range(costs.options[array]):
                choice[array] = o
                value = np.inf
                if _move(costs, array, o, 1, counts, taken):
                    value = _bound(
                        costs, weights, order, choice, depth, counts, taken, spent, rest, least[0]
                    )
                _move(costs, array, o, -1, counts, taken)
                if value >= least[0] * NOT_WORSE:
                    continue
                k = ways[depth]
                while k > 0 and bound[depth, k - 1] > value:
                    bound[depth, k] = bound[depth, k - 1]
                    ranked[depth, k] = ranked[depth, k - 1]
                    k -= 1
                bound[depth, k] = value
                ranked[depth, k] = o
                ways[depth] += 1
        if at[depth] < ways[depth] and bound[depth, at[depth]] < least[0] * NOT_WORSE:
            option = ranked[depth, at[depth]]
            at[depth] += 1
            choice[array] = option
            if depth + 1 == n:
                time = time_of(costs, choice)
                if time < least[0] * NOT_WORSE:
                    least[0] = time
                    best[:] = choice
                fresh = False
                continue
            _move(costs, array, option, 1, counts, taken)
            depth += 1
            fresh = True
        else:
            choice[array] = costs.present[array]
            if depth == first:
                return True
            depth -= 1
            _move(costs, order[depth], choice[order[depth]], -1, counts, taken)
            fresh = False


@njit(nogil=True, inline="always")
def _move(
    costs: Costs, array: int, option: int, times: int,
    counts: NDArray[np.int64], taken: NDArray[np.int64],
) -> bool:  # fmt: skip
    """Add (``times`` = 1) or remove (-1) an option in ``counts`` and ``taken``, in place. Returns
    whether the arrays still fit."""
    for c in range(counts.size):
        counts[c] += times * costs.uses[array, option, c]
    fit = True
    for r in range(taken.size):
        taken[r] += times * costs.takes[array, option, r]
        fit &= taken[r] <= costs.room[r]
    return fit


@compiled(nogil=True)
def _rest(costs: Costs, weights: Weights, order: NDArray[np.int64]) -> NDArray[np.float64]:
    """(k, arrays + 1) for each of the weights, the least that the arrays from each position of the
    order on add to the bound, minus price times room of all limits."""
    certain = certain_counts(costs)
    others = np.zeros(certain.size, np.int64)
    rest = np.zeros((weights.path.shape[0], order.size + 1))
    for k in range(rest.shape[0]):
        rest[k, order.size] = -(weights.price[k] * costs.room).sum()
        for position in range(order.size - 1, -1, -1):
            a = order[position]
            for c in range(certain.size):
                others[c] = certain[c] - (costs.uses[a, 0, c] if costs.options[a] == 1 else 0)
            part, _, _ = relaxed(costs, weights.path[k], weights.price[k], others, a)
            rest[k, position] = rest[k, position + 1] + part
    return rest


# One parameter for each array that the search keeps, so that this function allocates none.
@njit(nogil=True)
def _bound(
    costs: Costs, weights: Weights, order: NDArray[np.int64], choice: NDArray[np.int64],
    depth: int, counts: NDArray[np.int64], taken: NDArray[np.int64], spent: NDArray[np.float64],
    rest: NDArray[np.float64], least: float,
) -> float:  # fmt: skip
    """A lower bound on the time of all completions of the arrays up to position ``depth`` of the
    order, which put ``counts`` arrays into the caches and take ``taken``. The cost of the remaining
    arrays is first taken from ``rest``, worked out at the root; only where that does not cut the
    branch is it worked out anew beside these arrays, one after the other. As soon as the bound
    reaches ``least``, which cuts the branch, it is returned as it is by then."""
    spent[:] = 0.0
    for k in range(depth + 1):
        row = row_of(costs, order[k], choice[order[k]], counts)
        for p in range(spent.size):
            spent[p] += costs.floor[row, p]
    highest: float = -np.inf
    at = 0
    for k in range(weights.path.shape[0]):
        value = rest[k, depth + 1]
        for p in range(spent.size):
            value += weights.path[k, p] * spent[p]
        for r in range(taken.size):
            value += weights.price[k, r] * taken[r]
        if value >= least * NOT_WORSE:
            return float(value)
        if value > highest:
            highest, at = value, k
    reckoned = highest
    if not costs.sums:
        for p in range(spent.size):
            highest = max(highest, spent[p])
    for k in range(depth + 1, order.size):
        if max(reckoned, highest) >= least * NOT_WORSE:
            break
        part, _, _ = relaxed(costs, weights.path[at], weights.price[at], counts, order[k])
        reckoned += part - (rest[at, k] - rest[at, k + 1])
    bound: float = max(reckoned, highest)
    return bound
