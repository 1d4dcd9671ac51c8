"""What arrives behind the SMs, in the order of rounds, within a round by SM: its pages are
translated, and its lines belong to slices of the cache of the die."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.lanes import apart
from placewise.memory.simulate.passed_on import Missed
from placewise.memory.simulate.requests import Pairs
from placewise.memory.simulate.slices import Slices, spread
from placewise.memory.simulate.tlb import Tlbs, translate


@apart
def run_arrivals(
    missed: Missed,
    sm_part: NDArray[np.int64],
    pairs: Pairs,
    tlbs: Tlbs,
    slices: Slices,
    at: NDArray[np.int64],
) -> None:
    """Run what all SMs passed on through address translation and over the slices.

    ``sm_part`` is the wave's; ``at`` (shares * SMs,) is room to work in.
    """
    part, end, length = missed.part, missed.end, missed.length
    shares, sms = length.shape
    size = part.shape[0] // shares
    left = np.int64(0)
    for share in range(shares):
        for sm in range(sms):
            at[share * sms + sm] = share * size + sm_part[sm]
            left += length[share, sm]
    round_ = np.int64(0)
    while left:
        for sm in range(sms):
            for share in range(shares):
                k = share * sms + sm
                i = at[k]
                first = share * size + sm_part[sm]
                if i == first + length[share, sm]:
                    continue
                stop = first + end[first + round_]
                while i < stop:
                    translate(tlbs, sm, part[i])
                    spread(slices, sm, part[i], pairs)
                    i += 1
                left -= i - at[k]
                at[k] = i
        round_ += 1
