"""How long a case takes on one or several machines, and what limits it, from its machine code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from placewise.advisor.documents.advice import prediction_document
from placewise.advisor.explain.duration import duration
from placewise.advisor.forms.timing import time_form
from placewise.cases import CaseLike, load_case
from placewise.dataframe import dataframe
from placewise.errors import UnsupportedError
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.check_launch import check_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.kernel import Kernel
from placewise.kernel.target import for_machine, target_for
from placewise.machine import Machine, MachineLike, load_machine
from placewise.machine.clocks import machine_at, with_caches
from placewise.memory.occupancy import Occupancy, occupancy
from placewise.model import Prediction
from placewise.model.registry import DEFAULT
from placewise.notebook import ShownInNotebooks
from placewise.progress import Progress, silent

if TYPE_CHECKING:
    from pandas import DataFrame

NEARLY = 0.8
"""A part of the machine nearly limits the launch if it alone would take at least this share of the
longest part's cycles."""


@dataclass(frozen=True, eq=False, repr=False)
class TimePrediction(ShownInNotebooks):
    """Predicted time of one launch on one machine."""

    case: Case
    machine: Machine
    milliseconds: float
    range_ms: tuple[float, float]
    """80 % interval in milliseconds. It covers the possible clocks and the model's own error."""
    prediction: Prediction
    """The model's answer with every part of the machine, in cycles."""
    occupancy: Occupancy
    registers: int | None
    measured_ms: float | None = None
    baseline_ms: float | None = None
    """An earlier prediction of the same case on the same machine."""

    @property
    def limited_by(self) -> str:
        """The part of the machine that takes longest, such as ``"DRAM bandwidth"``."""
        return self.prediction.binding

    @property
    def nearly(self) -> tuple[str, ...]:
        """Other parts of the machine that take at least 80 % as long as the limiting one. They
        limit next if the limiting part gets faster."""
        return self.prediction.near_binding(1.0 - NEARLY)[1:]

    def _in_short(self) -> str:
        low, high = (duration(t) for t in self.range_ms)
        time = f"{duration(self.milliseconds)} ({low}–{high}), limited by {self.limited_by}"
        return f"{self.case.called} on {self.machine.name}: {time}"

    def to_dict(self) -> dict[str, Any]:
        """The prediction as JSON types, the document ``placewise-time``."""
        return {
            "schema": "placewise-time",
            "schema_version": 2,
            "case": self.case.name,
            "machine": self.machine.name,
            "milliseconds": self.milliseconds,
            "range_ms": list(self.range_ms),
            "clocks": [
                {"clock_mhz": one.clock_mhz, "milliseconds": one.nanoseconds * 1e-6}
                for one in self.prediction.at_clocks
            ],
            "caches": "warm" if self.machine.warm_caches else "cold",
            "model_error": self.prediction.model_error,
            "unlike_measured": self.prediction.unlike,
            "measured_ms": self.measured_ms,
            "baseline_ms": self.baseline_ms,
            "limited_by": self.limited_by,
            "nearly_limited_by": list(self.nearly),
            "registers": self.registers,
            "warps_per_sm": self.occupancy.warps,
            "prediction": prediction_document(self.prediction),
        }

    def to_dataframe(self) -> DataFrame:
        """A row for each part of the machine: ``part``, ``cycles``, the longest first."""
        return dataframe([{"part": p.path, "cycles": p.cycles} for p in self.prediction.parts])


@dataclass(frozen=True, eq=False, repr=False)
class TimeReport(ShownInNotebooks):
    """Predicted times of one case on several machines."""

    predictions: tuple[TimePrediction, ...]
    """In the order in which the machines were asked for."""
    refused: tuple[tuple[str, str], ...]
    """(machine, why there is no time)."""

    def _in_short(self) -> str:
        times = [f"{p.machine.name} {duration(p.milliseconds)}" for p in self.predictions]
        times += [f"{name} no time" for name, _ in self.refused]
        return f"{self.predictions[0].case.called}: {', '.join(times)}"

    def to_dict(self) -> dict[str, Any]:
        """The document that ``placewise time --json`` prints."""
        return {
            "schema": "placewise-times",
            "schema_version": 1,
            "times": [p.to_dict() for p in self.predictions],
            "refused": [{"machine": name, "why": why} for name, why in self.refused],
        }

    def to_dataframe(self) -> DataFrame:
        """A row for each machine: ``machine``, ``milliseconds``, ``low_ms``, ``high_ms``,
        ``measured_ms``, ``limited_by``."""
        rows = [
            {
                "machine": p.machine.name,
                "milliseconds": p.milliseconds,
                "low_ms": p.range_ms[0],
                "high_ms": p.range_ms[1],
                "measured_ms": p.measured_ms,
                "limited_by": p.limited_by,
            }
            for p in self.predictions
        ]
        return dataframe(rows)


def predict_time(
    case: CaseLike, machine: MachineLike, *, nvrtc: str | None = None,
    measured_ms: float | None = None, clock: str | float | None = None, caches: str = "cold",
    model: str = DEFAULT,
) -> TimePrediction:  # fmt: skip
    """Predict how long ``case`` takes on ``machine`` (compute capability 7.0 and later).

    The time comes from the kernel's machine code, warp by warp, or from another ``model`` that
    predicts times, by name. ``nvrtc`` replaces the case's compiler version; ``measured_ms`` is a
    measured time to stand beside; ``clock`` is the SMs' in MHz, ``"base"`` or ``"boost"`` (None:
    not known, which widens ``range_ms``). ``caches`` says what L2 holds at the start: ``"cold"``,
    none of the launch's data (so measure profilers, which empty it), or ``"warm"``, what an earlier
    launch on the same data left.

    Raises UnsupportedError where the machine or an instruction is not covered, and CaseError,
    CompileError, MachineError or ExecutionError for bad input.
    """
    machine = with_caches(machine_at(load_machine(machine), clock), caches)
    case = targeted(load_case(case), machine, nvrtc)
    return predict_compiled(compile_case(case), case, machine, measured_ms=measured_ms, model=model)


def targeted(case: Case, machine: Machine, nvrtc: str | None = None) -> Case:
    """``case`` with the compiler's target that ``machine`` needs; ``nvrtc`` replaces the compiler's
    version. Raises CaseError where the launch does not fit the machine."""
    check_case(case, machine.limits)
    return for_machine(case, machine, nvrtc)[0]


def predict_compiled(
    kernel: Kernel,
    case: Case,
    machine: Machine,
    *,
    measured_ms: float | None = None,
    model: str = DEFAULT,
) -> TimePrediction:
    """Predict how long ``kernel``, the result of compiling ``case`` for ``machine``, takes.

    Raises UnsupportedError where the machine or an instruction is not covered, and CaseError where
    the launch does not fit.
    """
    check_case(case, machine.limits, kernel.static_shared_bytes)
    case = named_case(case)
    timed = time_form(kernel, case, machine, model=model)
    if timed.prediction is None or timed.ms is None or timed.range_ms is None:
        reason = timed.why_not or "the machine file has no clock"
        raise UnsupportedError(
            f"no time is predicted: {reason}",
            where=machine.name,
            hint="`placewise advise` still compares placements by their memory traffic",
        )
    arch, stand_in = target_for(machine.limits.compute_capability, case.options.nvrtc)
    prediction = timed.prediction
    if stand_in is not None and kernel.arch == arch:
        prediction = replace(prediction, notes=(stand_in, *prediction.notes))
    resident = occupancy(
        case.launch,
        machine,
        registers=kernel.registers,
        shared_bytes=case.launch.shared_bytes + kernel.static_shared_bytes,
    )
    return TimePrediction(
        case, machine, timed.ms, timed.range_ms, prediction, resident, kernel.registers,
        measured_ms,
    )  # fmt: skip


def predict_times(
    case: CaseLike, machines: Sequence[MachineLike], *, nvrtc: str | None = None,
    measured_ms: Mapping[str, float] | None = None, clock: str | float | None = None,
    caches: str = "cold", model: str = DEFAULT, progress: Progress = silent,
) -> TimeReport:  # fmt: skip
    """Predict how long ``case`` takes on each of ``machines``.

    ``measured_ms`` gives measured times by machine name. ``clock`` is the SMs' clock of all
    machines: MHz, ``"base"`` or ``"boost"``; ``caches`` what L2 holds at the start, ``"cold"`` or
    ``"warm"`` as in :func:`predict_time`. A machine that no time can be predicted for is listed
    in ``refused``. Raises UnsupportedError where no machine has a time, and CaseError,
    CompileError, MachineError or ExecutionError for bad input.
    """
    case = load_case(case)
    loaded = [load_machine(machine) for machine in machines]
    found: list[TimePrediction] = []
    refused: list[tuple[str, str]] = []
    known = measured_ms or {}
    for done, machine in enumerate(loaded):
        progress(f"predicting the time on {machine.name}", done, len(loaded))
        try:
            measured = known.get(machine.name)
            one = predict_time(
                case, machine, nvrtc=nvrtc, measured_ms=measured, clock=clock, caches=caches,
                model=model,
            )  # fmt: skip
            found.append(one)
        except UnsupportedError as error:
            if len(loaded) == 1:
                raise
            refused.append((machine.name, error.message))
    if not found:
        name, why = refused[0]
        raise UnsupportedError(why, where=name, hint="the other machines have no time, either")
    return TimeReport(tuple(found), tuple(refused))
