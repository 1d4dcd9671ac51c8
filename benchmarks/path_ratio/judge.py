"""Figures from pairs: how far the predicted ratios are from the measured ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from benchmarks.path_ratio.pairs import Pair, only
from benchmarks.results import Figure
from placewise.model.error import ErrorBand, count_directions, fit_band

STAGED = "staged"
READ_ONLY = "read_only"
SWITCHES = (READ_ONLY, STAGED, "staged+read_only", "staged+padded", "staged+read_only+padded")
NARROWER = (0.8, 0.9)
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


def band_figures(
    pairs: Sequence[Pair], stored: ErrorBand, how: str, fitted: str, held_out: str
) -> list[Figure]:
    """The band that Placewise carries for ``how`` against one fitted now; how well it and narrower
    ones hold on the GPU that they were not fitted on."""
    edges = [b.upto for b in stored.bins]
    ours = columns(only(pairs, gpu=fitted, how=how, switch=STAGED))
    theirs = columns(only(pairs, gpu=held_out, how=how, switch=STAGED))
    figures = []
    for share in (*NARROWER, stored.share):
        band = fit_band(*ours, share=share, fitted_on=fitted, edges=edges)
        name = f"{how}, band of {share:.0%} of the {fitted}'s {band.pairs} pairs"
        kept = share == stored.share
        for end, now, then in (("lower", band.low, stored.low), ("upper", band.high, stored.high)):
            asked = f"{then:.3f} ± 1 %, as stored" if kept else REPORTED
            holds = not kept or bool(np.isclose(now, then, rtol=0.01))
            figures.append(Figure(f"{name}: {end} factor", now, "", asked, holds))
        figures += _held_out(name, stored if kept else band, held_out, theirs)
        figures.append(_advised(f"{name}: {fitted}", band, ours))
        figures.append(_advised(f"{name}: {held_out}", band, theirs))
    for gpu, ratios in ((fitted, ours), (held_out, theirs)):
        for b in count_directions(*ratios, edges):
            if b.pairs:
                text = f"{how}, {gpu}, {STAGED}, predicted up to {b.upto}: really faster"
                share_text = f"{b.faster} of {b.pairs}"
                figures.append(Figure(text, share_text, "pairs", REPORTED, True))
    return figures


Ratios = tuple[NDArray[np.float64], NDArray[np.float64]]


def _held_out(name: str, band: ErrorBand, gpu: str, ratios: Ratios) -> list[Figure]:
    predicted, measured = ratios
    below = float(np.mean(measured <= predicted * band.high))
    within = band.coverage(predicted, measured)
    return [
        Figure(f"{name}: pairs of the {gpu} within", 100.0 * within, "%", REPORTED, True),
        Figure(f"{name}: pairs of the {gpu} not above", 100.0 * below, "%", REPORTED, True),
    ]


def _advised(name: str, band: ErrorBand, ratios: Ratios) -> Figure:
    predicted, measured = ratios
    advised = predicted * band.high < 1.0
    won = int((measured[advised] < 1.0).sum())
    return Figure(
        f"{name}, ranges below 1 that really were faster",
        f"{won} of {int(advised.sum())}",
        "pairs",
        REPORTED,
        True,
    )
