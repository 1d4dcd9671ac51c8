"""Figs. 7 to 14 and Table 5 of Chen et al. 2017 recomputed on the bundled cases.

``python -m benchmarks.speedups [--forms N] [--exhaustive N] [--machine NAME …] [--case NAME …]``.
Some 20 minutes the first time; what was worked out by this version's code is kept on disk. With
``--case`` the tables are printed alone.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.results import Figure, report
from placewise.report.reproduction import render_reproduction
from placewise.reproduce import porple_speedups
from placewise.reproduce.speedups.porple_speedups import MOST_FORMS


def main(
    forms: Annotated[int, typer.Option(min=3, help="Most forms of a kernel.")] = MOST_FORMS,
    exhaustive: Annotated[
        int, typer.Option(min=0, help="Time all placements of a case that has at most so many.")
    ] = 0,
    machine: Annotated[list[str] | None, typer.Option(help="A GPU; by default five.")] = None,
    case: Annotated[list[str] | None, typer.Option(help="A bundled case; by default all.")] = None,
) -> None:
    """Recompute, print, write results/speedups.json."""

    def step(what: str, done: int, total: int) -> None:
        print(f"{done} of {total}: {what}", file=sys.stderr, flush=True)

    found = porple_speedups(case or (), machine or (), forms, step, exhaustive=exhaustive)
    Console(width=160).print(render_reproduction(found))
    if case:
        return
    figures = [
        Figure(name, value, "times as fast" if "mean gain" in name else "", "reported", True)
        for name, value in found.figures.items()
    ]
    if not report("speedups", figures):
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
