"""Figures of the leaderboard, which say how good predictions are; pure functions of arrays.

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
    """Mean error after all predictions of the table are multiplied by ``factor``, since the clock
    is not known."""
    scaled_median_error: float
    factor: float
    """The factor that gives the least mean error."""
    spearman: float
    """Rank correlation of predicted and measured times."""
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
    """All figures of one model on one table. ``absolute``: predictions are times, not just
    proportional to times. ``intervals`` are the lower and upper ends of their intervals.
    ``optimum`` is the least measured time, to be given where ``measured`` is only a part of the
    table."""
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
    best f is the median of these, weighted by predicted / measured. Predictions of 0 do not affect
    f; if there are no others, the factor is 1.
    """
    use = predicted > 0
    if not use.any():
        return 1.0
    kinks = measured[use] / predicted[use]
    order = np.argsort(kinks)
    weights = np.cumsum(1.0 / kinks[order])
    return float(kinks[order][np.searchsorted(weights, weights[-1] / 2.0)])


def rank_correlation(predicted: Times, measured: Times) -> float:
    """Spearman's rank correlation; NaN where either argument is constant."""
    if len(measured) < 2 or np.ptp(predicted) == 0 or np.ptp(measured) == 0:
        return float("nan")
    return float(spearmanr(predicted, measured).statistic)


def regret(predicted: Times, measured: Times, first: int, optimum: float | None = None) -> float:
    """Least measured time among the ``first`` configurations in the model's ranking, over the least
    of all (``optimum`` if given), less 1. With ``first`` = 1 and several equally ranked
    configurations, it is the mean over these."""
    if first == 1:
        chosen = measured[predicted == predicted.min()].mean()
    else:
        chosen = measured[np.argsort(predicted, kind="stable")[:first]].min()
    return float(chosen / (measured.min() if optimum is None else optimum) - 1.0)


@dataclass(frozen=True)
class PlacementError:
    """Error on pairs of configurations that differ in only one placement parameter."""

    parameter: str
    pairs: int
    error: float
    """Mean of |predicted ratio − measured ratio| / measured ratio (Huang and Li's task)."""
    no_change: float
    """Mean relative error of the guess that placement changes nothing (every ratio 1)."""


ANY = "any of them"
"""Name for the pairs of the form with the least value of every placement parameter and any other
form."""


def placement_errors(
    configurations: Sequence[tuple[tuple[str, object], ...]],
    predicted: Times,
    measured: Times,
    parameters: Sequence[str],
) -> tuple[PlacementError, ...]:
    """For every placement parameter, the error of predicting the time with another value of it from
    the measured time with its least value, all other parameters being equal; and for :data:`ANY`,
    the same over all placement parameters."""
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
    """Positions of pairs (form with the least value of each parameter, another form) that differ
    only in ``varied``. Groups without the form with the least values give no pairs."""
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
    """Sort key of a parameter's value: numbers are compared with numbers, words with words."""
    return ("", float(value)) if isinstance(value, int | float) else (str(value), 0.0)
