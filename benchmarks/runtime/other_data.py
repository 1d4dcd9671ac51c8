"""Versions that were chosen on some data, launched on other data of the same shapes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import placewise
from benchmarks.placement.beginners import BEGINNERS, SOURCES, Beginner
from benchmarks.results import Figure
from placewise.executor import execute
from placewise.kernel.cases.prepare_case import compile_case
from placewise.kernel.kernel import Kernel

SIZE = 1
"""No multiples of the block."""
SEEDS = range(10, 16)
"""Of the launches after the first; the fourth launch of a class runs the original."""


def other_data_figures(machine: str, folder: Path) -> Iterator[Figure]:
    """Ten kernels as beginners write them, in their usual case each, then on other data."""
    moved, launches, wrong = 0, 0, 0
    for beginner in BEGINNERS:
        tuned, differ = _launched(beginner, machine, folder)
        moved += tuned > 0
        launches += tuned
        wrong += differ
    yield Figure(
        f"beginners' kernels, {machine}: chosen versions", moved, f"of {len(BEGINNERS)}",
        "reported", True,
    )  # fmt: skip
    yield Figure(
        f"beginners' kernels, {machine}: wrong results in {launches} launches of them on other "
        "data", wrong, "", "0", wrong == 0,
    )  # fmt: skip


def _launched(beginner: Beginner, machine: str, folder: Path) -> tuple[int, int]:
    """Launches of the chosen version, and results that are not the untuned kernel's."""
    first = beginner.case(SIZE)
    tuned = placewise.tune(
        _source(beginner), beginner.kernel, machine=machine, cache=folder, patience=float("inf")
    )
    kernel = compile_case(first)
    wrong = 0
    size = beginner.sizes[SIZE]
    for seed in (SIZE + 1, *SEEDS):
        given = beginner.inputs(np.random.default_rng(seed), size)
        expected = _untuned(kernel, beginner, given)
        tuned(first.launch.grid, first.launch.block, given)
        arrays = [a for a in given if isinstance(a, np.ndarray)]
        wrong += any(a.tobytes() != b.tobytes() for a, b in zip(arrays, expected, strict=True))
    return tuned.report().tuned_launches, wrong


def _source(beginner: Beginner) -> Path:
    return next(f for s in SOURCES if (f := s / f"{beginner.name}.cu").is_file())


def _untuned(kernel: Kernel, beginner: Beginner, given: list[Any]) -> list[Any]:
    """What the kernel makes of copies of the arrays, without the runtime."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in given]
    launch = beginner.launch(beginner.sizes[SIZE])
    case = placewise.make_case(beginner.kernel, _source(beginner), copies, **launch)
    return [a for _, a in execute(kernel, case.launch, case.inputs).outputs]
