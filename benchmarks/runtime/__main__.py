"""What tuned programs compute, cost and gain.

``python -m benchmarks.runtime``: a conjugate-gradient solver, k-means and a stencil's time loop,
for CuPy and for Numba, all kernels tuned, on the executor. Each runs in two processes, of which the
second finds the choices on disk; results are compared bit for bit with those of the untuned
program. Then ten kernels on other data than they were chosen on, and accidents. About eight minutes
of two cores.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.results import Figure, report
from benchmarks.runtime.accidents import ACCIDENTS
from benchmarks.runtime.once import hashes, plain_outputs, program_named
from benchmarks.runtime.other_data import other_data_figures
from benchmarks.runtime.programs import DIALECTS, PROGRAMS, Program

MACHINES = ("A100", "K20c")
"""The second one's forms are others: it gains by textures and the read-only cache."""
GAINS = "A100"
"""Whose times are predicted, not only its memory traffic."""
PARTS = ("profiling", "search", "checks", "compilation", "lookups")


@dataclass(frozen=True)
class Run:
    """One process."""

    hashes: dict[str, str]
    reports: list[dict[str, Any]]

    @property
    def overhead(self) -> dict[str, float]:
        """Seconds by part, all kernels together."""
        return {part: sum(r["overhead_s"][part] for r in self.reports) for part in PARTS}

    @property
    def launches(self) -> tuple[int, int]:
        """All launches, and those of chosen versions."""
        return (
            sum(r["launches"] for r in self.reports),
            sum(r["tuned_launches"] for r in self.reports),
        )

    def milliseconds(self, *, chosen: bool) -> float:
        """Predicted time of all launches, as they are or as chosen."""
        classes = [c for r in self.reports for c in r["classes"] if c["present_ms"] is not None]
        return sum(
            c["launches"]
            * (c["chosen_ms"] if chosen and c["chosen_ms"] is not None else c["present_ms"])
            for c in classes
        )


def run_once(dialect: str, program: Program, machine: str, folder: Path) -> Run:
    """Run a program in a process of its own."""
    names = [dialect, program.name, machine, str(folder)]
    command = [sys.executable, "-m", "benchmarks.runtime.once", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Run(**json.loads(done.stdout.splitlines()[-1]))


def program_figures(dialect: str, program: Program, folder: Path) -> Iterator[Figure]:
    """Of one program in one dialect."""
    what = f"{program.name}, {dialect}"
    outputs = plain_outputs(dialect, program)
    error = program.error(outputs, 0)
    yield Figure(
        f"{what}: result beside NumPy's, over the tolerance", error, "", "at most 1", error <= 1
    )
    truth = hashes(outputs)
    runs = {
        (machine, number): run_once(dialect, program, machine, folder)
        for machine in MACHINES
        for number in (1, 2)
    }
    wrong = sum(run.hashes[name] != truth[name] for run in runs.values() for name in truth)
    yield Figure(f"{what}: arrays that differ, {len(runs)} runs", wrong, "", "0", wrong == 0)
    for machine in MACHINES:
        every, tuned = runs[machine, 1].launches
        yield Figure(
            f"{what}, {machine}: launches of chosen versions", f"{tuned} of {every}", "",
            "reported", True,
        )  # fmt: skip
    first, second = runs[GAINS, 1], runs[GAINS, 2]
    for number, run in (("first", first), ("second", second)):
        spent = run.overhead
        parts = ", ".join(f"{part} {seconds:.3g}" for part, seconds in spent.items())
        yield Figure(
            f"{what}: overhead, {number} process", sum(spent.values()), f"s: {parts}",
            "reported", True,
        )  # fmt: skip
    search = second.overhead["search"]
    yield Figure(f"{what}: search in the second process", search, "s", "0", search == 0)
    present, chosen = first.milliseconds(chosen=False), first.milliseconds(chosen=True)
    gain = present / chosen
    yield Figure(
        f"{what}, {GAINS}: predicted gain of all launches", gain,
        f"times as fast: {present * 1e3:.4g} → {chosen * 1e3:.4g} µs", "at least 1", gain >= 1,
    )  # fmt: skip
    for number, run in (("first", first), ("second", second)):
        seconds, saved = sum(run.overhead.values()), (present - chosen) * 1e-3
        runs_needed = f"{seconds / saved:.3g}" if saved > 0 else "never"
        yield Figure(
            f"{what}, {GAINS}: runs after which the {number} process's overhead is paid",
            runs_needed, "runs", "reported", True,
        )  # fmt: skip


def accident_figure(dialect: str, name: str, folder: Path) -> Figure:
    """Of one accident in one dialect."""
    wrong, outcomes = ACCIDENTS[name](dialect, folder)
    what = f"{name}, {dialect}: wrong of {outcomes} outcomes"
    return Figure(what, wrong, "", "0", wrong == 0)


def main(
    workers: Annotated[int, typer.Option(help="Programs at a time.")] = max(
        1, min(2, os.cpu_count() or 1)
    ),
) -> None:
    """Run everything and write ``results/runtime.json``."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        with ThreadPoolExecutor(workers) as pool:
            tasks = [
                pool.submit(
                    lambda d, p: list(program_figures(d, program_named(p), root / f"{d} {p}")),
                    dialect,
                    program.name,
                )
                for dialect in DIALECTS
                for program in PROGRAMS
            ]
            figures = [figure for task in tasks for figure in task.result()]
        # One after the other: some of them are about threads and time.
        for machine in MACHINES:
            figures += other_data_figures(machine, root / f"beginners {machine}")
        figures += [
            accident_figure(dialect, accident, root / f"{dialect} {accident}")
            for dialect in DIALECTS
            for accident in ACCIDENTS
        ]
    raise typer.Exit(0 if report("runtime", figures) else 1)


if __name__ == "__main__":
    typer.run(main)
