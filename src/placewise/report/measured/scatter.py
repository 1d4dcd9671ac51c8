"""A plot of predicted against measured times, with a panel for every table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from placewise.report.drawing import write_drawing
from placewise.validate import TableResult

_PANEL_INCHES = 4.2
_MS = 1e-6
_MANY = 200.0
"""If the largest value is more than this many times the least, only powers of ten are labelled."""


def draw_scatter(results: Sequence[TableResult], path: Path) -> None:
    """Draw predicted against measured times. Both axes are logarithmic, in milliseconds, with the
    line where both are equal. Predictions of models that give only ratios are scaled by the best
    factor, and labelled so. Raises PlacewiseError where ``path`` cannot be written."""
    figure = Figure(figsize=(_PANEL_INCHES * len(results), _PANEL_INCHES), layout="constrained")
    for axes, result in zip(
        figure.subplots(1, len(results), squeeze=False)[0], results, strict=True
    ):
        ends: list[float] = []
        for model in result.models:
            if model.accuracy is None:
                continue
            measured = _MS * result.measured(model)
            predicted = _MS * model.predicted
            label = model.model
            if not model.absolute:
                predicted = predicted * model.accuracy.factor
                label += " (scaled)"
            axes.scatter(measured, predicted, s=9, alpha=0.6, linewidths=0, label=label)
            positive = predicted[predicted > 0]
            ends += [*measured, *positive]
        if ends:
            line = np.array([min(ends), max(ends)])
            axes.plot(line, line, color="0.5", linewidth=0.8, zorder=0)
            axes.set(xscale="log", yscale="log", aspect="equal")
            # Over many decades only powers of ten; else a few more labels, which do not overlap.
            marks = (1.0,) if line[1] > _MANY * line[0] else (1.0, 2.0, 5.0)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_locator(LogLocator(subs=marks))
                axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                axis.set_minor_formatter(NullFormatter())
            axes.legend(fontsize=8, frameon=False)
        axes.set(xlabel="measured, ms", ylabel="predicted, ms", title=result.machine.name)
    write_drawing(figure, path)
