"""Table IV and Figs. 4 and 6 of Huang and Li 2017: every kernel and target placement as a pair.

The paper measured its pairs on a K80, and published no times. Here the model predicts the ratio of
every pair from one run of the sample's code, as the paper does: the accesses to an array that moves
are seen in the memory that it moves to, or that it came from. So a pair needs no second kernel, and
moves back to global memory, out of shared memory, and into textures of two dimensions are predicted
like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from placewise.advisor.prepare import Prepared, prepare
from placewise.cases import load_case
from placewise.cases.papers import HUANG_LI, TriedPlacement
from placewise.errors import CaseError, PlacewiseError
from placewise.machine import Machine, load_machine
from placewise.machine.msl.located import nearest
from placewise.model.base import Evidence
from placewise.model.evidence.evidence import evidence_of
from placewise.model.huang_li.addressing import TEXTURE_2D
from placewise.model.huang_li.model import BASELINE, WHOLE
from placewise.model.huang_li.observe import Observed, observe
from placewise.model.huang_li.retarget import spaces_of
from placewise.model.registry import DEFAULT, MODELS
from placewise.progress import Progress, silent
from placewise.reproduce.result import Cell, Reproduction, Table

MACHINE = "K80"
"""The paper's GPU."""
MEMORIES = {"G": "global", "T": "texture", "C": "constant", "S": "shared", "2T": TEXTURE_2D}
PRINTED_C_A = (
    ("spmv", "spmv", 1.11, 0.19), ("md", "md", 2.22, 0.35), ("matrixMul", "matmul", 1.72, 0.058),
)  # fmt: skip
"""Kernel, our case, and c_a as printed: mean and standard deviation over 96 banks."""
RANKED = "neuralnet"
"""The case whose placements Fig. 6 ranks."""


class Spread(NamedTuple):
    """c_a over the banks of the DRAM."""

    mean: float
    deviation: float
    banks: int


@dataclass(frozen=True)
class PredictedPair:
    """One placement test: what the model says of it, or why it cannot."""

    tried: TriedPlacement
    ratio: float | None
    """Time of the target over the sample's, by the whole model."""
    baseline: float | None
    """The same by the model without instruction counting and queue."""
    timeline: float | None
    """The same by the timeline, which reads machine code; None where there is none."""
    reason: str = ""
    """Why there is no ratio."""


def placement_tests(
    machines: Sequence[str] = (), cases: Sequence[str] = (), progress: Progress = silent
) -> Reproduction:
    """Predict the pairs of Table IV on ``machines`` (default: the paper's K80), or those of
    ``cases`` alone.

    Raises CaseError for a case that is not in the table, and MachineError for an unknown machine.
    """
    known = tuple(dict.fromkeys(tried.case for tried in HUANG_LI))
    for name in cases:
        if name not in known:
            hint = nearest(name, list(known))
            raise CaseError(f"Table IV has no case '{name}'", where="--cases", hint=hint)
    chosen = [name for name in known if not cases or name in cases]
    tables: list[Table] = []
    figures: dict[str, float] = {}
    words = []
    for machine in (load_machine(name) for name in machines or (MACHINE,)):
        pairs: list[PredictedPair] = []
        queues: dict[str, Spread] = {}
        for done, name in enumerate(chosen):
            progress(f"predicting placements on {machine.name}", done, len(chosen))
            found, spread = _of_case(name, machine)
            pairs += found
            if spread is not None:
                queues[name] = spread
        tables += [_pair_table(pairs, machine), _rank_table(pairs, machine)]
        tables.append(_arrival_table(queues, machine))
        own = _figures(pairs, queues)
        figures |= {f"{machine.name}, {name}": value for name, value in own.items()}
        words.append(_verdict(pairs, machine))
    return Reproduction(
        "huang-li",
        "Huang and Li 2017, Table IV, Figs. 4 and 6",
        tuple(table for table in tables if table.rows),
        " ".join((*words, "There are no measured times of these pairs to compare with.")),
        missing=(
            "measured times of these pairs: the paper's K80 is not at hand, and Fig. 5 is a plot",
            "Fig. 6: ranks are in a plot; the text says that the model's are those measured",
            "Fig. 4: the curves are a plot; the text prints c_a alone, of GPGPU-Sim's Tesla C2050 "
            "and of inputs that it does not name",
        ),
        figures=figures,
    )


def _of_case(name: str, machine: Machine) -> tuple[list[PredictedPair], Spread | None]:
    """The pairs of one case, and c_a of its banks."""
    tests = [tried for tried in HUANG_LI if tried.case == name]
    try:
        prepared = prepare(load_case(name), machine)
        present = evidence_of(prepared.kernel, prepared.case.launch, prepared.case.inputs, machine)
        queue = _spread(observe(present.simulated("huang-li"), machine))
    except PlacewiseError as error:
        return [PredictedPair(t, None, None, None, error.message) for t in tests], None
    return [_predicted(tried, prepared) for tried in tests], queue


def _spread(seen: Observed) -> Spread | None:
    """c_a of the banks that two requests or more come to; None where the machine maps no
    addresses."""
    each = [b.gap_deviation / b.gap_mean for b in seen.banks if b.requests > 1 and b.gap_mean]
    return Spread(float(np.mean(each)), float(np.std(each)), len(each)) if each else None


def _predicted(tried: TriedPlacement, prepared: Prepared) -> PredictedPair:
    try:
        before = {a: MEMORIES[old] for a, old, _ in tried.moves if old in ("T", "C")}
        after = {a: MEMORIES[new] for a, _, new in tried.moves if new != "G"}
        leaves = any(old == "S" for _, old, _ in tried.moves)
        tiled = [array for array, to in after.items() if to == "shared"]
        sample, of_sample = _seen(prepared, before)
        target, of_target = _seen(prepared, after, tiled=tiled, leaves=leaves)
        machine = prepared.machine
        ratios = [
            model.parts(target, machine, sample).total / model.parts(sample, machine).total
            for model in (WHOLE, BASELINE)
        ]
    except PlacewiseError as error:
        return PredictedPair(tried, None, None, None, error.message)
    # What leaves shared memory is counted from the requests alone: there is nothing to time.
    timeline = None if leaves or tiled else _timeline_ratio(of_sample, of_target, machine)
    return PredictedPair(tried, ratios[0], ratios[1], timeline)


def _seen(
    prepared: Prepared, moves: dict[str, str], *, tiled: Sequence[str] = (), leaves: bool = False
) -> tuple[Observed, Evidence]:
    case, machine = prepared.case, prepared.machine
    evidence = evidence_of(
        prepared.kernel, case.launch, case.inputs, machine, placement=spaces_of(moves)
    )
    sizes = dict(case.inputs.array_bytes)
    copied = {array: _staged_bytes(prepared, array) for array in tiled}
    seen = observe(
        evidence.simulated("huang-li"),
        machine,
        moves,
        staged_bytes=sum(copied.values()),
        staged_once=sum(min(n, sizes.get(array, n)) for array, n in copied.items()),
        leaves_shared="global" if leaves else None,
    )
    return seen, evidence


def _staged_bytes(prepared: Prepared, array: str) -> float:
    """Bytes of an array that all blocks copy into shared memory; raises CaseError where they
    cannot."""
    choice = prepared.legality.choice(array, "shared")
    if choice.reason is not None:
        raise CaseError(f"{array} cannot be in shared memory: {choice.reason}")
    return float(choice.taken_bytes) * prepared.case.launch.blocks


def _timeline_ratio(sample: Evidence, target: Evidence, machine: Machine) -> float | None:
    try:
        times = [MODELS[DEFAULT].make().predict(e, machine).total for e in (target, sample)]
    except PlacewiseError:
        return None
    return times[0] / times[1]


def _moves(tried: TriedPlacement) -> str:
    return ", ".join(f"{array} {before}→{after}" for array, before, after in tried.moves)


def _pair_table(pairs: Sequence[PredictedPair], machine: Machine) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for pair in pairs:
        found = (pair.ratio, pair.baseline, pair.timeline)
        rows.append(
            (pair.tried.benchmark, pair.tried.case, _moves(pair.tried),
             "training" if pair.tried.training else "evaluation",
             *(None if r is None else round(r, 3) for r in found), pair.reason or None)
        )  # fmt: skip
    return Table(
        f"Table IV: predicted time of the target over the sample's, {machine.name}",
        ("benchmark", "case", "moves", "in the paper", "whole model", "baseline", "timeline",
         "not predicted, because"),
        tuple(rows),
        (
            "predicted from the sample's code with the moved arrays seen in the other memory; "
            "overlap of Sim et al., as no measured times are there to train one",
            "timeline: not a measurement, the nearest there is to one; it reads machine code, "
            "which GPUs before Volta have none of here",
            "S→G moves all of a kernel's shared memory; 2T goes through the caches of T",
        ),
    )  # fmt: skip


def _rank_table(pairs: Sequence[PredictedPair], machine: Machine) -> Table:
    ratios = {"weights G (the sample)": 1.0}
    for pair in pairs:
        if pair.tried.case == RANKED and pair.ratio is not None:
            ratios[_moves(pair.tried)] = pair.ratio
    ranked = sorted(ratios, key=lambda name: ratios[name])
    complete = len(ratios) > 1
    return Table(
        f"Fig. 6: ranks of the placements of neuralnet, {machine.name}",
        ("placement", "over the sample", "rank"),
        tuple((name, round(ratios[name], 3), n + 1) for n, name in enumerate(ranked))
        if complete
        else (),
        ("the paper's ranks are in a plot",),
    )


def _arrival_table(queues: dict[str, Spread], machine: Machine) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for kernel, case, mean, deviation in PRINTED_C_A:
        found = queues.get(case)
        if found is None:
            continue
        rows.append(
            (kernel, mean, deviation, round(found.mean, 2), round(found.deviation, 2), found.banks)
        )
    return Table(
        f"Fig. 4: variation c_a of the times between arrivals at DRAM banks, {machine.name}",
        ("kernel", "paper, mean", "paper, deviation", "program, mean", "program, deviation",
         "banks asked"),
        tuple(rows),
        ("1 for an exponential distribution; the paper's are of 96 banks of a simulated C2050",),
    )  # fmt: skip


def _figures(pairs: Sequence[PredictedPair], queues: dict[str, Spread]) -> dict[str, float]:
    figures = {
        "pairs": float(len(pairs)),
        "pairs predicted": float(sum(pair.ratio is not None for pair in pairs)),
    }
    for kernel, case, *_ in PRINTED_C_A:
        if case in queues:
            figures[f"c_a, {kernel}"] = queues[case].mean
    both = [p for p in pairs if p.ratio is not None and p.timeline is not None]
    if both:
        apart = [abs(p.ratio / p.timeline - 1.0) for p in both if p.ratio and p.timeline]
        figures["whole model against the timeline, mean, %"] = 100.0 * float(np.mean(apart))
    return figures


def _verdict(pairs: Sequence[PredictedPair], machine: Machine) -> str:
    predicted = [pair for pair in pairs if pair.ratio is not None]
    faster = sum(pair.ratio < 1.0 for pair in predicted if pair.ratio is not None)
    return (
        f"{len(predicted)} of {len(pairs)} pairs are predicted on {machine.name}; in {faster} of "
        "them the target is faster than the sample."
    )
