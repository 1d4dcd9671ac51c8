"""Figures of the predicted beside the measured times."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from benchmarks.breadth.measured import FITTED, Predicted
from benchmarks.results import Figure
from placewise.model.clocked import interval
from placewise.model.error import fit_band

Times = NDArray[np.float64]
LATER = "later"
"""Half of the rows that were added after both halves had been judged, and are judged apart."""
MISS = 0.30
ERROR = 0.02
"""Standard deviation of the random errors that :func:`ranks_with_errors` draws. It is half of the
median error of these predictions."""
_DRAWS = 1_000
SHARE = (0.75, 0.88)
"""Shares of measured times that an interval of 80 % may hold."""


def all_figures(
    judged: Sequence[Predicted], first: Sequence[Predicted], measurements: int
) -> list[Figure]:
    """Of both halves apart, of the first judgement, of the intervals, and of each row that was
    added later."""
    rows = [r for r in judged if r.half != LATER]
    later = [r for r in judged if r.half == LATER]
    measurements -= len(later)
    figures = [
        Figure("measurements", measurements, "", "at least 20", measurements >= 20),
        Figure("kernels", len({r.kernel for r in rows}), "", "at least 8",
               len({r.kernel for r in rows}) >= 8),
        Figure("predicted", len(rows), "", str(measurements), len(rows) == measurements),
    ]  # fmt: skip
    for half in ("first", "kept"):
        at_first = [r for r in first if r.half == half]
        figures += of_times(f"first judgement, {half} half", at_first, asked=False)
        figures += as_stored(f"first judgement, {half} half", at_first)
    for half in ("first", "kept"):
        figures += of_times(f"{half} half", [r for r in rows if r.half == half], asked=True)
    figures += of_intervals(rows)
    for half in ("first", "kept"):
        figures += as_stored(f"{half} half", [r for r in rows if r.half == half])
    seconds = [r.seconds for r in rows]
    if seconds:
        figures.append(Figure("seconds a prediction, greatest", max(seconds), "s", "", True))
    return figures + [_added(r) for r in later]


def _added(row: Predicted) -> Figure:
    """Predicted over measured time of a row that was added later."""
    ratio = row.predicted / row.measured
    when = "fitted on" if (row.kernel, row.machine) in FITTED else "added later"
    about = f"{when}, {row.kernel} on {row.machine}: predicted over measured time"
    return Figure(about, ratio, "", "0.75 to 1.33", 0.75 <= ratio <= 1.33)


def of_times(about: str, rows: Sequence[Predicted], *, asked: bool) -> list[Figure]:
    """Error with one factor a GPU, beside roofline and a constant; ranks; misses."""
    if len(rows) < 3:
        return []
    error = scaled_error(rows, lambda r: r.predicted)
    roofline = scaled_error(rows, lambda r: r.roofline)
    constant = scaled_error(rows, lambda _: 1.0)
    within = float(np.mean(error <= 0.25))
    figures = [
        Figure(f"{about}: rows", len(rows), "", "", True),
        Figure(f"{about}: median error, one factor a GPU", float(np.median(error)), "share",
               "at most 0.10" if asked else "", not asked or float(np.median(error)) <= 0.10),
        Figure(f"{about}: within 25 %", within, "share", "at least 0.90" if asked else "",
               not asked or within >= 0.90),
        Figure(f"{about}: median error of roofline", float(np.median(roofline)), "share", "", True),
        Figure(f"{about}: median error of a constant", float(np.median(constant)), "share", "",
               True),
        Figure(f"{about}: misses beyond 30 %", int(np.sum(error > MISS)), "rows", "", True),
        *(Figure(f"{about}: factor of {name}", factor, "", "", True)
          for name, factor in factors(rows, lambda r: r.predicted).items()),
    ]  # fmt: skip
    for case, rank in rank_of_cases(rows).items():
        figures.append(
            Figure(f"{about}: Spearman of {case}", rank, "", "at least 0.9" if asked else "",
                   not asked or rank >= 0.9)
        )  # fmt: skip
    for case, rank in ranks_with_errors(rows).items() if asked else ():
        name = f"{about}: Spearman of {case} with random errors of {ERROR:.0%}"
        figures.append(Figure(name, rank, "", "", True))
    return figures


def factors(
    rows: Sequence[Predicted], of: Callable[[Predicted], float]
) -> dict[str, float]:  # fmt: skip
    """Median of measured over predicted time, by GPU."""
    by_machine: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        by_machine[row.machine].append(row.measured / of(row))
    return {name: float(np.median(values)) for name, values in by_machine.items()}


def scaled_error(rows: Sequence[Predicted], of: Callable[[Predicted], float]) -> Times:
    """(rows,) relative errors after one factor for each GPU."""
    factor = factors(rows, of)
    return np.array([abs(factor[r.machine] * of(r) / r.measured - 1.0) for r in rows])


def rank_of_cases(rows: Sequence[Predicted]) -> dict[str, float]:
    """Spearman's coefficient over the forms and GPUs of each case with at least four rows, the
    predicted times with one factor a GPU."""
    factor = factors(rows, lambda r: r.predicted)
    return {
        case: float(
            spearmanr(
                [factor[r.machine] * r.predicted for r in g], [r.measured for r in g]
            ).statistic
        )
        for case, g in _ranked_cases(rows).items()
    }


def ranks_with_errors(rows: Sequence[Predicted]) -> dict[str, float]:
    """Spearman's coefficient of each case with at least four rows, median of many draws, if each
    prediction were the measured time with a random error of :data:`ERROR`. It is the most that can
    be asked of a model with such errors: times that lie closer together have no certain order."""
    random = np.random.default_rng(0)
    ranks = {}
    for case, of_case in _ranked_cases(rows).items():
        measured = np.array([row.measured for row in of_case])
        off = np.exp(random.normal(0.0, ERROR, (_DRAWS, len(measured))))
        drawn = [spearmanr(measured * factor, measured).statistic for factor in off]
        ranks[case] = float(np.median(drawn))
    return ranks


def _ranked_cases(rows: Sequence[Predicted]) -> dict[str, list[Predicted]]:
    """Rows of each case that has at least four."""
    groups: dict[str, list[Predicted]] = defaultdict(list)
    for row in rows:
        groups[row.case].append(row)
    return {case: found for case, found in groups.items() if len(found) >= 4}


def of_intervals(rows: Sequence[Predicted]) -> list[Figure]:
    """Shares of measured times that intervals of 80 % hold, each case judged by what the others
    say: their rows give the error band and, where the clock is known, the factor of each GPU, as a
    calibration does. With the clock unknown there is no factor."""
    known, unknown = [], []
    for case in dict.fromkeys(row.case for row in rows):
        others = [row for row in rows if row.case != case]
        factor = factors(others, lambda r: r.predicted) if others else {}
        if len({row.case for row in others}) < 2:
            continue
        counts = Counter(row.case for row in others)
        band = fit_band(
            [factor[r.machine] * r.predicted for r in others],
            [r.measured for r in others],
            share=0.8,
            fitted_on="",
            weights=[1.0 / counts[r.case] for r in others],
        )
        for row in (row for row in rows if row.case == case):
            if row.machine in factor:
                ratio = row.measured / (factor[row.machine] * row.predicted)
                known.append(band.low <= ratio <= band.high)
            if len(row.by_clock) == 2:
                fast, slow = row.by_clock
                low, high = interval(row.predicted, (fast, slow), (band.low, band.high))
                unknown.append(low <= row.measured <= high)
    return [
        _share(f"intervals hold, case by case, clock {what} ({len(held)})", float(np.mean(held)))
        for what, held in (("known", known), ("unknown", unknown))
        if held
    ]


def as_stored(about: str, rows: Sequence[Predicted]) -> list[Figure]:
    """Share of measured times within the intervals that the program gave them, clock unknown."""
    held = [r.low <= r.measured <= r.high for r in rows if not r.clock_known]
    share = float(np.mean(held)) if held else 0.0
    return [Figure(f"{about}: within the program's intervals ({len(held)})", share, "share", "",
                   True)] if held else []  # fmt: skip


def _share(name: str, held: float) -> Figure:
    low, high = SHARE
    return Figure(name, held, "share", f"{low} to {high}", low <= held <= high)
