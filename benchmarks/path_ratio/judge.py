"""Figures from pairs: how far the predicted ratios are from the measured ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from benchmarks.path_ratio.pairs import Pair, only
from benchmarks.results import Figure

STAGED = "staged"
READ_ONLY = "read_only"
SWITCHES = (READ_ONLY, STAGED, "staged+read_only", "staged+padded", "staged+read_only+padded")
REPORTED = "reported"
"""Asked of a figure that is only stated."""


def columns(pairs: Sequence[Pair]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n,) predicted and (n,) measured ratios."""
    return np.array([p.predicted for p in pairs]), np.array([p.measured for p in pairs])


def mean_error(predicted: NDArray[np.float64], measured: NDArray[np.float64]) -> float:
    """Mean of |predicted - measured| / measured."""
    return float(np.mean(np.abs(predicted - measured) / measured))


def error_figures(pairs: Sequence[Pair], gpu: str) -> list[Figure]:
    """Error of the ratio per switch and their mean, beside that of the guess 'no change'."""
    figures = []
    for how in ("rerun", "retarget"):
        errors = []
        for switch in SWITCHES:
            chosen = only(pairs, gpu=gpu, how=how, switch=switch)
            if not chosen:
                continue
            predicted, measured = columns(chosen)
            literal = np.array([p.literal for p in chosen])
            row = [mean_error(r, measured) for r in (predicted, literal, np.ones_like(measured))]
            errors.append(row)
            figures += _three(f"{gpu}, {how}, {switch} ({len(chosen)} pairs)", row)
        mean = np.mean(np.array(errors), axis=0).tolist()
        figures += _three(f"{gpu}, {how}, mean of {len(errors)} switches", mean)
        chosen = only(pairs, gpu=gpu, how=how)
        figures.append(_rank(f"{gpu}, {how}, all {len(chosen)} pairs", chosen))
        chosen = only(chosen, switch=STAGED)
        figures.append(_rank(f"{gpu}, {how}, {STAGED} only ({len(chosen)} pairs)", chosen))
    return figures


def _three(what: str, row: Sequence[float]) -> list[Figure]:
    readings = ("path model", "path model, taps charged as loads", "'no change'")
    return [
        Figure(f"{what}: mean error, {reading}", 100.0 * error, "%", REPORTED, True)
        for reading, error in zip(readings, row, strict=True)
    ]


def _rank(what: str, pairs: Sequence[Pair]) -> Figure:
    rank = float(spearmanr(*columns(pairs)).statistic)
    return Figure(f"{what}: Spearman's rank correlation", rank, "", REPORTED, True)
