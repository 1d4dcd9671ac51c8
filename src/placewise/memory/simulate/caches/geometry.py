"""The fixed properties of compiled caches: size, organisation and replacement policy.

:class:`Geometry` has them for one kind of cache. A simulation stores a row of numbers for each of
its caches, which compiled code reads as a :class:`Shape`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.machine.msl.details import POLICIES
from placewise.memory.simulate.simd.jit_helpers import inlined

LRU, AGED, FIFO, RANDOM, PLRU, WEIGHTED = range(6)
POLICY_NUMBERS = dict(zip(POLICIES, range(6), strict=True))
"""The numbers above by the name of the policy in a machine file."""
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
"""An integer in compiled code, where integers of Python and NumPy are mixed."""


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
    """True: upper bits of the line number are mixed into the set number. False: the set is the line
    number modulo the number of sets."""
    split: int = 1
    """Number of this cache's lines in a line of a line request."""
    grain: int = 1
    """Number of sectors that are fetched together."""
    evicts_first: bool = False
    """Whether some reads are EVICT_FIRST."""
    kept_ways: int = 0
    """Most lines of a set that KEEP protects; 0 where no access is KEEP."""

    @property
    def lanes(self) -> int:
        """Words that a set's ways take, rounded up so that they can be compared 16 at a time."""
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
