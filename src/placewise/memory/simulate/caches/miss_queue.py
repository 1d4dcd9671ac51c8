"""What an SM's caches lack, handed on to the cache of the die."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.cache import Int
from placewise.memory.simulate.requests.line_requests import LINE_BIT, SECTOR_BIT
from placewise.memory.simulate.simd.jit_helpers import inlined


class Missed(NamedTuple):
    """What L1s pass on, by share of L2 and SM, in the order of rounds. Of SMs that one thread runs
    it lies close together, so that little memory is touched where caches find most."""

    part: NDArray[np.int64]
    """(shares * parts,)"""
    end: NDArray[np.int32]
    """(shares * parts,) how many parts of an SM are of each round and those before it."""
    first: NDArray[np.int64]
    length: NDArray[np.int64]
    """(shares, SMs) where an SM's parts start, and how many they are."""
    first_round: NDArray[np.int64]
    rounds: NDArray[np.int64]
    """(SMs,) where an SM's rounds start in a share of ``end``, and how many they are."""


@inlined
def pass_on(part: Int, held: Int, some: Int, missed: Missed, out: NDArray[np.int64]) -> None:
    """Pass a part on, but for sectors ``held``, if there are ``some``, to the share that the lowest
    bit of its line number says; ``out`` (shares,) is where the next parts of each go."""
    share = np.uintp((part >> LINE_BIT) & np.int64(missed.length.shape[0] - 1))
    to = out[share]
    missed.part[np.uintp(to)] = part & ~(held << SECTOR_BIT)
    out[share] = to + np.int64(some != 0)
