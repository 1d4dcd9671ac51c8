"""What mt4g's raw files say beside sizes: latencies, what a miss fetches, and lines.

mt4g's ``--raw`` leaves one file for each benchmark. A row of ``…_Latency.txt`` has the cycles of
one load. A row of ``…_Fetch_Granularity.txt`` has a stride, then the cycles of loads with that
stride through data that no load has touched before. A row of ``…_Line_Size.txt`` has a stride, an
array's bytes, then the cycles of loads that go through the array with that stride, over and over.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from placewise.errors import MachineError
from placewise.probe.recorded.raw import FEW, read_lines

_APART = 1.5
"""Ratio from which a load is no hit: the next level takes 1.6 times as long at least."""
_ALL = 0.99
"""Share of the loads that miss where each is to another piece."""
_ODD = 0.1
"""How far the share of misses may be from that of pieces of one size."""
LEAST_ARRAY = 1024
"""Bytes; the least stride is smaller."""
_BEFORE_LOADS = 2
"""Numbers of a row that may not be cycles."""
_FEWEST_ROWS = 4
_OUTLIERS = 2
"""Slowest loads dropped from a row of more than ``_MANY`` loads."""
_MANY = 8
_MISSES = 95
"""Percentile of all times that is a miss."""


@dataclass(frozen=True)
class RawReading:
    """What one file says; None for a figure that it is not about."""

    cycles: float | None = None
    fetched_bytes: int | None = None
    line_bytes: int | None = None
    doubts: tuple[str, ...] = ()


def read_mt4g_raw(path: Path) -> RawReading:
    """A latency, fetch granularity or line size, whichever the rows are of.

    Raises MachineError where the file cannot be read or has rows of none of them.
    """
    rows = [
        [int(field) for field in fields]
        for line in read_lines(path)
        if (fields := line.strip().rstrip(",").split(","))
        and all(field.strip().isdigit() for field in fields)
    ]
    if len(rows) >= _FEWEST_ROWS:
        if all(len(row) == 1 for row in rows):
            return RawReading(cycles=float(np.mean(np.array(rows))))
        strides = [row[0] for row in rows]
        chased = [row for row in rows if len(row) > _BEFORE_LOADS]
        if min(strides) < LEAST_ARRAY and len(chased) >= _FEWEST_ROWS:
            return _fetched(chased) if len(set(strides)) == len(rows) else _line(chased)
    raise MachineError(
        "no raw latencies, fetch granularities or line sizes of mt4g",
        where=str(path),
        hint="rows are whole numbers: cycles; stride,cycles,…; or stride,bytes,cycles,…",
    )


def _fetched(rows: list[list[int]]) -> RawReading:
    """The smallest stride at which every load misses: each is then to a piece of its own."""
    ordered = sorted(rows)
    hit = float(np.min(ordered[0][1:]))
    shares = [float(np.mean(np.array(row[2:]) > _APART * hit)) for row in ordered]
    all_miss = [row[0] for row, share in zip(ordered, shares, strict=True) if share >= _ALL]
    if not all_miss:
        return RawReading(hit, doubts=("some loads hit at any stride",))
    piece = all_miss[0]
    # At a part of the piece, that part of the loads misses.
    expected = [min(1.0, row[0] / piece) for row in ordered]
    odd = np.abs(np.array(shares) - expected).max() > _ODD
    return RawReading(hit, piece, doubts=("not as pieces of one size",) if odd else ())


def _line(rows: list[list[int]]) -> RawReading:
    """The largest stride up to which misses begin at the same array: a larger one leaves lines out,
    so that larger arrays fit."""
    loads = min(map(len, rows))
    table = np.array([row[:loads] for row in sorted(rows)], np.int64)
    cycles = table[:, 2:].astype(np.float64)
    hit = float(np.median(cycles[0]))
    miss = float(np.percentile(cycles, _MISSES))
    if miss < _APART * hit:
        return RawReading(hit, doubts=("nothing was seen to miss",))
    # Of so many loads, some may be outliers.
    few = max(FEW, _OUTLIERS / loads) if loads > _MANY else FEW
    missed = (cycles > np.sqrt(hit * miss)).mean(axis=1) > few
    strides = np.unique(table[:, 0])
    begins = [_first(table[table[:, 0] == s, 1], missed[table[:, 0] == s]) for s in strides]
    # At the finest strides the loads that are kept may not reach what misses.
    same = np.array(begins) == min(begins)
    start = int(same.argmax())
    end = start + int(np.append(same[start:], False).argmin())
    doubts = []
    if same[end:].any():
        doubts.append("larger strides miss as soon")
    if end == len(strides):
        doubts.append("misses begin alike at all strides")
    if min(begins) == table[:, 1].min():
        doubts.append("even the smallest array does not fit")
    return RawReading(hit, line_bytes=int(strides[end - 1]), doubts=tuple(doubts))


def _first(sizes: NDArray[np.int64], missed: NDArray[np.bool_]) -> float:
    """The smallest array that misses; infinite where none does."""
    return float(sizes[missed].min()) if missed.any() else np.inf
