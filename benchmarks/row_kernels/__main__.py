"""What advice gains on kernels that give each thread a row: their loads and stores go down columns.

``python -m benchmarks.row_kernels [--machine NAME …]``. Some minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.predicted_gains import MACHINES, report_gains
from placewise import make_case
from placewise.kernel.cases.case import Case

SOURCE = Path(__file__).with_name("kernels.cu")
ROWS, COLUMNS = 1 << 14, 256
PER_THREAD = 64
HEADS, QUERIES, WIDTH = 32, 256, 32


def cases() -> Sequence[Case]:
    """16,384 rows of 256 numbers, or 64 of them for each thread; 32 heads of 256 queries of 32
    numbers."""
    rng = np.random.default_rng(11)
    shape, sizes = (ROWS, COLUMNS), [np.int32(ROWS), np.int32(COLUMNS)]

    def numbers(*of: int) -> NDArray[np.float32]:
        return rng.normal(size=of).astype(np.float32)

    out, data = np.zeros(shape, np.float32), numbers(*shape)
    affine = [numbers(COLUMNS), numbers(COLUMNS)]
    bytes_ = [np.zeros(shape, np.int8), np.zeros(ROWS, np.float32)]
    heads = (HEADS, QUERIES, WIDTH)
    keys = [numbers(*heads), numbers(*heads), numbers(*heads), np.zeros(heads, np.float32)]
    return (
        make_case("layer_norm", SOURCE, [out, data, *affine, *sizes], block=128, problem=ROWS),
        make_case("softmax", SOURCE, [out, data, *sizes], block=128, problem=ROWS),
        make_case("quantize", SOURCE, [*bytes_, data, *sizes], block=128, problem=ROWS),
        make_case(
            f"attention<{WIDTH}>", SOURCE, [*keys, np.int32(QUERIES), np.float32(WIDTH**-0.5)],
            block=64, grid=(QUERIES // 64, HEADS),
        ),
        make_case("softmax_divided", SOURCE, [out, data, *sizes], block=128, problem=ROWS),
        make_case("unit_length", SOURCE, [data, *sizes], block=128, problem=ROWS),
        make_case("running_sum", SOURCE, [out, data, *sizes], block=128, problem=ROWS),
        make_case(
            "blend", SOURCE,
            [numbers(*shape), data, np.float32(0.25), np.int32(data.size), np.int32(PER_THREAD)],
            block=128, problem=data.size // PER_THREAD,
        ),
    )  # fmt: skip


def main(
    machine: Annotated[list[str] | None, typer.Option(help="A GPU; by default three.")] = None,
) -> None:
    """Ask for advice, print what it gains, write results/row_kernels.json."""
    report_gains("row_kernels", cases(), machine or MACHINES)


if __name__ == "__main__":
    typer.run(main)
