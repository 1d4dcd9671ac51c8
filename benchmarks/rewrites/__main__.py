"""Is any rewritten kernel wrong? Random programs, every form, inputs that the proof has not seen.

``python -m benchmarks.rewrites [--programs 2000] [--seed S] [--jobs N]``: each program's arrays are
moved one by one and together, into every space and in tiles of every plan; each written form runs
on the inputs that it was written for and, as it is, on those of two other sizes. A form may refuse
an input of another size; it must never compute other bits or access out of bounds.
"""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from benchmarks.results import Figure, report
from benchmarks.rewrites.programs import Program, program
from placewise.errors import ExecutionError, PlacewiseError, UnsupportedError
from placewise.executor import execute
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case, named_case, read_case
from placewise.kernel.source import SourceView
from placewise.machine import load_machine
from placewise.rewriter import Rewritten, rewrite
from placewise.space import Placement

MACHINE = "A100"
SPACES = ("readonly", "texture", "constant", "shared")
LIMIT = 2_000_000
"""Instructions of a warp; random loops are short."""


@dataclass(frozen=True)
class Outcome:
    """What came of one program."""

    seed: int
    valid: bool
    """The program itself runs on its first inputs."""
    counts: tuple[tuple[str, int], ...]
    wrong: tuple[str, ...]


def outputs(case: Case) -> dict[str, bytes]:
    """Bytes of the result."""
    named = named_case(case)
    run = execute(compile_case(case), named.launch, named.inputs, instruction_limit=LIMIT)
    return {name: data.tobytes() for name, data in run.outputs if name == "R"}


def placements(view: SourceView) -> list[Placement]:
    """Each array in each space, all in each space, and each plan by its chunk lengths."""
    names = [a.name for a in view.arrays]
    found = [Placement.of({name: space}) for name in names for space in SPACES]
    found += [Placement.of({"A": space, "B": space}) for space in SPACES]
    for plan in view.chunk_plans:
        lengths = plan.iterations
        for chunk in dict.fromkeys((lengths[0], lengths[-1])):
            found.append(Placement.of(dict.fromkeys(plan.arrays, "shared"), chunk))
    return found


def try_program(seed: int) -> Outcome:
    """Rewrite and run one program in every way."""
    made = program(seed)
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    truths: dict[int, dict[str, bytes]] = {}
    try:
        case = made.case(0)
        truths[0] = outputs(case)
        view = read_case(case).view
    except PlacewiseError:
        return Outcome(seed, False, (), ())
    for number in (1, 2):
        try:
            truths[number] = outputs(made.case(number))
        except PlacewiseError:
            continue
    machine = load_machine(MACHINE)
    for placement in placements(view):
        what = f"seed {seed}: {dict(placement.spaces)} chunk {placement.chunk}"
        try:
            written = rewrite(read_case(case).case, placement, machine, view)
        except UnsupportedError:
            counts["refused"] += 1
            continue
        counts["written in chunks" if placement.chunk else "written"] += 1
        wrong += _run_all(written, made, truths, what, counts)
    return Outcome(seed, True, tuple(counts.items()), tuple(wrong))


def _run_all(
    written: Rewritten, made: Program, truths: dict[int, dict[str, bytes]], what: str,
    counts: Counter[str],
) -> list[str]:  # fmt: skip
    wrong = []
    for number, truth in truths.items():
        case = written.case
        if number:
            if written.renamed:
                continue
            case = replace(made.case(number), source=written.case.source)
        try:
            found = outputs(case)
        except ExecutionError as error:
            if number and "trap" in str(error):
                counts["runs refused, made for one size"] += 1
            else:
                wrong.append(f"{what}, input {number}: {error}")
            continue
        except PlacewiseError as error:
            if "too much shared data" in str(error):
                counts["too large"] += 1
                continue
            wrong.append(f"{what}, input {number}: {error.message[:300]}")
            continue
        counts["runs on the proof's input" if not number else "runs on other inputs"] += 1
        if found != truth:
            wrong.append(f"{what}, input {number}: other bits")
    return wrong


def main(
    programs: Annotated[int, typer.Option(help="Random programs.", min=1)] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the first program.")] = 1,
    jobs: Annotated[int, typer.Option(help="Processes.", min=1)] = 2,
    verbose: Annotated[bool, typer.Option(help="Print wrong programs.")] = False,
) -> None:
    """Rewrite, run, compare; print a table, write results/rewrites.json."""
    totals: Counter[str] = Counter()
    valid, wrong = 0, []
    with ProcessPoolExecutor(jobs) as pool:
        for outcome in pool.map(try_program, range(seed, seed + programs), chunksize=4):
            valid += outcome.valid
            totals.update(dict(outcome.counts))
            for line in outcome.wrong:
                print(line, flush=True)
                if verbose:
                    print(program(outcome.seed).source, flush=True)
            wrong += outcome.wrong
    figures = [
        Figure("first seed", seed, "", "", True),
        Figure("programs", programs, "", ">= 2000", programs >= 2000),
        Figure("of them valid on their own", valid, "", "", True),
        *(Figure(f"forms or runs: {what}", count, "", "", True)
          for what, count in sorted(totals.items())),
        Figure("runs with other bits or errors", len(wrong), "", "0", not wrong),
    ]  # fmt: skip
    if not report("rewrites", figures):
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
