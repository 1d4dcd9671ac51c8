"""Our own model against measured times: every figure that is asked, and the parts that it has.

``python -m benchmarks.models --data DIR [--rows N] [--seed N]``, where DIR holds
``kernel_tuner/convolution_a100.csv.gz``, ``convolution_a4000.csv.gz``, ``pnpoly_rtx3090.csv.gz``
and ``ktt_counters/convolution_rtx2080ti.csv.gz``, ``pnpoly_rtx2080ti.csv.gz``. Code is made by the
compiler of the measurements' day (the extra ``cuda12``). Two constants of the
model were fitted to times of the convolution on A100 and A4000 (docs/model.md), and its order of
issue was chosen on them, so that kernel and those GPUs count as seen.

What the polygon was on the RTX 3090 is not recorded. On the RTX 2080 Ti its vertices were never
filled, and the times on the RTX 3090 look like that too: both inputs are judged.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.results import RESULTS, Figure, report
from placewise.validate import ModelResult, TableResult, validate
from placewise.validate.figures import ANY

HERE = Path(__file__).parent
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

    @property
    def column(self) -> str:
        """Which of the four columns it belongs to."""
        kernel = "seen" if self.kernel_seen else "unseen"
        return f"GPU {'seen' if self.gpu_seen else 'unseen'}, kernel {kernel}"


TABLES = (
    Table("convolution A4000", "kernel_tuner/convolution_a4000.csv.gz", "convolution.toml", "A4000",
          kernel_seen=True, gpu_seen=True, error=0.07, free_clock=False, ratio=0.08),
    Table("convolution A100", "kernel_tuner/convolution_a100.csv.gz", "convolution.toml", "A100",
          kernel_seen=True, gpu_seen=True, error=0.09, free_clock=True, ratio=0.10),
    # Nobody recorded its clock. The free factor above comes out near the ratio of boost clock to
    # base clock; DRAM does not slow down with the SMs, so that a clock is not quite a factor.
    Table("convolution A100 at its base clock", "kernel_tuner/convolution_a100.csv.gz",
          "convolution.toml", "A100", kernel_seen=True, gpu_seen=True, error=0.09, free_clock=True,
          ratio=0.10, clock_mhz=765.0),
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


def figures_of(table: Table, result: TableResult, model: ModelResult) -> list[Figure]:
    """What is asked of one table beside what came out."""
    found = model.accuracy
    if found is None:
        why = "; ".join(f"{reason} ({count})" for reason, count in model.refused)
        return [Figure(f"{table.name}: no answer", why, "", "an answer", False)]
    about = f"{table.name} ({table.column})"
    error = found.scaled_mean_error if table.free_clock else found.mean_error
    asked = f"<= {table.error:g}" + (" with one factor" if table.free_clock else "")
    figures = [
        Figure(f"{about}: configurations", found.configurations, "", "", True),
        Figure(f"{about}: mean |error|, spec clock", found.mean_error, "share",
               asked if not table.free_clock else "", table.free_clock or error <= table.error),
        Figure(f"{about}: mean |error|, one factor", found.scaled_mean_error, "share",
               asked if table.free_clock else "", not table.free_clock or error <= table.error),
        Figure(f"{about}: that factor", found.factor, "measured/predicted", "", True),
        Figure(f"{about}: median |error|, one factor", found.scaled_median_error, "share", "",
               True),
        Figure(f"{about}: Spearman", found.spearman, "", ">= 0.95", found.spearman >= 0.95),
        Figure(f"{about}: first choice over optimum, less 1", found.regret, "share",
               "<= 0.25", found.regret <= 0.25),
        Figure(f"{about}: best of first twenty over optimum, less 1", found.regret_of_20, "share",
               "<= 0.05", found.regret_of_20 <= 0.05),
        Figure(f"{about}: measured inside the interval, factor applied",
               covered(result, model, found.factor), "share", ">= 0.8",
               covered(result, model, found.factor) >= 0.8),
        Figure(f"{about}: refused", sum(n for _, n in model.refused), "configurations", "0",
               not model.refused),
    ]  # fmt: skip
    for placement in model.placements:
        figures.append(
            Figure(f"{about}: ratio of two placements, {placement.parameter}", placement.error,
                   "share", "", True)
        )  # fmt: skip
    if table.ratio is not None and model.placements:
        mean = float(np.mean([p.error for p in model.placements if p.parameter != ANY]))
        figures.append(
            Figure(f"{about}: ratio of two placements, mean of switches", mean, "share",
                   f"<= {table.ratio:g}", mean <= table.ratio)
        )  # fmt: skip
    return figures


def covered(result: TableResult, model: ModelResult, factor: float) -> float:
    """Share of measured times inside the predicted intervals, all scaled by the clock's factor."""
    measured = result.measured(model)
    inside = (model.low * factor <= measured) & (measured <= model.high * factor)
    return float(inside.mean())


def main(
    data: Annotated[Path, typer.Option(help="Folder of the measured tables.")],
    rows: Annotated[int, typer.Option(help="Configurations of each table.")] = 60,
    seed: Annotated[int, typer.Option(help="Of the choice of rows.")] = 1,
    only: Annotated[str, typer.Option(help="Only tables whose name contains this.")] = "",
    workers: Annotated[int | None, typer.Option(help="Processes.")] = None,
) -> None:
    """Predict, print a table, write results/models.json and models_rows.json."""
    figures: list[Figure] = []
    kept: list[dict[str, object]] = []
    good = False
    for table in TABLES:
        if only not in table.name:
            continue
        (result,) = validate(
            [data / table.file], HERE / table.case, [table.machine], models=[MODEL],
            configurations=rows, seed=seed, workers=workers, clock_mhz=table.clock_mhz,
        )  # fmt: skip
        (model,) = result.models
        figures += figures_of(table, result, model)
        for row, predicted in zip(model.rows, model.predicted.tolist(), strict=True):
            chosen = result.chosen[row]
            kept.append(
                {
                    "table": table.name,
                    "configuration": dict(chosen.configuration),
                    "measured_ns": chosen.nanoseconds,
                    "predicted_ns": predicted,
                }
            )
        (RESULTS / "models_rows.json").write_text(json.dumps(kept) + "\n")
        good = report("models", figures)
    if not good:
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
