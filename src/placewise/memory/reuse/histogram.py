"""Reuse-distance histograms of the blocks that accesses to an array touch, and miss counts from
them.

Chen et al. 2017, section 3.1.1: an access whose reuse distance is no smaller than the cache's size
in blocks misses. One histogram gives the misses of caches of all sizes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.memory.reuse.stream import TAGS, ArrayStream


@dataclass(frozen=True, eq=False)
class ReuseHistogram:
    """Reuse distances, in blocks, of an access stream in the caches of one level."""

    block_bytes: int
    blocks: int
    """The array's size in blocks."""
    beyond: NDArray[np.int64]
    """(TAGS, limit + 1) number of touches at distance d or more, without first touches."""
    cold: NDArray[np.int64]
    """(TAGS,) number of first touches, counted for each cache separately."""
    distinct: int
    """Number of different blocks that the sample touches."""
    growth_by_sms: float
    """Exponent with which ``distinct`` grows with the number of SMs in the sample."""
    growth_by_waves: float
    """Exponent with which ``distinct`` grows with the share of the launch in the sample."""

    @property
    def touches(self) -> NDArray[np.int64]:
        """(TAGS,) number of touches; a block counts once per warp access."""
        touched: NDArray[np.int64] = self.beyond[:, 0] + self.cold
        return touched

    def far(self, blocks: float | NDArray[np.float64]) -> NDArray[np.int64]:
        """Number of touches at a distance of ``blocks`` or more, without first touches: (TAGS,) for
        a number, (TAGS, n) for (n,) numbers. Beyond the histogram's limit (the largest cache it was
        made for) it is the number at the limit."""
        at = np.clip(np.ceil(blocks), 0, self.beyond.shape[1] - 1).astype(np.int64)
        return self.beyond[:, at]


def growth(whole: int, first: int, second: int) -> float:
    """Exponent γ with which the number of different blocks grows with the size of a sample, from
    ``whole``, the number in both halves together, and ``first`` and ``second``, the numbers in each
    half. 0: both halves touch the same blocks; 1: each touches its own blocks, or nothing is known
    because a half is empty."""
    if not first or not second:
        return 1.0
    return min(1.0, max(0.0, math.log2(2 * whole / (first + second))))


def cache_groups(stream: ArrayStream, scope: str, sms_per_tpc: int) -> NDArray[np.int32] | None:
    """(n,) number of the cache of a level that each access goes to, by share scope; None if there
    is one cache for the whole die."""
    if scope == "die":
        return None
    if scope == "tpc":
        return stream.sm // np.int32(sms_per_tpc)
    return stream.sm


def reuse_histogram(
    stream: ArrayStream,
    *,
    array_bytes: int,
    block_bytes: int,
    groups: NDArray[np.int32] | None,
    limit: int,
) -> ReuseHistogram:
    """Exact histogram of ``stream`` in blocks of ``block_bytes`` with distances up to ``limit``.

    ``groups`` (n,) is the number of the cache that each access goes to (None: one cache for all).
    """
    from placewise.memory.reuse.stack_distance import count_distances

    n = len(stream)
    blocks = max(1, -(-array_bytes // block_bytes))
    if groups is None:
        index = np.arange(n, dtype=np.int64)
        starts = np.array([0, n], dtype=np.int64)
    else:
        index = np.argsort(groups, kind="stable")
        grouped = groups[index]
        starts = np.r_[0, np.flatnonzero(grouped[1:] != grouped[:-1]) + 1, n].astype(np.int64)
    counts = np.zeros((TAGS, min(limit, blocks) + 1), np.int64)
    cold = np.zeros(TAGS, np.int64)
    seen = np.zeros(blocks, np.uint8)
    count_distances(
        starts,
        index,
        stream.base,
        stream.stride,
        stream.mask,
        stream.row,
        stream.offsets,
        stream.lane_bytes,
        stream.tag,
        (stream.tag >> 1) + 2 * stream.late,
        block_bytes,
        counts,
        cold,
        seen,
    )
    beyond = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]

    def touched_by(parts: int) -> int:
        return int(np.count_nonzero(seen & parts))

    distinct = touched_by(0b1111)
    return ReuseHistogram(
        block_bytes,
        blocks,
        np.ascontiguousarray(beyond),
        cold,
        distinct,
        growth(distinct, touched_by(0b0101), touched_by(0b1010)),
        growth(distinct, touched_by(0b0011), touched_by(0b1100)),
    )
