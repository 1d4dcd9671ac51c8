"""How far the measured tables agree with themselves: what no model of the kernel can predict.

``python -m benchmarks.models.noise --data DIR``, as of ``benchmarks.models``. Two looks at each
table of the convolution. Staged forms with and without ``__ldg`` have the same machine code but for
the few loads that fill the tile (compared here for some of them), so that their times should agree.
And the median of a configuration's runs over its shortest one shows clocks that change meanwhile.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.results import Figure, report
from placewise.kernel.case import CompileOptions, define_pairs
from placewise.kernel.machine_code import listing_of
from placewise.kernel.nvrtc import compile_kernel

SOURCE = Path(__file__).with_name("convolution.cu")
TABLES = {"A100": "convolution_a100.csv.gz", "A4000": "convolution_a4000.csv.gz"}
COMPARED = 6
"""Pairs whose machine code is compared."""
_TIMES = ("median_ms", "min_ms", "runs")

Shape = tuple[tuple[str, int], ...]


def times(path: Path) -> dict[Shape, tuple[float, float]]:
    """Parameters of each configuration → median and shortest time."""
    with gzip.open(path, "rt") as file:
        return {
            tuple((k, int(v)) for k, v in row.items() if k not in _TIMES): (
                float(row["median_ms"]),
                float(row["min_ms"]),
            )
            for row in csv.DictReader(file)
        }


def staged_pairs(table: dict[Shape, tuple[float, float]]) -> list[tuple[Shape, Shape]]:
    """Staged forms without and with ``__ldg``."""
    found = []
    for shape in table:
        named = dict(shape)
        if named["use_shmem"] and not named["read_only"]:
            other = tuple({**named, "read_only": 1}.items())
            if other in table:
                found.append((shape, other))
    return found


def difference(pair: tuple[Shape, Shape]) -> float:
    """Share of the instructions that one of two forms has and the other lacks, on sm_80."""
    counts = []
    for shape in pair:
        options = CompileOptions(arch="sm_80", defines=define_pairs(dict(shape)), nvrtc="12.9")
        kernel = compile_kernel(SOURCE.read_text(), str(SOURCE), "convolve", options)
        assert kernel.cubin is not None
        code = listing_of(kernel.cubin, kernel.entry).instructions
        counts.append(Counter(i.opcode.split(".")[0] for i in code))
    one, other = counts
    return max((one - other).total(), (other - one).total()) / max(one.total(), other.total())


def main(data: Annotated[Path, typer.Option(help="Folder of the measured tables.")]) -> None:
    """Compare, print a table, write results/models_noise.json."""
    figures: list[Figure] = []
    for name, file in TABLES.items():
        table = times(data / "kernel_tuner" / file)
        pairs = staged_pairs(table)
        if name == "A100":
            chosen = pairs[:: len(pairs) // COMPARED][:COMPARED]
            apart = [difference(pair) for pair in chosen]
            figures += [
                Figure(f"instructions that differ, {what} of {COMPARED} pairs", value, "share",
                       "", True)
                for what, value in (("median", float(np.median(apart))), ("most", max(apart)))
            ]  # fmt: skip
        ratios = np.array([abs(table[b][0] / table[a][0] - 1.0) for a, b in pairs])
        spread = np.array([median / least for median, least in table.values()])
        figures += [
            Figure(f"{name}: pairs of nearly the same code", len(pairs), "", "", True),
            Figure(f"{name}: their times differ, mean", float(ratios.mean()), "share", "", True),
            Figure(f"{name}: by more than 25 %", float((ratios > 0.25).mean()), "share", "", True),
            Figure(f"{name}: median over shortest run, greatest", float(spread.max()), "", "",
                   True),
            Figure(f"{name}: more than 1.5", int((spread > 1.5).sum()), "configurations", "", True),
        ]  # fmt: skip
    report("models_noise", figures)


if __name__ == "__main__":
    typer.run(main)
