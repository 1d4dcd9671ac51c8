"""The older ways to read a cache from average latencies, to show what averages hide.

Mei et al. 2014 try both on the 12 KB texture L1 of Fermi and Kepler, where four consecutive lines
of 32 bytes lie in one set: Saavedra 1992 gives lines of 32 bytes, Wong et al. 2010 of 128.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.probe.chase import Chase, ProbeDevice

_SATURATED = 0.95
"""Share of the highest average from which an average counts as the highest."""


@dataclass(frozen=True)
class Averages:
    """Mean cycles of a load, over strides or array sizes (bytes, ascending)."""

    at: NDArray[np.int64]
    cycles: NDArray[np.float64]


def saavedra(device: ProbeDevice, array_bytes: int, strides: NDArray[np.int64]) -> Averages:
    """Average over the stride, in an array much larger than the cache."""
    means = [_mean(device, np.arange(0, array_bytes, stride)) for stride in strides.tolist()]
    return Averages(strides, np.array(means))


def saavedra_line(averages: Averages) -> int:
    """Line size: the stride from which on every load misses, so that the average grows no more."""
    return int(averages.at[np.argmax(averages.cycles >= _SATURATED * averages.cycles.max())])


def wong(device: ProbeDevice, sizes: NDArray[np.int64], stride: int) -> Averages:
    """Average over the array's size, from what fits in steps of less than a line."""
    means = [_mean(device, np.arange(0, size, stride)) for size in sizes.tolist()]
    return Averages(sizes, np.array(means))


def wong_line(averages: Averages) -> int:
    """Line size: the width of the stairs, each of which is taken to be one more set overflowing."""
    rises = np.diff(averages.cycles)
    steps = np.flatnonzero(rises > 0.5 * rises.max())
    widths = np.diff(averages.at[steps + 1])
    return int(np.median(widths)) if len(widths) else 0


def _mean(device: ProbeDevice, lap: NDArray[np.int64]) -> float:
    """Mean over laps, those of outliers left out."""
    laps = max(4, 8192 // len(lap))
    cycles = device.run(Chase(lap, laps=laps, warm=2)).cycles.mean(axis=1)
    return float(np.median(cycles))
