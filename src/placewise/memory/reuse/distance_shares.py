"""Similarity of two reuse-distance histograms: the distance between their shares.

A histogram of Chen et al. 2017 (section 3.1.1) "records the percentage of data accesses whose reuse
distances fall into each of a series of distance ranges". Here the ranges are between powers of two,
plus one range for first touches; every array has its own histogram.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placewise.machine.machine import Machine
from placewise.memory.reuse.histogram import ReuseHistogram, cache_groups, reuse_histogram
from placewise.memory.reuse.profile import Profile
from placewise.memory.reuse.stream import ArrayStream

RANGES = 34
"""Distances 0, 1, 2 to 3, 4 to 7 and so on up to 2^32, then first touches."""


def nearest_block_bytes(machine: Machine) -> int:
    """Bytes of a block of the cache nearest to the cores that plain loads go through; 128 where
    there is none."""
    levels = machine.levels(machine.direct_space.name)
    return levels[0].block_bytes or 128 if len(levels) > 1 else 128


def distance_counts(
    stream: ArrayStream, array_bytes: int, machine: Machine, block_bytes: int
) -> NDArray[np.float64]:
    """(2, RANGES) number of blocks touched in each range of distances, for each half of the sample,
    in the caches of single SMs."""
    found = reuse_histogram(
        stream,
        array_bytes=array_bytes,
        block_bytes=block_bytes,
        groups=cache_groups(stream, "sm", machine.processor.sms_per_tpc),
        limit=-(-array_bytes // block_bytes) + 1,
    )
    return _by_range(found)


def _by_range(found: ReuseHistogram) -> NDArray[np.float64]:
    halves = found.beyond.reshape(2, 2, -1).sum(axis=1)
    edges = np.array([0, *(1 << np.arange(RANGES - 2))], np.int64)
    beyond = halves[:, np.minimum(edges, halves.shape[1] - 1)].astype(np.float64)
    # Touches beyond the histogram's limit count for the range of the array's number of blocks.
    beyond[:, edges >= halves.shape[1]] = 0.0
    counts = np.zeros((2, RANGES))
    counts[:, :-1] = beyond - np.concatenate([beyond[:, 1:], np.zeros((2, 1))], axis=1)
    counts[:, -1] = found.cold.reshape(2, 2).sum(axis=1)
    return counts


def shares_apart(one: NDArray[np.float64], reference: NDArray[np.float64]) -> float:
    """L1 distance between the histograms (arrays, RANGES) of a launch's arrays: each array's scaled
    to a sum of 1, the distances weighted by how often the ``reference`` touches each array.

    It is 0 for equal shares and 2 if no range is in common. An array without touches in ``one``
    counts as 2. It is 0 where the reference is empty.
    """
    touched = reference.sum(axis=1)
    seen = one.sum(axis=1)
    known = (touched > 0) & (seen > 0)
    apart = np.where(touched > 0, 2.0, 0.0)
    shares = (h[known] / h[known].sum(axis=1, keepdims=True) for h in (one, reference))
    first, second = shares
    apart[known] = np.abs(first - second).sum(axis=1)
    total = float(touched.sum())
    return float((apart * touched).sum() / total) if total else 0.0


def profile_counts(profile: Profile) -> NDArray[np.float64]:
    """(2, arrays, RANGES) number of blocks that a profile's accesses touch, by half of the sample,
    array and range of distances, in the nearest caches of single SMs."""
    machine = profile.machine
    block_bytes = nearest_block_bytes(machine)
    counts = np.zeros((2, len(profile.arrays), RANGES))
    for a, array in enumerate(profile.arrays):
        if array.stream is not None:
            counts[:, a] = distance_counts(array.stream, array.bytes, machine, block_bytes)
    return counts
