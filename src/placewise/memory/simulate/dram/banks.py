"""DRAM: channels, banks, and the row that each bank has open.

The machine's file says from which address bits the numbers of the channel, the bank and the row are
made (Algorithm 1 of Huang and Li 2017 finds them); each bit of a channel's or bank's number is the
parity of some address bits. A bank keeps the row of its last access open: the next access hits this
row, or conflicts. Requests are served in the order in which they leave L2. The simulated arrays are
placed one after another; on a GPU they have other addresses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.machine.machine import Dram
from placewise.memory.simulate.caches.geometry import Int
from placewise.memory.simulate.requests.line_requests import SECTOR_BIT, SECTORS
from placewise.memory.simulate.simd.jit_helpers import bits, entry, noinline

REQUESTS, HITS, MISSES, CONFLICTS, GAPS, GAP_SQUARES, LAST_TIME, OPEN_ROW = range(8)
"""Columns of a bank's state."""
CLOSED = -1.0


@dataclass(frozen=True, eq=False)
class BankTraffic:
    """Requests to each bank in the whole launch. Arrays have the shape (banks of all channels,),
    sorted by channel and then by bank."""

    requests: NDArray[np.float64]
    """Fetches and write-backs; sectors of a line in one row of a bank are one request."""
    hits: NDArray[np.float64]
    """Requests whose row was open."""
    misses: NDArray[np.float64]
    """Requests while no row was open: the first request of each bank."""
    conflicts: NDArray[np.float64]
    """Requests while another row was open."""
    gap_sum: NDArray[np.float64]
    """Sum of the times between the arrivals of two consecutive requests."""
    gap_squares: NDArray[np.float64]
    """Sum of the squares of these times."""
    duration: float
    """Time that the launch takes. The unit is an instruction that an SM issues if the number of
    instructions between two memory accesses is known (Huang and Li 2017, section III-C3). Else it
    is a round of the simulation, in which every resident warp issues one burst of accesses."""
    sectors: float
    """Sectors of all requests."""
    served: float = 1.0
    """Share of the launch's requests that was simulated; the figures are scaled up from it."""

    def thinned(self, share: float) -> BankTraffic:
        """The traffic if ``share`` times as many requests came, chosen at random: the gaps become
        longer by 1 / ``share`` (shorter if ``share`` is above 1), and so does their standard
        deviation."""
        return BankTraffic(
            requests=share * self.requests,
            hits=share * self.hits,
            misses=share * self.misses,
            conflicts=share * self.conflicts,
            gap_sum=self.gap_sum,
            gap_squares=self.gap_squares / share,
            duration=self.duration,
            sectors=share * self.sectors,
            served=self.served,
        )


class Banks(NamedTuple):
    """The banks of an address mapping, and the counts of their requests."""

    hashes: NDArray[np.int64]
    """(bits,) for each bit of a bank's number among all channels, the lowest first, the address
    bits whose parity it is: first those of the bank, then those of the channel."""
    row_mask: NDArray[np.int64]
    """(1,) address bits of the row."""
    state: NDArray[np.float64]
    """(banks, 8)"""
    sectors: NDArray[np.int64]
    """(1,) requested sectors."""


class Log(NamedTuple):
    """The requests that leave one L2 shard, in order."""

    request: NDArray[np.int64]
    """Line requests; empty if no log is kept."""
    round: NDArray[np.int64]
    length: NDArray[np.int64]
    """(1,)"""


def new_banks(dram: Dram | None) -> Banks | None:
    """Idle banks; None if the machine's file has no address mapping."""
    if dram is None or not dram.row_bits or not (dram.bank_hashes or dram.channel_hashes):
        return None
    hashes = np.array(dram.bank_hashes + dram.channel_hashes, np.int64)
    state = np.zeros((1 << len(hashes), 8))
    state[:, OPEN_ROW] = CLOSED
    rows = sum(1 << bit for bit in dram.row_bits)
    return Banks(hashes, np.array([rows], np.int64), state, np.zeros(1, np.int64))


def new_log(entries: int) -> Log:
    """An empty log with room for ``entries`` line requests."""
    return Log(np.empty(entries, np.int64), np.empty(entries, np.int64), np.zeros(1, np.int64))


@entry
def run_banks(
    request: NDArray[np.int64],
    time: NDArray[np.float64],
    moved: NDArray[np.int64],
    held: NDArray[np.uint16],
    banks: Banks,
    line_shift: Int,
    sector_shift: Int,
) -> None:
    """Let the banks serve the line requests (n,) in order; they arrive at ``time`` (n,). Each is
    served ``moved.shape[0]`` times at once, for the lines ``moved`` (copies, n) instead of its own.
    ``held`` has, for each line, the sectors that were fetched already and are not fetched again; it
    is empty if every request is served."""
    for k in range(request.shape[0]):
        for copy in range(moved.shape[0]):
            sectors = (request[k] >> SECTOR_BIT) & SECTORS
            line = np.uintp(moved[copy, k])
            if line < np.uintp(held.shape[0]):
                sectors &= ~np.int64(held[line])
                held[line] |= np.uint16(sectors)
            banks.sectors[0] += bits(sectors)
            _serve(moved[copy, k], sectors, time[k], banks, line_shift, sector_shift)


@noinline
def _serve(
    line: Int, sectors: Int, now: float, banks: Banks, line_shift: Int, sector_shift: Int
) -> None:
    """Request ``sectors`` of a line from the banks at time ``now``."""
    start = line << line_shift
    last_bank, last_row = np.int64(-1), np.int64(-1)
    number = np.int64(0)
    while sectors >> number:
        if (sectors >> number) & 1:
            address = start + (number << sector_shift)
            bank = np.int64(0)
            for k in range(banks.hashes.shape[0]):
                bank |= (bits(address & banks.hashes[k]) & 1) << k
            row = address & banks.row_mask[0]
            if bank != last_bank or row != last_row:
                _ask(banks.state, bank, float(row), now)
            last_bank, last_row = bank, row
        number += 1


@noinline
def _ask(state: NDArray[np.float64], bank: Int, row: float, now: float) -> None:
    """Count a request for a row of a bank at time ``now``, and open the row."""
    if state[bank, REQUESTS]:
        gap = now - state[bank, LAST_TIME]
        state[bank, GAPS] += gap
        state[bank, GAP_SQUARES] += gap * gap
    state[bank, REQUESTS] += 1
    state[bank, LAST_TIME] = now
    if state[bank, OPEN_ROW] == row:
        state[bank, HITS] += 1
    elif state[bank, OPEN_ROW] == CLOSED:
        state[bank, MISSES] += 1
    else:
        state[bank, CONFLICTS] += 1
    state[bank, OPEN_ROW] = row


def bank_traffic(banks: Banks, duration: float, served: float = 1.0) -> BankTraffic:
    """The banks' counts scaled to the whole launch, which takes ``duration``; ``served`` is the
    share of its requests that was simulated."""
    counts = banks.state / served
    return BankTraffic(
        requests=counts[:, REQUESTS],
        hits=counts[:, HITS],
        misses=counts[:, MISSES],
        conflicts=counts[:, CONFLICTS],
        gap_sum=counts[:, GAPS],
        gap_squares=counts[:, GAP_SQUARES],
        duration=duration / served,
        sectors=float(banks.sectors[0]) / served,
        served=served,
    )
