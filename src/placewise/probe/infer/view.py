"""One level of a hierarchy as chases show it: which loads of a lap it missed, and how surely.

All that is asked of a level is whether a set of lines fits. Where more lines lie in a set than it
has ways, at least one of them misses in every lap, whatever the replacement policy; where none
does, all loads hit once the lines are in. So one test, repeated, finds sets, ways and lines of
caches of any policy (the second stage of Mei et al. 2014, freed of least recent use).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from placewise.probe.chase import Chase, ProbeDevice
from placewise.probe.infer.latencies import places

_ORDERS = 3
"""Orders of the lines in which laps are run: pseudo-LRU may keep a line for ever in one of them."""
_QUICK = 6
"""Laps of a quick test."""
_MANY = 200_000
"""Number of lines from which on all tests are quick."""
_FALSE_TRIALS = 100_000
_SURE = 1e-6
"""Probability with which outliers alone may look like a miss, of a whole test."""
_LAP_LOADS = 600_000
"""Loads of one test, about; less only where fewer laps would tell nothing."""


@dataclass(frozen=True)
class Misses:
    """What the laps of a test showed."""

    counts: NDArray[np.int64]
    """(n,) laps in which each line missed."""
    laps: int
    sure: NDArray[np.bool_]
    """(n,) lines that missed more often than outliers explain."""
    overflow: bool
    """Whether not all lines fit."""


@dataclass(frozen=True)
class View:
    """How a level's hits are told from its misses."""

    device: ProbeDevice
    stride: int
    """Bytes from line to line."""
    low: float
    high: float
    """A miss takes more cycles than ``low`` and fewer than ``high``; slower are outliers."""
    spread: int = 0
    bypass: int = 0
    page_bytes: int | None = None
    """Page size where TLBs matter, else None: a load that enters a page is then preceded by another
    load of that page."""
    false: float = 1e-4
    """Probability that a hit looks like a miss."""
    seed: int = 0

    def missed(self, cycles: NDArray[np.float32]) -> NDArray[np.bool_]:
        result: NDArray[np.bool_] = (cycles > self.low) & (cycles < self.high)
        return result

    def addresses(self, lines: NDArray[np.int64]) -> NDArray[np.int64]:
        return places(lines, self.stride, self.spread)

    def chase(
        self,
        lines: NDArray[np.int64],
        *,
        laps: int = 1,
        warm: int = 0,
        before: NDArray[np.int64] | None = None,
    ) -> NDArray[np.bool_]:
        """(laps, n) which loads missed; ``lines`` and ``before`` are line numbers."""
        lap, kept = self._with_touches(self.addresses(lines))
        first = self.addresses(before) if before is not None else np.zeros(0, np.int64)
        timings = self.device.run(Chase(lap, laps, warm, first, self.bypass))
        return self.missed(timings.cycles[:, kept])

    def _with_touches(
        self, lap: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64] | slice]:
        if self.page_bytes is None or len(lap) < 2:
            return lap, slice(None)
        pages = lap // self.page_bytes
        starts = np.flatnonzero(np.diff(pages, prepend=-1))
        if len(starts) < 2:
            return lap, slice(None)
        ends = np.append(starts[1:], len(lap)) - 1
        long = ends > starts
        touched = np.insert(lap, starts[long], lap[ends[long]])
        kept = np.ones(len(touched), np.bool_)
        kept[starts[long] + np.arange(long.sum())] = False
        return touched, np.flatnonzero(kept)

    def laps_for(self, lines: int) -> int:
        return int(np.clip(_LAP_LOADS // max(lines, 1), 6, 60))

    def test(
        self, lines: NDArray[np.int64], laps: int | None = None, *, quick: bool = False
    ) -> Misses:
        """Run laps over ``lines``, ascending, in several orders.

        ``quick``: in one order and few laps, which may overlook an overflow by a few lines.
        """
        quick = quick or len(lines) > _MANY
        orders = 1 if quick else _ORDERS
        each = _QUICK if quick else -(-(laps or self.laps_for(len(lines))) // _ORDERS)
        counts = np.zeros(len(lines), np.int64)
        random = np.random.default_rng(self.seed)
        for number in range(orders):
            order = np.arange(len(lines)) if number == 0 else self._shuffled(lines, random)
            missed = self.chase(lines[order], laps=each, warm=1 if quick else 3)
            counts[order] += missed.sum(axis=0)
        total = each * orders
        least = binom.isf(_SURE / len(lines), total, self.false) + 1
        most = binom.isf(_SURE, total * len(lines), self.false)
        sure = counts >= least
        overflow = bool(sure.any() or (counts.sum() > most and counts.sum() >= total))
        return Misses(counts, total, sure, overflow)

    def _shuffled(self, lines: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
        """An order of ``lines`` that goes through the pages one after the other."""
        order = random.permutation(len(lines))
        if self.page_bytes is None:
            return order
        pages = self.addresses(lines)[order] // self.page_bytes
        result: NDArray[np.int64] = order[np.argsort(pages, kind="stable")]
        return result

    def fits(self, lines: NDArray[np.int64], *, quick: bool = False) -> bool:
        return not self.test(lines, quick=quick).overflow


def false_rate(view: View) -> float:
    """Probability that a hit looks like a miss: one line, loaded again and again; an upper end."""
    seen = view.chase(np.zeros(1, np.int64), laps=_FALSE_TRIALS, warm=2).sum()
    return float((seen + 3.0 * np.sqrt(seen) + 3.0) / _FALSE_TRIALS)
