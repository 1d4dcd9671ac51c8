"""The latencies that a hierarchy has, from chases through arrays of growing size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.signal import find_peaks

from placewise.errors import MachineError
from placewise.probe.chase import Chase, ProbeDevice

SHARE = 0.3
"""Of one array's loads that must take a latency for it to be a level's; what is met at page
boundaries or is an outlier stays below."""
_BIN = 0.005
"""Of the histogram, in the logarithm of cycles."""
_SMOOTH = 0.02
"""Standard deviation that peaks are smoothed with: the noise of the timings."""
_NEAR = 0.08
"""Peaks nearer than this, in the logarithm, are one level."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio (Knuth's multiplicative hashing)."""
_LOADS = 1 << 14
"""Timed in each array."""


@dataclass(frozen=True)
class Survey:
    """What arrays of growing size show."""

    cycles: tuple[float, ...]
    """Latency of each level, nearest first; the last is that of what no cache holds."""
    sizes: NDArray[np.int64]
    """(k,) sizes of the arrays, in bytes."""
    shares: NDArray[np.float64]
    """(k, levels) share of the loads that each level served."""

    def between(self, level: int) -> float:
        """Time that parts the hits of ``level`` from the loads that go further."""
        return float(np.sqrt(self.cycles[level] * self.cycles[level + 1]))


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
    samples, sizes = _sweeps(device, stride, spread, bypass, most)
    more = [
        s
        for step in finer
        for s in _sweeps(device, step, 0, bypass, min(_LOADS, device.reach_bytes // step))[0]
    ]
    for past in range(bypass + 1, device.bypasses + 1) if finer else ():
        more += _sweeps(device, stride, spread, past, min(_LOADS, most))[0]
    found = _levels(samples + more)
    if not len(found):
        raise MachineError("the timings show no latency that many loads share")
    edges = (found[1:] + found[:-1]) / 2
    shares = [
        np.bincount(np.searchsorted(edges, s), minlength=len(found)) / len(s) for s in samples
    ]
    every = np.concatenate(samples + more)
    medians = [np.exp(np.median(every[np.abs(every - f) < _NEAR / 2])) for f in found]
    return Survey(tuple(float(m) for m in medians), np.array(sizes), np.array(shares))


def _sweeps(
    device: ProbeDevice, stride: int, spread: int, bypass: int, most: int
) -> tuple[list[NDArray[np.float64]], list[int]]:
    """Logarithms of the times in each array, and the arrays' bytes."""
    samples, sizes = [], []
    count = 1
    while count <= most:
        lap = places(np.arange(count), stride, spread)
        end = lap[-_LOADS:]
        chase = (
            Chase(lap, laps=-(-_LOADS // (4 * count)), warm=2, bypass=bypass)
            if count <= _LOADS
            else Chase(end, before=np.concatenate([lap, lap[:-_LOADS]]), bypass=bypass)
        )
        samples.append(np.log(np.maximum(device.run(chase).cycles.reshape(-1), 1.0)))
        sizes.append(count * stride)
        count *= 2
    return samples, sizes


def places(numbers: NDArray[np.int64], stride: int, spread: int) -> NDArray[np.int64]:
    """Addresses of loads by number: multiples of ``stride``, moved by some multiple of ``spread``.

    The latter look random, so that no regular mapping of lines to sets brings them together.
    """
    result: NDArray[np.int64] = numbers * stride
    if spread:
        mixed = numbers.astype(np.uint64) * _GOLDEN >> np.uint64(40)
        result += (mixed % np.uint64(stride // spread)).astype(np.int64) * spread
    return result


def _levels(samples: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """(levels,) logarithms of the latencies that are some array's own, ascending."""
    low = min(float(s.min()) for s in samples) - 0.2
    high = max(float(np.percentile(s, 99)) for s in samples) + 0.2
    bins = np.arange(low, high, _BIN)
    found: list[tuple[float, float]] = []
    for some in samples:
        counts, _ = np.histogram(some, bins)
        smooth = gaussian_filter1d(counts / len(some), _SMOOTH / _BIN, mode="constant")
        for peak in find_peaks(np.concatenate([[0], smooth, [0]]))[0] - 1:
            at = bins[peak] + _BIN / 2
            share = float(np.mean(np.abs(some - at) < _NEAR))
            if share >= SHARE:
                found.append((at, share))
    kept: list[float] = []
    for at, _ in sorted(found, key=lambda f: -f[1]):
        if all(abs(at - other) >= _NEAR for other in kept):
            kept.append(at)
    return np.sort(np.array(kept))
