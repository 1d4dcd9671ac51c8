"""How long advice takes on every bundled case, and on the multiply that the README shows.

``python -m benchmarks.advice_time``: three GPUs, one case after another, as ``placewise advise``
does it: forms are tried by as many processes as there are processors, at most eight. Seconds are
those that pass, so nothing else should run. Ten to twenty minutes on two processors.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from benchmarks.results import Figure, report
from placewise import advise
from placewise.cases.library import case_names
from placewise.cli.commands.advise import default_workers

MACHINES = ("A100", "H100", "RTX3060")
MULTIPLY = Path(__file__).parents[1] / "docs" / "examples" / "multiply.toml"
MOST_SECONDS = 15.0


def main() -> None:
    """Time, print, write results/advice_time.json."""
    workers = default_workers()
    figures = [Figure("processes that try forms", workers, "", "", True)]
    for case in (*case_names(), MULTIPLY):
        taken = {}
        for machine in MACHINES:
            start = time.perf_counter()
            advise(case, machine, workers=workers)
            taken[machine] = time.perf_counter() - start
        slowest = max(taken, key=lambda machine: taken[machine])
        name = case.stem if isinstance(case, Path) else case
        figures.append(
            Figure(f"{name}: longest advice, on {slowest}", taken[slowest], "s",
                   f"<= {MOST_SECONDS:g}", taken[slowest] <= MOST_SECONDS)
        )  # fmt: skip
        print(f"{name}: {taken[slowest]:.1f} s", file=sys.stderr, flush=True)
    if not report("advice_time", figures):
        sys.exit(1)


if __name__ == "__main__":
    main()
