"""The counters that were recorded on an RTX 2080 Ti, row by row."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from placewise.kernel.cases.case import Case
from placewise.kernel.cases.make_case import make_case

KERNELS = ("convolution", "pnpoly")
SIDE = 4096
"""Pixels of the convolved image, each way."""
HALO = 14
POINTS = 20_000_000
VERTICES = 600
VARIANTS = 165
"""Shapes of the convolution's blocks and tiles; the file has each four times, in turn by padding
(which changes nothing) and by read-only loads."""
NVRTC = "12.3"
"""What compiled the recorded kernels: executed instructions come out to the last digit with 12.0 to
12.3, which make the same code, and with no later release (12.9 was believed)."""
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    """One measured configuration."""

    kernel: str
    number: int
    """Row in the file, from 0."""
    values: dict[str, float]

    def whole(self, name: str) -> int:
        """A column that holds a whole number."""
        return int(self.values[name])

    @property
    def block(self) -> tuple[int, int]:
        return self.whole("block_x"), self.whole("block_y")


def read_rows(folder: Path, kernel: str) -> list[Row]:
    """All rows of ``{kernel}_rtx2080ti.csv.gz`` in ``folder``, or in ``ktt_counters`` there. Raises
    FileNotFoundError where neither has it."""
    name = f"{kernel}_rtx2080ti.csv.gz"
    places = (folder / name, folder / "ktt_counters" / name)
    path = next((p for p in places if p.is_file()), None)
    if path is None:
        raise FileNotFoundError(f"neither {places[0]} nor {places[1]} exists")
    with gzip.open(path, "rt") as file:
        records = list(csv.DictReader(file))
    return [Row(kernel, n, {k: float(v) for k, v in r.items()}) for n, r in enumerate(records)]


LEAST_BLOCKS = 68
"""Of a sample of the points: one for each SM."""


@dataclass(frozen=True)
class Sample:
    """A part of a launch whose blocks all do the same, and what it stands for."""

    blocks: int
    """Blocks taken; all of them are full."""
    of_data: float = 1.0
    """Data of the whole launch over that of the sample."""
    of_threads: float = 1.0
    """Threads of the whole launch that have work over those of the sample."""


def sample_of(row: Row, share: int) -> Sample:
    """Full blocks for about one in ``share`` of the points; the convolution is run whole."""
    if row.kernel == "convolution":
        return Sample(row.whole("grid_x") * row.whole("grid_y"))
    threads, per_block = row.whole("block_size_x"), _points_per_block(row)
    full, rest = divmod(POINTS, per_block)
    blocks = min(full, max(LEAST_BLOCKS, full // share))
    # Threads of the last block that have no point at all end at once, the others go all the way.
    working = full * threads + min(rest, threads)
    return Sample(blocks, POINTS / (blocks * per_block), working / (blocks * threads))


def _points_per_block(row: Row) -> int:
    return row.whole("block_size_x") * row.whole("tile_size")


def case_of(row: Row, *, share: int = 1) -> Case:
    """The launch behind a row, on zeros: no counter depends on what the image or the polygon holds,
    whose vertices were never filled when this was measured. ``share``: of the points, about every
    so many (:func:`sample_of`)."""
    if row.kernel == "convolution":
        defines = {
            "BLOCK_X": row.whole("block_size_x"),
            "BLOCK_Y": row.whole("block_size_y"),
            "TILE_X": row.whole("tile_size_x"),
            "TILE_Y": row.whole("tile_size_y"),
            "READ_ONLY": row.whole("read_only"),
            "WIDTH": SIDE,
            "HEIGHT": SIDE,
        }
        return make_case(
            "convolve",
            HERE / "convolution.cu",
            {
                "output": np.zeros((SIDE, SIDE), np.float32),
                "input": np.zeros((SIDE + HALO, SIDE + HALO), np.float32),
            },
            block=row.block,
            grid=(row.whole("grid_x"), row.whole("grid_y")),
            constants={"taps": np.zeros((HALO + 1) ** 2, np.float32)},
            defines=defines,
            arch="sm_75",
            nvrtc=NVRTC,
        )
    n = sample_of(row, share).blocks * _points_per_block(row)
    points = np.random.default_rng(0).random((n, 2), np.float32)
    return make_case(
        "inside",
        HERE / "pnpoly.cu",
        {"bitmap": np.zeros(n, np.int32), "points": points, "n": np.int32(n)},
        block=row.whole("block_size_x"),
        problem=n,
        per_block=_points_per_block(row),
        constants={"corners": np.zeros((VERTICES, 2), np.float32)},
        defines={
            "BLOCK_X": row.whole("block_size_x"),
            "TILE": row.whole("tile_size"),
            "BETWEEN": row.whole("between_method"),
            "METHOD": row.whole("use_method"),
            "VERTICES": VERTICES,
        },
        arch="sm_75",
        nvrtc=NVRTC,
    )
