"""Capacities and latencies from a curve of average latency over array size.

Such curves are what gpu-benches' ``gpu-latency`` prints, in which loads visit the lines of an array
in an order drawn at random, round and round. Between two levels the average climbs from one plateau
to the next; the capacity is where it has left the lower one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
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
_LEFT = 0.15
"""Share of the climb that is done at the capacity: chosen by hand on curves of the V100, A100, H100
and L40, so how well it fits those four is no test of it. A sharp edge would be at 0."""
_COLUMNS = 5
"""Columns of a row of gpu-latency: loads, clock in MHz, KB, nanoseconds, cycles."""


@dataclass(frozen=True)
class Curve:
    """Average latency over array size."""

    sizes: NDArray[np.float64]
    """Sizes of the arrays in bytes, ascending."""
    cycles: NDArray[np.float64]


@dataclass(frozen=True)
class Plateau:
    """A level as a curve shows it."""

    cycles: float
    """Latency in cycles of the plateau's flattest part."""
    capacity_bytes: float | None
    """Capacity of the level; None for the last one."""


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
        if len(numbers) == _COLUMNS and all(map(math.isfinite, numbers)):
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

    The latency is the median of the plateau, the capacity the size at which the average has climbed
    by ``_LEFT`` of the way to the next, between two points by the logarithm of size.
    """
    parts = _flat_parts(curve)
    levels = [float(np.median(curve.cycles[first : last + 1])) for first, last in parts]
    capacities = [
        _knee(curve, last, below, above)
        for (_, last), (below, above) in zip(parts, pairwise(levels), strict=False)
    ]
    return tuple(Plateau(*level) for level in zip(levels, [*capacities, None], strict=True))


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


def _knee(curve: Curve, last: int, below: float, above: float) -> float:
    """Size at which the average, last on its plateau at point ``last``, has climbed ``_LEFT``."""
    wanted = below + _LEFT * (above - below)
    up = last + int(np.argmax(curve.cycles[last:] > wanted))
    x, y = np.log(curve.sizes[up - 1 : up + 1]), curve.cycles[up - 1 : up + 1]
    return float(np.exp(np.interp(wanted, y, x)))
