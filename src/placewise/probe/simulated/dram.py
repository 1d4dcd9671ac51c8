"""A simulated DRAM, with any linear mapping of addresses to banks, rows and columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.probe.simulated.chases import Noise

NOISE = Noise()


@dataclass(frozen=True)
class SimulatedDram:
    """Bits are numbered from 0; what is neither row nor bank is column."""

    address_bits: int
    row_bits: tuple[int, ...]
    bank_hashes: tuple[int, ...]
    """Masks of address bits whose parity is a bank bit."""
    hit_ns: float
    miss_ns: float
    conflict_ns: float


class SimulatedPairs:
    """Answers pairs of loads; see :class:`placewise.probe.infer.dram.PairDevice`."""

    def __init__(self, dram: SimulatedDram, *, noise: Noise = NOISE, seed: int = 0) -> None:
        self.dram = dram
        self.noise = noise
        self._random = np.random.default_rng(seed)

    @property
    def address_bits(self) -> int:
        return self.dram.address_bits

    def second(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n,) nanoseconds of the second load of each pair."""
        dram, random = self.dram, self._random
        differ = first ^ second
        same_bank = np.ones(len(differ), np.bool_)
        for mask in dram.bank_hashes:
            same_bank &= np.bitwise_count(differ & mask) % 2 == 0
        row = differ & sum(1 << bit for bit in dram.row_bits)
        time = np.where(same_bank, np.where(row != 0, dram.conflict_ns, dram.hit_ns), dram.miss_ns)
        time = time * random.normal(1.0, self.noise.spread, len(time))
        slow = random.random(len(time)) < self.noise.outliers
        result: NDArray[np.float64] = time + slow * random.uniform(
            *self.noise.outlier_cycles, len(time)
        )
        return result
