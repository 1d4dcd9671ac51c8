"""How good predictions are: the figures of the leaderboard, pure functions of arrays.

Times are in any one unit; all arrays have shape (configurations,) and dtype float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

Times = NDArray[np.float64]


@dataclass(frozen=True)
class Accuracy:
    """One model on one table. Shares are fractions of 1; NaN where a figure does not exist."""

    configurations: int
    mean_error: float
    """Mean of |predicted − measured| / measured; NaN for a model of ratios only."""
    median_error: float
    scaled_mean_error: float
    """Mean error after one free factor for the whole table, since the clock is not known."""
    scaled_median_error: float
    factor: float
    """The free factor, measured over predicted, with the least mean error."""
    spearman: float
    regret: float
    """Measured time of the model's first choice over the measured optimum, less 1."""
    regret_of_20: float
    """Best measured time of the model's first twenty over the measured optimum, less 1."""
    coverage: float
    """Share of measured times inside the predicted interval."""


def accuracy(
    predicted: Times,
    measured: Times,
    *,
    absolute: bool,
    intervals: tuple[Times, Times] | None = None,
    optimum: float | None = None,
) -> Accuracy:
    """All figures of one model on one table. ``absolute``: predictions are times, not only in
    proportion to them; ``intervals`` are their lower and upper ends; ``optimum`` is the least
    measured time where that is not among ``measured``."""
    factor = best_factor(predicted, measured)
    errors = relative_errors(predicted, measured)
    scaled = relative_errors(factor * predicted, measured)
    covered = float("nan")
    if intervals is not None and absolute:
        low, high = intervals
        covered = float(np.mean((low <= measured) & (measured <= high)))
    return Accuracy(
        configurations=len(measured),
        mean_error=float(errors.mean()) if absolute else float("nan"),
        median_error=float(np.median(errors)) if absolute else float("nan"),
        scaled_mean_error=float(scaled.mean()),
        scaled_median_error=float(np.median(scaled)),
        factor=factor,
        spearman=rank_correlation(predicted, measured),
        regret=regret(predicted, measured, 1, optimum),
        regret_of_20=regret(predicted, measured, 20, optimum),
        coverage=covered,
    )


def relative_errors(predicted: Times, measured: Times) -> Times:
    """|predicted − measured| / measured."""
    return np.abs(predicted - measured) / measured


def best_factor(predicted: Times, measured: Times) -> float:
    """The factor f with the least mean of |f · predicted − measured| / measured.

    The sum is convex and piecewise linear in f with a kink at every measured / predicted, so the
    best f is the median of these, weighted by predicted / measured. A prediction of 0 says nothing
    about f; with no other the factor is 1.
    """
    use = predicted > 0
    if not use.any():
        return 1.0
    kinks = measured[use] / predicted[use]
    order = np.argsort(kinks)
    weights = np.cumsum(1.0 / kinks[order])
    return float(kinks[order][np.searchsorted(weights, weights[-1] / 2.0)])


def rank_correlation(predicted: Times, measured: Times) -> float:
    """Spearman's; NaN where either side is constant."""
    if len(measured) < 2 or np.ptp(predicted) == 0 or np.ptp(measured) == 0:
        return float("nan")
    return float(spearmanr(predicted, measured).statistic)


def regret(predicted: Times, measured: Times, first: int, optimum: float | None = None) -> float:
    """Least measured time among the ``first`` configurations that the model puts in front, over the
    least of all (``optimum`` where given), less 1. Where the model sees no difference, the mean
    over the choices that it leaves open stands for a choice of one."""
    if first == 1:
        chosen = measured[predicted == predicted.min()].mean()
    else:
        chosen = measured[np.argsort(predicted, kind="stable")[:first]].min()
    return float(chosen / (measured.min() if optimum is None else optimum) - 1.0)


@dataclass(frozen=True)
class PlacementError:
    """Pairs of configurations that differ in one placement parameter alone."""

    parameter: str
    pairs: int
    error: float
    """Mean of |predicted ratio − measured ratio| / measured ratio (Huang and Li's task)."""
    no_change: float
    """Mean relative error of the guess that placement changes nothing (every ratio 1)."""


ANY = "any of them"
"""The pairs of the form with the least value of every placement parameter and every other form."""


def placement_errors(
    configurations: Sequence[tuple[tuple[str, object], ...]],
    predicted: Times,
    measured: Times,
    parameters: Sequence[str],
) -> tuple[PlacementError, ...]:
    """For every placement parameter, the error in predicting the time with another value of it from
    the measured time with its least value, all other parameters the same; and for :data:`ANY`."""
    switches: list[tuple[str, tuple[str, ...]]] = [(name, (name,)) for name in parameters]
    if len(parameters) > 1:
        switches.append((ANY, tuple(parameters)))
    found = []
    for name, varied in switches:
        base, other = _pairs(configurations, varied)
        if not other:
            continue
        ratios = measured[other] / measured[base]
        guess = relative_errors(predicted[other] / predicted[base], ratios)
        unchanged = relative_errors(np.ones_like(ratios), ratios)
        found.append(PlacementError(name, len(other), float(guess.mean()), float(unchanged.mean())))
    return tuple(found)


def _pairs(
    configurations: Sequence[tuple[tuple[str, object], ...]], varied: Sequence[str]
) -> tuple[list[int], list[int]]:
    """Positions of (form with the least values, another form) that differ in ``varied`` alone; none
    where the form with the least value that the table has of each is missing."""
    values = [tuple(dict(c)[name] for name in varied) for c in configurations]
    least = tuple(min((v[k] for v in values), key=order_of) for k in range(len(varied)))
    groups: dict[tuple[object, ...], list[int]] = {}
    for at, configuration in enumerate(configurations):
        rest = tuple(item for item in configuration if item[0] not in varied)
        groups.setdefault(rest, []).append(at)
    base, other = [], []
    for members in groups.values():
        first = [at for at in members if values[at] == least]
        for at in members:
            if first and at != first[0]:
                base.append(first[0])
                other.append(at)
    return base, other


def order_of(value: object) -> tuple[str, object]:
    """Numbers among themselves, words among themselves."""
    return ("", float(value)) if isinstance(value, int | float) else (str(value), 0.0)
