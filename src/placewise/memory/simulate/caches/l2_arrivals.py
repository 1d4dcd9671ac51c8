"""What arrives behind the SMs, in the order of rounds, within a round by SM: its pages are
translated, its lines belong to slices of the cache of the die, and can be kept as they come."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.miss_queue import Missed
from placewise.memory.simulate.caches.slices import Slices, spread
from placewise.memory.simulate.caches.tlb import Tlbs, translate
from placewise.memory.simulate.requests.collect import LEAVES_OUT_LAST, Pairs
from placewise.memory.simulate.requests.line_requests import LINE_BIT, MOST_PAIRS, PAIR_BIT
from placewise.memory.simulate.simd.jit_helpers import entry


class Arrived(NamedTuple):
    """The first lines that the cache of the die is asked for, in order."""

    line: NDArray[np.int64]
    """Room for so many; empty where nobody wants to know."""
    used: NDArray[np.int64]
    """(1,)"""


def new_arrived(lines: int) -> Arrived:
    """Room for so many lines."""
    return Arrived(np.empty(lines, np.int64), np.zeros(1, np.int64))


@entry
def run_arrivals(
    missed: Missed,
    pairs: Pairs,
    tlbs: Tlbs,
    slices: Slices,
    arrived: Arrived,
    at: NDArray[np.int64],
) -> None:
    """Run what all SMs passed on through address translation and over the slices, and keep it.

    ``at`` (shares * SMs,) is room to work in.
    """
    part, end, length = missed.part, missed.end, missed.length
    shares, sms = length.shape
    size = part.shape[0] // shares
    left = np.int64(0)
    for share in range(shares):
        for sm in range(sms):
            at[share * sms + sm] = missed.first[share, sm]
            left += length[share, sm]
    round_ = np.int64(0)
    while left:
        for sm in range(sms):
            for share in range(shares):
                k = share * sms + sm
                i = at[k]
                first = missed.first[share, sm]
                if i == first + length[share, sm]:
                    continue
                stop = first + end[share * size + missed.first_round[sm] + round_]
                while i < stop:
                    translate(tlbs, sm, part[i])
                    spread(slices, sm, part[i], pairs)
                    p = np.uintp((part[i] >> PAIR_BIT) & MOST_PAIRS)
                    asks = not pairs.rows[p].flags & LEAVES_OUT_LAST
                    if asks and arrived.used[0] < arrived.line.shape[0]:
                        arrived.line[arrived.used[0]] = part[i] >> LINE_BIT
                        arrived.used[0] += 1
                    i += 1
                left -= i - at[k]
                at[k] = i
        round_ += 1
