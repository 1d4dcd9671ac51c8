"""How far the ratio of two placements' predictions can be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from placewise.errors import UnsupportedError
from placewise.machine.machine import Machine
from placewise.memory.reuse.counters import Counters
from placewise.model.base import Model, Prediction
from placewise.model.pair_error import PairError, change_of, stored_error


@dataclass(frozen=True)
class Ratio:
    """Predicted time of a placement over that of another."""

    ratio: float
    low: float
    high: float
    """Interval that holds the measured ratio with a probability of 80 %."""
    parameter_low: float
    parameter_high: float
    """Least and greatest ratio over what the model and the block sample leave open: what ``low``
    and ``high`` are without ``error``."""
    faster: float | None
    """Probability that the first placement takes less time; None where the model's error is not
    known."""
    error: PairError | None
    """What the model's ratios have been worth where times were measured. None: not known for this
    model, or not needed, the two forms being the same."""
    change: float = 0.0
    """How much the two forms differ, as the error is a function of it."""


SAME = Ratio(1.0, 1.0, 1.0, 1.0, 1.0, 0.0, None)
"""The ratio of a form to itself, or to one that takes the machine the same in every way."""


def relative(model: Model, candidate: Counters, present: Counters, machine: Machine) -> Ratio:
    """``candidate``'s predicted time over ``present``'s, with the range that it takes over every
    variant of the model and over the whole block sample and its halves; both placements are always
    judged under the same variant and from the same blocks. 1 where nothing is accessed.

    Where the placements differ, the range is widened by the model's error on measured pairs, and
    the probability of a gain is that of the range's upper end. There is none where an array moves
    that is updated by atomic functions: what those cost in a memory, transactions do not tell.
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
    code. The interval is as wide as measured pairs that differ as much ask for; two forms that
    take every part of the machine the same have ratio 1 and no width.

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
    """Ratio of the sums of several forms' times. Each part is the share that a form's present time
    has of the sum (shares add up to 1) and the form's own ratio; ``added`` is a time that the new
    forms take besides, as a share of the present sum.

    The errors of the parts are taken to go together, as they do where a machine's figure is off,
    so that they do not average out. Raises ValueError without parts.
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
    """The ratio where its error has this score."""
    if ratio.error is None:
        return ratio.ratio
    return ratio.ratio * math.exp(score * ratio.error.size(ratio.ratio, ratio.change))
