"""Uncertainty of the ratio of two placements' predicted times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from placewise.errors import UnsupportedError
from placewise.machine.machine import Machine
from placewise.memory.reuse.counters import Counters
from placewise.model.base import Model, Prediction
from placewise.model.pair_error import PairError, change_of, stored_error


@dataclass(frozen=True)
class Ratio:
    """Predicted time of a placement over that of another."""

    ratio: float
    """The predicted ratio."""
    low: float
    high: float
    """Interval that holds the measured ratio with a probability of 80 %."""
    parameter_low: float
    parameter_high: float
    """Least and greatest ratio over the variants of the model and the halves of the block sample:
    the interval without the model's error."""
    faster: float | None
    """Probability that the first placement takes less time; None where the model's error is not
    known."""
    error: PairError | None = field(repr=False)
    """The error of the model's ratios on measured pairs of forms; None where it is not known for
    this model, or not needed because the two forms are the same."""
    change: float = 0.0
    """How much the two forms differ; the error depends on it
    (:func:`placewise.model.pair_error.change_of`)."""


SAME = Ratio(1.0, 1.0, 1.0, 1.0, 1.0, 0.0, None)
"""The ratio of a form to itself, or to a form that needs the same time of every part of the
machine."""


def relative(model: Model, candidate: Counters, present: Counters, machine: Machine) -> Ratio:
    """``candidate``'s predicted time over ``present``'s, with its range over all variants of the
    model and over the block sample and its halves. Both placements are always predicted with the
    same variant and from the same blocks. The ratio is 1 where nothing is accessed.

    Where the placements differ, the range is widened by the model's error on measured pairs, and
    the probability of a gain is that of the range's upper end. No probability is given where an
    array moves that atomics update, since the number of transactions does not give the cost of
    atomics.
    """
    pairs = [(candidate, present)]
    if len(candidate.halves) == len(present.halves):
        pairs += zip(candidate.halves, present.halves, strict=True)
    ratios = []
    for variant in model.variants():
        for one, other in pairs:
            base = variant.predict(other, machine).total
            ratios.append(variant.predict(one, machine).total / base if base else 1.0)
    ratio, low, high = ratios[0], min(ratios), max(ratios)
    same = candidate.placement == present.placement
    error = None if same or moved_atomics(candidate, present) else stored_error(model.name)
    if error is None or low <= 0.0:
        return Ratio(ratio, low, high, low, high, 0.0 if same else None, None)
    return Ratio(
        ratio,
        error.interval(low, 0.0)[0],
        error.interval(high, 0.0)[1],
        low,
        high,
        error.faster(high, 0.0),
        error,
    )


def moved_atomics(candidate: Counters, present: Counters) -> tuple[str, ...]:
    """Arrays updated by atomic functions that the two placements have in different memories."""
    then = {a.array: a.space for a in present.arrays}
    return tuple(
        a.array for a in candidate.arrays if a.atomic and a.space != then.get(a.array, a.space)
    )


def relative_times(candidate: Prediction, present: Prediction) -> Ratio:
    """``candidate``'s time over ``present``'s, both predicted by the same model from their own
    code. The width of the interval comes from the errors of measured pairs that differ as much. Two
    forms that need the same time of every part of the machine have ratio 1 and no width.

    Raises UnsupportedError for predictions of different models, or of one that gives no time.
    """
    if candidate.model != present.model or not (candidate.absolute and present.absolute):
        raise UnsupportedError(
            f"no ratio of times of models {candidate.model} and {present.model}",
            hint="both must come from one model that predicts absolute time",
        )
    slower = max(candidate.total, present.total)
    change = change_of(
        *({part.path: part.cycles / slower for part in p.parts} for p in (candidate, present))
    )
    if change == 0.0 and candidate.total == present.total:
        return SAME
    ratio = candidate.total / present.total
    error = stored_error(candidate.model)
    if error is None:
        return Ratio(ratio, ratio, ratio, ratio, ratio, None, None)
    return Ratio(
        ratio, *error.interval(ratio, change), ratio, ratio, error.faster(ratio, change), error,
        change,
    )  # fmt: skip


def ratio_of_sums(parts: Sequence[tuple[float, Ratio]], added: float = 0.0) -> Ratio:
    """New over present sum of the times of several forms. Each part is (share of the present sum,
    the form's own ratio); shares add up to 1. ``added`` is extra time of the new forms, as a share
    of the present sum.

    The errors of the parts are assumed to be fully correlated, as they are where a figure of the
    machine is wrong, so they do not average out. Raises ValueError without parts.
    """
    if not parts:
        raise ValueError("a sum of no times has no ratio")
    total, low, high = (
        added + sum(share * value(r) for share, r in parts)
        for value in (lambda r: r.ratio, lambda r: r.low, lambda r: r.high)
    )
    if all(r is SAME for _, r in parts) and not added:
        return SAME
    errors = [r.error for _, r in parts if r is not SAME and r.error is not None]
    if len(errors) < sum(r is not SAME for _, r in parts):
        return Ratio(total, low, high, total, total, None, None)
    if not errors:
        return Ratio(total, total, total, total, total, 0.0 if total >= 1.0 else None, None)
    scores = errors[0].scores
    below = sum(added + sum(share * _at(r, score) for share, r in parts) < 1.0 for score in scores)
    faster = (below + 0.5) / (len(scores) + 1.0)
    return Ratio(total, low, high, total, total, faster, errors[0])


def _at(ratio: Ratio, score: float) -> float:
    """The ratio if its error has this score."""
    if ratio.error is None:
        return ratio.ratio
    return ratio.ratio * math.exp(score * ratio.error.size(ratio.ratio, ratio.change))
