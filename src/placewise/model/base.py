"""The one interface of all models: evidence in, a prediction with named parts out.

A :class:`TimeModel` takes all that is known of one launch (:class:`Evidence`) and answers for a
machine. Models that need the papers' transaction counts alone are a :class:`Model`;
:class:`OfCounters` makes a time model of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from placewise.errors import UnsupportedError
from placewise.machine.machine import Machine
from placewise.memory.reuse.counters import Counters
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.model.evidence.warp_paths import WarpPaths
from placewise.short_repr import ShortRepr


class Sampling(IntEnum):
    """How many blocks of a launch its evidence comes from, the fewest first."""

    FEW = 0
    MORE = 1
    EVERY = 2


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of one launch of one form of a kernel. Any part may be missing."""

    run: SimulatedLaunch | None = None
    """The launch executed and its memory traffic simulated: instructions with their executions,
    occupancy, sectors and wavefronts of every memory instruction."""
    warp_paths: WarpPaths | None = None
    """Paths of the warps of some blocks, in machine code."""
    counters: Counters | None = None
    """Transactions of every array in every memory, as Chen et al. 2017 count them."""
    sampling: Sampling = Sampling.FEW
    """How many blocks :attr:`warp_paths` come from."""

    def simulated(self, model: str) -> SimulatedLaunch:
        """``run``; raises UnsupportedError where there is none."""
        if self.run is None:
            raise UnsupportedError(f"model {model} needs a simulated launch, not counters alone")
        return self.run

    def counted(self, model: str) -> Counters:
        """``counters``; raises UnsupportedError where there are none."""
        if self.counters is None:
            raise UnsupportedError(f"model {model} needs the transactions of every array")
        return self.counters


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
    """Time that one part of the machine, such as a data path, would need by itself."""

    path: str
    cycles: float
    terms: tuple[Term, ...] = ()
    """Terms that the time is the sum of, by array, where these are known."""
    lines: tuple[tuple[str, float], ...] = ()
    """(``file:line``, cycles) of the source lines that cause it, the most expensive first."""

    @property
    def arrays(self) -> tuple[tuple[str, float], ...]:
        """Cycles per contributing array, the most expensive first."""
        cycles: dict[str, float] = {}
        for term in self.terms:
            cycles[term.array] = cycles.get(term.array, 0.0) + term.cycles
        return tuple(sorted(cycles.items(), key=lambda item: -item[1]))


@dataclass(frozen=True)
class ClockTime:
    """What a launch takes at one clock of the SMs."""

    clock_mhz: float
    nanoseconds: float


@dataclass(frozen=True, repr=False)
class Prediction(ShortRepr):
    """A model's answer for one placement."""

    model: str
    total: float
    """Where ``absolute``: cycles of the SM's clock from the launch's start to its end. Else a
    measure of the model's own."""
    parts: tuple[PathTime, ...]
    """Every part, the most expensive first."""
    uncertainty: tuple[float, float]
    """Lower and upper end of the interval of ``total``; :mod:`.uncertainty` says how it is
    found."""
    absolute: bool
    """``total`` estimates the kernel's time. False: it is a measure of memory traffic that ranks
    placements and means something only as a ratio of two."""
    clock_mhz: float | None = None
    """Clock in MHz that turns cycles into time; None where there is no time."""
    notes: tuple[str, ...] = ()
    """What a reader must know to judge the answer: assumptions, substituted figures, what was left
    out."""
    model_error: tuple[float, float] | None = None
    """Lowest and highest ratio of measured to predicted time at a known clock; part of
    ``uncertainty``. None where it is not known separately."""
    unlike: tuple[str, ...] | None = None
    """In words, how the launch differs from all launches whose times were measured; empty where it
    is like them, None where that was not checked."""
    at_clocks: tuple[ClockTime, ...] = ()
    """Times at the highest and at the lowest clock that the machine may run at, without the model's
    error; empty where its clock is known."""

    def _in_short(self) -> str:
        low, high = self.uncertainty
        total = f"{self.total:.4g}{' cycles' if self.absolute else ''} ({low:.4g}–{high:.4g})"
        return f"{self.model}: {total}, limited by {self.binding or 'nothing'}"

    @property
    def nanoseconds(self) -> float | None:
        """``total`` as time; None where it is not absolute, or where no clock is known."""
        if not self.absolute or self.clock_mhz is None:
            return None
        return self.total * 1e3 / self.clock_mhz

    @property
    def interval_nanoseconds(self) -> tuple[float, float] | None:
        """``uncertainty`` as times; None where ``total`` is not absolute, or where no clock is
        known."""
        if not self.absolute or self.clock_mhz is None:
            return None
        low, high = self.uncertainty
        return low * 1e3 / self.clock_mhz, high * 1e3 / self.clock_mhz

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


class TimeModel(Protocol):
    """A pure function from evidence to a prediction."""

    @property
    def name(self) -> str:
        """Name in reports and on the command line."""

    def predict(self, evidence: Evidence, machine: Machine) -> Prediction:
        """Prediction for the launch on ``machine``.

        Raises UnsupportedError, naming the instruction or what is missing, where the model does not
        cover the launch or the evidence does not hold what it needs.
        """


class Model(Protocol):
    """A pure function from counters to a prediction."""

    @property
    def name(self) -> str:
        """Name in reports and on the command line."""

    def predict(self, counters: Counters, machine: Machine) -> Prediction:
        """Time of the kernel with the placement that the counters belong to."""

    def variants(self) -> tuple[Model, ...]:
        """The model with every plausible value of its open parameters, itself first."""


@dataclass(frozen=True)
class OfCounters:
    """A time model made of a :class:`Model`, which needs only the transactions of arrays."""

    model: Model

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.model.name

    def predict(self, evidence: Evidence, machine: Machine) -> Prediction:
        """Prediction from ``evidence.counters``; UnsupportedError where there are none."""
        return self.model.predict(evidence.counted(self.name), machine)
