"""Our own model against measured times: every figure that is asked, and the parts that it has.

``python -m benchmarks.models --data DIR [--rows N] [--seed N]``, where DIR holds
``kernel_tuner/convolution_a100.csv.gz``, ``convolution_a4000.csv.gz``, ``pnpoly_rtx3090.csv.gz``
and ``ktt_counters/convolution_rtx2080ti.csv.gz``, ``pnpoly_rtx2080ti.csv.gz``. Code is made by
NVRTC 12.3 (``make develop``; docs/explanation/accuracy.md has why). Two constants of the
model were fitted to times of the convolution on A100 and A4000 (docs/explanation/models.md), and
its order of issue was chosen on them, so that kernel and those GPUs count as seen.

Of each table two forms of each of many shapes are judged, drawn with a fixed seed
(:mod:`benchmarks.models.pairs`). The A100's clock changed while it was measured; beside the figures
over all rows stand those over the rows at its base clock, which were told from the recorded times
alone (:mod:`benchmarks.models.clocks`).

What the polygon was on the RTX 3090 is not recorded. On the RTX 2080 Ti its vertices were never
filled, and the times on the RTX 3090 look like that too: both inputs are judged.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.models.clocks import Clock, clocks_of, read_rows
from benchmarks.models.judge import Asked, Judged, figures_of
from benchmarks.models.pairs import choose_pairs
from benchmarks.results import RESULTS, Figure, report
from placewise.kernel.cases.case_file import read_case_family
from placewise.validate import read_times
from placewise.validate.predict import Answer, Predictor, Task

HERE = Path(__file__).parent
ROWS = RESULTS / "models_rows.json"
CIRCLE = "pnpoly RTX 3090, vertices on a circle"
MODEL = "timeline"
RECORDED_MHZ = 1787.0
"""Of the RTX 2080 Ti: its wavefronts in shared memory over SMs, duration and their recorded share
of one a cycle, median of all rows of the convolution (the middle 80 %: 1,755 to 1,802). No time was
predicted to find it."""


@dataclass(frozen=True)
class Table:
    """Measured times, and what is asked of their prediction."""

    name: str
    file: str
    case: str
    machine: str
    kernel_seen: bool
    gpu_seen: bool
    error: float
    """Mean absolute error asked, as a share."""
    free_clock: bool
    """The error is asked with one factor for the GPU's clock."""
    ratio: float | None = None
    """Mean error of placement ratios asked."""
    clock_mhz: float | None = None
    """Clock that the SMs are taken to have run at, in place of the machine file's."""
    clocks_told: bool = False
    """Its rows' clocks can be told from their times (:mod:`benchmarks.models.clocks`)."""

    @property
    def asked(self) -> Asked:
        """As the judge takes it."""
        return Asked(self.error, self.free_clock, self.ratio)

    @property
    def column(self) -> str:
        """Which of the four columns it belongs to."""
        kernel = "seen" if self.kernel_seen else "unseen"
        return f"GPU {'seen' if self.gpu_seen else 'unseen'}, kernel {kernel}"


TABLES = (
    Table("convolution A4000", "kernel_tuner/convolution_a4000.csv.gz", "convolution.toml", "A4000",
          kernel_seen=True, gpu_seen=True, error=0.07, free_clock=False, ratio=0.08),
    Table("convolution A100", "kernel_tuner/convolution_a100.csv.gz", "convolution.toml", "A100",
          kernel_seen=True, gpu_seen=True, error=0.09, free_clock=True, ratio=0.10,
          clocks_told=True),
    # Nobody recorded its clock, but most rows' own times tell it: the base clock. DRAM does not
    # slow down with the SMs, so that a clock is not quite a factor.
    Table("convolution A100 at its base clock", "kernel_tuner/convolution_a100.csv.gz",
          "convolution.toml", "A100", kernel_seen=True, gpu_seen=True, error=0.09, free_clock=True,
          ratio=0.10, clock_mhz=765.0, clocks_told=True),
    Table("convolution RTX 2080 Ti", "ktt_counters/convolution_rtx2080ti.csv.gz",
          "convolution_ktt.toml", "RTX2080Ti", kernel_seen=True, gpu_seen=False, error=0.15,
          free_clock=True, clock_mhz=RECORDED_MHZ),
    Table("pnpoly RTX 3090, vertices empty", "kernel_tuner/pnpoly_rtx3090.csv.gz",
          "pnpoly_empty.toml", "RTX3090", kernel_seen=False, gpu_seen=False, error=0.15,
          free_clock=False),
    Table(CIRCLE, "kernel_tuner/pnpoly_rtx3090.csv.gz",
          "pnpoly.toml", "RTX3090", kernel_seen=False, gpu_seen=False, error=0.15,
          free_clock=False),
    Table("pnpoly RTX 2080 Ti", "ktt_counters/pnpoly_rtx2080ti.csv.gz", "pnpoly_ktt.toml",
          "RTX2080Ti", kernel_seen=False, gpu_seen=False, error=0.15, free_clock=False,
          clock_mhz=RECORDED_MHZ),
)  # fmt: skip


def judged(table: Table, path: Path, rows: int, seed: int, workers: int | None) -> Judged:
    """Predict some rows of a table."""
    family = read_case_family(HERE / table.case)
    times = read_times(path, family.parameters)
    chosen = choose_pairs(times.rows, family.placement_parameters, rows, seed)
    task = Task(HERE / table.case, table.machine, (MODEL,), None, table.clock_mhz, traced=False)
    with Predictor(task, workers=workers) as predictor:
        answers = [dict(a.by_model)[MODEL] for a in predictor.predict(chosen)]
    good = [(r, a) for r, a in zip(chosen, answers, strict=True) if isinstance(a, Answer)]
    predicted, low, high, measured = (
        np.array(values, np.float64)
        for values in (
            [a.total for _, a in good],
            [a.low for _, a in good],
            [a.high for _, a in good],
            [r.nanoseconds for r, _ in good],
        )
    )
    configurations = tuple(r.configuration for r, _ in good)
    refused = len(chosen) - len(good)
    return Judged(configurations, predicted, low, high, measured, refused)


def all_figures(table: Table, path: Path, result: Judged) -> list[Figure]:
    """Those of all rows, and beside them those of the rows whose clock is known."""
    placement = read_case_family(HERE / table.case).placement_parameters
    about = f"{table.name} ({table.column})"
    figures = figures_of(about, result, table.asked, placement)
    if not table.clocks_told:
        return figures
    rows = clocks_of(read_rows(path))
    clocks: dict[frozenset[object], Clock] = {frozenset(c): clock for c, clock in rows.items()}
    base = result.where(lambda c: clocks[frozenset(c)] is Clock.BASE)
    beside = replace(table.asked, judged=False)
    return figures + figures_of(f"{about}, rows at the base clock", base, beside, placement)


def earlier(only: str) -> tuple[list[Figure], list[dict[str, object]]]:
    """Figures and rows of the last run, of the tables that ``only`` leaves out."""
    names = {table.name for table in TABLES if only not in table.name}
    if not names or not ROWS.exists():
        return [], []
    said = [Figure(**figure) for figure in json.loads((RESULTS / "models.json").read_text())]
    kept = [row for row in json.loads(ROWS.read_text()) if row["table"] in names]
    return [figure for figure in said if figure.figure.split(" (GPU")[0] in names], kept


def main(
    data: Annotated[Path, typer.Option(help="Folder of the measured tables.")],
    rows: Annotated[int, typer.Option(help="Configurations of each table.")] = 60,
    seed: Annotated[int, typer.Option(help="Of the choice of rows.")] = 1,
    only: Annotated[str, typer.Option(help="Only tables whose name contains this.")] = "",
    workers: Annotated[int | None, typer.Option(help="Processes.")] = None,
) -> None:
    """Predict, print a table, write results/models.json and models_rows.json; tables that were left
    out keep what an earlier run said of them."""
    figures: list[Figure] = []
    found: list[dict[str, object]] = []
    good = False
    for table in TABLES:
        if only not in table.name:
            continue
        result = judged(table, data / table.file, rows, seed, workers)
        figures += all_figures(table, data / table.file, result)
        for configuration, predicted, measured in zip(
            result.configurations, result.predicted.tolist(), result.measured.tolist(), strict=True
        ):
            found.append(
                {
                    "table": table.name,
                    "configuration": dict(configuration),
                    "measured_ns": measured,
                    "predicted_ns": predicted,
                }
            )
        said, kept = earlier(only)
        ROWS.write_text(json.dumps(kept + found) + "\n")
        good = report("models", said + figures)
    if not good:
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
