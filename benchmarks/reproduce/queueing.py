"""Kingman's formula, as usually given and as printed, against simulated queues of a DRAM bank."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.results import Figure
from placewise.model.queue import Kingman, kingman, moments

CUSTOMERS = 60_000
LOADS = (0.3, 0.5, 0.7, 0.9)
ROWS = (352.0, 742.0, 1008.0)
"""Row hit, miss and conflict of a K80 in ns (Huang and Li 2017, section III-C2)."""
Sampler = Callable[[np.random.Generator, float, int], NDArray[np.float64]]


def _bursts(random: np.random.Generator, mean: float, n: int) -> NDArray[np.float64]:
    """Nine of ten gaps short: a coefficient of variation of about 2, as measured in the paper."""
    short = random.random(n) < 0.9
    return np.where(short, random.exponential(mean / 2.25, n), random.exponential(6 * mean, n))


ARRIVALS: dict[str, Sampler] = {
    "regular": lambda random, mean, n: random.uniform(0.5 * mean, 1.5 * mean, n),
    "exponential": lambda random, mean, n: random.exponential(mean, n),
    "bursts": _bursts,
}
HITS = (0.9, 0.6, 0.2)
"""Shares of row hits; of the others one in four finds its row closed."""


def simulated_wait(gaps: NDArray[np.float64], service: NDArray[np.float64]) -> float:
    """Mean wait of a single server's customers, one event after the other."""
    clock = free = waited = 0.0
    for gap, busy in zip(gaps.tolist(), service.tolist(), strict=True):
        clock += gap
        begin = max(clock, free)
        waited += begin - clock
        free = begin + busy
    return waited / len(gaps)


def _queues() -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    random = np.random.default_rng(0)
    for kind, arrive in ARRIVALS.items():
        for hits in HITS:
            for load in LOADS:
                shares = [hits, (1 - hits) / 4, 3 * (1 - hits) / 4]
                service = random.choice(ROWS, CUSTOMERS, p=shares)
                yield kind, arrive(random, service.mean() / load, CUSTOMERS), service


def queue_figures() -> list[Figure]:
    """Mean relative error of both forms, in all and by kind of arrivals."""
    readings: tuple[Kingman, ...] = ("usual", "printed")
    errors: dict[str, list[list[float]]] = {kind: [] for kind in ARRIVALS}
    for kind, gaps, service in _queues():
        truth = simulated_wait(gaps, service)
        if truth < 0.01 * service.mean():
            continue
        queue = moments(gaps, service)
        errors[kind].append([abs(kingman(queue, r) / truth - 1) for r in readings])
    whole = np.mean([row for rows in errors.values() for row in rows], axis=0)
    figures = []
    for n, reading in enumerate(readings):
        asked, holds = ("the default", whole[0] < whole[1]) if n == 0 else ("reported", True)
        name = f"Kingman, {reading}: mean error of the wait in simulated queues"
        figures.append(Figure(name, 100 * float(whole[n]), "%", asked, bool(holds)))
        for kind, rows in errors.items():
            mean = 100 * float(np.mean([row[n] for row in rows]))
            figures.append(Figure(f"{name}, {kind} arrivals", mean, "%", "reported", True))
    return figures
