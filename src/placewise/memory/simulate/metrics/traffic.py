"""Traffic of a launch: the requests of each memory instruction to each memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.executor.trace import Site
from placewise.machine.machine import Memory
from placewise.memory.simulate.caches.last_level.slices import SliceTraffic
from placewise.memory.simulate.caches.tlb import TlbTraffic, added_up
from placewise.memory.simulate.dram.banks import BankTraffic
from placewise.memory.transactions import evaluate

_SHIFT = 1 << 20
"""Addresses of inactive lanes can be negative: a multiple of this is added to them. It is a
multiple of every block size and number of banks that is a smaller power of two."""
_LANES = np.arange(32, dtype=np.int64)


class Estimate(NamedTuple):
    """A count of the whole launch, and its standard error (0 if no blocks were sampled)."""

    value: float
    error: float

    def __add__(self, other: object) -> Estimate:
        """Sum of independent estimates."""
        if not isinstance(other, Estimate):
            return NotImplemented
        return Estimate(self.value + other.value, math.hypot(self.error, other.error))


_NOTHING = Estimate(0.0, 0.0)


class ConstantTraffic(NamedTuple):
    """Requests of an instruction to a cache of constant memory."""

    name: str
    asked: Estimate
    """Requested lines: those of each access, or those that the previous cache missed."""
    missed: Estimate
    """Requested lines that were not in the cache."""


@dataclass(frozen=True)
class SiteTraffic:
    """Traffic of one memory instruction in the whole launch."""

    site: Site
    array: str | None
    """The array that it accesses (the first one, if it accesses several); None for shared and local
    memory."""
    requests: float
    """Warp accesses."""
    lanes: float
    """Active lanes of all requests."""
    sectors: float
    """Sectors requested from the first cache."""
    lines: float
    """Lines requested from the first cache."""
    wavefronts: float
    """Transactions in shared or constant memory, according to the machine's serialization
    condition."""
    l1_hits: Estimate
    """Sectors of loads found in a cache of the SM."""
    l2_hits: Estimate
    """Sectors of loads and atomics found in L2."""
    dram_sectors: Estimate
    """Sectors fetched from DRAM for it."""
    l2_asked: Estimate | None = None
    """Sectors that loads and atomics requested from L2: those that the SM's caches missed, and
    those fetched together with them; None if the machine has no L2."""
    left: float = 0.0
    """Sectors found in L2 because an earlier launch on the same data left them there."""
    merged: float = 0.0
    """Sectors of stores that reach the next cache together with those of the previous store."""
    constant: tuple[ConstantTraffic, ...] = ()
    """For a load of constant memory, its requests to the SM's constant caches, if the machine's
    file describes them; the cache nearest to the SM is first. ``sectors``, ``lines`` and
    ``l1_hits`` do not include these."""
    tlbs: tuple[TlbTraffic, ...] = ()
    """Requests of the instruction to each level of address translation in the traced part; the
    level nearest to the SM is first."""

    @property
    def array_or_memory(self) -> str:
        """The array that it accesses, or what kind of memory, such as ``(shared memory)``."""
        return self.array or f"({self.site.space} memory)"

    @property
    def l2_sectors(self) -> Estimate:
        """Sectors requested from L2."""
        if self.site.kind == "load" and self.l2_asked is not None:
            return self.l2_asked
        hits = self.l1_hits if self.site.kind == "load" else Estimate(0.0, 0.0)
        return Estimate(self.sectors - self.merged - hits.value, hits.error)


def constant_caches(sites: Iterable[SiteTraffic]) -> tuple[ConstantTraffic, ...]:
    """Requests of some instructions together to each cache of constant memory."""
    return _constant_added_up([site.constant for site in sites if site.constant])


def _constant_added_up(
    of_loads: Iterable[tuple[ConstantTraffic, ...]],
) -> tuple[ConstantTraffic, ...]:
    return tuple(
        ConstantTraffic(
            same[0].name,
            sum((c.asked for c in same), _NOTHING),
            sum((c.missed for c in same), _NOTHING),
        )
        for same in zip(*of_loads, strict=True)
    )


class CodeTraffic(NamedTuple):
    """Sectors of machine code that the SMs read through L2."""

    first: float = 0.0
    """Sectors read when each SM executes the code for the first time."""
    later: float = 0.0
    """Sectors read again afterwards."""

    def sectors(self, launches: float = 1.0) -> float:
        """Sectors read in a launch with ``launches`` times as many blocks."""
        return self.first + self.later * launches


class ConstantFill(NamedTuple):
    """Sectors that loads of constant memory fetch in the first wave, when caches are empty. Their
    number does not grow with the launch."""

    asked: float = 0.0
    """Sectors requested from L2."""
    hits: float = 0.0
    """Sectors found in L2."""
    dram: float = 0.0
    """Sectors fetched from DRAM."""


NO_FILL = ConstantFill()


@dataclass(frozen=True)
class Traffic:
    """Traffic of a launch."""

    sites: tuple[SiteTraffic, ...]
    written_back: Estimate
    """Dirty sectors that L2 wrote to DRAM in the traced waves, scaled to the launch."""
    dirtied: Estimate
    """Sectors that became dirty in L2."""
    instructions: CodeTraffic
    held: float
    """Number of sectors that a full L2 holds, calculated from the sectors of its lines at the
    end."""
    most_dirty: float | None
    """Number of sectors of L2 that may be dirty; None if the machine's file does not say."""
    traced: float
    """Share of the blocks that were traced."""
    sector_bytes: int
    line_bytes: int
    """Bytes of a line and of a sector, as line requests count them."""
    banks: BankTraffic | None = None
    """Requests to the banks of the DRAM in the whole launch; None if the machine's file has no
    address mapping."""
    constant_fill: ConstantFill = NO_FILL
    slices: SliceTraffic | None = None
    """Requests to the slices of L2 in the traced part; None if they were not to be counted, or if
    the machine's file does not say how many slices there are."""
    arrived: NDArray[np.int64] | None = None
    """The first lines that were requested from L2, in order, if they were to be kept."""
    came_in: float | None = None
    """Number of sectors that came into L2; a sector that was fetched and then stored to counts
    once. None if it is unknown: then all fetched sectors and all that became dirty are counted."""

    @property
    def shared_wavefronts(self) -> float:
        """Passes of all accesses through shared memory."""
        return sum(site.wavefronts for site in self.sites if site.site.space == "shared")

    @property
    def constant_caches(self) -> tuple[ConstantTraffic, ...]:
        """Requests of all loads together to each cache of constant memory."""
        return constant_caches(self.sites)

    @property
    def tlbs(self) -> tuple[TlbTraffic, ...]:
        """Requests to each level of address translation in the traced part."""
        return added_up(site.tlbs for site in self.sites)

    def dram_sectors_written(self, launches: float = 1.0) -> Estimate:
        """Sectors written to DRAM before the end of the run, by a launch with ``launches`` times as
        many blocks.

        If it is known how many dirty sectors L2 keeps, it keeps those that became dirty last, and
        all others are written back. If it is unknown and not every block was traced, the simulated
        L2 had no time to fill. Then the figure is estimated: L2 holds the sectors that came in
        last, and the proportion of dirty sectors among them is the same as among all sectors that
        came in.
        """
        if self.most_dirty is not None:
            written = max(0.0, self.dirtied.value * launches - self.most_dirty)
            return Estimate(written, self.dirtied.error * launches)
        if self.traced == 1.0 and launches == 1.0:
            return self.written_back
        dirtied = self.dirtied.value * launches
        fetched = sum(site.dram_sectors.value for site in self.sites) * launches
        came_in = dirtied + fetched if self.came_in is None else self.came_in * launches
        left = dirtied * min(1.0, self.held / came_in) if came_in else 0.0
        return Estimate(dirtied - left, self.dirtied.error * launches)


def total_traffic(parts: Sequence[Traffic]) -> Traffic:
    """Traffic of a launch, as the sum of its parts, which have the same instructions (for example,
    blocks of different kinds). Counts that are not scaled to the launch (banks, slices) are taken
    from the first part."""
    if len(parts) == 1:
        return parts[0]
    same: dict[Site, list[SiteTraffic]] = {}
    for part in parts:
        for t in part.sites:
            same.setdefault(t.site, []).append(t)
    return replace(
        parts[0],
        sites=tuple(_sites_added_up(found) for found in same.values()),
        written_back=sum((p.written_back for p in parts), _NOTHING),
        dirtied=sum((p.dirtied for p in parts), _NOTHING),
        traced=round(sum(p.traced for p in parts), 9),
    )


def _sites_added_up(parts: Sequence[SiteTraffic]) -> SiteTraffic:
    """Traffic of one instruction in several parts of a launch."""
    if len(parts) == 1:
        return parts[0]
    asked = [p.l2_asked for p in parts if p.l2_asked is not None]
    of_loads = [p.constant for p in parts if p.constant]
    return replace(
        parts[0],
        array=next((p.array for p in parts if p.array is not None), None),
        requests=sum(p.requests for p in parts),
        lanes=sum(p.lanes for p in parts),
        sectors=sum(p.sectors for p in parts),
        lines=sum(p.lines for p in parts),
        wavefronts=sum(p.wavefronts for p in parts),
        l1_hits=sum((p.l1_hits for p in parts), _NOTHING),
        l2_hits=sum((p.l2_hits for p in parts), _NOTHING),
        dram_sectors=sum((p.dram_sectors for p in parts), _NOTHING),
        l2_asked=sum(asked, _NOTHING) if asked else None,
        merged=sum(p.merged for p in parts),
        constant=_constant_added_up(of_loads),
        tlbs=added_up(p.tlbs for p in parts),
    )


class Banked(NamedTuple):
    """What must be known about an instruction to count its transactions in a memory without cache
    lines (shared memory, constant memory)."""

    memory: Memory
    lane_bytes: int
    one_by_one: bool
    """Whether lanes with the same address are served one after the other."""

    @staticmethod
    def of(memory: Memory, site: Site) -> Banked:
        """The entry for an instruction. Atomics on the same address are served one after the other
        (CUDA C++ Programming Guide, "Atomic Functions"), except those that count lanes: POPC.INC
        adds all of them at once."""
        one_by_one = site.kind == "atomic" and "POPC" not in site.opcode
        return Banked(memory, site.lane_bytes, one_by_one)


def banked_transactions(
    what: Banked, addresses: NDArray[np.int64], mask: NDArray[np.uint32]
) -> NDArray[np.int64]:
    """(n,) transactions of each warp access; ``addresses`` (n, 32) are in bytes."""
    lowest = min(0, int(addresses.min(initial=0)))
    if what.one_by_one:
        # Lanes are served one by one as if each accessed another word of one bank.
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
