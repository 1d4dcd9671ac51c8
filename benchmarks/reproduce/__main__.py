"""Tables of the papers recomputed, and what the models' ingredients are worth.

``python -m benchmarks.reproduce [--data FOLDER] [--configurations N]``. The folder holds
``convolution_a100.csv.gz`` and ``convolution_a4000.csv.gz`` (times) and, for the selection of
events, ``convolution_rtx2080ti.csv.gz`` and ``pnpoly_rtx2080ti.csv.gz`` (counters), in folders of
any name below it. Without them those parts are left out.
"""

from __future__ import annotations

import csv
import gzip
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.reproduce.moves import move_figures
from benchmarks.reproduce.queueing import queue_figures
from benchmarks.results import Figure, report
from placewise.reproduce import (
    Reproduction,
    ablations,
    addressing_reproduction,
    coverage,
    event_selection,
    hu_liu_tables,
    machine_tables,
    mei_tables,
    placement_tests,
    porple_table4,
)

TIMES = (("A100", "convolution_a100.csv.gz"), ("A4000", "convolution_a4000.csv.gz"))
COUNTERS = ("convolution_rtx2080ti.csv.gz", "pnpoly_rtx2080ti.csv.gz")
CASE = Path(__file__).parent.parent / "models" / "convolution.toml"
FIGURED = ("spmv", "md", "matmul", "fft", "neuralnet")
"""Cases of Huang and Li's Figs. 4 and 6."""
MOST_OUTPUTS = 2
"""Per thread: compiling the unrolled kernel of more takes long."""
LEAST_WIDTH = 16
ASKED: Mapping[str, tuple[str, float]] = {
    "spmv (Poisson's equation, 100 × 100), calibrated: cells": ("12", 12),
    "spmv (Poisson's equation, 100 × 100), literal: cells": ("9", 9),
}


def main(
    data: Annotated[Path | None, typer.Option(help="Folder with measured tables.")] = None,
    configurations: Annotated[int, typer.Option(min=2, help="Per GPU, for the ablations.")] = 40,
    seed: Annotated[int, typer.Option(help="Of their choice.")] = 0,
) -> None:
    """Recompute, print, write results/reproduce.json."""
    figures = queue_figures() + move_figures()
    found = [
        porple_table4(), hu_liu_tables(), addressing_reproduction(), coverage(), machine_tables(),
        mei_tables(), placement_tests((), FIGURED),
    ]  # fmt: skip
    counters = [path for name in COUNTERS for path in _find(data, name)]
    if counters:
        found.append(event_selection(counters))
    with tempfile.TemporaryDirectory() as folder:
        times = {gpu: _quick(path, Path(folder)) for gpu, n in TIMES for path in _find(data, n)}
        if times:
            found.append(
                ablations(
                    tuple(times.values()),
                    CASE,
                    tuple(times),
                    configurations=configurations,
                    seed=seed,
                )
            )
        else:
            print(f"no measured times in {data or '--data'}: the ablations are left out")
    for one in found:
        figures += _figures(one)
    if not report("reproduce", figures):
        sys.exit(1)


def _find(folder: Path | None, name: str) -> list[Path]:
    """The file called ``name`` below ``folder``, if there is one."""
    return sorted(folder.rglob(name))[:1] if folder is not None else []


def _quick(path: Path, folder: Path) -> Path:
    """The table without the configurations that take long to compile."""
    kept = folder / path.name.removesuffix(".gz")
    with gzip.open(path, "rt", newline="") as source, kept.open("w", newline="") as target:
        reader = csv.DictReader(source)
        writer = csv.DictWriter(target, reader.fieldnames or [])
        writer.writeheader()
        for row in reader:
            outputs = int(row["tile_size_x"]) * int(row["tile_size_y"])
            if outputs <= MOST_OUTPUTS and int(row["block_size_x"]) >= LEAST_WIDTH:
                writer.writerow(row)
    return kept


def _figures(found: Reproduction) -> list[Figure]:
    figures = []
    for name, value in found.figures.items():
        asked, wanted = ASKED.get(name, ("reported", value))
        unit = "%" if name.endswith("%") else "ns" if name.endswith(", ns") else ""
        figures.append(Figure(f"{found.paper}: {name}", value, unit, asked, value == wanted))
    return figures


if __name__ == "__main__":
    typer.run(main)
