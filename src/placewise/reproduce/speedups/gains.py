"""Gains of PORPLE's choice, of the rules' choice and of the offline optimum for one kernel and
machine."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from placewise.advisor.choosers import placement_by_rules
from placewise.advisor.prepare import Prepared, Profiling, prepare
from placewise.choose import search
from placewise.compiled_code import text_digest
from placewise.disk_cache import DiskCache, key_of
from placewise.kernel.cases.case import Case
from placewise.machine import Machine
from placewise.model import path_model
from placewise.reproduce.speedups.judges import judge_of
from placewise.space import Placement

KEPT = DiskCache("speedups", files=4096)
"""Computed gains on disk, under a key of all that they depend on, so that an interrupted run can
continue."""


@dataclass(frozen=True)
class Gains:
    """Gains (present time over new time) of the placements that three methods choose."""

    kernel: str
    machine: str
    model: str
    """Name of the model that predicts all three gains."""
    porple: float | None
    """PORPLE's choice from an active profile; None where the form was not proven."""
    porple_moves: str
    rules: float | None
    rules_moves: str
    optimum: float
    optimum_moves: str
    judged: int
    """Number of placements that were compared to find the optimum."""
    legal: int
    present_ms: float | None
    """Predicted time of the kernel as it is; None where the model has no times."""

    @property
    def complete(self) -> bool:
        """Whether all legal placements were compared to find the optimum."""
        return self.judged >= self.legal


def gains_of(
    case: Case, machine: Machine, most: int, exhaustive: int = 0, *, cache: DiskCache = KEPT
) -> Gains:
    """The gains of ``case`` on ``machine``, read from ``cache`` if they are there.

    Where each placement has to be written out and timed, at most ``most`` are, but all of a kernel
    that has at most ``exhaustive``. Raises PlacewiseError subclasses for a case that the machine
    cannot run.
    """
    key = _key(case, machine, most, exhaustive)
    stored = cache.read(key)
    if stored is not None:
        return Gains(**json.loads(stored))
    found = _work_out(case, machine, most, exhaustive)
    cache.write(key, json.dumps(asdict(found)).encode())
    return found


def porple_choice(prepared: Prepared) -> Placement:
    """The best placement by the path model as printed, found by the paper's search."""
    found = search(prepared.profile, prepared.legality, prepared.machine, path_model(), limit=1)
    return found[0].placement


def _work_out(case: Case, machine: Machine, most: int, exhaustive: int) -> Gains:
    prepared = prepare(case, machine)
    active = prepare(case, machine, profiling=Profiling.ACTIVE)
    judge = judge_of(prepared, most, exhaustive)
    present = prepared.legality.present
    porple, rules = porple_choice(active), placement_by_rules(prepared)
    optimum = judge.optimum((porple, rules))
    return Gains(
        case.name,
        machine.name,
        judge.name,
        judge.gain(porple),
        porple.describe(present),
        judge.gain(rules),
        rules.describe(present),
        optimum.gain,
        optimum.placement.describe(present),
        optimum.judged,
        optimum.legal,
        judge.present_ms,
    )


def _key(case: Case, machine: Machine, most: int, exhaustive: int = 0) -> str:
    """Key in the cache, made from this version's code, the kernel, its launch and its inputs."""
    data = [
        part
        for a in case.inputs.arguments
        for part in (a.name, repr(getattr(a, "value", "")), _bytes(a))
    ]
    constants = [part for name, array in case.inputs.constants for part in (name, array.tobytes())]
    return key_of(
        text_digest(__name__),
        case.source,
        case.kernel,
        repr(case.options),
        repr(case.launch),
        *data,
        *constants,
        machine.digest,
        f"{most}, {max(most, exhaustive)}",
    )


def _bytes(argument: object) -> bytes:
    array = getattr(argument, "data", None)
    return b"" if array is None else array.tobytes()
