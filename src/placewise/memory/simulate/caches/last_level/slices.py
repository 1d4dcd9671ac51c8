"""Slices and partitions of L2.

A hash of its address decides which slice a line belongs to; all sectors of a line are in the same
slice. On some machines (GA100, GH100) the slices are in partitions, each near to a part of the SMs.
Requests of an SM for a line in another partition cross over to it. The hash of real machines is not
published. The machine file can give one, as for DRAM's banks; else lines are spread by :data:`MIX`,
which spreads neighbouring lines and lines of any common stride evenly over any number of slices.
Addresses are those of the simulated arrays, which lie one after another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.machine.machine import Machine
from placewise.memory.simulate.caches.cache import (
    READ,
    WRITE_THROUGH,
    Caches,
    access_line,
    new_caches,
    set_of,
    way_of,
)
from placewise.memory.simulate.caches.geometry import Geometry, Int, shape_of
from placewise.memory.simulate.caches.hierarchy import Hierarchy
from placewise.memory.simulate.requests.line_requests import (
    LINE_BIT,
    MOST_STREAMS,
    SECTOR_BIT,
    SECTORS,
    STREAM_BIT,
)
from placewise.memory.simulate.requests.streams import LOAD, Streams
from placewise.memory.simulate.simd.jit_helpers import bits, inlined, noinline

MIX = np.uint64(0x6A09E667F3BCC909)
"""Fraction of the square root of 2: its multiples fill the unit interval evenly. Not the number
that sets are mixed by, so that a slice's lines lie in all sets."""
KINDS = 3
"""Loads, stores and atomics, in the order of their numbers in requests."""
SLICES, PARTITIONS, SMS_EACH, LINE_SHIFT, KEEPS = range(5)
"""Words of :attr:`Slices.facts`."""


@dataclass(frozen=True, eq=False)
class SliceTraffic:
    """Sectors asked of each L2 slice in the traced part of the launch."""

    sectors: NDArray[np.int64]
    """(slices, 3) by loads, by stores, by atomics."""
    crossed: NDArray[np.int64] | None
    """(3,) sectors that SMs of another partition asked for, by loads, stores, atomics; None where
    there are no partitions."""


class Slices(NamedTuple):
    """How lines are assigned to slices, and counts of the sectors asked for."""

    facts: NDArray[np.int64]
    """(5,) number of slices, number of partitions (1 where there are none), number of SMs near
    each, base-two logarithm of a line's bytes, whether partitions keep copies of far lines."""
    hashes: NDArray[np.int64]
    """(bits,) address mask for each bit of the slice's number, the lowest first; empty: lines are
    spread by :data:`MIX`."""
    sectors: NDArray[np.int64]
    """(slices, 3)"""
    crossed: NDArray[np.int64]
    """(3,)"""
    near: Caches
    """A cache for each partition, where partitions keep copies of far lines."""


def new_slices(machine: Machine, hierarchy: Hierarchy | None, seed: int) -> Slices:
    """Slices with counts of 0; none where ``hierarchy`` is None or the slices are not known."""
    last = hierarchy.last if hierarchy else None
    facts = np.zeros(5, np.int64)
    hashes = np.zeros(0, np.int64)
    near = new_caches([], seed)
    if hierarchy and last and (last.memory.detail.slices or last.memory.detail.slice_hashes):
        detail = last.memory.detail
        count = detail.slices or 1 << len(detail.slice_hashes)
        partitions = detail.partitions or 1
        each = -(-machine.processor.sms // partitions)
        keeps = partitions > 1 and detail.far_lines == "kept"
        shift = hierarchy.line_bytes.bit_length() - 1
        facts[:] = count, partitions, each, shift, keeps
        hashes = np.array(detail.slice_hashes, np.int64)
        if keeps:
            sets = max(1, last.size_bytes // (hierarchy.line_bytes * last.ways * partitions))
            geometry = Geometry(
                partitions,
                sets,
                last.ways,
                detail.policy or "lru",
                detail.way_probabilities,
                hashed=detail.index == "hashed",
            )
            near = new_caches([geometry], seed)
    rows = int(facts[SLICES])
    counts = np.zeros((rows, KINDS), np.int64), np.zeros(KINDS, np.int64)
    return Slices(facts, hashes, *counts, near)


def slice_traffic(slices: Slices) -> SliceTraffic | None:
    """Counts of the slices; None where they are not known."""
    if not slices.facts[SLICES]:
        return None
    several = slices.facts[PARTITIONS] > 1
    return SliceTraffic(slices.sectors.copy(), slices.crossed.copy() if several else None)


@inlined
def slice_of(slices: Slices, line: Int) -> Int:
    """Number of the slice that a line belongs to."""
    if slices.hashes.shape[0]:
        address = line << slices.facts[LINE_SHIFT]
        number = np.int64(0)
        for k in range(slices.hashes.shape[0]):
            number |= (bits(address & slices.hashes[k]) & 1) << k
        return number
    mixed = (np.uint64(line) * MIX) >> np.uint64(32)
    return np.int64((mixed * np.uint64(slices.facts[SLICES])) >> np.uint64(32))


@noinline
def spread(slices: Slices, sm: Int, request: Int, streams: Streams) -> None:
    """Count a line request from an SM for its L2 slice. Does nothing where slices are not known."""
    if not slices.facts[SLICES]:
        return
    line = request >> LINE_BIT
    sectors = (request >> SECTOR_BIT) & SECTORS
    kind = np.int64(streams.rows[np.uintp((request >> STREAM_BIT) & MOST_STREAMS)].kind)
    number = slice_of(slices, line)
    slices.sectors[number, kind] += bits(sectors)
    if slices.facts[PARTITIONS] > 1:
        home = number // (slices.facts[SLICES] // slices.facts[PARTITIONS])
        near = sm // slices.facts[SMS_EACH]
        asked = sectors if home != near else np.int64(0)
        if slices.facts[KEEPS]:
            asked = _kept(slices, home, near, line, sectors, kind)
        slices.crossed[kind] += bits(asked)


@noinline
def _kept(slices: Slices, home: Int, near: Int, line: Int, sectors: Int, kind: Int) -> Int:
    """Sectors that cross over if each partition keeps copies of lines that its SMs load. Stores and
    atomics go to the line's own partition, and copies of these sectors in other partitions become
    invalid."""
    caches = slices.near
    g = shape_of(caches.geometry, 0)
    if kind == LOAD:
        missing, _, _, _ = access_line(caches, g, near, line, sectors, READ)
        if home == near or not missing:
            return np.int64(0)
        access_line(caches, g, home, line, missing, READ)
        return missing
    access_line(caches, g, home, line, sectors, WRITE_THROUGH)
    for other in range(slices.facts[PARTITIONS]):
        if other != home:
            first = g.first_way + (set_of(g, line) + other * g.sets) * g.lanes
            way = way_of(caches.tags, first, g.lanes, line)
            if way >= 0:
                held = np.int64(caches.held[np.uintp(first + way)])
                caches.held[np.uintp(first + way)] = held & ~sectors
    return sectors if home != near else np.int64(0)
