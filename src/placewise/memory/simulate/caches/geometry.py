"""What is fixed of compiled caches: size, organisation and replacement policy.

:class:`Geometry` says it of one kind of cache; the caches of a simulation have a row of numbers for
each, which compiled code reads as a :class:`Shape`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.machine.msl.details import POLICIES
from placewise.memory.simulate.simd.jit_helpers import inlined

LRU, FIFO, RANDOM, PLRU, WEIGHTED = range(5)


POLICY_NUMBERS = dict(zip(POLICIES, range(5), strict=True))


COLUMNS = 13


(
    FIRST_WAY,
    SETS,
    WAYS,
    POLICY,
    SPLIT,
    GRAIN,
    HASHED,
    FIRST_SET,
    FIRST_SEED,
    FIRST_SHARE,
    LANES,
    MARKS,
    KEPT_WAYS,
) = range(COLUMNS)
"""Columns of :attr:`Caches.geometry`."""


Int = Any
"""An integer of compiled code, where those of Python and NumPy mix."""


@dataclass(frozen=True)
class Geometry:
    """Organisation of ``instances`` equal caches."""

    instances: int
    sets: int
    ways: int
    policy: str = "lru"
    probabilities: tuple[float, ...] = ()
    """Probability of each way, for policy ``weighted``."""
    hashed: bool = False
    """Upper bits of the line number are mixed into the set number; else line modulo sets."""
    split: int = 1
    """Lines of this cache in a line of a line request."""
    grain: int = 1
    """Sectors fetched together."""
    evicts_first: bool = False
    """Some reads are EVICT_FIRST."""
    kept_ways: int = 0
    """Most lines of a set that KEEP protects; 0 where no access is KEEP."""

    @property
    def lanes(self) -> int:
        """Words that a set's ways take, so that they can be compared 16 at a time."""
        return -(-self.ways // 16) * 16


class Shape(NamedTuple):
    """A row of :attr:`Caches.geometry` as scalars, which a loop can keep in registers."""

    first_way: Int
    sets: Int
    ways: Int
    policy: Int
    split: Int
    grain: Int
    hashed: Int
    first_set: Int
    first_seed: Int
    first_share: Int
    lanes: Int
    marks: Int
    kept_ways: Int


@inlined
def shape_of(geometry: NDArray[np.int64], number: Int) -> Shape:
    """Shape of cache ``number``."""
    g = geometry[np.uintp(number)]
    return Shape(
        g[FIRST_WAY],
        g[SETS],
        g[WAYS],
        g[POLICY],
        g[SPLIT],
        g[GRAIN],
        g[HASHED],
        g[FIRST_SET],
        g[FIRST_SEED],
        g[FIRST_SHARE],
        g[LANES],
        g[MARKS],
        g[KEPT_WAYS],
    )
