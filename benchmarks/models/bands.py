"""The error bands of the timeline model: what `placewise.model.error` keeps against a fit now.

``python -m benchmarks.models.bands`` reads ``results/models_rows.json``, which
``benchmarks.models`` writes. Fitted on the convolution on A100 and A4000, tried out on the other
tables; every table is scaled with one factor first, since nobody recorded the clocks.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from benchmarks.models.__main__ import CIRCLE
from benchmarks.results import RESULTS, Figure, report
from placewise.model.error import TIME_ERROR, TIME_ERROR_RERUN, ErrorBand, fit_band
from placewise.validate.figures import best_factor

FITTED = ("convolution A100", "convolution A4000")
PLACEMENT = ("use_shmem", "read_only", "use_padding")
EDGES = (0.4, 0.6, 0.8, 0.9, 1.0, 1.25, 2.0)


@dataclass(frozen=True)
class Times:
    """(n,) predicted and measured times, or ratios of them."""

    predicted: list[float]
    measured: list[float]

    def __add__(self, other: Times) -> Times:
        return Times(self.predicted + other.predicted, self.measured + other.measured)


NOTHING = Times([], [])


def scaled(rows: Sequence[Mapping[str, Any]]) -> Times:
    """Times of one table, the predicted ones with the factor that fits best."""
    predicted = np.array([row["predicted_ns"] for row in rows], dtype=np.float64)
    measured = np.array([row["measured_ns"] for row in rows], dtype=np.float64)
    return Times((best_factor(predicted, measured) * predicted).tolist(), measured.tolist())


def ratios(rows: Sequence[Mapping[str, Any]]) -> Times:
    """Ratios of every two forms of a table that differ in placement alone, the one with the lower
    placement parameters below the line."""
    groups = defaultdict(list)
    for row in rows:
        named = dict(row["configuration"])
        placed = tuple(named.pop(name, 0) for name in PLACEMENT)
        groups[tuple(named.items())].append((placed, row))
    found = NOTHING
    for forms in groups.values():
        ordered = [row for _, row in sorted(forms, key=lambda form: form[0])]
        for one, other in combinations(ordered, 2):
            found += Times(
                [other["predicted_ns"] / one["predicted_ns"]],
                [other["measured_ns"] / one["measured_ns"]],
            )
    return found


def figures_of(what: str, stored: ErrorBand, fitted: Times, held_out: Times) -> list[Figure]:
    """A stored band beside one fitted now, and how it does on what it was not fitted on."""
    now = fit_band(fitted.predicted, fitted.measured, share=stored.share, fitted_on="", edges=EDGES)
    figures = [
        Figure(f"{what}: {name}", value, "factor", f"{kept} ± 2 %, as stored",
               bool(np.isclose(value, kept, rtol=0.02)))
        for name, value, kept in (("low", now.low, stored.low), ("high", now.high, stored.high))
    ]  # fmt: skip
    figures.append(Figure(f"{what}: fitted on", now.pairs, "", str(stored.pairs),
                          now.pairs == stored.pairs))  # fmt: skip
    for b in now.bins if stored.bins else ():
        share = f"{b.faster} of {b.pairs}"
        figures.append(Figure(f"{what}: predicted up to {b.upto}, faster", share, "", "", True))
    if held_out.predicted:
        within = stored.coverage(held_out.predicted, held_out.measured)
        count = len(held_out.predicted)
        figures.append(Figure(f"{what}: held out, within ({count})", within, "share", "", True))
        below = np.array(held_out.measured) <= stored.high * np.array(held_out.predicted)
        figures.append(
            Figure(f"{what}: held out, not above", float(below.mean()), "share", "", True)
        )
    return figures


def main() -> int:
    """Fit, compare, print a table, write results/models_bands.json."""
    tables: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in json.loads((RESULTS / "models_rows.json").read_text()):
        tables[row["table"]].append(row)
    held_out = [name for name in tables if not name.startswith("convolution A") and name != CIRCLE]
    figures: list[Figure] = []
    for what, stored, of in (
        ("time", TIME_ERROR, scaled),
        ("ratio of two forms", TIME_ERROR_RERUN, ratios),
    ):
        fitted = sum((of(tables[name]) for name in FITTED), NOTHING)
        tried = sum((of(tables[name]) for name in held_out), NOTHING)
        figures += figures_of(what, stored, fitted, tried)
    return 0 if report("models_bands", figures) else 1


if __name__ == "__main__":
    sys.exit(main())
