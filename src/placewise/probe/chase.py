"""The fine-grained pointer chase: what a device is asked to load, and what it answers.

Mei et al. 2014 time every load of a chase by itself and keep the time with the load's index, where
older pointer chases (Saavedra 1992, Wong et al. 2010) keep an average.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from placewise.errors import PlacewiseError


class OutOfTimeError(PlacewiseError):
    """The time for a probe is over."""


def _nothing() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class Chase:
    """Loads by one thread, each of which starts when the one before has its data.

    A device starts it with caches that hold none of the data.
    """

    lap: NDArray[np.int64]
    """(n,) byte addresses of one lap, from 0; an address may come more than once."""
    laps: int = 1
    """Number of laps that are timed."""
    warm: int = 0
    """Number of laps before the timed ones."""
    before: NDArray[np.int64] = field(default_factory=_nothing)
    """Addresses that are loaded first of all, not timed."""
    bypass: int = 0
    """Cache levels next to the cores that the loads pass by (1: as ``ld.global.cg`` does)."""


@dataclass(frozen=True)
class Timings:
    """What a device answers to a chase."""

    index: NDArray[np.int64]
    """(n,) byte address of each load of a lap."""
    cycles: NDArray[np.float32]
    """(laps, n) time of each load, in cycles."""


class ProbeDevice(Protocol):
    """A device that runs chases: a GPU, or a simulated one."""

    @property
    def reach_bytes(self) -> int:
        """Size of the largest array that it can chase through."""

    @property
    def bypasses(self) -> int:
        """Cache levels next to the cores that loads can pass by."""

    def run(self, chase: Chase) -> Timings:
        """Time the loads of ``chase``."""
