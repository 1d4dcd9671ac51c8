"""How far the ratio of two placements' predictions can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

from placewise.errors import UnsupportedError
from placewise.machine.machine import Machine
from placewise.memory.reuse.counters import Counters
from placewise.model.base import Model, Prediction
from placewise.model.error import Bin, ErrorBand, error_of


@dataclass(frozen=True)
class Ratio:
    """Predicted time of a placement over that of another."""

    ratio: float
    low: float
    high: float
    """Least and greatest ratio, the model's own error included."""
    parameter_low: float
    parameter_high: float
    """Least and greatest ratio over what the model and the block sample leave open: what ``low``
    and ``high`` are without ``error``."""
    error: ErrorBand | None
    """What the model's ratios have been worth where times were measured. None: not known for this
    model, or not needed, the two placements being the same."""

    @property
    def certain_gain(self) -> bool:
        """The placement is faster whatever the open parameters are, and by more than the model's
        usual error."""
        return self.high < 1.0

    @property
    def experience(self) -> Bin | None:
        """How often measured pairs with about this predicted ratio really got faster."""
        return self.error.bin(self.ratio) if self.error else None


def relative(
    model: Model, candidate: Counters, present: Counters, machine: Machine, *, rerun: bool = False
) -> Ratio:
    """``candidate``'s predicted time over ``present``'s, with the range that it takes over every
    variant of the model and over the whole block sample and its halves; both placements are always
    judged under the same variant and from the same blocks. 1 where nothing is accessed.

    Where the placements differ, the range is widened by the model's measured error, as factors: a
    range that stays below 1 is a gain beyond what the model is usually wrong by. The error is known
    from one kernel (:mod:`.error`), so it is an order of size, no confidence interval. ``rerun``
    says that ``candidate`` comes from a trace of its own rewritten kernel, not from the trace that
    ``present`` comes from.
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
    error = None if candidate.placement == present.placement else error_of(model.name, rerun=rerun)
    if error is None:
        return Ratio(ratio, low, high, low, high, None)
    # The range contains the prediction even where the model errs to one side only.
    widened = low * min(1.0, error.low), high * max(1.0, error.high)
    return Ratio(ratio, *widened, low, high, error)


def relative_times(candidate: Prediction, present: Prediction) -> Ratio:
    """``candidate``'s time over ``present``'s, both predicted by the same model from their own
    code, with the range that the model's measured error leaves.

    Raises UnsupportedError for predictions of different models, or of one that gives no time.
    """
    if candidate.model != present.model or not (candidate.absolute and present.absolute):
        raise UnsupportedError(
            f"no ratio of times of models {candidate.model} and {present.model}",
            hint="both must come from one model that predicts absolute time",
        )
    ratio = candidate.total / present.total
    error = error_of(candidate.model, rerun=True)
    if error is None:
        return Ratio(ratio, ratio, ratio, ratio, ratio, None)
    low, high = ratio * min(1.0, error.low), ratio * max(1.0, error.high)
    return Ratio(ratio, low, high, ratio, ratio, error)
