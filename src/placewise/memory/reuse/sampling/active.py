"""Profiling by active learning (Chen et al. 2017, section 3.3): trace a few blocks, and more as
long as they change the profile.

The paper's Procedure 2 runs a CPU version of the kernel thread by thread and stops when "the
average of accessed array indices", a cheap indicator of the reuse-distance histogram, no longer
changes. Here blocks run on the executor, so that threads that depend on one another always run
together; iterations of loops, later blocks on an SM, and whole SMs can be left out:

* The first SM runs its first wave of blocks, then twice as many, and so on, until the histograms
  of two longer runs are that of the shorter one.
* Loops are cut after ten iterations, as in the paper, or after twice as many and so on, if that
  leaves the histogram of the first SM and of another one as it is.
* Further SMs are added, spread over the device, each with a stretch of blocks from another part of
  the launch. Where it is known how much each block does, because the launch ran before without a
  trace, the SM at each place is chosen from it and its neighbours, so that what the chosen ones do
  is on average what all blocks do ("balanced" sampling). A stretch that reaches the end of the
  launch continues at its start, so that the last blocks, of which fewer are resident together, are
  traced as often as others. When the average index is stable by Procedure 2's thresholds, or the
  number of SMs has doubled, the histogram is calculated; its error is estimated from how much the
  SMs differ.

The error that is told at the end adds what stretches and loops that are cut short change. On a GPU
of few SMs a tenth of the blocks may be those of one SM: how others differ then stays unknown.

At most a tenth of the launch's blocks are traced: beyond that a full profile costs little more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.executor.trace import Site, TraceChunk
from placewise.memory.reuse.distance_shares import profile_counts, shares_apart
from placewise.memory.reuse.profile import Profiler
from placewise.memory.reuse.record import (
    ACCESS_BUDGET,
    ROW_BUDGET,
    Accesses,
    array_accesses,
    turns,
)
from placewise.memory.reuse.sampling.balanced_order import balanced_order
from placewise.memory.reuse.sampling.sampling_error import sampling_error
from placewise.memory.reuse.sampling.trace_sample import BlockSample

MOST_OF_LAUNCH = 0.1
"""Largest share of the launch's blocks that is traced; of a launch of few blocks, one block is."""
ASKED = 0.02
"""Largest L1 distance (which is at most 2) of the histograms from those of the whole launch."""
TARGET = ASKED / 3
"""The distance that each of three approximations may cause: stretches shorter than what an SM runs,
loops cut short, few SMs. In the worst case they add up."""
FIRST_ITERATIONS = 10
"""Section 3.3: "the CPU function only executes the first ten iterations"."""
_CUTS = 6
"""How often the number of iterations is doubled before loops are kept whole."""
_GOLDEN = (5**0.5 - 1) / 2
_FEWEST_UNITS, _MOST_UNITS = 8, 128
"""Least number of SMs that are traced if the launch is large enough, and the most."""
_GROUPS = 8
"""Most groups of SMs whose histograms are compared."""


def is_stable(current: float, before: float, earlier: float) -> bool:
    """Whether an average is stable (Procedure 2, lines 25 to 33): ``current`` differs from the
    value ``before`` by less than 0.5 %, or by as much as ``before`` differed from the ``earlier``
    value."""
    change, previous = abs(current - before), abs(before - earlier)
    return change < 0.005 * abs(before) or 0.995 * previous < change < 1.005 * previous


@dataclass(frozen=True)
class Looked:
    """How much active profiling traced, and the estimated error of the profile."""

    accesses: int
    """Number of warp accesses that the profile is made from."""
    blocks: int
    """Number of blocks that were run for it."""
    iterations: int | None
    """Iterations of every loop that were kept; None: all."""
    waves: int
    """Number of sets of resident blocks, one after the other, that were traced of each SM."""
    units: int
    """Number of SMs, or of groups of SMs that share a cache, that were looked at."""
    error: float
    """Estimated L1 distance between its reuse-distance histograms and the whole launch's
    (:func:`placewise.memory.reuse.distance_shares.shares_apart`). Of one unit alone it tells
    nothing about how the others differ."""
    settled: bool
    """True: the error is within :data:`ASKED`. False: the limit on the number of blocks was reached
    before."""


class ActiveProfiler(Profiler):
    """A profiler that chooses by itself which blocks are run for it: call :meth:`learn`."""

    looked: Looked | None = None
    """What was traced; None before :meth:`learn`."""

    def learn(
        self,
        run: Callable[[NDArray[np.int64]], object],
        block_work: NDArray[np.int64] | None = None,
    ) -> Looked:
        """Choose blocks and run them. ``run`` executes the blocks with the (n,) numbers that it is
        given, with this profiler as the consumer of the trace; it is called a few times.
        ``block_work`` is (blocks,) how much each block does, in any unit (None: unknown), such as
        :attr:`placewise.executor.Execution.block_work`."""
        chosen = ChosenBlocks(self._launch.blocks, self._plan.sms)
        self._recorder = chosen
        units = self._units(block_work)
        allowed = max(1, int(MOST_OF_LAUNCH * self._launch.blocks))

        def add(blocks: NDArray[np.int64]) -> bool:
            """Run those of ``blocks`` that have not run; False where they are too many."""
            fresh = blocks[~chosen.trace_blocks[blocks]]
            if chosen.count and (chosen.count + len(fresh) > allowed or chosen.full):
                return False
            if len(fresh):
                chosen.want(fresh)
                run(np.sort(fresh))
            return True

        waves = self._first_unit(units[0], add)
        per_wave = len(units[0]) * self._plan.resident
        waves = min(self._waves, max(waves, allowed // (_FEWEST_UNITS * per_wave)))
        stretches = self._stretches(units, waves)
        for blocks in stretches[:2]:
            add(blocks)
        order = np.zeros(self._plan.sms, np.int64)
        for number, unit in enumerate(units):
            order[unit] = number
        cut, missed = self._cut_loops(chosen)
        error = missed + self._further_units(stretches[2:], add, chosen, order)
        error += self._stretch_error(chosen, stretches, waves)
        self.looked = Looked(
            accesses=len(chosen.accesses()),
            blocks=chosen.count,
            iterations=cut,
            waves=waves,
            units=len(np.unique(order[chosen.blocks % self._plan.sms])),
            error=error,
            settled=error <= ASKED,
        )
        return self.looked

    def _units(self, block_work: NDArray[np.int64] | None) -> list[NDArray[np.int64]]:
        """Groups of SMs that are traced together, in an order that spreads them over the device:
        single SMs, or SMs that share a cache."""
        plan, machine = self._plan, self._machine
        used = min(plan.sms, plan.blocks)
        shared = any(m.scope == "tpc" for m in machine.memories)
        run = machine.processor.sms_per_tpc if shared else 1
        count = -(-used // run)
        places = np.floor(_spread(count) * count).astype(np.int64)
        order = list(dict.fromkeys([*places.tolist(), *range(count)]))
        if block_work is not None and len(block_work):
            unit = np.arange(plan.blocks) % plan.sms // run
            order = balanced_order(order, unit, block_work)
        return [np.arange(k * run, min(used, (k + 1) * run)) for k in order]

    def _blocks_of(self, sms: NDArray[np.int64], first: int, waves: int) -> NDArray[np.int64]:
        """Blocks of some SMs in ``waves`` resident sets from set ``first`` on; the first set
        follows the last."""
        plan = self._plan
        sets = np.arange(first, first + waves) % self._waves
        ranks = (sets[:, None] * plan.resident + np.arange(plan.resident)).reshape(-1)
        blocks = (ranks[:, None] * plan.sms + sms).reshape(-1)
        return blocks[blocks < plan.blocks]

    @property
    def _waves(self) -> int:
        plan = self._plan
        return -(-plan.blocks // plan.sms // plan.resident) or 1

    def _first_unit(self, unit: NDArray[np.int64], add: Callable[[NDArray[np.int64]], bool]) -> int:
        """Run the first block, then more and more of the first SMs' blocks, until doubling their
        number did not change their histogram two times in a row. Returns how many waves that
        takes."""
        add(unit[:1])
        waves, at_rest, before = 0, 0, self._counts().sum(axis=0)
        while waves < self._waves and at_rest < 2:
            more = min(self._waves, max(1, 2 * waves))
            if not add(self._blocks_of(unit, 0, more)):
                break
            waves, after = more, self._counts().sum(axis=0)
            at_rest = at_rest + 1 if waves > 1 and shares_apart(before, after) <= TARGET else 0
            before = after
        return max(1, waves)

    def _cut_loops(self, chosen: ChosenBlocks) -> tuple[int | None, float]:
        """Leave out late iterations of loops if that does not change the histogram. Returns how
        many iterations are kept (None means all), and how far that moves the histogram."""
        whole = self._counts().sum(axis=0)
        everything = chosen.accesses()
        turn = occurrences(everything)
        for n in range(_CUTS):
            iterations = FIRST_ITERATIONS << n
            if not (turn >= 2 * iterations).any():
                break
            chosen.replace(everything.keep(turn < iterations))
            apart = shares_apart(self._counts().sum(axis=0), whole)
            if apart <= TARGET:
                chosen.iterations = iterations
                return iterations, apart
        chosen.replace(everything)
        return None, 0.0

    def _stretches(self, units: list[NDArray[np.int64]], waves: int) -> list[NDArray[np.int64]]:
        """Blocks to run of each group of SMs: ``waves`` resident sets each, from different parts of
        the launch in turn."""
        starts = _spread(len(units)) * self._waves
        return [
            self._blocks_of(unit, int(start), waves)
            for unit, start in zip(units, starts, strict=True)
        ]

    def _further_units(
        self,
        stretches: list[NDArray[np.int64]],
        add: Callable[[NDArray[np.int64]], bool],
        chosen: ChosenBlocks,
        order: NDArray[np.int64],
    ) -> float:
        """Add stretches of blocks until the histogram is stable. ``order`` is the number of each
        SM's group. Returns the estimated error from looking at few SMs."""
        averages = [self._average_index(chosen)]
        at = 2
        for n, blocks in enumerate(stretches[:_MOST_UNITS], start=3):
            if not add(blocks):
                break
            averages.append(self._average_index(chosen))
            rests = len(averages) > 2 and is_stable(*averages[:-4:-1])
            if rests or n >= 2 * at:
                at = n
                if n >= _FEWEST_UNITS and self._sm_error(chosen, order) <= TARGET:
                    break
        return self._sm_error(chosen, order)

    def _average_index(self, chosen: ChosenBlocks) -> float:
        """Average of the first lanes' offsets in their arrays, which stands for Procedure 2's
        average of indices."""
        base = chosen.accesses().base
        average: float = float(base.mean()) if len(base) else 0.0
        return average

    def _counts(self) -> NDArray[np.float64]:
        """(2, arrays, RANGES) what the accesses kept so far touch; see ``profile_counts``."""
        return profile_counts(self.profile())

    def _sm_error(self, chosen: ChosenBlocks, order: NDArray[np.int64]) -> float:
        """Estimated error of the histogram from looking at few SMs: by how much groups of them
        differ. Of one SM alone, its early blocks are compared with its late ones, half of whose
        distance is the error of their mean; 2 if no access was traced."""
        left = 1.0 - chosen.count / self._launch.blocks
        units = order[chosen.blocks % self._plan.sms]
        found, place = np.unique(units, return_inverse=True)
        if len(found) < 2:
            first, second = self._counts()
            seen = first.sum() + second.sum()
            return float(shares_apart(first, second) / 2 * np.sqrt(left)) if seen else 2.0
        group = np.zeros(self._launch.blocks, np.int64)
        number = min(_GROUPS, len(found))
        group[chosen.blocks] = place % number
        return sampling_error([self._counts_of(chosen, group == g) for g in range(number)], left)

    def _stretch_error(
        self, chosen: ChosenBlocks, stretches: list[NDArray[np.int64]], waves: int
    ) -> float:
        """Estimated error of the histogram from stretches shorter than what an SM runs: what
        cutting each of them in two changes. The part that a stretch misses falls as one over its
        length, so that cutting costs once more what is missed now, less what all of an SM has."""
        if not 1 < waves < self._waves:
            return 0.0
        late = self._marked(np.concatenate([one[len(one) // 2 :] for one in stretches]))
        halves = self._counts_of(chosen, late) + self._counts_of(chosen, ~late)
        apart = shares_apart(halves, self._counts().sum(axis=0))
        return apart * (1.0 - waves / self._waves)

    def _marked(self, blocks: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(blocks of the launch,) True for these blocks."""
        marked = np.zeros(self._launch.blocks, np.bool_)
        marked[blocks] = True
        return marked

    def _counts_of(self, chosen: ChosenBlocks, blocks: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(arrays, RANGES) what the kept accesses of some blocks touch, as if no others were."""
        everything = chosen.accesses()
        chosen.replace(everything.keep(blocks[everything.block]))
        counts: NDArray[np.float64] = self._counts().sum(axis=0)
        chosen.replace(everything)
        return counts


class ChosenBlocks:
    """A trace consumer that keeps all accesses of the requested blocks."""

    def __init__(self, blocks: int, sms: int) -> None:
        self._wanted = np.zeros(blocks, np.bool_)
        self._sms = sms
        self._parts: list[Accesses] = []
        self._kept = 0
        self._rows = 0
        self._lock = threading.Lock()
        self.sites: tuple[Site, ...] = ()
        self.arrays: tuple[str, ...] = ()
        self.iterations: int | None = None
        """Iterations of loops to keep; None: all."""

    @property
    def trace_blocks(self) -> NDArray[np.bool_]:
        """(blocks,) True where a block is to be traced."""
        return self._wanted

    @property
    def blocks(self) -> NDArray[np.int64]:
        """Numbers of the requested blocks, ascending."""
        return np.flatnonzero(self._wanted)

    @property
    def count(self) -> int:
        """Number of requested blocks."""
        return int(self._wanted.sum())

    @property
    def full(self) -> bool:
        """Whether as many accesses are kept as memory allows."""
        return self._kept > ACCESS_BUDGET or self._rows > ROW_BUDGET

    @property
    def sample(self) -> BlockSample:
        """The requested blocks, as a sample of the launch."""
        blocks = len(self._wanted)
        sms = np.zeros(self._sms, np.bool_)
        sms[np.flatnonzero(self._wanted) % self._sms] = True
        middle = blocks // self._sms // 2 * self._sms
        return BlockSample(0, self._wanted, sms, middle, smallest=self.count == 1)

    def want(self, blocks: NDArray[np.int64]) -> None:
        """Ask for more blocks, which have not run."""
        self._wanted[blocks] = True

    def begin(self, sites: tuple[Site, ...], arrays: tuple[str, ...]) -> None:
        """Start of a run."""
        self.sites, self.arrays = sites, arrays

    def chunk(self, chunk: TraceChunk) -> None:
        """Keep a chunk's accesses to arrays."""
        part = array_accesses(chunk, self._wanted)
        if part is None:
            return
        with self._lock:
            self._parts.append(part)
            self._kept += len(part)
            self._rows += len(part.offsets)

    def accesses(self) -> Accesses:
        """All kept accesses, without those of late loop iterations."""
        joined = Accesses.join(self._parts)
        if self.iterations is not None and len(self._parts) > 1:
            joined = joined.keep(occurrences(joined) < self.iterations)
        self.replace(joined)
        return joined

    def replace(self, accesses: Accesses) -> None:
        """Replace the kept accesses by these."""
        self._parts = [accesses] if len(accesses) else []
        self._kept, self._rows = len(accesses), len(accesses.offsets)


def occurrences(accesses: Accesses) -> NDArray[np.int64]:
    """(n,) how often the same warp made an access by the same instruction before: the number of the
    iteration of all loops around it."""
    n = len(accesses)
    if not n:
        return np.zeros(0, np.int64)
    sites = int(accesses.site.max()) + 1
    warps = int(accesses.warp.max()) + 1
    key = (accesses.block.astype(np.int64) * warps + accesses.warp) * sites + accesses.site
    return turns(key)


def _spread(count: int) -> NDArray[np.float64]:
    """(count,) numbers from 0 to 1; any first few of them are spread evenly without a common
    stride. They are the fractional parts of multiples of the golden ratio."""
    found: NDArray[np.float64] = np.arange(count, dtype=np.float64) * _GOLDEN % 1.0
    return found
