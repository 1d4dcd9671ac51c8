"""Address translation: TLB levels for the requests that leave the SMs.

On the machines described so far, caches of an SM use virtual addresses, so their hits need no TLB
(Mei et al. 2014 found this for texture and L1 caches). Levels that a machine file places before a
cache of the SM are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.machine.machine import Machine, Tlb
from placewise.memory.simulate.caches.cache import READ, Caches, access_line, new_caches
from placewise.memory.simulate.caches.geometry import Geometry, Int, shape_of
from placewise.memory.simulate.requests.line_requests import LINE_BIT, MOST_STREAMS, STREAM_BIT
from placewise.memory.simulate.simd.jit_helpers import noinline

FIRST_SET, SETS, PAGE_SHIFT, SHARED_BY = range(4)
"""Columns of :attr:`Tlbs.level`."""


@dataclass(frozen=True)
class TlbTraffic:
    """Requests to one TLB level in the traced part of the launch."""

    name: str
    requests: int
    """Number of lines of warp accesses whose page was asked for."""
    hits: int


class Tlbs(NamedTuple):
    """All levels. Each set is a cache of one set, as sets can have different numbers of ways."""

    caches: Caches
    level: NDArray[np.int64]
    """(levels, 4) number of the first set, number of sets, base-two logarithm of a page's lines,
    number of SMs that share a TLB."""
    requests: NDArray[np.int64]
    """(levels, streams)"""
    hits: NDArray[np.int64]
    """(levels, streams)"""


def simulated_tlbs(machine: Machine) -> tuple[Tlb, ...]:
    """Levels of known organisation that requests from SMs to L2 use, nearest first."""
    of_sm = {memory.name for memory in machine.memories if memory.scope != "die"}
    return tuple(
        t for t in machine.tlbs if t.page_bytes and (t.ways or t.entries) and t.before not in of_sm
    )


def new_tlbs(machine: Machine, line_bytes: int, streams: int, seed: int) -> Tlbs:
    """Empty TLBs of all levels that :func:`simulated_tlbs` gives; counts for ``streams``
    streams."""
    levels = simulated_tlbs(machine)
    shared = {"sm": 1, "tpc": machine.processor.sms_per_tpc, "die": machine.processor.sms}
    geometries: list[Geometry] = []
    rows: list[list[int]] = []
    for t in levels:
        by = shared[t.scope or "die"]
        ways = t.ways or (t.entries or 1,)
        page = max(t.page_bytes or line_bytes, line_bytes)
        rows.append([len(geometries), len(ways), (page // line_bytes).bit_length() - 1, by])
        instances = -(-machine.processor.sms // by)
        geometries += [Geometry(instances, 1, n, t.policy or "lru") for n in ways]
    counts = np.zeros((len(levels), streams), np.int64)
    return Tlbs(
        new_caches(geometries, seed),
        np.array(rows, np.int64).reshape(-1, 4),
        counts,
        counts.copy(),
    )


def added_up(requests: Iterable[tuple[TlbTraffic, ...]]) -> tuple[TlbTraffic, ...]:
    """Requests and hits of each level, summed over several parts of a launch."""
    return tuple(
        TlbTraffic(same[0].name, sum(t.requests for t in same), sum(t.hits for t in same))
        for same in zip(*(levels for levels in requests if levels), strict=True)
    )


@noinline
def translate(tlbs: Tlbs, sm: Int, request: Int) -> None:
    """Ask the TLB levels in turn for the page of a line request that an SM sends to L2."""
    level, levels = np.int64(0), tlbs.level.shape[0]
    if not levels:
        return
    line = request >> LINE_BIT
    stream = np.uintp((request >> STREAM_BIT) & MOST_STREAMS)
    missing = np.int64(1)
    while missing and level < levels:
        page = line >> tlbs.level[level, PAGE_SHIFT]
        number = tlbs.level[level, FIRST_SET] + page % tlbs.level[level, SETS]
        g = shape_of(tlbs.caches.geometry, number)
        instance = sm // tlbs.level[level, SHARED_BY]
        missing, _, _, _ = access_line(tlbs.caches, g, instance, page, 1, READ)
        tlbs.requests[level, stream] += 1
        tlbs.hits[level, stream] += 1 - missing
        level += 1
