"""Every placement's time from one measured sample (Huang and Li 2017). The measured form is run and
traced once; its accesses are then counted as those of the memories of each target placement, and no
target is written or run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from placewise.advisor.forms.timing import corrections_of
from placewise.advisor.prepare import Prepared, prepare
from placewise.cases import CaseLike, load_case
from placewise.choose import Legality
from placewise.errors import CaseError
from placewise.executor import DEFAULT_LIMIT
from placewise.kernel.cases.case import Case
from placewise.machine import Machine, MachineLike, load_machine
from placewise.machine.msl.located import nearest
from placewise.model.evidence.calibration import NONE, Corrections
from placewise.model.evidence.evidence import evidence_of
from placewise.model.huang_li.model import HuangLiModel, Parts
from placewise.model.huang_li.observe import Observed, observe
from placewise.progress import Progress, silent
from placewise.recorded.recorded_counters import launch_and_differences, read_measured
from placewise.recorded.recorded_launch import DURATION, MeasuredLaunch, executed
from placewise.space import Placement

MOST_TARGETS = 64
"""Most placements that are predicted, those that move the fewest arrays first."""
ISSUED, EXECUTED = "smsp__inst_issued.sum", "smsp__inst_executed.sum"
TARGETS_SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Target:
    """A target placement and its predicted time."""

    placement: Placement
    milliseconds: float
    ratio: float
    """Predicted time over the sample's measured time; below 1 is faster."""
    parts: Parts


@dataclass(frozen=True, eq=False)
class TargetTimes:
    """Predicted times of a kernel's placements, from a measured time of one."""

    case: Case
    machine: Machine
    sample: Placement
    measured_ms: float
    sample_parts: Parts
    targets: tuple[Target, ...]
    """The fastest first."""
    placements: int
    """Legal placements in all, without cache hints."""
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The document that ``placewise advise --model huang-li --json`` prints."""
        return {
            "schema": "placewise-targets",
            "schema_version": TARGETS_SCHEMA_VERSION,
            "case": self.case.name,
            "machine": self.machine.name,
            "model": "huang-li",
            "sample": dict(self.sample),
            "measured_ms": self.measured_ms,
            "sample_parts": _parts_document(self.sample_parts),
            "targets": [
                {
                    "placement": dict(target.placement),
                    "milliseconds": target.milliseconds,
                    "ratio": target.ratio,
                    "parts": _parts_document(target.parts),
                }
                for target in self.targets
            ],
            "placements": self.placements,
            "notes": list(self.notes),
        }


# Public and keyword-only: one parameter for each option; the stages in their order.
def predict_targets(
    case: CaseLike,
    machine: MachineLike,
    *,
    measured_ms: float | None = None,
    profile: Path | None = None,
    row: int | None = None,
    moves: Mapping[str, str] | None = None,
    nvrtc: str | None = None,
    instruction_limit: int = DEFAULT_LIMIT,
    progress: Progress = silent,
) -> TargetTimes:
    """Predict the time of every legal placement of ``case`` from one measured time of it as it is.

    The sample is ``measured_ms``, or a ``profile`` of recorded counters (launch ``row``, from 0),
    whose duration is the time and whose counters correct the counters of all placements. ``moves``
    (space by array) asks for one target alone. The model is that of Huang and Li, with the overlap
    of Sim et al. All targets are scaled by the measured over the modelled time of the sample.
    Raises CaseError for a sample without a time or of another kernel and for a target that is not
    legal, and CaseError, CompileError, MachineError, UnsupportedError or ExecutionError for bad
    input.
    """
    case, machine = load_case(case), load_machine(machine)
    if nvrtc is not None:
        case = replace(case, options=replace(case.options, nvrtc=nvrtc))
    if measured_ms is None and profile is None:
        raise CaseError(
            "the model predicts from a measured sample, and none is given",
            where="--measured",
            hint="give its time, such as 1.3ms, or a file of recorded counters",
        )
    recorded = read_measured(profile) if profile is not None else ()
    prepared = prepare(case, machine, progress, instruction_limit=instruction_limit)
    corrected, replays, notes = NONE, None, prepared.notes
    if profile is not None:
        defines = prepared.case.options.defines
        ran = executed(prepared.kernel, prepared.case.launch, defines, machine)
        launch, differs = launch_and_differences(recorded, ran, row, str(profile))
        if measured_ms is None:
            measured_ms = _time(launch, profile)
        corrected = corrections_of(prepared.kernel, prepared.case, machine, launch)
        replays = measured_replays(launch)
        notes = (*notes, *(f"{profile.name} was recorded with {what}" for what in differs))
    assert measured_ms is not None
    legality = prepared.legality
    wanted = [_legal(legality, moves)] if moves else _targets(legality)
    model = HuangLiModel()
    sample = _observed(prepared, legality.present, corrected)
    sample_parts = model.parts(sample, machine, sample_replays=replays)
    found = []
    for done, placement in enumerate(wanted[:MOST_TARGETS]):
        progress("predicting placements", done, min(len(wanted), MOST_TARGETS))
        target = _observed(prepared, placement, corrected)
        parts = model.parts(target, machine, sample, replays)
        ratio = parts.total / sample_parts.total
        found.append(Target(placement, measured_ms * ratio, ratio, parts))
    if len(wanted) > MOST_TARGETS:
        notes = (
            *notes,
            f"{MOST_TARGETS} of {len(wanted)} placements, those that move the fewest arrays",
        )
    return TargetTimes(
        prepared.case,
        machine,
        legality.present,
        measured_ms,
        sample_parts,
        tuple(sorted(found, key=lambda target: target.milliseconds)),
        len(wanted) + 1,
        (*notes, *dict.fromkeys(sample_parts.notes)),
    )


def measured_replays(launch: MeasuredLaunch) -> float | None:
    """Replays of a launch as a profiler counted them, instructions issued less those executed; None
    where it did not count both."""
    issued, done = launch.values.get(ISSUED), launch.values.get(EXECUTED)
    return None if issued is None or done is None else max(0.0, issued - done)


def _time(launch: MeasuredLaunch, profile: Path) -> float:
    """Milliseconds that the recorded launch took."""
    if launch.microseconds is None or launch.microseconds <= 0.0:
        raise CaseError(
            "the sample has no time",
            where=str(profile),
            hint=f"record {DURATION}, too, or give the time with --measured",
        )
    return launch.microseconds * 1e-3


def _legal(legality: Legality, moves: Mapping[str, str]) -> Placement:
    """The present placement with ``moves``; raises CaseError where that is not legal."""
    spaces = [space.name for space in legality.machine.spaces]
    for array, space in moves.items():
        where = f"--place {array}={space}"
        if array not in legality.arrays:
            hint = nearest(array, list(legality.arrays))
            raise CaseError(f"the kernel has no array '{array}'", where=where, hint=hint)
        if space not in spaces:
            has = f"{legality.machine.name} has no space '{space}'"
            raise CaseError(has, where=where, hint=nearest(space, spaces))
        reason = legality.reason(array, space)
        if reason is not None:
            raise CaseError(f"{array} cannot be in {space} memory: {reason}", where=where)
    placement = legality.present.with_moves(moves)
    why = legality.fits(placement)
    if why is not None:
        raise CaseError(f"the arrays do not fit together: {why}", where="--place")
    return placement


def _targets(legality: Legality) -> list[Placement]:
    """All legal placements but the present one, those that move fewest arrays first."""
    spaces = [legality.searched(array, by_row=True) for array in legality.arrays]
    placements = (
        Placement(tuple(zip(legality.arrays, chosen, strict=True))) for chosen in product(*spaces)
    )
    legal = [p for p in placements if p != legality.present and legality.fits(p) is None]
    return sorted(legal, key=lambda p: sum(p[a] != now for a, now in legality.present))


def _observed(prepared: Prepared, placement: Placement, corrected: Corrections) -> Observed:
    """The sample's launch, with accesses to its arrays counted as those of the memories that
    ``placement`` gives."""
    legality, machine = prepared.legality, prepared.machine
    moves = {a: s for a, s in placement if s != legality.present[a]}
    case = prepared.case
    evidence = evidence_of(prepared.kernel, case.launch, case.inputs, machine, placement=moves)
    run = corrected.apply(evidence).simulated("huang-li")
    sizes = dict(case.inputs.array_bytes)
    copied = once = 0.0
    for array, space in moves.items():
        if machine.space(space).way.facts.per_block:
            own = float(legality.choice(array, space).taken_bytes) * case.launch.blocks
            copied += own
            once += min(own, sizes.get(array, own))
    return observe(run, machine, moves, staged_bytes=copied, staged_once=once)


def _parts_document(parts: Parts) -> dict[str, float]:
    return {
        "t_comp": parts.t_comp,
        "t_mem": parts.t_mem,
        "t_overlap": parts.t_overlap,
        "staging": parts.staging,
        "dram_latency": parts.dram_latency,
    }
