"""What an SM's caches lack, handed on to the cache of the die."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.cache import Int
from placewise.memory.simulate.lanes import inlined
from placewise.memory.simulate.parts import LINE_BIT, SECTOR_BIT, SECTORS

_KEPT = ~np.int64(SECTORS << SECTOR_BIT)
"""Of a part, all but its sectors."""


class Missed(NamedTuple):
    """What L1s pass on, by share of L2 and SM, in the order of rounds."""

    part: NDArray[np.int64]
    turn: NDArray[np.int32]
    """(shares * parts,) each."""
    length: NDArray[np.int64]
    """(shares, SMs)"""
    rounds: NDArray[np.int64]
    """(SMs,) that each took."""


@inlined
def pass_on(
    part: Int, sectors: Int, turn: Int, missed: Missed, even: Int, odd: Int
) -> tuple[Int, Int]:
    """Pass sectors of a part on, if there are any, to the share that the lowest bit of its line
    number says; where the next parts of both go."""
    is_odd = (part >> LINE_BIT) & np.int64(missed.length.shape[0] - 1)
    to = np.uintp(even + ((odd - even) & -is_odd))
    missed.part[to] = (part & _KEPT) | (sectors << SECTOR_BIT)
    missed.turn[to] = turn
    some = np.int64(sectors != 0)
    return even + (some & ~is_odd), odd + (some & is_odd)
