"""Programs judged one by one, each in a process that can be given up."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.real_kernels.command import load_drivers
from benchmarks.real_kernels.registry import PROGRAMS, RealProgram
from benchmarks.real_placements.judge import Outcome, judge
from benchmarks.real_placements.recording import recorded
from placewise.errors import PlacewiseError

SECONDS = 300
"""After so long a program is given up."""


def judge_program(at: tuple[str, Path]) -> list[Outcome]:
    """All kernels of one program, the best of each."""
    name, suites = at
    load_drivers()
    program = next(p for p in PROGRAMS if p.name == name)
    try:
        with recorded(program, suites) as launches:
            return [
                judge(program.suite, program.name, one.kernel, one.case)
                if one.case is not None
                else Outcome(program.suite, program.name, one.kernel, why_not=one.why_not)
                for one in launches
            ]
    except PlacewiseError as error:
        why = error.message.splitlines()[0]
        return [Outcome(program.suite, program.name, k, why_not=why) for k in program.kernels]
    except Exception as error:
        # A mistake of Placewise's own; the table says so, and the other programs still run.
        why = f"internal error: {type(error).__name__}: {' '.join(str(error).split())[:80]}"
        return [Outcome(program.suite, program.name, k, wrong=(why,)) for k in program.kernels]


def judged(chosen: Sequence[RealProgram], suites: Path, jobs: int) -> Iterator[list[Outcome]]:
    """Outcomes program by program; one that takes too long is given up."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(jobs, maxtasksperchild=8) as pool:
        pending = [(p, pool.apply_async(judge_program, ((p.name, suites),))) for p in chosen]
        for program, answer in pending:
            try:
                yield answer.get(SECONDS)
            except multiprocessing.TimeoutError:
                why = f"given up after {SECONDS} s"
                yield [Outcome(program.suite, program.name, k, why_not=why)
                       for k in program.kernels]  # fmt: skip
