"""The one interface of all models: counters in, a prediction with named parts out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from placewise.machine.machine import Machine
from placewise.memory.counters import Counters


@dataclass(frozen=True)
class Term:
    """One summand: the transactions of an array in a memory, and what they cost."""

    array: str
    memory: str
    staging: bool
    """The transactions fill or empty the array's tiles."""
    transactions: float
    cycles: float


@dataclass(frozen=True)
class PathTime:
    """What one part of the machine alone would need."""

    path: str
    cycles: float
    terms: tuple[Term, ...]

    @property
    def arrays(self) -> tuple[tuple[str, float], ...]:
        """Cycles per contributing array, the most expensive first."""
        cycles: dict[str, float] = {}
        for term in self.terms:
            cycles[term.array] = cycles.get(term.array, 0.0) + term.cycles
        return tuple(sorted(cycles.items(), key=lambda item: -item[1]))


@dataclass(frozen=True)
class Prediction:
    """A model's answer for one placement."""

    model: str
    total: float
    """Cycles in the model's own measure."""
    parts: tuple[PathTime, ...]
    """Every part, the most expensive first."""
    uncertainty: tuple[float, float]
    """Lowest and highest total over what the model leaves open; see :mod:`.uncertainty`."""
    absolute: bool
    """``total`` estimates the kernel's time. False: it is a measure of memory traffic that ranks
    placements and means something only as a ratio of two."""

    @property
    def binding(self) -> str:
        """Name of the part that takes longest ("" where nothing is accessed)."""
        return self.parts[0].path if self.parts else ""

    def near_binding(self, within: float = 0.1) -> tuple[str, ...]:
        """Names of all parts within a fraction of the longest."""
        if not self.parts:
            return ()
        least = (1.0 - within) * self.parts[0].cycles
        return tuple(part.path for part in self.parts if part.cycles >= least)


class Model(Protocol):
    """A pure function from counters to a prediction."""

    @property
    def name(self) -> str:
        """Name in reports and on the command line."""

    def predict(self, counters: Counters, machine: Machine) -> Prediction:
        """Time of the kernel with the placement that the counters belong to."""

    def variants(self) -> tuple[Model, ...]:
        """The same model with every value of its open parameters that deserves belief, the model
        itself first."""
