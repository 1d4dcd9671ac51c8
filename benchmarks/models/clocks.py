"""At which clock each row of the A100's table was measured, told from the recorded times alone.

The table's order (sorted parameters, the first the slowest) is the order of measurement: a
configuration is compiled, which leaves the GPU idle, and then run 32 times. Its median and its
shortest run show what the clock did meanwhile:

* Of 2,894 rows of less than 70 ms of work none has a shortest run below 0.92 of the
  median; of the rows beyond 170 ms half have, and then at most by 1.86: 1,410 MHz over 765 is 1.84.
  **The clock is the base clock when a row begins and rises after 100 to 180 ms of work.**
* At 765 MHz no multiply-add of the kernel can be done in less than 0.713 ms. Fourteen rows took
  less, the table's optimum (0.550 ms) among them, and every one of them comes right after 115 to
  153 ms of work: **the raised clock lasts into the next row** where its compilation was short.
* How short: staged forms with ``__ldg`` come after the unstaged ones, the longest rows of all, and
  have the machine code of their twins without. Tiles of three or four columns or more than six
  outputs, which take our compiler 0.8 s or more, took the same time as their twins even after
  rows that ended at the raised clock; those of fewer, 0.2 to 0.8 s, took 0.5 to 1.1 times as
  long. With a single output (0.2 s) it lasts into the row after that one, too. Unstaged forms
  compile in half the time or less, and no twin tells of them: any of them that comes after a long
  row counts as not known (eight plain ones take 0.44 to 0.81 of their tile's median).

Nothing predicted is used. What cannot be decided so counts as not known.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_TIMES = ("median_ms", "min_ms", "runs")
BUSY_MS = 80.0
"""Work of a row that may leave a raised clock to the next one. Of staged tiles of 1 x 2 without
tests, 18 that come after less agree with their twins within 6 %, four after 80 to 110 ms do not."""
RAMP_MS = 100.0
"""Work before the clock begins to rise: a row of less in all that starts at the base clock is at it
all the time."""
LATEST_MS = 160.0
"""A row of less has its median at the base clock if no run was faster: to rise before the median
and stay there, the clock would have to rise within 14 runs of 5 ms each when it has risen."""
STEADY, FULL = 1.01, 1.75
"""Median over shortest run: below the first the clock did not change between the two; from the
second on it rose all the way, so that the median is at the base clock."""
RISEN = 1.02
"""The same, of a row that ends at a raised clock."""
_COLUMNS, _OUTPUTS = 3, 7
"""Of a staged tile whose compilation is long enough for the clock to fall."""

Configuration = tuple[tuple[str, int], ...]


class Clock(StrEnum):
    """Of a row's median run."""

    BASE = "base"
    LEFT = "left by the row before"
    """Not known: perhaps still raised."""
    RISING = "rising"
    """Not known: it changed among the row's own runs."""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    configuration: Configuration
    median_ms: float
    least_ms: float
    runs: int

    @property
    def busy_ms(self) -> float:
        """Work of all runs, about."""
        return self.runs * self.median_ms

    @property
    def rise(self) -> float:
        """Median over shortest run."""
        return self.median_ms / self.least_ms


def read_rows(path: Path) -> tuple[Row, ...]:
    """Lines of a Kernel Tuner table, in its order."""
    with gzip.open(path, "rt") as file:
        return tuple(
            Row(
                tuple((k, int(v)) for k, v in line.items() if k not in _TIMES),
                float(line["median_ms"]),
                float(line["min_ms"]),
                int(line["runs"]),
            )
            for line in csv.DictReader(file)
        )


def clocks_of(rows: Sequence[Row]) -> dict[Configuration, Clock]:
    """Clock of every row; ``rows`` in the order of measurement."""
    found: dict[Configuration, Clock] = {}
    before: Row | None = None
    last = Clock.BASE
    for row in rows:
        last = _clock(row, before, last)
        found[row.configuration] = last
        before = row
    return found


def _clock(row: Row, before: Row | None, last: Clock) -> Clock:
    tile = dict(row.configuration)
    outputs = tile["tile_size_x"] * tile["tile_size_y"]
    small = tile["tile_size_x"] < _COLUMNS and outputs < _OUTPUTS
    short = small or not tile["use_shmem"]
    if before is not None and short:
        raised = before.busy_ms >= BUSY_MS or before.rise > RISEN
        if raised or (last is Clock.LEFT and outputs == 1):
            return Clock.LEFT
    if row.rise >= FULL and row.busy_ms >= RAMP_MS:
        return Clock.BASE
    if row.rise < STEADY and row.busy_ms < LATEST_MS:
        return Clock.BASE
    return Clock.RISING
