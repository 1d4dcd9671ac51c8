"""Times of whole forms of a kernel, each from the machine code that it compiles to."""

from __future__ import annotations

from dataclasses import dataclass

from placewise.advisor.lint import Remark, bank_conflicts
from placewise.errors import UnsupportedError
from placewise.kernel.binary.machine_code import OLDEST_DISASSEMBLED
from placewise.kernel.cases.case import Case
from placewise.kernel.kernel import Kernel
from placewise.machine import Machine
from placewise.machine.at_clock import at_clock
from placewise.machine.clocks import clock_range
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.model import SAME, Prediction, Ratio, relative_times, timeline_model
from placewise.model.base import Evidence, Sampling
from placewise.model.clocked import predict_clocked
from placewise.model.evidence.calibration import NONE, Corrections, corrections
from placewise.model.evidence.evidence import evidence_of
from placewise.model.evidence.waits_in_turn import waits_in_turn
from placewise.model.evidence.warm_caches import at_launch, with_array_held
from placewise.model.registry import DEFAULT, known_model
from placewise.model.timeline.watch import Watched
from placewise.recorded.recorded_launch import MeasuredLaunch


@dataclass(frozen=True)
class LoadHits:
    """Sectors that the loads of one array ask for, and where the simulated caches find them."""

    array: str
    sectors: float
    near: float
    """Sectors found in a cache of the SM."""
    dram: float
    """Sectors fetched from DRAM."""

    def __add__(self, other: LoadHits) -> LoadHits:
        """The sums of both, under the other's array name."""
        return LoadHits(
            other.array,
            self.sectors + other.sectors,
            self.near + other.near,
            self.dram + other.dram,
        )


@dataclass(frozen=True)
class Timed:
    """A form's predicted time, or why there is none."""

    prediction: Prediction | None
    why_not: str = ""
    whole: bool = False
    """Whether the time comes from a run of the whole launch, not from a slice of a few blocks."""
    sampling: Sampling = Sampling.FEW
    """How many blocks that slice has."""
    loads: tuple[LoadHits, ...] = ()
    """One for each instruction that loads an array through data caches."""
    held_ms: float | None = None
    """Predicted milliseconds if loads of one array never missed in L2, where that was asked."""
    waits: int | None = None
    """How often a warp waits for loads, one time after another; None where its path is not
    known."""
    conflicts: tuple[Remark, ...] = ()
    """Bank conflicts of shared memory, one for each line and kind of access, the worst first."""

    @property
    def ms(self) -> float | None:
        """Predicted milliseconds."""
        return _milliseconds(self.prediction)

    @property
    def range_ms(self) -> tuple[float, float] | None:
        """Ends of the model's interval of the time, in milliseconds."""
        found = None if self.prediction is None else self.prediction.interval_nanoseconds
        return None if found is None else (found[0] * 1e-6, found[1] * 1e-6)


def _milliseconds(prediction: Prediction | None) -> float | None:
    ns = None if prediction is None else prediction.nanoseconds
    return None if ns is None else ns * 1e-6


def is_timed(machine: Machine) -> bool:
    """Whether forms can be timed on ``machine``: Placewise reads machine code of its compute
    capability."""
    major, minor = machine.limits.compute_capability
    return 10 * major + minor >= OLDEST_DISASSEMBLED


def time_form(
    kernel: Kernel,
    case: Case,
    machine: Machine,
    *,
    whole: bool = False,
    like: Timed | None = None,
    corrected: Corrections = NONE,
    model: str = DEFAULT,
    held: str | None = None,
) -> Timed:
    """Predicted time of ``kernel``, a form of the case's kernel, by the model named ``model``. With
    ``whole`` all blocks are run, never a few of them. ``corrected`` holds factors for the predicted
    counters, from recorded counters of the present form.

    ``like`` is the time of another form of the same launch: this one is timed from a run of the
    whole launch if that one was, from a slice of at least as many blocks otherwise, and the clock
    is taken to matter as much. ``held`` names an array of which it is also predicted how long the
    launch would take if L2 held all of it.

    Raises nothing for a machine or a kernel that the model does not cover: ``why_not`` of the
    answer says why there is no time.
    """
    if not is_timed(machine):
        oldest = f"{OLDEST_DISASSEMBLED // 10}.{OLDEST_DISASSEMBLED % 10}"
        return Timed(None, f"machine code is read for compute capability {oldest} and later")
    try:
        evidence = evidence_of(
            kernel, case.launch, case.inputs, machine,
            whole=whole or (like is not None and like.whole),
            sampling=Sampling.FEW if like is None else like.sampling,
            guards=False,
        )  # fmt: skip
        evidence = at_launch(corrected.apply(evidence), machine)
        known = None if like is None else like.prediction
        chosen = known_model(model).make()
        prediction = predict_clocked(chosen, evidence, machine, known)
        at_best = None
        if held is not None:
            at_best = predict_clocked(chosen, with_array_held(evidence, held), machine, prediction)
        return Timed(
            prediction,
            whole=evidence.warp_paths is None,
            sampling=evidence.sampling,
            loads=_load_hits(evidence.run),
            held_ms=_milliseconds(at_best),
            waits=waits_in_turn(kernel, evidence.warp_paths) if evidence.warp_paths else None,
            conflicts=bank_conflicts(evidence.run) if evidence.run is not None else (),
        )
    except UnsupportedError as error:
        return Timed(None, error.as_reason)


@dataclass(frozen=True, eq=False)
class WatchedForm:
    """A form's predicted time, and what the warps of an SM do meanwhile."""

    timed: Timed
    watched: Watched | None = None
    """None where no time is predicted."""
    evidence: Evidence | None = None
    """What the time rests on, with cold caches; None where no time is predicted."""


def watch_form(
    kernel: Kernel, case: Case, machine: Machine, known: Prediction | None = None
) -> WatchedForm:
    """Time of ``kernel``, one form of the case's, and what the warps of an SM do meanwhile. The
    time is ``known`` where it was predicted before."""
    if not is_timed(machine):
        return WatchedForm(time_form(kernel, case, machine))
    model = timeline_model()
    try:
        cold = evidence_of(kernel, case.launch, case.inputs, machine, guards=False)
        evidence = at_launch(cold, machine)
        clocks = clock_range(machine)
        at = machine if clocks is None else at_clock(machine, clocks.assumed)
        prediction = known or predict_clocked(model, evidence, machine)
        timed = Timed(prediction, loads=_load_hits(evidence.run))
        return WatchedForm(timed, model.watch(evidence, at), cold)
    except UnsupportedError as error:
        return WatchedForm(Timed(None, error.as_reason))


def _load_hits(run: SimulatedLaunch | None) -> tuple[LoadHits, ...]:
    if run is None:
        return ()
    return tuple(
        LoadHits(s.array, s.sectors, s.l1_hits.value, s.dram_sectors.value)
        for s in run.traffic.sites
        if s.array is not None and s.site.kind == "load" and s.sectors and not s.constant
    )


def corrections_of(
    kernel: Kernel, case: Case, machine: Machine, measured: MeasuredLaunch
) -> Corrections:
    """Factors that turn predicted counters of ``kernel`` into the recorded ones; none where there
    is no machine code that can be run."""
    try:
        evidence = evidence_of(kernel, case.launch, case.inputs, machine)
    except UnsupportedError:
        return NONE
    if evidence.run is None or not evidence.run.from_machine_code:
        return NONE
    return corrections(evidence.run, measured.values, microseconds=measured.microseconds)


def ratio_of_times(form: Timed | None, present: Timed | None) -> Ratio | None:
    """Predicted time of a form over that of the present one; None where either has none."""
    if form is None or present is None or form.prediction is None or present.prediction is None:
        return None
    if form is present:
        return SAME
    return relative_times(form.prediction, present.prediction)
