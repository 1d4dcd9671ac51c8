"""Issue slots that instructions take beyond their own: machine files beside Nsight Compute.

``python -m benchmarks.gpu.issue_slots COUNTERS MACHINE OUT`` reads counters and reasons of stalls
that Nsight Compute recorded, of kernels in the order of ``benchmarks/results/gpu/README.md``. Where
a scheduler cannot issue although warps are ready, each of these waits for "dispatch". Per issued
instruction, the slots that are lost in this way are that reason's warps over the warps that were
ready when one was issued: 1 plus those not selected. Beside them stands what the ``issue`` figures
of the machine file say of the executed instructions. Kernels that issue in few of the slots are
left out: where one warp is ready at a time, a lost slot mostly shows in no counter. Needs no GPU.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import islice

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.gpu.files import FiguresFile, MachineName, MeasuredFile, Nvrtc
from benchmarks.gpu.published import configurations, family_of
from benchmarks.results import Figure
from placewise import Machine, load_case, load_machine, predict_time
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import named_case

CASES = (
    "bfs", "cfd", "convolution-rows", "hourglass-force", "kmeans", "matmul", "md", "neuralnet",
    "qtc", "s3d", "sort", "spmv-skewed", "stencil2d",
)  # fmt: skip
"""Bundled cases whose counters come first; after them those of ``published --once``."""
LEAST = 0.4
"""Share of the slots that are issued in or lost, from which on a kernel counts."""
_STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
_ISSUED = "smsp__issue_active.avg.pct_of_peak_sustained_active"
app = typer.Typer(add_completion=False)


def launched() -> Iterator[tuple[str, Case]]:
    """Label and case of each recorded launch."""
    yield from ((name, load_case(name)) for name in CASES)
    for name, configuration in configurations():
        text = " ".join(f"{key}={value}" for key, value in configuration)
        yield f"{name} {text}", named_case(family_of(name).case(dict(configuration)))


def lost_by_file(case: Case, machine: Machine, nvrtc: str | None) -> float:
    """Slots per instruction, beyond its own, by the ``issue`` figures of ``machine``."""
    plain = tuple(replace(i, issue_cycles=None) for i in machine.instructions)
    slots = []
    for known in (machine, replace(machine, instructions=plain)):
        parts = predict_time(case, known, nvrtc=nvrtc).prediction.parts
        slots.append(next(part.cycles for part in parts if part.path == "issue"))
    return slots[0] / slots[1] - 1.0


@app.command()
def main(
    counters: MeasuredFile, machine: MachineName, out: FiguresFile, nvrtc: Nvrtc = None
) -> None:
    """Compare lost issue slots with those that the machine file predicts."""
    known = load_machine(machine)
    with counters.open(newline="") as file:
        # The line after the header has units.
        recorded = list(islice(csv.DictReader(file), 1, None))
    figures, pairs = [], []
    table = Table("kernel", "issued or lost", "lost, counted", "by the file", box=None)
    for (label, case), row in zip(launched(), recorded, strict=False):
        if not row["Kernel Name"].startswith(case.kernel.split("<")[0]):
            raise typer.BadParameter(f"{row['Kernel Name']} stands where {label} should")
        stalled = float(row[_STALLED.format("dispatch_stall")])
        counted = stalled / (1.0 + float(row[_STALLED.format("not_selected")]))
        taken = float(row[_ISSUED]) / 100.0 * (1.0 + counted)
        if taken < LEAST:
            continue
        by_file = lost_by_file(case, known, nvrtc)
        pairs.append((counted, by_file))
        figures.append(Figure(label, counted - by_file, "slots per instruction", "", True))
        table.add_row(label, f"{taken:.2f}", f"{counted:.3f}", f"{by_file:.3f}")
    alike = float(np.corrcoef(np.array(pairs).T)[0, 1])
    off = float(np.median([abs(a - b) for a, b in pairs]))
    summary = [
        Figure(f"correlation over {len(pairs)} kernels", alike, "", "at least 0.9", alike >= 0.9),
        Figure("median distance", off, "slots per instruction", "at most 0.05", off <= 0.05),
    ]
    out.write_text(json.dumps([asdict(f) for f in [*summary, *figures]], indent=1) + "\n")
    console = Console()
    console.print(table)
    for figure in summary:
        console.print(f"{figure.figure}: {figure.value:.3f}, asked {figure.asked}")


if __name__ == "__main__":
    app()
