"""What advice gains on kernels with arrays of their own: shared ones that are padded, and those of
each thread that go to shared memory.

``python -m benchmarks.own_arrays [--machine NAME …]``. Some minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.predicted_gains import MACHINES, report_gains
from placewise import make_case
from placewise.kernel.cases.case import Case

SOURCE = Path(__file__).with_name("kernels.cu")
N = 1 << 15


def cases() -> Sequence[Case]:
    """One for each kernel; 32,768 threads, or a million elements."""
    rng = np.random.default_rng(7)
    wide = 1 << 20

    def numbers(count: int) -> object:
        return rng.random(count, np.float32)

    def zeros(count: int) -> object:
        return np.zeros(count, np.float32)

    nodes = np.arange(255)
    left, right = (np.where(2 * nodes + k < 255, 2 * nodes + k, -1) for k in (1, 2))
    tree = [left.astype(np.int32), right.astype(np.int32), numbers(255), numbers(N), zeros(N)]
    text = rng.integers(0, 256, 64 * N).astype(np.uint8)
    counted = [text, np.zeros(16 * N, np.int32), np.int32(N), np.int32(64)]
    points = [numbers(128), numbers(128), numbers(N), numbers(N), zeros(8 * N)]
    return (
        make_case("counters", SOURCE, counted, block=256, problem=N),
        make_case(
            "nearest", SOURCE, [*points, np.int32(128), np.int32(N)], block=256, problem=N
        ),
        make_case("walk", SOURCE, tree, block=256, problem=N),
        make_case(
            "scan", SOURCE, [numbers(wide), zeros(wide), np.int32(1024)],
            block=512, grid=1024, shared_bytes=4096,
        ),
        make_case(
            "transpose", SOURCE, [numbers(wide), zeros(wide), np.int32(1024)],
            block=(32, 8), grid=(32, 32),
        ),
    )  # fmt: skip


def main(
    machine: Annotated[list[str] | None, typer.Option(help="A GPU; by default three.")] = None,
) -> None:
    """Ask for advice, print what it gains, write results/own_arrays.json."""
    report_gains("own_arrays", cases(), machine or MACHINES)


if __name__ == "__main__":
    typer.run(main)
