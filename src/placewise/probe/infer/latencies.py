"""The latencies that a hierarchy has, from chases through arrays of growing size."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.signal import find_peaks

from placewise.errors import MachineError
from placewise.probe.chase import Chase, ProbeDevice

SHARE = 0.3
"""Share of an array's loads that must have a latency for it to be a memory level's; loads at page
boundaries and outliers stay below."""
_BIN = 0.005
"""Bin width of the histogram, in the logarithm of cycles."""
_SMOOTH = 0.02
"""Standard deviation that peaks are smoothed with: the noise of the timings."""
_NEAR = 0.08
"""Peaks nearer than this, in the logarithm, are one level."""
_SLICED = 0.3
"""Peaks so near, in the logarithm, may be one level, whose slices and partitions are not equally
far away: L2 of an H100 answers after 270 and 305 cycles, its DRAM after 700 and 880."""
_MANY = 32
"""Different places that an array must visit to show all slices of a level."""
_ALL_SLICES = 1024
"""Different places that lie in all slices about alike."""
_RULES = 0.85
"""Share of the loads of two peaks that the slower one takes in some array if it is a level of its
own; slices take the same part of every large array."""
_GROWS = 0.4
"""A latency is also a level's if its share of loads differs by this much between two arrays, such
as one that fits into the nearer level and one that does not. Chance moves slices' share by less
where places are spread."""
_BROAD = 0.25
"""Half the width, in the logarithm, of a level without a peak: DRAM, with its rows and refresh."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio (Knuth's multiplicative hashing)."""
_LOADS = 1 << 14
"""Loads that are timed in each array."""


@dataclass(frozen=True)
class Survey:
    """What arrays of growing size show."""

    cycles: tuple[float, ...]
    """Latency of each level, nearest first; the last is that of what no cache holds."""
    sizes: NDArray[np.int64]
    """(k,) sizes of the arrays, in bytes."""
    shares: NDArray[np.float64]
    """(k, levels) share of the loads that each level served."""
    spans: tuple[tuple[float, float], ...]
    """Cycles of each level's nearest and farthest slices."""

    def between(self, level: int) -> float:
        """Cycles that separate the hits of ``level`` from the loads that go further."""
        return float(np.sqrt(self.spans[level][1] * self.spans[level + 1][0]))


@dataclass(frozen=True)
class _Sweep:
    """Times in one array."""

    logs: NDArray[np.float64]
    """(loads,) logarithms of the loads' cycles."""
    size: int
    """Size of the array in bytes."""
    visited: int
    """Number of different places that were loaded from."""


def survey(
    device: ProbeDevice,
    *,
    stride: int,
    spread: int = 0,
    bypass: int = 0,
    most: int = 1 << 20,
    finer: tuple[int, ...] = (),
) -> Survey:
    """Chase through arrays of 1, 2, 4 … strides, sequentially, up to ``most`` loads.

    ``stride`` and ``spread`` in bytes, see :func:`places`. Small arrays are swept at the ``finer``
    strides too, and past the levels that loads can pass by: a coarse stride skips lines of a near
    cache, which then seems to hold more than the next, and hides it.

    Raises MachineError where no latency is shared by ``SHARE`` of any array's loads.
    """
    most = min(most, device.reach_bytes // stride)
    sweeps = _sweeps(device, stride, spread, bypass, most)
    more = [
        s
        for step in finer
        for s in _sweeps(device, step, 0, bypass, min(_LOADS, device.reach_bytes // step))
    ]
    for past in range(bypass + 1, device.bypasses + 1) if finer else ():
        more += _sweeps(device, stride, spread, past, min(_LOADS, most))
    peaks = _peaks([*sweeps, *more])
    if not len(peaks):
        raise MachineError("the timings show no latency that many loads share")
    levels = _levels(peaks, [*sweeps, *more], spread=bool(spread))
    edges = [(one[-1] + next_[0]) / 2 for one, next_ in pairwise(levels)]
    shares = [
        np.bincount(np.searchsorted(edges, s.logs), minlength=len(levels)) / len(s.logs)
        for s in sweeps
    ]
    return Survey(
        tuple(_median(level, [*sweeps, *more]) for level in levels),
        np.array([s.size for s in sweeps]),
        np.array(shares),
        tuple((float(np.exp(level[0])), float(np.exp(level[-1]))) for level in levels),
    )


def _sweeps(device: ProbeDevice, stride: int, spread: int, bypass: int, most: int) -> list[_Sweep]:
    found = []
    count = 1
    while count <= most:
        lap = places(np.arange(count), stride, spread)
        end = lap[-_LOADS:]
        chase = (
            Chase(lap, laps=-(-_LOADS // (4 * count)), warm=2, bypass=bypass)
            if count <= _LOADS
            else Chase(end, before=np.concatenate([lap, lap[:-_LOADS]]), bypass=bypass)
        )
        logs = np.log(np.maximum(device.run(chase).cycles.reshape(-1), 1.0))
        found.append(_Sweep(logs, count * stride, len(end)))
        count *= 2
    return found


def places(numbers: NDArray[np.int64], stride: int, spread: int) -> NDArray[np.int64]:
    """Addresses of loads by number: multiples of ``stride``, moved by some multiple of ``spread``.

    The latter look random, so that no regular mapping of lines to sets brings them together.
    """
    result: NDArray[np.int64] = numbers * stride
    if spread:
        mixed = numbers.astype(np.uint64) * _GOLDEN >> np.uint64(40)
        result += (mixed % np.uint64(stride // spread)).astype(np.int64) * spread
    return result


def _peaks(sweeps: list[_Sweep]) -> NDArray[np.float64]:
    """(peaks,) logarithms of the latencies that are some array's own, ascending."""
    low = min(float(s.logs.min()) for s in sweeps) - 0.2
    high = max(float(np.percentile(s.logs, 99)) for s in sweeps) + 0.2
    bins = np.arange(low, high, _BIN)
    found: list[tuple[bool, float, float]] = []
    for sweep in sweeps:
        some = sweep.logs
        counts, _ = np.histogram(some, bins)
        smooth = gaussian_filter1d(counts / len(some), _SMOOTH / _BIN, mode="constant")
        for peak in find_peaks(np.concatenate([[0], smooth, [0]]))[0] - 1:
            at = bins[peak] + _BIN / 2
            share = float(np.mean(np.abs(some - at) < _NEAR))
            if share >= SHARE:
                found.append((sweep.visited >= _MANY, share, at))
    kept: list[float] = []
    # Arrays of a few lines come last: theirs is the time of some slices.
    for _, _, at in sorted(found, reverse=True):
        if all(abs(at - other) >= _NEAR for other in kept):
            kept.append(at)
    for some in (s.logs for s in sweeps if s.visited >= _MANY):
        beyond = some[some > max(kept, default=low) + _NEAR]
        if not len(beyond):
            continue
        middle = float(np.median(beyond))
        if np.mean(np.abs(some - middle) < _BROAD) > 2 * SHARE:
            kept.append(middle)
    return np.sort(np.array(kept))


def _levels(
    peaks: NDArray[np.float64], sweeps: list[_Sweep], *, spread: bool
) -> list[NDArray[np.float64]]:
    """Peaks of each level, nearest first. Peaks that no array tells apart are one level."""
    edges = (peaks[1:] + peaks[:-1]) / 2
    large = [s for s in sweeps if s.visited >= _MANY]
    taken = np.array(
        [np.bincount(np.searchsorted(edges, s.logs), minlength=len(peaks)) for s in large]
    ).reshape(-1, len(peaks)) / np.array([[len(s.logs)] for s in large] or [[1]])
    visited = np.array([s.visited for s in large])
    first = [0]
    for k in range(1, len(peaks)):
        both = taken[:, first[-1] : k + 1].sum(axis=1)
        slower = taken[:, k] / np.maximum(both, SHARE)
        rules = (both >= SHARE) & (slower >= _RULES)
        compared = slower[both * visited >= _MANY]
        grows = spread and len(compared) > 0 and np.ptp(compared) >= _GROWS
        if peaks[k] - peaks[first[-1]] >= _SLICED or rules.any() or grows:
            first.append(k)
    return np.split(peaks, first[1:])


def _median(level: NDArray[np.float64], sweeps: list[_Sweep]) -> float:
    """Cycles of a level, by the arrays that visit all its slices if any do."""
    low, high = level[0] - _NEAR / 2, level[-1] + _NEAR / 2
    for least in (_ALL_SLICES, _MANY, 0):
        some = [s.logs for s in sweeps if s.visited >= least]
        every = np.concatenate(some) if some else np.zeros(0)
        of_level = every[(every > low) & (every < high)]
        if len(of_level) >= _MANY:
            return float(np.exp(np.median(of_level)))
    return float(np.exp(level.mean()))
