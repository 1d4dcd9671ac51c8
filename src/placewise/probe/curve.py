"""Capacities and latencies from a curve of average latency over array size.

Such curves are what gpu-benches' ``gpu-latency`` prints, in which loads visit the lines of an array
in an order drawn at random, round and round. Between two levels the average climbs from one plateau
to the next; the capacity is where it has left the lower one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from placewise.errors import MachineError

_FLAT = 0.02
"""Change of latency within a plateau from one size to the next, relative."""
_SHORTEST = 1.35
"""Ratio of last to first size of a plateau."""
_APART = 1.15
"""Ratio of the latencies of two plateaus."""
_LEFT = 0.02
"""Share of the climb at which the average has left a plateau."""
_COLUMNS = 5
"""Of gpu-latency's rows: loads, clock in MHz, KB, nanoseconds, cycles."""


@dataclass(frozen=True)
class Curve:
    """Average latency over array size."""

    sizes: NDArray[np.float64]
    """Bytes, ascending."""
    cycles: NDArray[np.float64]


@dataclass(frozen=True)
class Plateau:
    """A level as a curve shows it."""

    cycles: float
    """Of its flattest part."""
    capacity_bytes: float | None
    """None for the last."""


def read_latency_curve(path: Path) -> Curve:
    """The curve of a file that gpu-latency wrote.

    Raises MachineError where the file cannot be read or has no such rows.
    """
    rows = []
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise MachineError(f"cannot read the curve: {error}", where=str(path)) from None
    for line in lines:
        fields = line.split()
        try:
            numbers = [float(field) for field in fields]
        except ValueError:
            continue
        if len(numbers) == _COLUMNS:
            rows.append((numbers[2] * 1024, numbers[4]))
    if len(rows) < _COLUMNS:
        raise MachineError(
            "no latencies over sizes",
            where=str(path),
            hint="rows of gpu-latency have five numbers: loads, MHz, KB, ns, cycles",
        )
    table = np.array(rows)
    return Curve(table[:, 0], table[:, 1])


def plateaus(curve: Curve) -> tuple[Plateau, ...]:
    """Levels, nearest first.

    The latency is the median of the plateau. The capacity lies between the last size whose latency
    is the plateau's and the first that is not: where the straight line through the first two
    latencies of the climb, over the logarithm of size, leaves the plateau, but between those two.
    """
    ends = _flat_parts(curve)
    found: list[Plateau] = []
    for number, (first, last) in enumerate(ends):
        cycles = float(np.median(curve.cycles[first : last + 1]))
        if number == len(ends) - 1:
            found.append(Plateau(cycles, None))
            continue
        found.append(Plateau(cycles, _knee(curve, last, ends[number + 1][0])))
    return tuple(found)


def _flat_parts(curve: Curve) -> list[tuple[int, int]]:
    """First and last points of the plateaus."""
    parts: list[tuple[int, int]] = []
    first = 0
    for k in range(1, len(curve.sizes) + 1):
        flat = k < len(curve.sizes) and (
            abs(curve.cycles[k] - np.median(curve.cycles[first:k]))
            <= _FLAT * np.median(curve.cycles[first:k])
        )
        if flat:
            continue
        if curve.sizes[k - 1] >= _SHORTEST * curve.sizes[first]:
            level = np.median(curve.cycles[first:k])
            if parts and level < _APART * np.median(curve.cycles[slice(*parts[-1])]):
                parts[-1] = (parts[-1][0], k - 1)
            else:
                parts.append((first, k - 1))
        first = k
    return parts


def _knee(curve: Curve, last: int, up: int) -> float:
    """Size at which the climb from point ``last`` towards point ``up`` begins."""
    x, y = np.log(curve.sizes), curve.cycles
    base = y[last]
    rising = last + 1
    while rising < up and y[rising] - base < _LEFT * (y[up] - base):
        rising += 1
    if rising + 1 > up:
        return float(np.exp((x[rising - 1] + x[rising]) / 2))
    slope = (y[rising + 1] - y[rising]) / (x[rising + 1] - x[rising])
    at = x[rising] - (y[rising] - base) / slope if slope > 0 else x[rising - 1]
    return float(np.exp(np.clip(at, x[rising - 1], x[rising])))
