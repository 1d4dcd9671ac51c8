"""How far the ratio of two placements' predictions can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

from placewise.machine.machine import Machine
from placewise.memory.counters import Counters
from placewise.model.base import Model


@dataclass(frozen=True)
class Ratio:
    """Predicted time of a placement over that of another."""

    ratio: float
    low: float
    high: float
    """Least and greatest ratio over all that is open."""

    @property
    def certain_gain(self) -> bool:
        """The placement is faster whatever the open parameters are."""
        return self.high < 1.0


def relative(model: Model, candidate: Counters, present: Counters, machine: Machine) -> Ratio:
    """``candidate``'s predicted time over ``present``'s, with the range that it takes over every
    variant of the model and over the whole block sample and its halves; both placements are always
    judged under the same variant and from the same blocks. 1 where nothing is accessed.

    It covers what the model leaves open and what the sample leaves open, not the model's own error.
    """
    pairs = [(candidate, present)]
    if len(candidate.halves) == len(present.halves):
        pairs += zip(candidate.halves, present.halves, strict=True)
    ratios = []
    for variant in model.variants():
        for one, other in pairs:
            base = variant.predict(other, machine).total
            ratios.append(variant.predict(one, machine).total / base if base else 1.0)
    return Ratio(ratios[0], min(ratios), max(ratios))
