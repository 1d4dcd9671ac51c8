"""What a run asked of each memory, instruction by instruction."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.executor.trace import Site
from placewise.machine.machine import Memory
from placewise.memory.simulate.caches.slices import SliceTraffic
from placewise.memory.simulate.caches.tlb import TlbTraffic, added_up
from placewise.memory.simulate.dram.banks import BankTraffic
from placewise.memory.transactions import evaluate

_SHIFT = 1 << 20
"""Addresses below zero, of lanes that are not active, are moved up by multiples of this; it is one
of every block and number of banks that is a power of two."""
_LANES = np.arange(32, dtype=np.int64)


class Estimate(NamedTuple):
    """A count of the whole launch, and its standard error where blocks were sampled."""

    value: float
    error: float

    def __add__(self, other: object) -> Estimate:
        """Sum of independent estimates."""
        if not isinstance(other, Estimate):
            return NotImplemented
        return Estimate(self.value + other.value, math.hypot(self.error, other.error))


class ConstantTraffic(NamedTuple):
    """What an instruction asked of a cache of constant memory."""

    name: str
    asked: Estimate
    """Different lines of each access, or those that the cache before lacked, in this one's
    lines."""
    missed: Estimate
    """Those of them that were not there."""


@dataclass(frozen=True)
class SiteTraffic:
    """Traffic of one memory instruction in the whole launch."""

    site: Site
    array: str | None
    """The array it accesses (the first one seen, of several); None for shared and local memory."""
    requests: float
    """Warp accesses."""
    lanes: float
    """Active lanes of all requests."""
    sectors: float
    """Sectors asked of the first cache."""
    lines: float
    """Lines asked of the first cache."""
    wavefronts: float
    """Transactions in shared or constant memory, by the machine's serialization condition."""
    l1_hits: Estimate
    """Sectors of loads found in a cache of the SM."""
    l2_hits: Estimate
    """Sectors of loads and atomics found in the cache of the die."""
    dram_sectors: Estimate
    """Sectors fetched from DRAM for it."""
    l2_asked: Estimate | None = None
    """Sectors of loads and atomics that the cache of the die was asked for: what caches of the SM
    lacked, and fetched together with it; None where the die has no cache."""
    merged: float = 0.0
    """Sectors of stores that reach the next cache together with those of the store before."""
    constant: tuple[ConstantTraffic, ...] = ()
    """Of a load of constant memory: the SM's caches of it, nearest first, where the machine's file
    describes them. ``sectors``, ``lines`` and ``l1_hits`` are those of other caches."""
    tlbs: tuple[TlbTraffic, ...] = ()
    """What it asked of each level of address translation, nearest first, in the part traced."""

    @property
    def l2_sectors(self) -> Estimate:
        """Sectors asked of the cache of the die."""
        if self.site.kind == "load" and self.l2_asked is not None:
            return self.l2_asked
        hits = self.l1_hits if self.site.kind == "load" else Estimate(0.0, 0.0)
        return Estimate(self.sectors - self.merged - hits.value, hits.error)


def constant_caches(sites: Iterable[SiteTraffic]) -> tuple[ConstantTraffic, ...]:
    """What some instructions together asked of each cache of constant memory."""
    of_loads = [site.constant for site in sites if site.constant]
    nothing = Estimate(0.0, 0.0)
    return tuple(
        ConstantTraffic(
            same[0].name,
            sum((c.asked for c in same), nothing),
            sum((c.missed for c in same), nothing),
        )
        for same in zip(*of_loads, strict=True)
    )


class CodeTraffic(NamedTuple):
    """Sectors of machine code that the SMs read through the cache of the die."""

    first: float = 0.0
    """When each SM goes through the code for the first time."""
    later: float = 0.0

    def sectors(self, launches: float = 1.0) -> float:
        """Of ``launches`` times as many blocks."""
        return self.first + self.later * launches


class ConstantFill(NamedTuple):
    """Sectors that loads of constant memory fetch in the first wave, when caches are empty: a
    larger launch has no more of these."""

    asked: float = 0.0
    """Of the cache of the die."""
    hits: float = 0.0
    """Found there."""
    dram: float = 0.0


NO_FILL = ConstantFill()


@dataclass(frozen=True)
class Traffic:
    """Traffic of a launch."""

    sites: tuple[SiteTraffic, ...]
    written_back: Estimate
    """Sectors that the cache of the die drove out to DRAM in the waves traced, scaled."""
    dirtied: Estimate
    """Sectors written while the cache of the die held no newer data of them than DRAM."""
    instructions: CodeTraffic
    held: float
    """Sectors that the cache of the die holds when full, from what its lines held at the end."""
    traced: float
    """Share of the blocks that was traced."""
    sector_bytes: int
    line_bytes: int
    """Of requests, as sectors are."""
    banks: BankTraffic | None = None
    """What the banks of the DRAM were asked in the part traced; None where the machine's file has
    no address mapping."""
    constant_fill: ConstantFill = NO_FILL
    slices: SliceTraffic | None = None
    """What the slices of the cache of the die were asked in the part traced; None where nobody
    wanted to know, or the machine's file does not say how many there are."""
    arrived: NDArray[np.int64] | None = None
    """The first lines that the cache of the die was asked for, in order, as many as were kept."""

    @property
    def shared_wavefronts(self) -> float:
        """Passes through shared memory, of all accesses to it."""
        return sum(site.wavefronts for site in self.sites if site.site.space == "shared")

    @property
    def constant_caches(self) -> tuple[ConstantTraffic, ...]:
        """What all loads together asked of each cache of constant memory."""
        return constant_caches(self.sites)

    @property
    def tlbs(self) -> tuple[TlbTraffic, ...]:
        """What each level of address translation was asked in the part traced."""
        return added_up(site.tlbs for site in self.sites)

    def dram_sectors_written(self, launches: float = 1.0) -> Estimate:
        """Sectors written to DRAM before the end of the run, of ``launches`` times as many blocks.

        Where not every block was traced, caches had no time to fill. Then it follows from a
        balance: all that was made dirty is written back but what is still in the cache at the end,
        which of all that came in last, fetched or written, has its share.
        """
        if self.traced == 1.0 and launches == 1.0:
            return self.written_back
        dirtied = self.dirtied.value * launches
        fetched = sum(site.dram_sectors.value for site in self.sites) * launches
        came_in = dirtied + fetched
        left = dirtied * min(1.0, self.held / came_in) if came_in else 0.0
        return Estimate(dirtied - left, self.dirtied.error * launches)


class Banked(NamedTuple):
    """What a memory that keeps no lines of arrays, shared memory or the cache of constant memory,
    must know of an instruction."""

    memory: Memory
    lane_bytes: int
    one_by_one: bool
    """Lanes with one address are served one after the other."""

    @staticmethod
    def of(memory: Memory, site: Site) -> Banked:
        """Atomics of one address are served one after the other (CUDA C++ Programming Guide,
        "Atomic Functions"), but for those that count lanes: POPC.INC adds all of them at once."""
        one_by_one = site.kind == "atomic" and "POPC" not in site.opcode
        return Banked(memory, site.lane_bytes, one_by_one)


def banked_transactions(
    what: Banked, addresses: NDArray[np.int64], mask: NDArray[np.uint32]
) -> NDArray[np.int64]:
    """(n,) transactions of warp accesses; ``addresses`` (n, 32) bytes."""
    lowest = min(0, int(addresses.min(initial=0)))
    if what.one_by_one:
        # As if each lane had a word of its own in the same bank.
        addresses = addresses + _LANES * _SHIFT
    memory = what.memory
    return evaluate(
        memory.condition,
        addresses - lowest // _SHIFT * _SHIFT,
        mask,
        np.full(len(addresses), what.lane_bytes, np.int32),
        block_bytes=memory.block_bytes,
        banks=memory.banks,
    )
