"""Others' measurements as files: mt4g's raw chases over size and gpu-benches' bandwidths."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from placewise.errors import MachineError
from placewise.probe.infer.curve import Curve, Plateau, plateaus

FEW = 0.02
"""Share of a size's loads that may miss, outliers among them, while the array still fits."""
_MISSES = 90
"""Percentile of the largest array's times that is a miss: one load in a few meets a new line."""
_APART = 1.15
"""Ratio of miss to hit below which nothing was seen to miss."""
_FEWEST_ROWS = 4
_NUMBER = r"\d+(?:\.\d+)?"
_BANDWIDTH = re.compile(
    rf"^\s*(?:{_NUMBER} kB\s+)?(?P<kb>{_NUMBER}) kB\s+\S+ms\s+\S+%\s+(?P<gb>{_NUMBER}) GB/s"
)
"""A row of gpu-cache: size, time, spread, effective bandwidth; gpu-l2-cache has a block's part of
the data before the size of all."""
_OCCUPANCY = re.compile(rf"^\s*\d+\s+\d+\s+{_NUMBER} %\s+\|\s+GB/s:(?P<gb>(?:\s+{_NUMBER})+)\s*$")
"""A row of gpu-stream: threads of a block, of all, occupancy, bandwidths of several kernels."""
_LOST = 1.1
"""Ratio of times, beyond a level's median, at which its capacity is passed."""
_DRIFT = 1.25
"""Ratio of bandwidths that belong to one level: they wander by 10 to 20 %."""


@dataclass(frozen=True)
class RawSizes:
    """Chases through arrays of growing size, each load timed."""

    sizes: NDArray[np.int64]
    """(k,) sizes of the arrays in bytes, ascending."""
    cycles: NDArray[np.float64]
    """(k, n) cycles of each load."""


@dataclass(frozen=True)
class SizeReading:
    """What such chases say of the nearest cache."""

    capacity_bytes: int | None
    """None where nothing was seen to miss."""
    hit_cycles: float
    doubts: tuple[str, ...] = ()

    @property
    def confidence(self) -> str:
        return "low" if self.doubts else "high"


def read_mt4g_sizes(path: Path) -> RawSizes:
    """The chases of a ``…_Size.txt`` that mt4g's ``--raw`` leaves: bytes, then each load's cycles.

    Raises MachineError where the file cannot be read or has no such rows.
    """
    rows = []
    for line in read_lines(path):
        fields = line.split(",")
        if len(fields) > 1 and all(field.strip().isdigit() for field in fields):
            rows.append([int(field) for field in fields])
    shortest = min((len(row) for row in rows), default=0)
    if len(rows) < _FEWEST_ROWS:
        raise MachineError(
            "no chases over sizes",
            where=str(path),
            hint="rows of mt4g's raw sizes are whole numbers: bytes,cycles,cycles,…",
        )
    table = np.array([row[:shortest] for row in sorted(rows)])
    return RawSizes(table[:, 0], table[:, 1:].astype(np.float64))


def read_size(raw: RawSizes) -> SizeReading:
    """Capacity: the largest size up to which next to nothing misses."""
    hit = float(np.median(raw.cycles[0]))
    miss = float(np.percentile(raw.cycles[-1], _MISSES))
    if miss < _APART * hit:
        return SizeReading(None, hit, ("nothing was seen to miss",))
    missed = (raw.cycles > np.sqrt(hit * miss)).mean(axis=1)
    over = np.flatnonzero(missed > FEW)
    first = int(over[0])
    doubts = []
    if first == 0:
        doubts.append("even the smallest array does not fit")
    elif (missed[first:] <= FEW).any():
        doubts.append("a larger array fits again")
    if len(raw.sizes) - first < _FEWEST_ROWS:
        doubts.append("few arrays are too large")
    return SizeReading(int(raw.sizes[max(first - 1, 0)]), hit, tuple(doubts))


def read_bandwidth_curve(path: Path) -> Curve:
    """What gpu-benches' ``gpu-cache`` and ``gpu-l2-cache`` print: nanoseconds for a kilobyte over
    size in bytes.

    Raises MachineError where the file cannot be read or has no such rows.
    """
    found = [match for line in read_lines(path) if (match := _BANDWIDTH.match(line))]
    if len(found) < _FEWEST_ROWS:
        raise MachineError(
            "no bandwidths over sizes",
            where=str(path),
            hint="rows of gpu-cache and gpu-l2-cache give kB, ms, % and GB/s",
        )
    sizes = np.array([float(match["kb"]) * 1024 for match in found])
    rate = np.array([float(match["gb"]) for match in found])
    return Curve(sizes, 1e3 / rate)


def read_streams(path: Path) -> float:
    """The most GB/s of all kernels and occupancies that gpu-benches' ``gpu-stream`` printed.

    Raises MachineError where the file cannot be read or has no such rows.
    """
    found = [match["gb"] for line in read_lines(path) if (match := _OCCUPANCY.match(line))]
    if len(found) < _FEWEST_ROWS:
        raise MachineError(
            "no bandwidths over occupancy",
            where=str(path),
            hint="rows of gpu-stream give threads, % and, after GB/s:, bandwidths",
        )
    return max(float(number) for row in found for number in row.split())


def bandwidth_levels(curve: Curve) -> tuple[tuple[float, float | None], ...]:
    """(GB/s, capacity in bytes) of each level, the last's capacity unknown.

    Bandwidth is taken to fall only; what wanders less than 25 % is one level.
    """
    falling = isotonic_regression(np.log(curve.cycles)).x
    steps = np.exp(falling)
    level = steps[0]
    flat = np.empty_like(steps)
    for k, value in enumerate(steps):
        if value > _DRIFT * level:
            level = value
        flat[k] = level
    found: tuple[Plateau, ...] = plateaus(Curve(curve.sizes, flat))
    levels = []
    for plateau in found:
        part = flat == plateau.cycles
        slowest = _LOST * float(np.median(curve.cycles[part]))
        held = curve.sizes[np.exp(falling) <= slowest]
        last = plateau is found[-1] or not len(held)
        levels.append((1e3 / plateau.cycles, None if last else float(held[-1])))
    return tuple(levels)


def read_lines(path: Path) -> list[str]:
    """Lines of a file; raises MachineError where it cannot be read."""
    try:
        return path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise MachineError(f"cannot read the measurements: {reason}", where=str(path)) from None
