"""Requests of each DRAM bank: how many hit the row buffer, and how long they wait.

Eqs. 6 to 8 of Huang and Li 2017. A bank's number and a row come from the machine file's address
mapping (``dram``). The paper takes all address bits that are not bits of row or column as the
number of the bank.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.machine.machine import Dram
from placewise.memory.simulate.dram.banks import BankTraffic
from placewise.model.queue import Kingman, QueueMoments, mean_wait


@dataclass(frozen=True)
class RowTimes:
    """Latencies of the three outcomes of a request at the row buffer, all in the same unit."""

    hit: float
    """The row was open."""
    miss: float
    """No row was open."""
    conflict: float
    """The row of other data was open."""


@dataclass(frozen=True)
class BankLoad:
    """What one bank has to do in a launch, or in the traced part of one; times are in one unit."""

    requests: float
    hits: float
    """Requests whose row is open."""
    misses: float
    """Requests while no row is open."""
    conflicts: float
    """Requests while another row is open."""
    gap_mean: float
    """Mean time between two arrivals."""
    gap_deviation: float
    """Standard deviation of the time between two arrivals."""


def parity(addresses: NDArray[np.int64], mask: int) -> NDArray[np.int64]:
    """(n,) parity of the address bits in ``mask``."""
    odd: NDArray[np.int64] = (np.bitwise_count(addresses & mask) & 1).astype(np.int64)
    return odd


def banks_and_rows(
    addresses: NDArray[np.int64], dram: Dram
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(n,) numbers of banks, unique over all channels, and (n,) rows of the byte ``addresses``
    (n,)."""
    bank = np.zeros(len(addresses), np.int64)
    for mask in (*dram.channel_hashes, *dram.bank_hashes):
        bank = 2 * bank + parity(addresses, mask)
    row = addresses & sum(1 << bit for bit in dram.row_bits)
    return bank, row


def service_time(times: RowTimes, hits: float, misses: float, conflicts: float) -> float:
    """Mean service time of a bank (Eq. 8), its outcomes given as counts or as ratios."""
    total = hits + misses + conflicts
    busy = times.miss * misses + times.conflict * conflicts + times.hit * hits
    return busy / total if total else 0.0


def service_deviation(times: RowTimes, hits: float, misses: float, conflicts: float) -> float:
    """Standard deviation of the service time: it takes three values (section III-C)."""
    total = hits + misses + conflicts
    if not total:
        return 0.0
    mean = service_time(times, hits, misses, conflicts)
    spread = (
        misses * (times.miss - mean) ** 2
        + conflicts * (times.conflict - mean) ** 2
        + hits * (times.hit - mean) ** 2
    )
    return float(np.sqrt(spread / total))


def loads_of(traffic: BankTraffic) -> tuple[BankLoad, ...]:
    """Loads of the banks that get requests; gaps are fractions of the launch's duration."""
    loads = []
    whole = traffic.duration
    for n, hits, misses, conflicts, gaps, squares in zip(
        traffic.requests, traffic.hits, traffic.misses, traffic.conflicts, traffic.gap_sum,
        traffic.gap_squares, strict=True,
    ):  # fmt: skip
        if not n:
            continue
        mean = gaps / (n - 1) if n > 1 else np.inf
        spread = np.sqrt(max(0.0, squares / (n - 1) - mean**2)) if n > 1 else 0.0
        loads.append(
            BankLoad(
                float(n),
                float(hits),
                float(misses),
                float(conflicts),
                float(mean / whole) if whole else np.inf,
                float(spread / whole) if whole else 0.0,
            )
        )
    return tuple(loads)


def bank_latency(
    load: BankLoad, times: RowTimes, reading: Kingman = "usual", outstanding: float = np.inf
) -> float:
    """Queueing delay and service time of one bank (Eq. 6), in the unit of ``times``.

    ``outstanding`` is the most requests that can be at the bank at once, since warps wait for their
    requests before they send more. So no request waits for longer than that many take. This limit
    is not in the paper.
    """
    outcomes = (load.hits, load.misses, load.conflicts)
    queue = QueueMoments(
        load.gap_mean,
        load.gap_deviation,
        service_time(times, *outcomes),
        service_deviation(times, *outcomes),
    )
    wait = mean_wait(queue, load.requests, reading)
    return min(wait, outstanding * queue.service_mean) + queue.service_mean


def dram_latency(
    loads: tuple[BankLoad, ...],
    times: RowTimes,
    reading: Kingman = "usual",
    outstanding: float = np.inf,
) -> float:
    """Mean DRAM latency: that of each bank, weighted by its rate of arrivals (Eq. 7). All banks
    work for the same time, so the weights are the numbers of requests. 0 without requests.

    ``outstanding`` is the most requests that can be under way to all banks together; each bank gets
    its share.
    """
    total = sum(load.requests for load in loads)
    if not total:
        return 0.0
    latency = 0.0
    for load in loads:
        share = load.requests / total
        latency += share * bank_latency(load, times, reading, share * outstanding)
    return latency


def even_load(requests: float, banks: int, duration: float) -> BankLoad:
    """One bank's load where ``requests`` arrive at random, evenly over ``banks`` and over
    ``duration``: gaps are exponential, and no row is open for any request. It is used without an
    address mapping (Fig. 8)."""
    each = requests / banks
    gap = duration / each if each else np.inf
    return BankLoad(each, 0.0, each, 0.0, gap, gap)
