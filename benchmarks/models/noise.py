"""How far the measured tables agree with themselves: what no model of the kernel can predict.

``python -m benchmarks.models.noise --data DIR``, as of ``benchmarks.models``. Three looks at the
tables. Staged forms with and without ``__ldg`` have the same machine code but for
the few loads that fill the tile (compared here for some of them), so that their times should agree.
The median of a configuration's runs over its shortest one shows clocks that change meanwhile. And
the A100's rows are told apart by their clock (:mod:`benchmarks.models.clocks`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.models.clocks import Clock, Configuration, Row, clocks_of, read_rows
from benchmarks.results import Figure, report
from placewise.kernel.binary.machine_code import listing_of
from placewise.kernel.cases.case import CompileOptions, define_pairs
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.validate.figures import best_factor, relative_errors

SOURCE = Path(__file__).with_name("convolution.cu")
CONVOLUTIONS = {"A100": "convolution_a100.csv.gz", "A4000": "convolution_a4000.csv.gz"}
POLYGONS = {"pnpoly RTX 3090": "pnpoly_rtx3090.csv.gz"}
COMPARED = 6
"""Pairs whose machine code is compared."""

Pair = tuple[Row, Row]


def staged_pairs(rows: Sequence[Row]) -> list[Pair]:
    """Staged forms without and with ``__ldg``."""
    by_name = {row.configuration: row for row in rows}
    found = []
    for row in rows:
        named = dict(row.configuration)
        if named["use_shmem"] and not named["read_only"]:
            other = by_name.get(tuple({**named, "read_only": 1}.items()))
            if other is not None:
                found.append((row, other))
    return found


def difference(pair: Pair) -> float:
    """Share of the instructions that one of two forms has and the other lacks, on sm_80."""
    counts = []
    for row in pair:
        defines = define_pairs(dict(row.configuration))
        options = CompileOptions(arch="sm_80", defines=defines, nvrtc="12.3")
        kernel = compile_kernel(SOURCE.read_text(), str(SOURCE), "convolve", options)
        assert kernel.cubin is not None
        code = listing_of(kernel.cubin, kernel.entry).instructions
        counts.append(Counter(i.opcode.split(".")[0] for i in code))
    one, other = counts
    return max((one - other).total(), (other - one).total()) / max(one.total(), other.total())


def apart(pairs: Sequence[Pair]) -> NDArray[np.float64]:
    """(pairs,) How much the second time differs from the first, as a share."""
    return np.array([abs(b.median_ms / a.median_ms - 1.0) for a, b in pairs])


def floor(pairs: Sequence[Pair], clocks: Mapping[Configuration, Clock]) -> float:
    """Mean error over all rows of a model that is right about every row at the base clock, one
    factor allowed: a staged ``__ldg`` form whose clock may have been left by the row before is
    taken for its twin's time, where that is known; of the other rows that are not known no error
    is counted, so that this is less than the truth."""
    measured = {row: row.median_ms for pair in pairs for row in pair}
    said = dict(measured)
    for plain, read_only in pairs:
        left = clocks[read_only.configuration] is Clock.LEFT
        if left and clocks[plain.configuration] is Clock.BASE:
            said[read_only] = plain.median_ms
    one, other = (np.array([times[row] for row in measured]) for times in (said, measured))
    return float(relative_errors(best_factor(one, other) * one, other).sum()) / len(clocks)


def of_clocks(name: str, rows: Sequence[Row]) -> list[Figure]:
    """Rows by their clock, and how the pairs agree whose rows are at the base clock both."""
    clocks = clocks_of(rows)
    pairs = staged_pairs(rows)
    known = [p for p in pairs if all(clocks[row.configuration] is Clock.BASE for row in p)]
    figures = [
        Figure(f"{name}: rows, clock {clock.value}", count, "", "", True)
        for clock, count in sorted(Counter(clocks.values()).items())
    ]
    differ = apart(known)
    return [
        *figures,
        Figure(f"{name}: pairs with both at the base clock", len(known), "", "", True),
        Figure(f"{name}: these differ, mean", float(differ.mean()), "share", "", True),
        Figure(f"{name}: these, by more than 25 %", float((differ > 0.25).mean()), "share", "",
               True),
        Figure(f"{name}: error of a perfect model at one clock, all rows, at least",
               floor(pairs, clocks), "share", "", True),
    ]  # fmt: skip


def main(data: Annotated[Path, typer.Option(help="Folder of the measured tables.")]) -> None:
    """Compare, print a table, write results/models_noise.json."""
    figures: list[Figure] = []
    for name, file in {**CONVOLUTIONS, **POLYGONS}.items():
        rows = read_rows(data / "kernel_tuner" / file)
        spread = np.array([row.rise for row in rows])
        if name in CONVOLUTIONS:
            pairs = staged_pairs(rows)
            if name == "A100":
                shares = [difference(pair) for pair in pairs[:: len(pairs) // COMPARED][:COMPARED]]
                figures += [
                    Figure(f"instructions that differ, {what} of {COMPARED} pairs", value, "share",
                           "", True)
                    for what, value in (("median", float(np.median(shares))), ("most", max(shares)))
                ]  # fmt: skip
            differ = apart(pairs)
            figures += [
                Figure(f"{name}: pairs of nearly the same code", len(pairs), "", "", True),
                Figure(f"{name}: their times differ, mean", float(differ.mean()), "share", "",
                       True),
                Figure(f"{name}: by more than 25 %", float((differ > 0.25).mean()), "share", "",
                       True),
            ]  # fmt: skip
        if name == "A100":
            figures += of_clocks(name, rows)
        figures += [
            Figure(f"{name}: median over shortest run, median", float(np.median(spread)), "", "",
                   True),
            Figure(f"{name}: the same, greatest", float(spread.max()), "", "", True),
            *(Figure(f"{name}: more than {most}", float((spread > most).mean()), "share of rows",
                     "", True) for most in (1.01, 1.05, 1.5)),
        ]  # fmt: skip
    report("models_noise", figures)


if __name__ == "__main__":
    typer.run(main)
