"""The search over partitions of fields, against all partitions and against annealing."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.results import Figure
from placewise.choose.partitions import all_partitions, best_partition

EXHAUSTIVE_FIELDS, MANY_FIELDS = 8, 20
SMALL_PROBLEMS, LARGE_PROBLEMS = 40, 10
SECONDS, GAP = 5.0, 0.01
ANNEALED_STEPS = 60_000
SECTOR = 32
Cost = Callable[[int], float]


def random_cost(rng: np.random.Generator, fields: int) -> Cost:
    """Sectors that random accesses move: each of some kernels touches a set of fields, either of
    neighbouring elements (sectors by the group's size) or of scattered ones (one or more sectors
    for each element), and pays for each group that it touches."""
    sizes = rng.choice([1, 2, 4, 4, 4, 8, 8, 16], fields)
    touched = [
        (int(rng.integers(1, 1 << fields)) & int(rng.integers(1, 1 << fields)), rng.random() < 0.4)
        for _ in range(int(rng.integers(3, 9)))
    ]
    weights = rng.uniform(0.2, 5.0, len(touched))

    def cost(group: int) -> float:
        size = int(sum(sizes[n] for n in range(fields) if group >> n & 1))
        total = 0.0
        for (used, scattered), weight in zip(touched, weights, strict=True):
            if used & group:
                sectors = -(-size // SECTOR) * 32 if scattered else 32 * size / SECTOR
                total += weight * (sectors + 1.0)
        return total

    return cost


def annealed(rng: np.random.Generator, fields: int, cost: Cost) -> float:
    """Best cost that simulated annealing finds: single fields change their group."""
    known: dict[int, float] = {0: 0.0}

    def price(group: int) -> float:
        if group not in known:
            known[group] = cost(group)
        return known[group]

    groups = [1 << n for n in range(fields)]
    now = best = sum(map(price, groups))
    start = now * 0.05
    for step in range(ANNEALED_STEPS):
        bit = 1 << int(rng.integers(fields))
        home = next(k for k, g in enumerate(groups) if g & bit)
        target = int(rng.integers(fields))
        if target == home:
            continue
        before = price(groups[home]) + price(groups[target])
        after = price(groups[home] ^ bit) + price(groups[target] | bit)
        heat = start * (1.0 - step / ANNEALED_STEPS) + 1e-9
        if after <= before or rng.random() < np.exp((before - after) / heat):
            groups[home] ^= bit
            groups[target] |= bit
            now += after - before
            best = min(best, now)
    return float(best)


def search_figures() -> list[Figure]:
    """Exact search beside all partitions; the search for many fields beside annealing."""
    rng = np.random.default_rng(20)
    unequal = 0
    for problem in range(SMALL_PROBLEMS):
        fields = 1 + problem % EXHAUSTIVE_FIELDS
        cost = random_cost(rng, fields)
        known = {g: cost(g) for g in range(1, 1 << fields)}
        least = min(sum(known[g] for g in groups) for groups in all_partitions(fields))
        found = sum(known[g] for g in best_partition(fields, cost))
        unequal += int(abs(found - least) > 1e-9 * least)
    slowest = worst = 0.0
    for _ in range(LARGE_PROBLEMS):
        cost = random_cost(rng, MANY_FIELDS)
        begin = time.perf_counter()
        groups = best_partition(MANY_FIELDS, cost)
        slowest = max(slowest, time.perf_counter() - begin)
        found = sum(map(cost, groups))
        best = min(found, *(annealed(rng, MANY_FIELDS, cost) for _ in range(3)))
        worst = max(worst, float(found / best - 1.0))
    return [
        Figure(f"exact search unlike all partitions, up to {EXHAUSTIVE_FIELDS} fields", unequal,
               f"of {SMALL_PROBLEMS}", "0", not unequal),
        Figure(f"search over {MANY_FIELDS} fields, slowest", slowest, "s", f"< {SECONDS:g}",
               slowest < SECONDS),
        Figure("… above the best found by it or by annealing", 100 * worst, "%", "<= 1",
               worst <= GAP),
    ]  # fmt: skip
