"""Lower bounds on the times of many placements at once.

The time is that of the slowest data path. A bound on each path by itself is weak: wherever an array
goes, it adds cycles to some path, but for each single path there is a placement where it adds none.
So the bounds here are Lagrangian. With weights of the paths that add up to 1, the weighted sum of
the paths is never more than the slowest path, and it splits into one minimum for each array.
Limited capacities get prices in the same way. Arrays that share a cache make each other slower,
which a sum over arrays cannot express; so each array costs at least what it costs beside the arrays
that are certainly in its caches. Good weights and prices are found by the subgradient method (Held,
Wolfe and Crowder 1974).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.choose.costs import Costs
from placewise.compiled_code import compiled

KEPT = 4
"""Number of weights that are kept from the subgradient method: those of the last steps that raised
the bound."""


class Weights(NamedTuple):
    """Weights under which the parts of a time add up to a lower bound of it.

    For weights λ ≥ 0 of the paths with Σ λ = 1 (λ = 1 where times add up), and prices μ ≥ 0, no
    placement that fits takes less than Σ_arrays min_options (λ·cycles + μ·takes) − μ·room.
    """

    path: NDArray[np.float64]
    """(k, paths) λ."""
    price: NDArray[np.float64]
    """(k, limits) μ, cycles for each unit of what is limited."""


@compiled(nogil=True)
def relaxed(
    costs: Costs, path: NDArray[np.float64], price: NDArray[np.float64],
    counts: NDArray[np.int64], array: int,
) -> tuple[float, int, int]:  # fmt: skip
    """The least value of λ·(least cycles) + μ·takes over an array's options, if there are at least
    ``counts`` (caches,) other arrays in the caches; also the option that has it, and its row."""
    least, chosen, at = np.inf, 0, 0
    for o in range(costs.options[array]):
        row = costs.start[array, o]
        for c in range(costs.stride.shape[2]):
            row += costs.stride[array, o, c] * (counts[c] + costs.uses[array, o, c])
        value = 0.0
        for p in range(path.size):
            value += path[p] * costs.floor[row, p]
        for r in range(price.size):
            value += price[r] * costs.takes[array, o, r]
        if value < least:
            least, chosen, at = value, o, row
    return least, chosen, at


@compiled(nogil=True)
def certain_counts(costs: Costs) -> NDArray[np.int64]:
    """(caches,) number of arrays that are in each cache because they have only one option."""
    counts = np.zeros(costs.stride.shape[2], np.int64)
    for a in range(costs.options.size):
        if costs.options[a] == 1:
            for c in range(counts.size):
                counts[c] += costs.uses[a, 0, c]
    return counts


@compiled(nogil=True)
def best_weights(
    costs: Costs, least: float, steps: int, choice: NDArray[np.int64]
) -> tuple[float, Weights]:
    """The highest bound found, and weights and prices: those of the last steps that raised the
    bound, and each path alone.

    The method takes at most ``steps`` steps and stops where the bound reaches ``least``. ``choice``
    (arrays,) receives the options that the best bound rests on, which need not fit together.
    """
    certain = certain_counts(costs)
    others = np.zeros(certain.size, np.int64)
    path = np.full(costs.cycles.shape[1], 1.0)
    if not costs.sums:
        path /= path.size
    price = np.zeros(costs.room.size)
    unit = np.maximum(1.0, costs.room.astype(np.float64))
    kept_path = np.zeros((KEPT, path.size))
    kept_price = np.zeros((KEPT, price.size))
    tried = np.empty(choice.size, np.int64)
    highest = -np.inf
    number = 0
    for step in range(steps):
        burden = np.zeros(path.size)
        excess = -costs.room.astype(np.float64)
        value = -(price * costs.room).sum()
        for a in range(costs.options.size):
            for c in range(certain.size):
                others[c] = certain[c] - (costs.uses[a, 0, c] if costs.options[a] == 1 else 0)
            part, option, row = relaxed(costs, path, price, others, a)
            value += part
            tried[a] = option
            burden += costs.floor[row]
            excess += costs.takes[a, option]
        if value > highest:
            highest = value
            kept_path[number % KEPT] = path
            kept_price[number % KEPT] = price
            number += 1
            choice[:] = tried
        if highest >= least:
            break
        excess /= unit
        for r in range(price.size):
            if price[r] == 0.0 and excess[r] < 0.0:
                excess[r] = 0.0
        uneven = burden - burden.mean()
        length = least**2 * (excess**2).sum() + (0.0 if costs.sums else (uneven**2).sum())
        if length <= 0.0:
            break
        pace = max(0.0, least - value) / length / (1.0 + step / 20.0)
        if not costs.sums:
            path = on_simplex(path + pace * uneven)
        price = np.maximum(0.0, price + pace * least**2 * excess / unit)
    # Weights of 1 for each path alone are added: deep in the tree one path often decides.
    count = min(number, KEPT)
    alone = 0 if costs.sums else path.size
    all_paths = np.zeros((count + alone, path.size))
    all_prices = np.zeros((count + alone, price.size))
    all_paths[:count] = kept_path[:count]
    all_prices[:count] = kept_price[:count]
    for p in range(alone):
        all_paths[count + p, p] = 1.0
    return highest, Weights(all_paths, all_prices)


@compiled(nogil=True)
def on_simplex(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest weights that are not negative and add up to 1 (Held, Wolfe and Crowder 1974)."""
    falling = np.sort(weights)[::-1]
    total, excess = 0.0, 0.0
    for k in range(falling.size):
        total += falling[k]
        if falling[k] > (total - 1.0) / (k + 1):
            excess = (total - 1.0) / (k + 1)
    return np.maximum(0.0, weights - excess)
