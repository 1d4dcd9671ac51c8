"""Measured pairs of placements, and what every model says of their ratio.

A pair is a configuration's plain form (the sample, whose time is known) and another form of it (the
target). By retarget the model sees the sample's code with its input elsewhere, as the paper does;
by rerun it sees the target's own code, compiled and looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from placewise.errors import PlacewiseError
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.case_file import CaseFamily, read_case_family
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.target import target_for
from placewise.machine import Machine, load_machine
from placewise.model.base import Evidence
from placewise.model.evidence.evidence import evidence_of
from placewise.model.huang_li.model import HuangLiModel
from placewise.model.huang_li.observe import Observed, observe
from placewise.model.registry import DEFAULT, MODELS
from placewise.recorded.time_tables import MeasuredTime, read_times
from placewise.validate.sample import choose_rows

HALO = 14
"""Rows and columns that a tile of the 15 × 15 convolution has beyond its outputs."""
MOST_OUTPUTS, LEAST_WIDTH = 2, 16
"""Of a thread, and threads of a row: compiling unrolled kernels of more takes long."""
FLOAT_BYTES = 4


@dataclass(frozen=True)
class Table:
    """Measured times of one kernel on one GPU."""

    file: str
    case: str
    machine: str


@dataclass(frozen=True, eq=False)
class Form:
    """One measured configuration, and what was seen of it."""

    measured: MeasuredTime
    observed: Observed
    timeline: float | None
    """Cycles that the timeline predicts."""

    @property
    def nanoseconds(self) -> float:
        return self.measured.nanoseconds


@dataclass(frozen=True, eq=False)
class Pair:
    """A sample and a target of one configuration."""

    group: tuple[tuple[str, object], ...]
    switch: str
    sample: Form
    target: Form
    moved: Observed
    """The sample's code with its input where the target has it."""


@dataclass(frozen=True, eq=False)
class Seen:
    """All pairs and forms of a table."""

    machine: Machine
    pairs: tuple[Pair, ...]
    forms: tuple[Form, ...]


def _chosen(rows: Sequence[MeasuredTime]) -> list[MeasuredTime]:
    kept = []
    for row in rows:
        c = dict(row.configuration)
        outputs = int(c.get("tile_size_x", 1)) * int(c.get("tile_size_y", 1))
        if outputs <= MOST_OUTPUTS and int(c.get("block_size_x", LEAST_WIDTH)) >= LEAST_WIDTH:
            kept.append(row)
    return kept


def observe_table(table: Table, folder: Path, cases: Path, rows: int, seed: int) -> Seen:
    """Look at about ``rows`` configurations of a table, drawn with ``seed`` in whole groups."""
    family = read_case_family(cases / table.case)
    placement = family.placement_parameters
    machine = load_machine(table.machine)
    times = read_times(folder / table.file, family.parameters).rows
    groups: dict[tuple[tuple[str, object], ...], list[MeasuredTime]] = {}
    for row in choose_rows(_chosen(times), placement, rows, seed):
        rest = tuple(item for item in row.configuration if item[0] not in placement)
        groups.setdefault(rest, []).append(row)
    pairs: list[Pair] = []
    forms: list[Form] = []
    for group, members in groups.items():
        found = _group(group, members, family, machine)
        pairs += found[0]
        forms += found[1]
    return Seen(machine, tuple(pairs), tuple(forms))


def _group(
    group: tuple[tuple[str, object], ...],
    members: Sequence[MeasuredTime],
    family: CaseFamily,
    machine: Machine,
) -> tuple[list[Pair], list[Form]]:
    placement = family.placement_parameters

    def switches(row: MeasuredTime) -> dict[str, int]:
        values = dict(row.configuration)
        return {name: int(values[name]) for name in placement}

    ordered = sorted(members, key=lambda row: tuple(switches(row).values()))
    sample_case = prepared_case(family, ordered[0], machine)
    seen = [(row, look(prepared_case(family, row, machine), machine)) for row in ordered]
    known = [(row, found) for row, found in seen if found is not None]
    forms = [
        Form(row, observe(found.simulated("huang-li"), machine), _timeline(found, machine))
        for row, found in known
    ]
    if not known or known[0][0] is not ordered[0]:
        return [], forms
    pairs = []
    for form in forms[1:]:
        before, after = switches(ordered[0]), switches(form.measured)
        changed = [name for name in placement if before[name] != after[name]]
        moves = {}
        if "use_shmem" in changed:
            moves = {"input": "shared"}
        elif "read_only" in changed:
            moves = {"input": "readonly"}
        moved = look(sample_case, machine, moves)
        if moved is None:
            continue
        staged = _staged_bytes(sample_case, dict(group)) if "use_shmem" in changed else 0.0
        run = moved.simulated("huang-li")
        once = min(staged, float(dict(sample_case.inputs.array_bytes)["input"]))
        elsewhere = observe(run, machine, moves, staged_bytes=staged, staged_once=once)
        pairs.append(Pair(group, "+".join(changed), forms[0], form, elsewhere))
    return pairs, forms


def prepared_case(family: CaseFamily, row: MeasuredTime, machine: Machine) -> Case:
    """The case of a measured row, to be compiled for ``machine``."""
    case = family.case(dict(row.configuration))
    arch, _ = target_for(machine.limits.compute_capability, case.options.nvrtc)
    return named_case(replace(case, options=replace(case.options, arch=arch)))


def look(case: Case, machine: Machine, moves: dict[str, str] | None = None) -> Evidence | None:
    """What a case does on ``machine``, with the arrays in ``moves`` seen in these spaces; None
    where it cannot be compiled or run."""
    try:
        kernel = compile_case(case)
        return evidence_of(kernel, case.launch, case.inputs, machine, placement=moves)
    except PlacewiseError:
        return None


def _timeline(evidence: Evidence, machine: Machine) -> float | None:
    try:
        return MODELS[DEFAULT].make().predict(evidence, machine).total
    except PlacewiseError:
        return None


def _staged_bytes(case: Case, group: dict[str, object]) -> float:
    """Bytes of the input that all blocks copy into their tiles."""
    values = {name: int(str(value)) for name, value in group.items() if str(value).isdigit()}
    columns = values["block_size_x"] * values["tile_size_x"] + HALO
    rows = values["block_size_y"] * values["tile_size_y"] + HALO
    return float(case.launch.blocks) * columns * rows * FLOAT_BYTES


def retarget_ratio(model: HuangLiModel, pair: Pair, machine: Machine) -> float:
    """Predicted time of the target over the sample's, from the sample's code."""
    sample = pair.sample.observed
    target = model.parts(pair.moved, machine, sample).total
    return target / model.parts(sample, machine).total


def rerun_ratio(model: HuangLiModel, pair: Pair, machine: Machine) -> float:
    """Predicted time of the target over the sample's, from the target's own code."""
    sample = pair.sample.observed
    target = model.parts(pair.target.observed, machine, sample).total
    return target / model.parts(sample, machine).total
