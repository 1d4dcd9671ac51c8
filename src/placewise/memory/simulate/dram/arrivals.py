"""Which requests reach the DRAM in a launch, and when, even if only a part of it was traced.

The requests that leave L2 are kept wave by wave. As in Huang and Li 2017, time is measured in
instructions that an SM issues: the bursts of one SM say how many instructions a round of the
simulation stands for. If a launch was traced in part, the part traced last is repeated in place of
all parts that were not traced, with its line numbers shifted: the repetitions go evenly through
every array, from its start to its end, and parts that run at the same time are repeated at the same
time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.memory.simulate.caches.geometry import Int
from placewise.memory.simulate.dram.banks import (
    Banks,
    BankTraffic,
    Log,
    bank_traffic,
    run_banks,
)
from placewise.memory.simulate.requests.line_requests import (
    LAST,
    LINE_BIT,
    MOST_STREAMS,
    STREAM_BIT,
)
from placewise.memory.simulate.simd.jit_helpers import noinline

KEPT = 1 << 23
"""Most line requests kept of all waves; where there are more, those of the last wave."""
SERVED = 1 << 23
"""Most line requests that go through the banks of a launch that was traced in part."""


class Issued(NamedTuple):
    """Bursts that one SM issues in a wave."""

    sm: NDArray[np.int64]
    """(1,) number of the SM; -1 if the bursts of none are recorded."""
    stream: NDArray[np.int64]
    """(n,) access stream that starts the burst."""
    round: NDArray[np.int64]
    """(n,) round in which the burst is issued."""
    used: NDArray[np.int64]
    """(2,) number of bursts, and whether the burst of the last line request continues."""


def new_issued(sm: int = -1, bursts: int = 0) -> Issued:
    """Room for ``bursts`` bursts of SM number ``sm``."""
    return Issued(
        np.array([sm], np.int64),
        np.empty(bursts, np.int64),
        np.empty(bursts, np.int64),
        np.zeros(2, np.int64),
    )


@noinline
def note_bursts(
    order: NDArray[np.int64],
    round_end: NDArray[np.int64],
    first_round: Int,
    rounds: Int,
    to: Issued,
) -> None:
    """Add to ``to`` the bursts among ``order``, an SM's line requests of ``rounds`` rounds that
    start with ``first_round``."""
    n = np.int64(0)
    for number in range(rounds):
        while n < round_end[np.uintp(number)]:
            if not to.used[1] and to.used[0] < to.stream.shape[0]:
                at = np.uintp(to.used[0])
                to.stream[at] = (order[np.uintp(n)] >> STREAM_BIT) & MOST_STREAMS
                to.round[at] = first_round + number
                to.used[0] += 1
            to.used[1] = (order[np.uintp(n)] & LAST) == 0
            n += 1


@dataclass(frozen=True, eq=False)
class WaveArrivals:
    """The requests that left L2 in a wave, in order, and the bursts that one SM issued in it."""

    request: NDArray[np.int64]
    """(n,) line requests."""
    round: NDArray[np.int64]
    """(n,) rounds, counted from the launch's start."""
    stream: NDArray[np.int64]
    """(bursts,)"""
    burst_round: NDArray[np.int64]
    """(bursts,) rounds, counted from the launch's start."""


@dataclass(frozen=True)
class Part:
    """The part of a launch that was traced last, and what it stands for."""

    blocks: int
    """Blocks of the part, of the launch, and of a full wave."""
    launch_blocks: int
    wave_blocks: int
    traced: float
    """Share of the launch that was traced, in all waves."""


class Arrivals:
    """Keeps the requests that leave L2; at the end they are sent to the banks."""

    def __init__(self) -> None:
        self._waves: list[WaveArrivals] = []
        self._ends: list[int] = []
        self._kept = 0
        self._begun = 0
        self.dropped = False
        """Whether there were too many requests to keep: fewer waves are then kept than were
        traced."""

    def keep(self, logs: list[Log], issued: Issued, first_round: int) -> None:
        """Keep the requests in the logs of both L2 shards, of a wave or a part of one, and empty
        the logs."""
        request = np.concatenate([log.request[: log.length[0]] for log in logs])
        rounds = np.concatenate([log.round[: log.length[0]] for log in logs])
        for log in logs:
            log.length[0] = 0
        order = np.argsort(rounds, kind="stable")
        used = int(issued.used[0])
        self._waves.append(
            WaveArrivals(
                request[order],
                rounds[order],
                issued.stream[:used].copy(),
                issued.round[:used] + first_round,
            )
        )
        self._kept += len(request)

    def close_wave(self) -> None:
        """Make one wave of the requests kept since the last call."""
        if self._kept > KEPT and self._begun:
            del self._waves[: self._begun]
            self._kept = sum(len(w.request) for w in self._waves)
            self.dropped = True
        self._begun = len(self._waves)
        self._ends.append(len(self._waves))

    def traffic(
        self,
        banks: Banks,
        rounds: int,
        part: Part,
        lines: NDArray[np.int64],
        ends: NDArray[np.int64],
        distance: NDArray[np.float64] | None,
        shifts: tuple[int, int],
    ) -> BankTraffic:
        """Requests to the banks in the whole launch. ``lines`` and ``ends`` (arrays,) are the first
        line of each array and the one after its last, ascending. ``distance`` (streams,) is the
        number of instructions that a warp issues from the previous burst to one that the stream
        starts, or None if it is unknown. ``shifts`` are the base-two logarithms of the bytes of a
        line and of a sector."""
        if not self._waves:
            return bank_traffic(banks, float(rounds))
        if part.traced == 1.0 and not self.dropped:
            whole = _joined(self._waves)
            time, duration = _times(whole, 0, rounds, distance)
            run_banks(whole.request, time, _own_lines(whole)[None], _nothing_held(), banks, *shifts)
            return bank_traffic(banks, duration)
        last = _joined(self._waves[self._ends[-2] if len(self._ends) > 1 else 0 :])
        if not len(last.request):
            return bank_traffic(banks, float(rounds))
        first = int(min(last.round[0], last.burst_round.min(initial=last.round[0])))
        time, each = _times(last, first, rounds, distance)
        copies = part.launch_blocks / part.blocks
        at_once = max(1, min(round(part.wave_blocks / part.blocks), round(copies)))
        together = max(1, min(at_once, SERVED // len(last.request)))
        waves = max(1, round(copies / at_once))
        served = max(1, min(waves, SERVED // (len(last.request) * together)))
        # In less than a wave, no other data fill L2: what one copy has fetched serves all copies.
        held = np.zeros(int(ends.max(initial=0)), np.uint16) if at_once > 1 else _nothing_held()
        for n in range(served):
            wave = n * waves // served
            begun = (wave * at_once + np.arange(together) * at_once // together) / copies
            moved = _moved(_own_lines(last), lines, ends, begun)
            run_banks(last.request, time + n * each, moved, held, banks, *shifts)
        return bank_traffic(banks, served * each, served * together / copies)


def _joined(waves: list[WaveArrivals]) -> WaveArrivals:
    return WaveArrivals(
        *(
            np.concatenate([getattr(w, name) for w in waves])
            for name in ("request", "round", "stream", "burst_round")
        )
    )


def _nothing_held() -> NDArray[np.uint16]:
    return np.zeros(0, np.uint16)


def _own_lines(of: WaveArrivals) -> NDArray[np.int64]:
    return of.request >> LINE_BIT


def _times(
    of: WaveArrivals, first: int, rounds: int, distance: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], float]:
    """(n,) time at which each request arrives, counted from the start of round ``first``, and the
    time at which round ``rounds`` begins."""
    if distance is None or not len(of.stream):
        return (of.round - first).astype(np.float64), float(rounds - first)
    issued = np.bincount(of.burst_round - first, distance[of.stream], minlength=rounds - first)
    # In a round without accesses of this SM, other SMs still have some.
    issued[issued == 0.0] = 1.0
    end = np.cumsum(issued, dtype=np.float64)
    return end[of.round - first], float(end[-1])


def _moved(
    line: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    begun: NDArray[np.float64],
) -> NDArray[np.int64]:
    """(copies, n) the lines (n,) shifted within their arrays by each of the fractions ``begun``
    (copies,) of an array."""
    array = np.clip(np.searchsorted(starts, line, side="right") - 1, 0, None)
    start, size = starts[array], np.maximum(1, ends[array] - starts[array])
    inside = line - start
    by = (begun[:, None] * size[None]).astype(np.int64)
    return np.where((inside >= 0) & (inside < size), start + (inside + by) % size, line)
