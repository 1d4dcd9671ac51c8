"""When requests arrive at the DRAM if every warp waits for its loads: a small event simulation.

Huang and Li 2017 measured the times between arrivals (Fig. 4) with GPGPU-Sim, in which warps wait
for their data. This simulation has that and little else: SMs that issue one instruction a cycle for
whichever warp is ready first, a first cache for each SM, a last one for each channel, and banks of
DRAM that serve requests in the order of arrival. Its sizes are those of GPGPU-Sim's configuration
of a Tesla C2050, which the paper used. Barriers between warps are not simulated.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

LINE = 128
"""Bytes of a line, in both caches; each miss is one request."""
SMS = 14
CHANNELS = 6
BANKS = 16
"""Banks of a channel."""
PIECE = 256
"""Bytes in a row that lie in one channel."""
FIRST_SETS, FIRST_WAYS = 32, 4
LAST_SETS, LAST_WAYS = 64, 16
FIRST_HIT, LAST_HIT, DRAM = 20.0, 120.0, 100.0
"""Cycles of a hit in the first cache and in the last, and those that the DRAM takes beside its
bank's. The last two are in the configuration; of the first it has no figure."""
_CLOCKS = 575.0 / 750.0
"""Cycles of an SM in one clock of the memory."""
BURST, ROW_CYCLE = 4 * _CLOCKS, 40 * _CLOCKS
"""Cycles in which a channel moves a line, and in which a bank changes its row (t_RC)."""


Addresses = TypeVar("Addresses", int, NDArray[np.int64])


@dataclass(frozen=True, eq=False)
class WarpAccesses:
    """What each warp of a launch asks for, in the order of its program."""

    lines: tuple[tuple[tuple[tuple[int, ...], bool], ...], ...]
    """For each warp its accesses: the lines of each, and whether the warp waits for it."""
    warps_per_block: int
    resident_blocks: int
    """Blocks that an SM holds at a time."""
    instructions: float
    """Mean number of instructions that a warp issues for each access."""


@dataclass(frozen=True, eq=False)
class DramArrivals:
    """Requests at the DRAM in the order in which they were made. Arrays have the shape (n,)."""

    cycle: NDArray[np.float64]
    instruction: NDArray[np.float64]
    """Instructions that all SMs had issued by then."""
    address: NDArray[np.int64]
    access: NDArray[np.int64]
    """Number of the access that made it; an access may make several."""


class _Cache:
    """Sets of lines, of which the least recently used goes."""

    def __init__(self, sets: int, ways: int) -> None:
        self._sets: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(sets)]
        self._ways = ways

    def holds(self, number: int, line: int) -> bool:
        """Whether ``line`` was there; it is afterwards. ``number`` is that of its set, modulo."""
        lines = self._sets[number % len(self._sets)]
        if line in lines:
            lines.move_to_end(line)
            return True
        lines[line] = None
        if len(lines) > self._ways:
            lines.popitem(last=False)
        return False


class _Dram:
    """Channels and banks, and the requests that came to them."""

    def __init__(self) -> None:
        self._bank_free = [0.0] * (CHANNELS * BANKS)
        self._row = [-1] * (CHANNELS * BANKS)
        self._channel_free = [0.0] * CHANNELS
        self.requests: list[tuple[float, float, int, int]] = []

    def ask(self, now: float, instruction: float, address: int, access: int) -> float:
        """The cycle at which a request that arrives ``now`` has been served."""
        self.requests.append((now, instruction, address, access))
        channel, within = channel_of(address)
        bank = bank_of(address)
        row = within >> 16
        opens = 0.0 if self._row[bank] == row else ROW_CYCLE - BURST
        self._row[bank] = row
        start = max(max(now, self._bank_free[bank]) + opens, self._channel_free[channel])
        self._bank_free[bank] = self._channel_free[channel] = start + BURST
        return start + BURST


def channel_of(address: Addresses) -> tuple[Addresses, Addresses]:
    """Channel of an address or of some (n,), and the addresses within it: pieces go round the
    channels."""
    piece = address // PIECE
    return piece % CHANNELS, piece // CHANNELS * PIECE + address % PIECE


def bank_of(address: Addresses) -> Addresses:
    """Bank of an address or of some (n,), numbered over all channels: 4 KB of a channel lie in one
    bank."""
    channel, within = channel_of(address)
    return channel * BANKS + (within >> 12) % BANKS


def simulate_arrivals(accesses: WarpAccesses) -> DramArrivals:
    """The requests that reach the DRAM, with the cycles and instructions at which they do.

    Blocks go to SMs in turn, and the next one to whichever SM ends a block first.
    """
    first = [_Cache(FIRST_SETS, FIRST_WAYS) for _ in range(SMS)]
    last = [_Cache(LAST_SETS, LAST_WAYS) for _ in range(CHANNELS)]
    dram = _Dram()
    per_block, warps = accesses.warps_per_block, len(accesses.lines)
    blocks = -(-warps // per_block)
    left = [min(per_block, warps - block * per_block) for block in range(blocks)]
    sm_of = [block % SMS for block in range(blocks)]
    begun = min(blocks, SMS * accesses.resident_blocks)
    events: list[tuple[float, int, bool]] = [
        (0.0, w, False) for w in range(min(warps, begun * per_block))
    ]
    done_of, free = [0] * warps, [0.0] * SMS
    issued, number = 0.0, 0
    while events:
        now, warp, has_issued = heapq.heappop(events)
        block, own = warp // per_block, accesses.lines[warp]
        sm = sm_of[block]
        if done_of[warp] == len(own):
            left[block] -= 1
            if not left[block] and begun < blocks:
                sm_of[begun] = sm
                for other in range(begun * per_block, min(warps, (begun + 1) * per_block)):
                    heapq.heappush(events, (now, other, False))
                begun += 1
            continue
        if not has_issued:
            free[sm] = max(now, free[sm]) + accesses.instructions
            issued += accesses.instructions
            heapq.heappush(events, (free[sm], warp, True))
            continue
        lines, waits = own[done_of[warp]]
        done_of[warp] += 1
        number += 1
        ready = now + 1.0
        for line in lines:
            if waits and first[sm].holds(line, line):
                ready = max(ready, now + FIRST_HIT)
                continue
            channel, within = channel_of(line * LINE)
            served = now + LAST_HIT
            if not last[channel].holds(within // LINE, line):
                served = dram.ask(now + LAST_HIT / 2, issued, line * LINE, number) + DRAM
            ready = max(ready, served) if waits else ready
        heapq.heappush(events, (ready, warp, False))
    columns = list(zip(*dram.requests, strict=True)) or [(), (), (), ()]
    return DramArrivals(
        np.array(columns[0], np.float64),
        np.array(columns[1], np.float64),
        np.array(columns[2], np.int64),
        np.array(columns[3], np.int64),
    )


def variations(time: NDArray[np.float64], queue: NDArray[np.int64]) -> NDArray[np.float64]:
    """c_a (Eq. 10) of each of the queues that three requests or more come to; ``time`` and
    ``queue`` are (n,), one entry per request."""
    found = []
    for one in between_arrivals(time, queue):
        if len(one) > 1 and one.mean() > 0.0:
            found.append(float(one.std() / one.mean()))
    return np.array(found)


def between_arrivals(
    time: NDArray[np.float64], queue: NDArray[np.int64]
) -> Sequence[NDArray[np.float64]]:
    """Times between the arrivals at each queue that has requests, by the queue's number."""
    order = np.lexsort((time, queue))
    sorted_queue, sorted_time = queue[order], time[order]
    edges = np.flatnonzero(np.diff(sorted_queue)) + 1
    return [np.diff(part) for part in np.split(sorted_time, edges)]
