"""The configurations that a model puts first, without predicting all of them.

A random sample, then the neighbours of the best that are predicted so far, until none of these has
a neighbour left. Neighbours differ in one parameter, by one step among the values that the space
has with all others the same: local search as autotuners do it (Kernel Tuner's "strictly adjacent"
neighbours), from several starts at once and on predicted times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from placewise.kernel.casemodel import Parameter
from placewise.validate.figures import order_of

Configuration = tuple[tuple[str, Parameter], ...]
FIRST = 20
"""Whose neighbours are looked at: so many are what a user would measure afterwards."""
_BATCH = 24
"""Predicted at a time, enough to keep a few processes busy."""
_SAMPLED = 0.5
"""Share of the budget that the random sample takes at most."""


@dataclass(frozen=True)
class Search:
    """What a search has found."""

    predicted: dict[int, float]
    """Prediction by row; infinite where there is none."""
    sampled: int
    """Of these, how many were drawn at random or known before."""
    finished: bool
    """All neighbours of the first are predicted; False: the budget came to its end before."""

    @property
    def order(self) -> list[int]:
        """Rows, the best first."""
        return sorted(self.predicted, key=lambda row: (self.predicted[row], row))


def search(
    configurations: Sequence[Configuration],
    predict: Callable[[Sequence[int]], Sequence[float]],
    *,
    budget: int,
    seed: int,
    known: dict[int, float] | None = None,
) -> Search:
    """Look for the ``configurations`` of least predicted time.

    ``predict`` gives the predictions of some rows, infinity where there is none. ``known`` are
    predictions from before; they belong to the sample. There are ``budget`` rows at most.
    """
    found = dict(known or {})

    def ask(rows: Sequence[int]) -> None:
        for at in range(0, len(rows), _BATCH):
            some = rows[at : at + _BATCH]
            found.update(zip(some, predict(some), strict=True))

    budget = min(budget, len(configurations))
    wanted = min(budget, max(FIRST, math.ceil(_SAMPLED * budget)))
    drawn = np.random.default_rng(seed).permutation(len(configurations)).tolist()
    ask([row for row in drawn if row not in found][: max(0, wanted - len(found))])
    sampled = len(found)
    beside = _Neighbours(configurations)
    while True:
        best = sorted(found, key=lambda row: (found[row], row))[:FIRST]
        open_ = dict.fromkeys(n for row in best for n in beside.of(row) if n not in found)
        some = list(open_)[: max(0, min(_BATCH, budget - len(found)))]
        if not some:
            return Search(found, sampled, finished=not open_)
        ask(some)


class _Neighbours:
    """Rows that differ from another in one parameter by one step."""

    def __init__(self, configurations: Sequence[Configuration]) -> None:
        self._configurations = configurations
        self._lines: dict[tuple[str, Configuration], list[int]] = {}
        for row, configuration in enumerate(configurations):
            for line in _lines_through(configuration):
                self._lines.setdefault(line, []).append(row)
        for (name, _), rows in self._lines.items():
            rows.sort(key=lambda row: order_of(dict(configurations[row])[name]))

    def of(self, row: int) -> list[int]:
        """Neighbours of one row."""
        found = []
        for line in _lines_through(self._configurations[row]):
            rows = self._lines[line]
            at = rows.index(row)
            found += rows[max(0, at - 1) : at] + rows[at + 1 : at + 2]
        return found


def _lines_through(configuration: Configuration) -> list[tuple[str, Configuration]]:
    """(parameter that varies, all others) of each line of the space that a configuration is on."""
    return [
        (name, tuple(item for item in configuration if item[0] != name))
        for name, _ in configuration
    ]
