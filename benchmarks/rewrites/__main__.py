"""Random kernels under the checker, rewritten in every legal way, on inputs no proof has seen.

``python -m benchmarks.rewrites``: 2,000 small programs with fixed seeds. Of the legal placements
of each program, some forty, ``--forms`` are drawn; with each order of its matrices they are
written, compiled, and run under the checker on the inputs that a proof would use and on two of
other sizes and data. Outputs are compared bit for bit with the original's. Prints every wrong form
with the smallest program that shows it. About an hour of two cores.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from functools import partial
from typing import Annotated

import typer

from benchmarks.results import Figure, report
from benchmarks.rewrites.judge import Report
from benchmarks.rewrites.orders import judged
from benchmarks.rewrites.program import described
from benchmarks.rewrites.statements import make_program

PROGRAMS = 2000
FORMS = 10
"""Placements of a program that are judged: more programs find more than more forms of one."""
MOST_SKIPPED = 0.1
"""Share of the programs that may be no valid ones."""
SHOWN = 20
"""Most reasons that are printed."""


def main(
    programs: Annotated[int, typer.Option(help="How many.", min=1)] = PROGRAMS,
    seed: Annotated[int, typer.Option(help="Seed of the first; the others follow.")] = 1,
    forms: Annotated[int, typer.Option(help="Most placements of a program.", min=1)] = FORMS,
    jobs: Annotated[int, typer.Option(help="Processes.", min=1)] = 2,
    seconds: Annotated[float, typer.Option(help="Begin no further program after so long.")] = 1e9,
    show: Annotated[bool, typer.Option("--show", help="Print the programs alone.")] = False,
) -> None:
    """Rewrite, run, compare; print failures, write results/rewrites.json of a full run, also where
    ``--seconds`` ended it: it says how many programs were judged."""
    seeds = range(seed, seed + programs)
    if show:
        for number in seeds:
            print(described(make_program(number), (), None))
        return
    total, start = Report(), time.monotonic()
    # Children start afresh, so that what the compilers keep of each program is given back.
    context = multiprocessing.get_context("spawn")
    # An executor of concurrent.futures hangs where it replaces its children (CPython issue 115634).
    with context.Pool(jobs, maxtasksperchild=100) as pool:
        for done, one in enumerate(pool.imap(partial(judged, most=forms), seeds), start=1):
            total.add(one)
            for failure in one.failures:
                print(f"WRONG: {failure.kind}: {failure.detail}\n{failure.reproduction}")
            if done % 50 == 0 or one.failures:
                print(f"{done} programs, {total.forms} forms, {len(total.failures)} wrong",
                      flush=True)  # fmt: skip
            if time.monotonic() - start > seconds:
                pool.terminate()
                break
    for what, counts in (("not judged", total.skipped), ("not written", total.refused)):
        print(f"{what}:")
        for reason, count in counts.most_common(SHOWN):
            print(f"  {count:6d}  {reason}")
    found = figures(total, seed, forms)
    if programs < PROGRAMS:
        for figure in found:
            print(f"{figure.figure}: {figure.value} {figure.unit}")
        sys.exit(any(not f.holds for f in found if f.asked == "0"))
    if not report("rewrites", found):
        sys.exit(1)


def figures(total: Report, seed: int, forms: int) -> list[Figure]:
    """What is asked of the fuzzer, and what it found."""
    skipped = sum(total.skipped.values())
    kinds = (
        "other bits on another input", "other bits", "does not compile", "unclean", "fails",
        "internal error",
    )  # fmt: skip
    wrong = {kind: sum(f.kind == kind for f in total.failures) for kind in kinds}
    return [
        Figure(f"random programs from seed {seed} on", total.programs, "programs",
               f">= {PROGRAMS}", total.programs >= PROGRAMS),
        Figure("of them not judged", skipped, "programs", f"<= {MOST_SKIPPED:.0%}",
               skipped <= MOST_SKIPPED * total.programs),
        Figure("placements of a program that are judged, at most", forms, "forms", "", True),
        Figure("forms written and compiled", total.forms, "forms", "", True),
        Figure("inputs on which they compute the same bits", total.counts["same"], "runs", "",
               True),
        Figure("inputs of a size that they refuse", total.counts["bound"], "runs", "", True),
        Figure("placements refused, with a reason", sum(total.refused.values()), "placements", "",
               True),
        *(Figure(f"wrong forms: {kind}", count, "forms", "0", count == 0)
          for kind, count in wrong.items()),
    ]  # fmt: skip


if __name__ == "__main__":
    typer.run(main)
