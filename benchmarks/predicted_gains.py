"""The predicted gain of what is recommended for some kernels, on some GPUs."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.results import Figure, report
from placewise import advise
from placewise.kernel.cases.case import Case

MACHINES = ("A100", "H100", "RTX3060")


def report_gains(name: str, cases: Sequence[Case], machines: Sequence[str]) -> None:
    """Ask for advice on each kernel and machine, print, and write the results of benchmark
    ``name``. Ends the program with 1 where a recommended form was not proven to compute the same
    bits."""
    found = []
    for machine in machines:
        for case in cases:
            found.append(_figure(case, machine))
            print(found[-1], file=sys.stderr, flush=True)
    if not report(name, found):
        sys.exit(1)


def _figure(case: Case, machine: str) -> Figure:
    advice = advise(case, machine)
    best = advice.recommended
    if best is None:
        return Figure(f"{machine}, {case.kernel}: stays", 1.0, "times as fast, predicted", "", True)
    proven = best.verification is not None and best.verification.identical
    moves = best.placement.describe(advice.present.placement)
    return Figure(
        f"{machine}, {case.kernel}: {moves}", 1.0 / best.ratio, "times as fast, predicted",
        "bit-identical", proven,
    )  # fmt: skip
