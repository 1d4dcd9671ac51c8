"""DRAM behind L2: channels, banks, and the row that each bank has open.

The machine's file says which address bits make the channel's and the bank's number, each bit of it
the parity of some, and which make the row (Huang and Li 2017, Algorithm 1 finds them). A bank
keeps the row of its last access open: the next one hits it, or conflicts. Requests are served in
the order in which they leave L2. Addresses are those of the simulated arrays,
one after another; a real allocation has others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.machine.machine import Dram
from placewise.memory.simulate.caches.geometry import Int
from placewise.memory.simulate.requests.line_requests import LINE_BIT, SECTOR_BIT, SECTORS
from placewise.memory.simulate.simd.jit_helpers import bits, entry, noinline

REQUESTS, HITS, MISSES, CONFLICTS, GAPS, GAP_SQUARES, LAST_ROUND, OPEN_ROW = range(8)
"""Columns of a bank's state."""
CLOSED = -1


@dataclass(frozen=True, eq=False)
class BankTraffic:
    """Requests to each bank in the part of the launch that was traced; arrays are (banks of all
    channels,) by channel, then bank."""

    requests: NDArray[np.float64]
    """Fetches and write-backs; sectors of a line in one row of a bank are one request."""
    hits: NDArray[np.float64]
    """Requests whose row was open."""
    misses: NDArray[np.float64]
    """Requests while no row was open: the bank's first."""
    conflicts: NDArray[np.float64]
    """Requests while another row was open."""
    gap_sum: NDArray[np.float64]
    """Rounds between the arrivals of two requests, summed up."""
    gap_squares: NDArray[np.float64]
    rounds: float
    """Rounds of the simulation; in each, every resident warp issues one burst of accesses."""


class Banks(NamedTuple):
    """The banks of a mapping, and what came to them."""

    hashes: NDArray[np.int64]
    """(bits,) of the bank's number, the lowest first: those of the bank, then of the channel."""
    row_mask: NDArray[np.int64]
    """(1,) address bits of the row."""
    state: NDArray[np.int64]
    """(banks, 8)"""


class Log(NamedTuple):
    """What leaves one L2 shard, in order."""

    request: NDArray[np.int64]
    """Line requests; empty where no log is kept."""
    round: NDArray[np.int64]
    length: NDArray[np.int64]
    """(1,)"""


def new_banks(dram: Dram | None) -> Banks | None:
    """Idle banks; None where the machine's file has no address mapping."""
    if dram is None or not dram.row_bits or not (dram.bank_hashes or dram.channel_hashes):
        return None
    hashes = np.array(dram.bank_hashes + dram.channel_hashes, np.int64)
    state = np.zeros((1 << len(hashes), 8), np.int64)
    state[:, OPEN_ROW] = CLOSED
    rows = sum(1 << bit for bit in dram.row_bits)
    return Banks(hashes, np.array([rows], np.int64), state)


def new_log(entries: int) -> Log:
    """An empty log for so many line requests."""
    return Log(np.empty(entries, np.int64), np.empty(entries, np.int64), np.zeros(1, np.int64))


def bank_traffic(banks: Banks, rounds: int) -> BankTraffic:
    """The banks' counts, after ``rounds`` rounds."""
    counts = banks.state.astype(np.float64)
    return BankTraffic(
        requests=counts[:, REQUESTS],
        hits=counts[:, HITS],
        misses=counts[:, MISSES],
        conflicts=counts[:, CONFLICTS],
        gap_sum=counts[:, GAPS],
        gap_squares=counts[:, GAP_SQUARES],
        rounds=float(rounds),
    )


@entry
def run_banks(one: Log, other: Log, banks: Banks, line_shift: Int, sector_shift: Int) -> None:
    """Let the banks serve what left both L2 shards, round by round, and empty the logs."""
    i, j = np.int64(0), np.int64(0)
    while i < one.length[0] or j < other.length[0]:
        if j == other.length[0] or (i < one.length[0] and one.round[i] <= other.round[j]):
            _serve(one.request[i], one.round[i], banks, line_shift, sector_shift)
            i += 1
        else:
            _serve(other.request[j], other.round[j], banks, line_shift, sector_shift)
            j += 1
    one.length[0] = 0
    other.length[0] = 0


@noinline
def _serve(request: Int, now: Int, banks: Banks, line_shift: Int, sector_shift: Int) -> None:
    """Ask the banks for the sectors of a line request in round ``now``."""
    start = (request >> LINE_BIT) << line_shift
    sectors = (request >> SECTOR_BIT) & SECTORS
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
                _ask(banks.state, bank, row, now)
            last_bank, last_row = bank, row
        number += 1


@noinline
def _ask(state: NDArray[np.int64], bank: Int, row: Int, now: Int) -> None:
    """Count a request for a row of a bank in round ``now``, and open the row."""
    if state[bank, REQUESTS]:
        gap = now - state[bank, LAST_ROUND]
        state[bank, GAPS] += gap
        state[bank, GAP_SQUARES] += gap * gap
    state[bank, REQUESTS] += 1
    state[bank, LAST_ROUND] = now
    if state[bank, OPEN_ROW] == row:
        state[bank, HITS] += 1
    elif state[bank, OPEN_ROW] == CLOSED:
        state[bank, MISSES] += 1
    else:
        state[bank, CONFLICTS] += 1
    state[bank, OPEN_ROW] = row
