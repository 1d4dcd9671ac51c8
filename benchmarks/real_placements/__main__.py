"""Placements and layouts of the kernels of Rodinia and SHOC, as published.

``python -m benchmarks.real_placements --suites FOLDER``; the folder holds checkouts named as in
``benchmarks.real_kernels.registry``'s. Each kernel's first launch, as the drivers of
``benchmarks.real_kernels`` make it, becomes a case; its arrays are placed in every legal space,
alone and some together, its arrays of structs laid out anew; each form is compiled, run and
compared bit for bit. Without the suites it judges the table that an earlier run has left. About
fifteen minutes of two cores.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.real_kernels.command import load_drivers
from benchmarks.real_kernels.table import END, START
from benchmarks.real_placements.judge import Outcome
from benchmarks.real_placements.programs import judged
from benchmarks.results import RESULTS, Figure, report

SUITES = ("rodinia", "shoc")
TABLE = RESULTS / "real_placements_table.csv"
DOCUMENT = Path(__file__).parents[2] / "docs" / "explanation" / "real-placements.md"
KERNELS, STRUCTS = 35, 5


def main(
    suites: Annotated[
        Path | None, typer.Option(help="Folder with checkouts: rodinia, shoc.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Names of programs.")] = None,
    jobs: Annotated[int, typer.Option(help="Processes.", min=1)] = 2,
) -> None:
    """Record, write, run, compare; write results/real_placements.json and the table."""
    if suites is None or not any((suites / name).is_dir() for name in SUITES):
        if TABLE.is_file():
            print(f"no suite in {suites or '--suites'}: judging the table in {TABLE}")
            finish(read_rows())
        else:
            print(f"skipped: no suite in {suites or '--suites'} and no earlier table")
        return
    chosen = [
        p for p in load_drivers()
        if p.suite in SUITES
        and (not only or p.name in only)
        and (suites / p.suite / p.file).is_file()
    ]  # fmt: skip
    outcomes: list[Outcome] = []
    for found in judged(chosen, suites, jobs):
        outcomes += found
        for o in found:
            said = o.example or o.why_not
            print(f"{o.program} {o.kernel}: {o.placements} placements, {o.layouts} layouts: {said}",
                  *(f"\n  WRONG {w}" for w in o.wrong), flush=True)  # fmt: skip
    if not only:
        write_rows(outcomes)
        finish(outcomes)


def write_rows(outcomes: Sequence[Outcome]) -> None:
    """Write the outcomes as CSV."""
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(Outcome)], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**asdict(o), "wrong": "; ".join(o.wrong)} for o in outcomes)


def read_rows() -> list[Outcome]:
    """Read what :func:`write_rows` wrote."""
    with TABLE.open(newline="") as file:
        return [
            Outcome(
                line["suite"], line["program"], line["kernel"], int(line["placements"]),
                line["example"], tuple(w for w in line["wrong"].split("; ") if w),
                int(line["layouts"]), line["why_not"],
            )
            for line in csv.DictReader(file)
        ]  # fmt: skip


def finish(outcomes: Sequence[Outcome]) -> None:
    """Fill the document's table, report the figures, exit with 1 where one does not hold."""
    text = DOCUMENT.read_text()
    head, tail = text.split(START)[0], text.split(END)[1]
    DOCUMENT.write_text(f"{head}{START}\n{markdown(outcomes)}\n{END}{tail}")
    moved = {(o.suite, o.kernel.partition("<")[0]) for o in outcomes if o.placements}
    laid = {(o.suite, o.kernel.partition("<")[0]) for o in outcomes if o.layouts}
    wrong = sum(len(o.wrong) for o in outcomes)
    figures = [
        Figure("kernels of Rodinia and SHOC that were tried", len(outcomes), "", "", True),
        Figure("… with a placement written, compiled and bit-identical", len(moved), "kernels",
               f">= {KERNELS}", len(moved) >= KERNELS),
        Figure("… with another layout of its arrays of structs, likewise", len(laid), "kernels",
               f">= {STRUCTS}", len(laid) >= STRUCTS),
        Figure("placements proven", sum(o.placements for o in outcomes), "forms", "", True),
        Figure("layouts proven", sum(o.layouts for o in outcomes), "forms", "", True),
        Figure("forms that are wrong", wrong, "forms", "0", not wrong),
    ]  # fmt: skip
    if not report("real_placements", figures):
        sys.exit(1)


def markdown(outcomes: Sequence[Outcome]) -> str:
    """The table for people, by suite."""
    lines = []
    for suite in sorted({o.suite for o in outcomes}):
        lines += ["", f"### {suite}", "", "| program | kernel | proven placements | such as | "
                  "layouts | why none |", "|---|---|---|---|---|---|"]  # fmt: skip
        for o in outcomes:
            if o.suite == suite:
                why = " ".join((o.why_not or "; ".join(o.wrong)).replace("|", "\\|").split())
                lines.append(
                    f"| {o.program} | `{o.kernel.replace('|', '')}` | {o.placements or ''} | "
                    f"{o.example} | {o.layouts or ''} | {why} |"
                )
    return "\n".join(lines)


if __name__ == "__main__":
    typer.run(main)
