"""The resident blocks of all SMs, run against L1s and L2.

Policy: loose round robin. In each round every resident warp of an SM issues one request, or a burst
of requests between which it does not wait for data, in the order of its blocks and warps, unless it
waits at a barrier for other warps of its block; all SMs advance in step, and what they miss meets
in L2 round by round. Latencies do not hold warps back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from placewise.memory.simulate.cache import Caches, Int, access, bits
from placewise.memory.simulate.requests import ATOMIC, LAST, LOAD, SECTOR_BITS

SECTORS = (1 << SECTOR_BITS) - 1


class Wave(NamedTuple):
    """Requests of one wave, sorted by SM, block, warp and phase."""

    part: NDArray[np.int64]
    tag: NDArray[np.int32]
    sm_warp: NDArray[np.int64]
    """(SMs + 1,) first warp of each SM."""
    warp_segment: NDArray[np.int64]
    """(warps + 1,) first segment of each warp."""
    warp_block: NDArray[np.int64]
    """(warps,) number of the warp's block within the wave."""
    segment: NDArray[np.int64]
    """(segments, 3) phase, first part, end of its parts."""
    sm_part: NDArray[np.int64]
    """(SMs + 1,) room for what each SM misses: parts of the SMs before it."""


class Missed(NamedTuple):
    """What L1s pass on, by SM, in the order of rounds."""

    part: NDArray[np.int64]
    tag: NDArray[np.int32]
    turn: NDArray[np.int32]
    length: NDArray[np.int64]
    """(SMs,)"""


@njit(cache=True, nogil=True)
def run_sms(
    first_sm: int,
    last_sm: int,
    wave: Wave,
    caches: Caches,
    per_line: int,
    phased: bool,
    start: Int,
    missed: Missed,
    hits: NDArray[np.int64],
) -> None:
    """Run the L1s of some SMs through a wave.

    ``caches`` are the first caches (instance: the SM); a tag with a number beyond them goes to L2
    at once. ``phased``: segments are of several phases.
    A line has ``per_line`` sectors; ``start`` is the number of parts in all waves before.
    ``hits`` (sites,) counts sectors that loads found.
    """
    most = np.int64(0)
    blocks = np.int64(0)
    for sm in range(first_sm, last_sm):
        most = max(most, wave.sm_warp[sm + 1] - wave.sm_warp[sm])
    for w in range(wave.sm_warp[first_sm], wave.sm_warp[last_sm]):
        blocks = max(blocks, wave.warp_block[w] + 1)
    alive = np.empty(most, np.int64)
    segment = np.empty(most, np.int64)
    at = np.empty(most, np.int64)
    phase = np.zeros(blocks, np.int64)
    first_caches = caches.geometry.shape[0]

    for sm in range(first_sm, last_sm):
        first = wave.sm_warp[sm]
        count = wave.sm_warp[sm + 1] - first
        out = wave.sm_part[sm]
        for w in range(count):
            alive[w] = w
            segment[w] = wave.warp_segment[first + w]
            at[w] = wave.segment[segment[w], 1]
        turn = 0
        tick = start
        while count:
            if phased:
                _block_phases(wave, first, alive, count, segment, phase)
            left = 0
            for k in range(count):
                w = alive[k]
                now = segment[w]
                if phased and wave.segment[now, 0] > phase[wave.warp_block[first + w]]:
                    alive[left] = w
                    left += 1
                    continue
                i = at[w]
                more = True
                while more:
                    tag = wave.tag[i]
                    part = wave.part[i]
                    i += 1
                    more = (tag & LAST) == 0
                    cache = (tag >> 3) & 31
                    sectors = part & SECTORS
                    if cache < first_caches and (tag >> 1) & 3 == LOAD:
                        line = part >> SECTOR_BITS
                        tick += 1
                        missing, _, _ = access(caches, cache, sm, line, sectors, per_line, 1, tick)
                        hits[tag >> 8] += bits(sectors & ~missing)
                        sectors = missing
                    if sectors:
                        missed.part[out] = ((part >> SECTOR_BITS) << SECTOR_BITS) | sectors
                        missed.tag[out] = tag
                        missed.turn[out] = turn
                        out += 1
                at[w] = i
                if i == wave.segment[now, 2]:
                    segment[w] = now + 1
                    if now + 1 == wave.warp_segment[first + w + 1]:
                        continue
                    at[w] = wave.segment[now + 1, 1]
                alive[left] = w
                left += 1
            count = left
            turn += 1
        missed.length[sm] = out - wave.sm_part[sm]


@njit(cache=True, nogil=True)
def _block_phases(
    wave: Wave,
    first: int,
    alive: NDArray[np.int64],
    count: int,
    segment: NDArray[np.int64],
    phase: NDArray[np.int64],
) -> None:
    """The phase that each block is in: the earliest of its warps'."""
    for k in range(count):
        phase[wave.warp_block[first + alive[k]]] = np.int64(1) << 60
    for k in range(count):
        block = wave.warp_block[first + alive[k]]
        phase[block] = min(phase[block], wave.segment[segment[alive[k]], 0])


@njit(cache=True, nogil=True)
def run_l2(
    wave: Wave,
    missed: Missed,
    cache: Caches,
    per_line: int,
    share: int,
    shares: int,
    start: Int,
    hits: NDArray[np.int64],
    fetched: NDArray[np.int64],
    written: NDArray[np.int64],
) -> None:
    """Run what all SMs missed through L2, in the order of rounds, within a round by SM.

    Only lines whose number leaves ``share`` modulo ``shares`` are served, so that several calls
    with a state each, of that share of the sets, can run at once. ``hits`` (sites,) counts sectors
    of loads and atomics that were found, ``fetched`` (sites,) sectors fetched for them,
    ``written`` (1,) dirty sectors driven out; ``start`` as in :func:`run_sms`.
    """
    sms = missed.length.shape[0]
    at = np.empty(sms, np.int64)
    end = np.empty(sms, np.int64)
    busy = np.empty(sms, np.int64)
    count = 0
    for sm in range(sms):
        at[sm] = wave.sm_part[sm]
        end[sm] = at[sm] + missed.length[sm]
        if at[sm] < end[sm]:
            busy[count] = sm
            count += 1
    turn = 0
    now = start
    while count:
        left = 0
        for k in range(count):
            sm = busy[k]
            i = at[sm]
            while i < end[sm] and missed.turn[i] <= turn:
                part = missed.part[i]
                line = part >> SECTOR_BITS
                if line % shares == share:
                    tag = missed.tag[i]
                    sectors = part & SECTORS
                    now += 1
                    load = np.int64((tag >> 1) & 3 == LOAD)
                    missing, taken, lost = access(
                        cache, 0, 0, line // shares, sectors, per_line, load, now
                    )
                    if load or (tag >> 1) & 3 == ATOMIC:
                        hits[tag >> 8] += bits(sectors & ~missing)
                        fetched[tag >> 8] += bits(taken)
                    written[0] += lost
                i += 1
            at[sm] = i
            if i < end[sm]:
                busy[left] = sm
                left += 1
        count = left
        turn += 1
