"""The path model's ratios against measured ones; `benchmarks.verdicts` fits intervals to them.

``python -m benchmarks.path_ratio --data FOLDER`` takes about nine minutes on two cores. The folder
holds ``convolution_a100.csv.gz`` and ``convolution_a4000.csv.gz``, a row per configuration of a
tuned 2-D convolution. Without them it says so and judges the pairs that an earlier run has left in
``results/``.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.path_ratio.judge import error_figures
from benchmarks.path_ratio.measured import choose, read_times, usable
from benchmarks.path_ratio.pairs import Pair, pair_up, read_pairs, write_pairs
from benchmarks.path_ratio.predict import predict
from benchmarks.results import RESULTS, Figure, report

GPUS = ("A100", "A4000")
PAIRS = RESULTS / "path_ratio_pairs.csv"


def main(
    data: Annotated[Path | None, typer.Option(help="Folder with the measured tables.")] = None,
    groups: Annotated[int, typer.Option(help="Configurations per GPU.", min=4)] = 40,
    seed: Annotated[int, typer.Option(help="Seed of their choice.")] = 0,
) -> None:
    """Trace, predict, compare; print a table, write results/path_ratio.json and the pairs."""
    tables = [data / f"convolution_{gpu.lower()}.csv.gz" for gpu in GPUS] if data else []
    if tables and all(table.is_file() for table in tables):
        pairs = _measure(tables, groups, seed)
        write_pairs(PAIRS, pairs)
    elif PAIRS.is_file():
        print(f"no measured tables in {data or '--data'}: judging the pairs in {PAIRS}")
        pairs = read_pairs(PAIRS)
    else:
        print(f"skipped: no measured tables in {data or '--data'} and no earlier pairs")
        return
    figures: list[Figure] = []
    for gpu in GPUS:
        figures += error_figures(pairs, gpu)
    if not report("path_ratio", figures):
        sys.exit(1)


def _measure(tables: list[Path], groups: int, seed: int) -> list[Pair]:
    times = dict(zip(GPUS, (read_times(table) for table in tables), strict=True))
    common = [
        shape
        for shape in times[GPUS[0]]
        if all(usable(shape, times[gpu].get(shape, {})) for gpu in GPUS)
    ]
    chosen = choose(common, groups, seed)
    print(f"{len(chosen)} of {len(common)} configurations on {len(GPUS)} GPUs")
    pairs: list[Pair] = []
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        running = [
            (gpu, shape, pool.submit(predict, shape, sorted(times[gpu][shape]), gpu))
            for gpu in GPUS
            for shape in chosen
        ]
        for gpu, shape, future in running:
            pairs += pair_up(gpu, future.result(), times[gpu][shape])
    return pairs


if __name__ == "__main__":
    typer.run(main)
