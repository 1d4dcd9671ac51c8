"""Predicted beside measured times of one table: the figures that are asked, and the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.results import Figure
from placewise.validate.figures import ANY, Accuracy, PlacementError, accuracy, placement_errors
from placewise.validate.predict import Configuration

Times = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """Of the predictions of one table; shares."""

    error: float
    """Mean absolute error."""
    free_clock: bool
    """That with one factor for the GPU's clock."""
    ratio: float | None
    """Mean error of placement ratios."""
    judged: bool = True
    """False: the figures stand beside others that are asked for."""


@dataclass(frozen=True, eq=False)
class Judged:
    """(rows,) nanoseconds of the configurations that the model answered for."""

    configurations: tuple[Configuration, ...]
    predicted: Times
    low: Times
    high: Times
    measured: Times
    refused: int

    def where(self, wanted: Callable[[Configuration], bool]) -> Judged:
        """Those rows alone."""
        kept = np.array([wanted(c) for c in self.configurations], np.bool_)
        return Judged(
            tuple(c for c, keep in zip(self.configurations, kept, strict=True) if keep),
            self.predicted[kept],
            self.low[kept],
            self.high[kept],
            self.measured[kept],
            0,
        )

    def accuracy(self) -> Accuracy:
        """Errors, order and choice."""
        return accuracy(self.predicted, self.measured, absolute=True)

    def placements(self, parameters: tuple[str, ...]) -> tuple[PlacementError, ...]:
        """Errors of the ratios of two forms, by switch."""
        return placement_errors(self.configurations, self.predicted, self.measured, parameters)

    def covered(self, factor: float) -> float:
        """Share of measured times inside the predicted intervals, all scaled by the clock's
        factor."""
        inside = (self.low * factor <= self.measured) & (self.measured <= self.high * factor)
        return float(inside.mean())


def figures_of(
    about: str, judged: Judged, asked: Asked, placement: tuple[str, ...]
) -> list[Figure]:
    """What is asked of one table beside what came out."""
    found = judged.accuracy()
    error = found.scaled_mean_error if asked.free_clock else found.mean_error
    most = f"<= {asked.error:g}" + (" with one factor" if asked.free_clock else "")
    inside = judged.covered(found.factor)

    def figure(what: str, value: float, unit: str, wish: str = "", holds: bool = True) -> Figure:
        if not asked.judged:
            return Figure(f"{about}: {what}", value, unit, "", True)
        return Figure(f"{about}: {what}", value, unit, wish, holds)

    figures = [
        figure("configurations", len(judged.configurations), ""),
        figure("mean |error|, spec clock", found.mean_error, "share",
               "" if asked.free_clock else most, asked.free_clock or error <= asked.error),
        figure("mean |error|, one factor", found.scaled_mean_error, "share",
               most if asked.free_clock else "", not asked.free_clock or error <= asked.error),
        figure("that factor", found.factor, "measured/predicted"),
        figure("median |error|, one factor", found.scaled_median_error, "share"),
        figure("Spearman", found.spearman, "", ">= 0.95", found.spearman >= 0.95),
        figure("first choice over the best of these, less 1", found.regret, "share",
               "<= 0.25", found.regret <= 0.25),
        figure("best of first twenty over the best of these, less 1", found.regret_of_20, "share",
               "<= 0.05", found.regret_of_20 <= 0.05),
        figure("measured inside the interval, factor applied", inside, "share", ">= 0.8",
               inside >= 0.8),
        figure("refused", judged.refused, "configurations", "0", not judged.refused),
    ]  # fmt: skip
    switches = judged.placements(placement)
    figures += [
        figure(f"ratio of two placements, {p.parameter} ({p.pairs} pairs)", p.error, "share")
        for p in switches
    ]
    if asked.ratio is not None and switches:
        mean = float(np.mean([p.error for p in switches if p.parameter != ANY]))
        figures.append(figure("ratio of two placements, mean of switches", mean, "share",
                              f"<= {asked.ratio:g}", mean <= asked.ratio))  # fmt: skip
    return figures
