"""Measured times of the convolution, grouped by block and tile."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

IMAGE = 4096
"""Width and height of the measured output."""
FILTER = 15
MOST_OUTPUTS = 4
"""Outputs per thread at most: compiling one kernel, fully unrolled, takes seconds from 8 and half a
minute from 16."""


@dataclass(frozen=True, order=True)
class Shape:
    """Block and tile of one configuration."""

    block_x: int
    block_y: int
    tile_x: int
    tile_y: int

    @property
    def columns(self) -> int:
        """Columns of outputs that a block computes."""
        return self.block_x * self.tile_x

    @property
    def rows(self) -> int:
        """Rows of outputs that a block computes."""
        return self.block_y * self.tile_y


@dataclass(frozen=True, order=True)
class Variant:
    """Where the input is read from."""

    staged: bool = False
    read_only: bool = False
    padded: bool = False

    @property
    def switch(self) -> str:
        """Name of what differs from plain global memory."""
        words = [w for w in ("staged", "read_only", "padded") if getattr(self, w)]
        return "+".join(words)


PLAIN = Variant()
Times = Mapping[Variant, float]


def read_times(path: Path) -> dict[Shape, dict[Variant, float]]:
    """Median milliseconds of every configuration in a gzipped table of measurements."""
    times: dict[Shape, dict[Variant, float]] = {}
    with gzip.open(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            shape = Shape(
                *(int(row[f"{what}_size_{axis}"]) for what in ("block", "tile") for axis in "xy")
            )
            variant = Variant(
                row["use_shmem"] == "1", row["read_only"] == "1", row["use_padding"] == "1"
            )
            times.setdefault(shape, {})[variant] = float(row["median_ms"])
    return times


def usable(shape: Shape, times: Times) -> bool:
    """Whether a group can be compared: measured both plain and staged, and quick to compile."""
    few = shape.tile_x * shape.tile_y <= MOST_OUTPUTS
    return few and PLAIN in times and Variant(staged=True) in times


def choose(groups: list[Shape], count: int, seed: int) -> list[Shape]:
    """``count`` groups at random, with as even a share of the block widths as there is."""
    rng = np.random.default_rng(seed)
    by_width: dict[int, list[Shape]] = {}
    for shape in sorted(groups):
        by_width.setdefault(shape.block_x, []).append(shape)
    queues = [[s[i] for i in rng.permutation(len(s))] for _, s in sorted(by_width.items())]
    chosen: list[Shape] = []
    while len(chosen) < count and any(queues):
        chosen += [queue.pop() for queue in queues if queue]
    return sorted(chosen[:count])
