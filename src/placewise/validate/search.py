"""Finds the configurations that a model ranks first without predicting all of them.

It predicts a random sample first, then batches. Half of a batch are the most promising
configurations by a surrogate (:mod:`.surrogate`) that is fitted to all predictions so far; the
other half are neighbours of the best so far. Neighbours differ in one parameter by one step, among
the values that occur with all other parameters equal. That is local search as in autotuners (Kernel
Tuner's "strictly adjacent" neighbours), from several starts at once and on predicted times. Without
the surrogate it would not leave the local minima near the sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.validate.features import Configuration, parameter_features
from placewise.validate.figures import order_of
from placewise.validate.surrogate import Surrogate, fit

FIRST = 20
"""Number of best-ranked configurations to find: about as many as a user would measure
afterwards."""
_NEAREST = 5
"""Number of best configurations whose neighbours are predicted first."""
_BATCH = 16
"""Configurations of a batch: enough to keep a few processes busy."""
_SAMPLED = 0.25
"""Largest share of the budget that the random sample takes."""
_DEVIATIONS = 2.0
"""The least value that a row may have is taken as the surrogate's mean minus this many standard
deviations."""
_FITTED = 300
"""Most rows that a surrogate is fitted to."""


@dataclass(frozen=True)
class Search:
    """The result of a search."""

    predicted: dict[int, float]
    """Prediction by row; infinite where there is none."""
    sampled: int
    """Number of predictions that were drawn at random or known before."""
    finished: bool
    """True: all neighbours of the best-ranked rows are predicted, and the surrogate expects no
    other row to be among the best-ranked. False: the budget was used up before."""

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
    features: NDArray[np.float64] | None = None,
) -> Search:
    """Find the ``configurations`` with the least predicted times.

    ``predict`` returns the predictions of some rows, infinity where there is none. ``known`` are
    earlier predictions, by row; they count as part of the sample. At most ``budget`` rows are
    predicted. ``features`` (configurations, n) are the surrogate's inputs
    (:func:`.features.launch_features`); None: the parameters alone.
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
    expected = _Expected(parameter_features(configurations) if features is None else features)
    while len(found) < len(configurations):
        best = sorted(found, key=lambda row: (found[row], row))[:FIRST]
        open_ = _unknown(beside, best[:_NEAREST], found) or _unknown(beside, best, found)
        hopes = expected.least(found)
        order = np.argsort(hopes, kind="stable").tolist()
        last = found[best[-1]]
        promising = [row for row in order if row not in found and hopes[row] <= last]
        room = max(0, min(_BATCH, budget - len(found)))
        if not room or not (open_ or promising):
            return Search(found, sampled, finished=not (open_ or promising))
        near = sorted(open_, key=lambda row: (hopes[row], row))
        some = near[: max(room // 2, room - len(promising))]
        some += [row for row in promising if row not in some][: room - len(some)]
        ask(some)
    return Search(found, sampled, finished=True)


def _unknown(beside: _Neighbours, rows: Sequence[int], found: dict[int, float]) -> list[int]:
    """Neighbours of ``rows`` that are not predicted yet."""
    return list(dict.fromkeys(n for row in rows for n in beside.of(row) if n not in found))


class _Expected:
    """Estimates, from the predicted rows, how small the prediction of every row may be."""

    def __init__(self, features: NDArray[np.float64]) -> None:
        self._features = features
        self._last: Surrogate | None = None

    def least(self, found: dict[int, float]) -> NDArray[np.float64]:
        """(rows,) least value that each row may have, in the measure of the predictions; minus
        infinity as long as nothing is predicted."""
        rows = self._chosen([row for row in found if math.isfinite(found[row])], found)
        if not rows or not self._features.size:
            return np.full(len(self._features), -math.inf)
        values = np.array([found[row] for row in rows])
        # Times are compared by their ratios, so the logarithm is fitted.
        factors = bool(values.min() > 0)
        begin = None if self._last is None else self._last.scales
        self._last = fit(self._features[rows], np.log(values) if factors else values, begin=begin)
        mean, deviation = self._last.guess(self._features)
        least = mean - _DEVIATIONS * deviation
        return np.exp(least) if factors else least

    def _chosen(self, rows: list[int], found: dict[int, float]) -> list[int]:
        """Rows that the surrogate is fitted to: half of them the best, half evenly spread over the
        others."""
        if len(rows) <= _FITTED:
            return rows
        order = sorted(rows, key=lambda row: (found[row], row))
        better, others = order[: _FITTED // 2], order[_FITTED // 2 :]
        at = np.linspace(0, len(others) - 1, _FITTED - len(better)).astype(int)
        return better + [others[n] for n in at.tolist()]


class _Neighbours:
    """Finds the rows that differ from a row in one parameter by one step."""

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
    """For each parameter, the key (parameter, values of all others) of the line of configurations
    on which only that parameter varies."""
    return [
        (name, tuple(item for item in configuration if item[0] != name))
        for name, _ in configuration
    ]
