"""Chooses the blocks of a launch to trace: first whole SMs, then windows of waves.

It assumes the following; each point is a possible source of error:

* Block ``b`` runs on SM ``b mod SMs`` and is that SM's ``b div SMs``-th block (round robin).
  Hardware gives later blocks to whichever SM has room, which is the same where blocks are alike.
* SMs are alike: a few stand for all. They are kept in runs of neighbours, because neighbouring
  blocks share data and the SMs of a TPC may share a cache, and in two runs at least, so that what
  distant SMs share or do not share can be told.
* Where even a few SMs' blocks are too many, the launch's first wave and a wave from its middle
  stand for the rest, and in the last resort a single block does, as in PORPLE's own profiling
  (Chen et al. 2017, section 3.3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.launch import Launch
from placewise.machine.machine import Machine

RUN_OF_SMS = 2
"""Least number of adjacent SMs that are kept together."""

WARPS_AT_FIRST = 1 << 19
"""Most warps in the first sample, before it is known how many accesses they make. With a few
accesses per warp the trace of so many warps still fits memory."""


@dataclass(frozen=True, eq=False)
class BlockSample:
    """The traced blocks of a launch at one level of the plan (0: all blocks)."""

    level: int
    traced: NDArray[np.bool_]
    """(blocks,) True where a block is traced."""
    sms: NDArray[np.bool_]
    """(SMs,) True where an SM's blocks are traced."""
    middle: int
    """First block of the wave in the launch's middle: it separates early from late blocks."""
    smallest: bool
    """Whether there is no smaller sample."""

    @property
    def complete(self) -> bool:
        """Whether every block is traced."""
        return bool(self.traced.all())

    @property
    def sm_scale(self) -> float:
        """Number of SMs with blocks over the number of sampled SMs."""
        return min(len(self.sms), len(self.traced)) / int(self.sms.sum())

    @property
    def block_scale(self) -> float:
        """Number of blocks over the number of sampled blocks."""
        return len(self.traced) / int(self.traced.sum())

    @property
    def wave_scale(self) -> float:
        """Number of blocks of the sampled SMs over the number of sampled blocks."""
        return max(1.0, self.block_scale / self.sm_scale)


@dataclass(frozen=True)
class SamplePlan:
    """A nested series of samples of one launch: each level's blocks are among the level before."""

    blocks: int
    sms: int
    run: int
    """Adjacent SMs that are kept or dropped together."""
    resident: int
    """Resident blocks per SM, at least 1."""
    seed: int

    @property
    def _runs(self) -> int:
        """Number of runs of SMs that have blocks."""
        return -(-min(self.sms, self.blocks) // self.run)

    @property
    def _sm_levels(self) -> int:
        """How often the SMs can be halved until two runs are left."""
        return max(0, (self._runs - 1).bit_length() - 1)

    @property
    def _waves(self) -> int:
        per_sm = -(-self.blocks // self.sms)
        return -(-per_sm // self.resident)

    @property
    def _wave_levels(self) -> int:
        return max(0, (self._waves // 2).bit_length())

    def sample(self, level: int) -> BlockSample:
        """The sample at ``level``. Each level has half of the one before: first half of the SMs,
        then half of the waves, at the end half of the blocks, down to a single block."""
        order = np.random.default_rng(self.seed).permutation(self._runs)
        kept = order[: -(-self._runs >> min(level, self._sm_levels))]
        sms = np.isin(np.arange(self.sms) // self.run, kept)
        sms[self.blocks :] = False

        block = np.arange(self.blocks)
        wave = block // self.sms // self.resident
        middle = self._waves // 2
        in_wave = np.ones(self.blocks, dtype=np.bool_)
        halvings = level - self._sm_levels
        if halvings > 0:
            window = max(1, self._waves >> (min(halvings, self._wave_levels) + 1))
            in_wave = (wave < window) | ((wave >= middle) & (wave < middle + window))
        traced = sms[block % self.sms] & in_wave
        if halvings > self._wave_levels:
            first = np.flatnonzero(traced)
            traced[first[max(1, len(first) >> (halvings - self._wave_levels)) :]] = False
        start = middle * self.resident * self.sms
        return BlockSample(level, traced, sms, start, smallest=int(traced.sum()) == 1)

    def first(self, warps_per_block: int, most_warps: int = WARPS_AT_FIRST) -> BlockSample:
        """Largest sample of at most ``most_warps`` warps (or the smallest there is)."""
        sample = self.sample(0)
        while not sample.smallest and int(sample.traced.sum()) * warps_per_block > most_warps:
            sample = self.sample(sample.level + 1)
        return sample


def plan_sample(launch: Launch, machine: Machine, resident: int, *, seed: int = 0) -> SamplePlan:
    """Plan for ``launch`` on ``machine`` with ``resident`` blocks per SM."""
    tpc = machine.processor.sms_per_tpc
    run = tpc * -(-RUN_OF_SMS // tpc)
    return SamplePlan(launch.blocks, machine.processor.sms, run, max(1, resident), seed)
