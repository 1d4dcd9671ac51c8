"""PORPLE's greedy search (Chen et al. 2017, section 3.2, Procedure 1), and a search that improves
what it finds step by step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placewise.choose.costs import NOT_WORSE, Costs, fits, row_of, time_of
from placewise.choose.table import CostTable
from placewise.compiled_code import compiled


def greedy(table: CostTable) -> NDArray[np.int64]:
    """(arrays,) options of one good placement, found by choosing one array after another.

    Procedure 1: arrays that gain in constant memory fill it, those with the largest gain first.
    Each of the others then gets its best space given all earlier choices, in descending order of
    its largest possible gain. δ is the reduction of the array's own time against its present space,
    where the paper says "extra memory performance (i.e., reduction of memory transactions)"; only
    arrays with a positive δ_c are "appropriate arrays" for constant memory.
    """
    placed = len(table.arrays)
    found: NDArray[np.int64] = greedy_choice(table.costs, placed)[:placed]
    return found


@compiled(nogil=True)
def greedy_choice(costs: Costs, placed: int) -> NDArray[np.int64]:
    """(arrays,) options by Procedure 1; only the first ``placed`` arrays move. Where options take
    equal times, the present one is preferred, then the first."""
    gains = np.full(costs.start.shape, -np.inf)
    most = np.empty(placed)
    alone = np.empty(costs.start.shape[1])
    for a in range(placed):
        for o in range(costs.options[a]):
            row = row_of(costs, a, o, costs.uses[a, o])
            alone[o] = costs.cycles[row].sum()
        for o in range(costs.options[a]):
            gains[a, o] = alone[costs.present[a]] - alone[o]
        most[a] = gains[a].max()

    choice = costs.present.copy()
    done = np.zeros(choice.size, np.bool_)
    # Lines 2 to 5: arrays that gain in constant memory, by falling gain, until it is full.
    while True:
        best, array, option = 0.0, -1, -1
        for a in range(placed):
            for o in range(costs.options[a]):
                if costs.host_filled[a, o] and gains[a, o] > best:
                    best, array, option = gains[a, o], a, o
        if array < 0:
            break
        gains[array, option] = -np.inf
        before = choice[array]
        choice[array] = option
        if fits(costs, choice):
            done[array] = True
        else:
            choice[array] = before
    # Lines 6 to 13: the others by falling possible gain, each to its best space given earlier ones.
    for a in np.argsort(-most, kind="mergesort"):
        if not done[a]:
            _improve_array(costs, choice, a, np.inf)
    return choice


@compiled(nogil=True)
def climb(costs: Costs, choice: NDArray[np.int64], placed: int) -> float:
    """Improve a placement that fits, in place, by changes of one array, then of two at once, until
    neither helps. Returns the time of the result."""
    least: float = time_of(costs, choice)
    while True:
        before = least
        for a in range(placed):
            least = _improve_array(costs, choice, a, least)
        if least < before:
            continue
        for a in range(placed):
            for b in range(a):
                least = _improve_pair(costs, choice, a, b, least)
        if not least < before:
            return least


@compiled(nogil=True)
def _improve_array(costs: Costs, choice: NDArray[np.int64], array: int, least: float) -> float:
    """Give one array its best option, in place, if that takes less time than ``least``. Returns the
    resulting time. The present option is tried first, so that it wins ties."""
    best = choice[array]
    for k in range(costs.options[array] + 1):
        o = costs.present[array] if k == 0 else k - 1
        choice[array] = o
        if (k == 0 or o != costs.present[array]) and fits(costs, choice):
            time = time_of(costs, choice)
            if time < least * NOT_WORSE:
                least, best = time, o
    choice[array] = best
    return least


@compiled(nogil=True)
def _improve_pair(
    costs: Costs, choice: NDArray[np.int64], one: int, other: int, least: float
) -> float:
    """Give two arrays their best options together, in place, if that takes less time than
    ``least``. Returns the resulting time."""
    first, second = choice[one], choice[other]
    for o in range(costs.options[one]):
        for q in range(costs.options[other]):
            choice[one], choice[other] = o, q
            if fits(costs, choice):
                time = time_of(costs, choice)
                if time < least * NOT_WORSE:
                    least, first, second = time, o, q
    choice[one], choice[other] = first, second
    return least
