"""Which blocks of a launch to trace: whole SMs first, then windows of waves.

Assumptions, all of them openings for error that the report can name:

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
"""Adjacent SMs kept together at least."""

WARPS_AT_FIRST = 1 << 19
"""Warps traced at most before anything is known of how much they access: what a launch of a few
accesses per warp may have without the trace outgrowing memory."""


@dataclass(frozen=True, eq=False)
class BlockSample:
    """The traced blocks of a launch at one level of thinning (0: all)."""

    level: int
    traced: NDArray[np.bool_]
    """(blocks,) True where a block is traced."""
    sms: NDArray[np.bool_]
    """(SMs,) True where an SM's blocks are traced."""
    middle: int
    """First block of the wave in the launch's middle: it separates early from late blocks."""
    smallest: bool
    """No smaller sample exists."""

    @property
    def complete(self) -> bool:
        """Every block is traced."""
        return bool(self.traced.all())

    @property
    def sm_scale(self) -> float:
        """Number of SMs that have blocks for each sampled one."""
        return min(len(self.sms), len(self.traced)) / int(self.sms.sum())

    @property
    def block_scale(self) -> float:
        """Number of blocks for each sampled one."""
        return len(self.traced) / int(self.traced.sum())

    @property
    def wave_scale(self) -> float:
        """Number of blocks of a sampled SM for each sampled one."""
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
        """Runs of SMs that have blocks."""
        return -(-min(self.sms, self.blocks) // self.run)

    @property
    def _sm_levels(self) -> int:
        """Halvings that leave two runs."""
        return max(0, (self._runs - 1).bit_length() - 1)

    @property
    def _waves(self) -> int:
        per_sm = -(-self.blocks // self.sms)
        return -(-per_sm // self.resident)

    @property
    def _wave_levels(self) -> int:
        return max(0, (self._waves // 2).bit_length())

    def sample(self, level: int) -> BlockSample:
        """Sample at ``level``: each halves the one before, first the SMs, then the waves of the
        last SMs, at the end the blocks of the last waves down to a single one."""
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
