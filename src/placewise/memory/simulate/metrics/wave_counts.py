"""Counts of the caches at the end of each wave, and the difference that each wave made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.requests.streams import LOAD, STORE
from placewise.memory.simulate.schedule.windows import WaveCounts


class Counts(NamedTuple):
    """Counts from the launch's start to the end of a wave, by access stream (instruction and
    array), of the streams seen so far."""

    accesses: NDArray[np.int64]
    sectors: NDArray[np.int64]
    """(streams,) warp accesses, and sectors that they requested from the first cache."""
    l1_overfetch: NDArray[np.int64]
    asked: NDArray[np.int64]
    misses: NDArray[np.int64]
    l2_overfetch: NDArray[np.int64]
    """(threads, streams) sectors that the SMs' caches fetched in addition to those they missed;
    sectors requested from L2, those it missed, and those it fetched in addition. The last three
    have no meaning for stores."""
    constant: NDArray[np.int64]
    """(2, levels, streams) lines requested from each cache of constant memory, and those missed."""
    written: int
    """Dirty sectors that L2 evicted."""
    dirtied: int
    """Sectors that became dirty in L2."""


class Closed(NamedTuple):
    """A wave that has ended."""

    wave: int
    blocks: int
    counts: Counts
    """Counts at the end of the wave."""


def wave_counts(
    closed: Sequence[Closed], rows: NDArray[Any], sites: int, counted: NDArray[np.bool_]
) -> list[WaveCounts]:
    """Counts of each wave, by memory instruction (there are ``sites``). ``rows`` are STREAM rows;
    ``counted`` (waves of the launch,) is True for waves whose figures are used."""
    if not closed:
        return []

    def of(name: str) -> NDArray[np.int64]:
        """(waves, …, streams) how much each wave added to a count."""
        found: list[NDArray[np.int64]] = [getattr(c.counts, name) for c in closed]
        ends = np.zeros((len(found) + 1, *found[0].shape[:-1], len(rows)), np.int64)
        for end, now in zip(ends[1:], found, strict=True):
            end[..., : now.shape[-1]] = now
        return np.diff(ends, axis=0)

    def by_site(of_pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        sums = np.zeros((sites, *of_pairs.shape[:-1]), np.int64)
        np.add.at(sums, rows["site"], np.moveaxis(of_pairs, -1, 0))
        return np.moveaxis(sums, 0, -1)

    reads = rows["kind"] != STORE
    asked, misses = of("asked").sum(1) * reads, of("misses").sum(1) * reads
    missed = asked - of("l1_overfetch").sum(1)
    figures = (
        by_site(of("accesses")),
        by_site((of("sectors") - missed) * (rows["kind"] == LOAD)),
        by_site(asked),
        by_site(asked - misses),
        by_site(misses + of("l2_overfetch").sum(1) * reads),
        np.diff([0, *(c.counts.written for c in closed)]).tolist(),
        np.diff([0, *(c.counts.dirtied for c in closed)]).tolist(),
        by_site(of("constant")),
    )
    return [
        WaveCounts(c.wave, c.blocks, bool(counted[c.wave]), *of_wave)
        for c, *of_wave in zip(closed, *figures, strict=True)
    ]
