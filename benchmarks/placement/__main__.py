"""What advice gains on kernels as beginners write them, and whether what it writes is right.

``python -m benchmarks.placement``: for each of ten kernels and each of three GPUs the verdict, its
predicted gain, and whether the written source compiles, computes the same bits on the inputs of the
case and on two others, is clean under the checker, and moves what its counters say. About half an
hour of two cores. ``--legal`` does something else: it writes the legal placements of the bundled
cases (:mod:`benchmarks.placement.legal`) for ``--seconds``, goes on where it stopped before, and
writes ``results/placement_legal.json``.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.placement.beginners import BEGINNERS, Beginner
from benchmarks.placement.legal import judge_legal
from benchmarks.results import RESULTS, Figure, report
from placewise import advise, predict_counters
from placewise.advisor import Advice
from placewise.errors import ExecutionError
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case, named_case

MACHINES = ("A100", "H100", "RTX3060")
COUNTERS = {
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "L1 sectors loaded",
    "lts__t_sectors_op_read.sum": "L2 sectors read",
    "dram__sectors_read.sum": "DRAM sectors read",
    "smsp__inst_executed.sum": "instructions",
}
"""Counters of each form, and what reports call them."""
GAIN, KERNELS, MULTIPLY = 1.2, 6, 1.35


@dataclass(frozen=True)
class Outcome:
    """What came of one kernel on one GPU."""

    kernel: str
    machine: str
    moved: str
    """The recommended moves; empty where it is to stay."""
    gain: float
    wrong: int
    """Inputs on which the written source computes other bits."""
    bound: int
    """Inputs of another size that the written source refuses, being made for one size."""
    same: int
    """Inputs on which it computes the same bits."""
    unclean: int
    """Findings of the checker."""
    traffic: tuple[tuple[str, float], ...]
    """(counter, its value in the written form over that in the source)."""


def outputs(case: Case) -> dict[str, bytes]:
    """Bytes of every array that the launch writes."""
    named = named_case(case)
    run = execute(compile_case(case), named.launch, named.inputs)
    return {name: data.tobytes() for name, data in run.outputs if name in run.written}


def is_right(at: int) -> bool:
    """Whether a kernel itself computes what NumPy does, to rounding; ``at`` counts the kernels'
    sizes."""
    kernel, number = BEGINNERS[at // 3], at % 3
    case = named_case(kernel.case(number))
    before = {a.name: a.data.copy() for a in case.inputs.arrays}
    run = dict(execute(compile_case(case), case.launch, case.inputs).outputs)
    for name, wanted in kernel.expected(before, kernel.sizes[number]).items():
        found = np.asarray(run[name]).reshape(np.shape(wanted))
        scale = float(np.abs(wanted).max()) or 1.0
        if not np.allclose(found, wanted, rtol=1e-3, atol=1e-4 * scale):
            return False
    return True


def try_written(kernel: Beginner, advice: Advice) -> tuple[int, int, int, int]:
    """(wrong, bound, same, findings of the checker) of the recommended source."""
    option = advice.recommended
    if option is None or option.rewritten is None:
        return 0, 0, 0, 0
    written = option.rewritten
    wrong = bound = same = 0
    for number in range(len(kernel.sizes)):
        original = kernel.case(number)
        original = replace(original, options=replace(original.options, arch=advice.run.arch))
        try:
            then = placed_like(advice, original)
            found = outputs(then)
        except ExecutionError as error:
            bound += "trap" in str(error)
            wrong += "trap" not in str(error)
            continue
        wanted = outputs(original)
        is_same = all(found[name] == wanted[name] for name in wanted if name in found)
        same += is_same
        wrong += not is_same
    named = named_case(written.case)
    checker = Checker()
    execute(compile_case(written.case), named.launch, named.inputs, check=checker)
    return wrong, bound, same, len(checker.findings)


def traffic(kernel: Beginner, advice: Advice) -> tuple[tuple[str, float], ...]:
    """Counters of the recommended form over those of the source."""
    option = advice.recommended
    if option is None or option.rewritten is None:
        return ()
    before, after = (
        {m.name: m.value for m in predict_counters(case, advice.machine).metrics}
        for case in (kernel.case(0), option.rewritten.case)
    )
    shared = (name for name in COUNTERS if before.get(name) and name in after)
    return tuple((COUNTERS[name], after[name] / before[name]) for name in shared)


def placed_like(advice: Advice, original: Case) -> Case:
    """The recommended source on the inputs of another case. Arrays that moved to constant memory
    or textures move so in that case, too, where their lengths are the same."""
    option = advice.recommended
    assert option is not None
    assert option.rewritten is not None
    written = option.rewritten.case
    arrays = {a.name: a.data for a in named_case(original).inputs.arrays}
    constants = []
    for (array, name), (_, data) in zip(
        option.rewritten.renamed, written.inputs.constants, strict=False
    ):
        if arrays[array].size != data.size:
            raise ExecutionError(f"{name} is made for another length: trap")
        constants.append((name, arrays[array]))
    gone = {array for array, _ in option.rewritten.renamed}
    inputs = named_case(original).inputs
    kept = tuple(a for a in inputs.arguments if a.name not in gone)
    return replace(
        original,
        source=written.source,
        launch=replace(original.launch, shared_bytes=written.launch.shared_bytes),
        inputs=replace(inputs, arguments=kept, constants=(*inputs.constants, *constants)),
    )


def judge(at: tuple[int, str]) -> Outcome:
    """One kernel on one GPU."""
    number, machine = at
    kernel = BEGINNERS[number]
    advice = advise(kernel.case(0), machine)
    best = advice.recommended
    tried = try_written(kernel, advice)
    moved = best.placement.describe(advice.present.placement) if best else ""
    gain = 1.0 / best.ratio if best else 1.0
    return Outcome(kernel.name, machine, moved, gain, *tried, traffic(kernel, advice))


def main(
    jobs: Annotated[int, typer.Option(help="Processes.", min=1)] = os.cpu_count() or 1,
    every: Annotated[
        bool, typer.Option("--legal", help="Write legal placements of the bundled cases instead.")
    ] = False,
    seconds: Annotated[float, typer.Option(help="How long --legal works.", min=0)] = 1800.0,
    kept: Annotated[
        Path, typer.Option(help="What --legal has done: a line for each form.")
    ] = RESULTS / "placement_legal_forms.jsonl",
) -> None:
    """Advise, write, run, count; print a table, write results/placement.json."""
    if every:
        if not report("placement_legal", judge_legal(kept, seconds)):
            sys.exit(1)
        return
    tasks = [(n, machine) for machine in MACHINES for n in range(len(BEGINNERS))]
    with ProcessPoolExecutor(jobs) as pool:
        outcomes = list(pool.map(judge, tasks))
        right = list(pool.map(is_right, range(3 * len(BEGINNERS))))
    if not report("placement", figures_of(outcomes, all(right))):
        sys.exit(1)


def figures_of(outcomes: list[Outcome], right: bool) -> list[Figure]:
    figures = [Figure("the ten kernels compute what NumPy does", right, "", "True", right)]
    for o in outcomes:
        what = f"{o.machine}, {o.kernel}"
        figures.append(Figure(f"{what}: {o.moved or 'stays'}", o.gain, "times as fast", "", True))
        figures += [
            Figure(f"{what}: {counter}", share, "of before", "", True)
            for counter, share in o.traffic
        ]
    for machine in MACHINES:
        gains = {o.kernel: o.gain for o in outcomes if o.machine == machine}
        count = sum(gain >= GAIN for gain in gains.values())
        figures.append(
            Figure(f"{machine}: kernels of ten to move, predicted {GAIN} times or more", count, "",
                   f">= {KERNELS}", count >= KERNELS)
        )  # fmt: skip
        figures.append(
            Figure(f"{machine}: the multiply's gain", gains["multiply"], "times as fast",
                   f">= {MULTIPLY}", gains["multiply"] >= MULTIPLY)
        )  # fmt: skip
    sums: dict[str, int] = {
        what: sum(getattr(o, what) for o in outcomes) for what in ("wrong", "bound", "same")
    }
    figures += [
        Figure("written sources on three inputs each: same bits", sums["same"], "runs", "", True),
        Figure("… refuse an input of another size", sums["bound"], "runs", "", True),
        Figure("… other bits", sums["wrong"], "runs", "0", sums["wrong"] == 0),
        Figure("checker's findings in written sources", sum(o.unclean for o in outcomes), "", "0",
               not any(o.unclean for o in outcomes)),
    ]  # fmt: skip
    return figures


if __name__ == "__main__":
    typer.run(main)
