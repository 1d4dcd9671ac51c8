"""Table IV and Figs. 4 and 6 of Huang and Li 2017: every kernel and target placement as a pair.

The paper measured its pairs on a K80, and published no times. Here the model predicts the ratio of
every pair from one run of the sample's code, as the paper does: the accesses to an array that moves
are seen in the memory that it moves to, or that it came from. So a pair needs no second kernel, and
moves back to global memory, out of shared memory, and into textures of two dimensions are predicted
like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from placewise.advisor.prepare import Prepared, prepare
from placewise.cases import load_case
from placewise.cases.papers import HUANG_LI, TriedPlacement
from placewise.choose import legal_spaces
from placewise.choose.search import judged
from placewise.errors import CaseError, PlacewiseError
from placewise.machine import Machine, load_machine
from placewise.machine.msl.located import nearest
from placewise.model import path_model
from placewise.model.base import Evidence
from placewise.model.evidence.evidence import evidence_of
from placewise.model.huang_li.addressing import TEXTURE_2D
from placewise.model.huang_li.model import BASELINE, WHOLE
from placewise.model.huang_li.observe import Observed, observe
from placewise.model.huang_li.retarget import spaces_of
from placewise.model.registry import DEFAULT, MODELS
from placewise.progress import Progress, silent
from placewise.reproduce.arrival_tables import arrival_tables
from placewise.reproduce.result import Cell, Reproduction, Table
from placewise.space import Placement

MACHINE = "K80"
"""The paper's GPU."""
MEMORIES = {"G": "global", "T": "texture", "C": "constant", "S": "shared", "2T": TEXTURE_2D}
PRINTED_C_A = (
    ("spmv", "spmv", 1.11, 0.19), ("md", "md", 2.22, 0.35), ("matrixMul", "matmul", 1.72, 0.058),
)  # fmt: skip
"""Kernel, our case, and c_a as printed: mean and standard deviation over 96 banks."""
COUNTS = {
    "SHOC:bfs": 2, "SHOC:fft": 2, "SHOC:neuralnet": 5, "SHOC:reduction": 2, "SHOC:scan": 2,
    "SHOC:sort": 2, "SHOC:stencil2d": 2, "SHOC:md5hash": 2, "SHOC:S3D": 3, "SDK:convol.": 5,
    "SHOC:md": 6, "SDK:matrixMul": 8, "SHOC:spmv": 10, "SDK:transpose": 3, "SDK:cfd": 2,
    "SHOC:triad": 2, "SHOC:QTC": 2,
}  # fmt: skip
"""Placement tests of each benchmark as Table IV counts them, with the sample."""
RANKED = "neuralnet"
"""The case whose placements Fig. 6 ranks."""
CAPTIONED = "fft"
"""The case of the kernel that the caption of Fig. 4 names and its text does not."""


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
    """Time of the target over the sample's, by the model without instruction counting and queue."""
    timeline: float | None
    """Time of the target over the sample's, by the timeline, which reads machine code; None where
    there is none."""
    porple: float | None = None
    """Memory time of the target over the sample's by PORPLE's path model; None where it has no such
    placement."""
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
    measured = [case for _, case, *_ in PRINTED_C_A] + [CAPTIONED]
    simulated = [case for case in measured if case in chosen]
    if simulated:
        more, of_arrivals = arrival_tables(PRINTED_C_A, progress, simulated)
        tables += more
        figures |= of_arrivals
    tables.append(_count_table(chosen))
    return Reproduction(
        "huang-li",
        "Huang and Li 2017, Table IV, Figs. 4 and 6",
        tuple(table for table in tables if table.rows),
        " ".join((*words, "There are no measured times of these pairs to compare with.")),
        missing=(
            "measured times of these pairs: the paper's K80 is not at hand, and Fig. 5 is a plot",
            "Fig. 6: ranks are in a plot; the text says that the model's are those measured",
            "Fig. 4: the curves are a plot; the text prints c_a alone, of inputs that it does not "
            "name. No reading of times and banks gives all three of its figures",
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
        return [PredictedPair(t, None, None, None, reason=error.message) for t in tests], None
    # The paper writes out every placement of its table, whatever it does to occupancy.
    legality = replace(
        legal_spaces(
            prepared.view, machine, prepared.execution, prepared.case.inputs,
            prepared.case.launch, prepared.kernel, allow_lower_occupancy=True,
        ),
        by_hand=prepared.legality.by_hand,
    )  # fmt: skip
    prepared = replace(prepared, legality=legality)
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
        return PredictedPair(tried, None, None, None, reason=error.message)
    # What leaves shared memory is counted from the requests alone: there is nothing to time.
    timeline = None if leaves or tiled else _timeline_ratio(of_sample, of_target, machine)
    porple = _porple_ratio(tried, prepared)
    return PredictedPair(tried, ratios[0], ratios[1], timeline, porple)


def _porple_ratio(tried: TriedPlacement, prepared: Prepared) -> float | None:
    """Fig. 6 compares with PORPLE, which ranks placements by the time of their paths."""
    spaces = dict(prepared.legality.present)
    for array, before, after in tried.moves:
        space = MEMORIES[after]
        if before != "G" or array not in spaces or after == "2T":
            return None
        choice = prepared.legality.choice(array, space)
        if choice.reason is not None:
            return None
        spaces[array] = space
    (found,) = judged(
        [Placement.of(spaces)], prepared.profile, prepared.legality, prepared.machine, path_model()
    )
    return found.ratio.ratio


def _seen(
    prepared: Prepared, moves: dict[str, str], *, tiled: Sequence[str] = (), leaves: bool = False
) -> tuple[Observed, Evidence]:
    case, machine = prepared.case, prepared.machine
    evidence = evidence_of(
        prepared.kernel, case.launch, case.inputs, machine, placement=spaces_of(moves)
    )
    run = evidence.simulated("huang-li")
    if tiled:
        spaces = dict(prepared.legality.present) | dict.fromkeys(tiled, "shared")
        run = replace(run, occupancy=prepared.legality.occupancy_of(Placement.of(spaces)))
    sizes = dict(case.inputs.array_bytes)
    copied = {array: _staged_bytes(prepared, array) for array in tiled}
    seen = observe(
        run,
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
            "S→G moves all of a kernel's shared memory; 2T goes through the caches of T; after G→S "
            "an SM holds as many blocks as their tiles leave room for",
        ),
    )  # fmt: skip


def _rank_table(pairs: Sequence[PredictedPair], machine: Machine) -> Table:
    sample = "weights G (the sample)"
    ratios, porple = {sample: 1.0}, {sample: 1.0}
    for pair in pairs:
        if pair.tried.case == RANKED and pair.ratio is not None:
            ratios[_moves(pair.tried)] = pair.ratio
            if pair.porple is not None:
                porple[_moves(pair.tried)] = pair.porple
    ranked = sorted(ratios, key=lambda name: ratios[name])
    ranked_porple = sorted(porple, key=lambda name: porple[name])
    rows: list[tuple[Cell, ...]] = [
        (name, round(ratios[name], 3), n + 1,
         *((round(porple[name], 3), ranked_porple.index(name) + 1) if name in porple
           else (None, None)))
        for n, name in enumerate(ranked)
    ]  # fmt: skip
    return Table(
        f"Fig. 6: ranks of the placements of neuralnet, {machine.name}",
        ("placement", "over the sample", "rank", "PORPLE, over the sample", "PORPLE, rank"),
        tuple(rows) if len(ratios) > 1 else (),
        (
            "the paper's ranks are in a plot; its text says that PORPLE misjudges NN_S (G→S) most",
            "PORPLE's path model has no textures of two dimensions, and does not see that tiles "
            "leave an SM fewer blocks",
        ),
    )


def _count_table(cases: Sequence[str]) -> Table:
    """Numbers of placement tests of each benchmark, with the sample."""
    of_cases: dict[str, str] = {t.benchmark: t.case for t in HUANG_LI if t.case in cases}
    rows: list[tuple[Cell, ...]] = [
        (name, case, COUNTS[name], 1 + sum(t.benchmark == name for t in HUANG_LI))
        for name, case in of_cases.items()
    ]
    return Table(
        "Table IV: placement tests of each benchmark, the sample among them",
        ("benchmark", "case", "paper", "program"),
        tuple(rows),
        (
            "where the program has fewer, our text of the table has fewer: it names two placements "
            "of md and one of spmv twice, and lacks one of matrixMul. Of S3D it names three beside "
            "the sample",
        ),
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
        (
            "1 for an exponential distribution; the paper's are of 96 banks of a simulated C2050",
            "larger than the paper's for two reasons. The model's time is a number of instructions "
            "in which no warp waits, so that all warps ask at once; and by the K80's address bits "
            "an array lies in few banks. In the next table warps wait, and there are other banks",
        ),
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
