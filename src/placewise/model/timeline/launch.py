"""Extends the timeline of a few SMs' blocks to the whole launch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.model.evidence.warp_paths import WarpPaths
from placewise.model.timeline.first_touches import with_misses_first
from placewise.model.timeline.issues import NOT_RECORDED
from placewise.model.timeline.warps import Pace, run

INSTRUCTIONS = 250_000
"""Approximate number of instructions issued in one timeline; that takes tens of milliseconds."""
MOST_SMS = 8
"""Most SMs in one timeline of a launch that is too large to be run in full."""
WHOLE = 36
"""A launch whose blocks differ is run in full if it has up to this many times
:data:`INSTRUCTIONS`. That is half as many again as its paths are shortened to
(:data:`placewise.model.evidence.warp_paths.MOST_IN_FULL`), since what is kept of a path ends with a
basic block. If one form of a kernel were run in full and another were not, the longest block of a
skewed launch would look like a difference of the two."""
KINDS_SMS = 8
"""Most SMs in one timeline of a launch with several kinds of blocks and a few waves."""
KINDS_BUDGET = 4
"""A timeline of several kinds of blocks issues up to this many times :data:`INSTRUCTIONS`, as one
or two SMs do not tell what it costs that some get the longer blocks."""


class Course(NamedTuple):
    """Cycles of an SM in a launch."""

    first: float
    """Cycles of an SM's first resident blocks, from their start to their end."""
    per_block: float
    """Cycles that each further block adds while the SM is full."""
    total: float
    """Cycles of the whole launch."""


def course(
    table: NDArray[np.float64],
    paths: WarpPaths,
    offsets: NDArray[np.int64],
    resident: int,
    blocks: int,
    busy: int,
    pace: Pace,
    instructions: int = INSTRUCTIONS,
) -> Course:
    """Cycles of a launch of ``blocks`` blocks on ``busy`` SMs, which hold ``resident`` each.

    ``table`` has the rows of all instructions for each kind of block, one kind after another;
    ``offsets`` (instructions,) are their offsets, ascending. A timeline issues about
    ``instructions`` instructions, so only a part of a larger launch is run:

    - A launch of at most so many instructions is run in full, on all SMs, in the order of blocks.
    - If there are several kinds of blocks, one SM (a few SMs if there are few waves) is run, with
      the launch's proportion and order of kinds.
    - If no SM gets more blocks than it holds at a time, a few SMs are run together. Their average
      number of blocks is that of all SMs, since SMs with fewer blocks leave bandwidth to others.
    - Otherwise one SM is run.

    For a launch of many waves an SM is run twice: with its resident blocks only, and with several
    times as many. The difference gives the cycles of each further block.
    """
    most = -(-blocks // busy)
    if most > resident:
        # Blocks that start one after another hide each other's latencies from the first wave on,
        # which launches of many waves were measured not to do.
        pace = pace._replace(start=0.0)
    own = ready_to_run(table, paths, offsets, pace, instructions)
    kinds = paths.launch if len(paths.launch) == blocks else np.zeros(blocks, np.uint8)
    sizes = np.bincount(kinds, minlength=len(own.rows))
    several = np.count_nonzero(sizes) > 1
    # Where blocks differ it matters which SMs get the longer ones, so larger launches run in full.
    budget = instructions * (WHOLE if several or paths.are_uneven else 1)
    if float(sizes @ own.instructions) <= budget:
        total = _cycles(own, kinds, min(most, resident), busy) * own.scale_of(kinds, kinds)
        return Course(total, total / most, total)
    if several:
        return _of_several_kinds(own, kinds, resident, busy)
    return _of_one_kind(own, resident, blocks, busy)


def alone(
    table: NDArray[np.float64],
    paths: WarpPaths,
    offsets: NDArray[np.int64],
    pace: Pace,
    *,
    longest: bool,
) -> float:
    """Cycles of one block that has an SM to itself and is not among the first of the launch: of the
    traced block with the most instructions, or of an average one. Arguments as of
    :func:`course`."""
    own = ready_to_run(table, paths, offsets, pace, INSTRUCTIONS)
    work = own.sizes * np.array([own.scale[k] for k in paths.kind_of_rows()])
    aim = work.max() if longest else work.mean()
    row = int(np.argmin(np.abs(work - aim)))
    later = pace._replace(parameters=0.0, start=0.0)
    cycles = run(
        own.table, own.path, own.start, own.length, own.warps, 1, np.array([row]), later, 1,
        NOT_RECORDED,
    )  # fmt: skip
    return float(cycles * aim / max(1, own.sizes[row]))


class Blocks(NamedTuple):
    """The traced blocks, in the form that the timeline runs."""

    table: NDArray[np.float64]
    """(rows, columns of :class:`placewise.model.timeline.schedule.Row`)"""
    path: NDArray[np.int64]
    """(steps,) rows of ``table``, all paths one after another."""
    start: NDArray[np.int64]
    """(paths,) where each path begins in ``path``."""
    length: NDArray[np.int64]
    """(paths,) instructions of each path."""
    warps: NDArray[np.int64]
    """(rows, warps of a block) path of each warp, as :func:`placewise.model.timeline.warps.run`
    takes them."""
    rows: tuple[NDArray[np.int64], ...]
    """For each kind, the rows of ``warps`` that are blocks of it."""
    sizes: NDArray[np.int64]
    """(rows,) instructions of each traced block."""
    instructions: NDArray[np.float64]
    """(kinds,) instructions of the average traced block of each kind."""
    scale: NDArray[np.float64]
    """(kinds,) instructions of the launch's average block of each kind over ``instructions``."""
    pace: Pace
    budget: int
    """Approximate number of instructions to issue in one timeline."""

    def scale_of(self, kinds: NDArray[np.uint8], ran: NDArray[np.uint8]) -> float:
        """Instructions of the launch's average block over those of the average block that was run.
        ``kinds`` are the kinds of the launch's blocks, ``ran`` those of the blocks that were
        run."""
        work = (self.instructions * self.scale)[kinds].mean()
        return float(work / self.sizes[self.order_of(ran)].mean())

    def order_of(self, kinds: NDArray[np.uint8]) -> NDArray[np.int64]:
        """(blocks,) rows of ``warps`` of blocks of ``kinds``. Each block gets the traced block of
        its kind that lies at about the same place in the launch."""
        order = np.empty(len(kinds), np.int64)
        for k, rows in enumerate(self.rows):
            at = np.flatnonzero(kinds == k)
            order[at] = rows[(2 * np.arange(len(at)) + 1) * len(rows) // max(1, 2 * len(at))]
        return order


def ready_to_run(
    table: NDArray[np.float64],
    paths: WarpPaths,
    offsets: NDArray[np.int64],
    pace: Pace,
    budget: int,
) -> Blocks:
    """The blocks of ``paths``. Paths are repeated for each kind of block, since ``table`` has rows
    of its own for each kind."""
    kinds = len(paths.kinds)
    place = np.searchsorted(offsets, paths.instructions)
    each = np.arange(kinds)[:, None]
    rows = tuple(paths.rows_of(k) for k in range(kinds))
    warps = paths.warps.copy()
    for k, own in enumerate(rows):
        warps[own] += k * len(paths.start)
    length = np.tile(paths.length, kinds)
    start = (paths.start + each * len(place)).ravel()
    table, path = with_misses_first(table, (place + each * len(offsets)).ravel(), start, length)
    sizes = length[warps].sum(axis=1)
    return Blocks(
        table,
        path,
        start,
        length,
        warps,
        rows,
        sizes,
        np.array([sizes[own].mean() for own in rows]),
        np.array([paths.scale * kind.scale for kind in paths.kinds]),
        pace,
        budget,
    )


def _cycles(
    own: Blocks, kinds: NDArray[np.uint8], resident: int, sms: int = 1, pace: Pace | None = None
) -> float:
    """Cycles of blocks of the given ``kinds`` (blocks,), run in this order on ``sms`` SMs."""
    return float(
        run(
            own.table, own.path, own.start, own.length, own.warps, resident, own.order_of(kinds),
            pace or own.pace, sms, NOT_RECORDED,
        )
    )  # fmt: skip


def _of_several_kinds(own: Blocks, kinds: NDArray[np.uint8], resident: int, busy: int) -> Course:
    """Cycles of a launch whose blocks are of ``kinds`` (blocks,)."""
    per_sm = len(kinds) / busy
    most = -(-len(kinds) // busy)
    held = min(most, resident)

    def cycles(blocks_per_sm: float, sms: int = 1) -> float:
        count = max(1, round(sms * blocks_per_sm))
        ran = in_order(kinds, count)
        pace = sharing(own.pace, sms * blocks_per_sm / count)
        return _cycles(own, ran, held, sms, pace) * own.scale_of(kinds, ran)

    more = _more(own, resident)
    if most <= resident + more:
        on_sm = float(own.instructions[kinds].mean()) * per_sm
        sms = np.clip(KINDS_BUDGET * own.budget / on_sm, 1, min(busy, KINDS_SMS))
        total = cycles(per_sm, int(sms))
        return Course(total, total / per_sm, total)
    first = cycles(resident)
    rate = (cycles(resident + more) - first) / more
    return Course(first, rate, first + (per_sm - resident) * rate)


def _of_one_kind(own: Blocks, resident: int, blocks: int, busy: int) -> Course:
    """Cycles of a launch whose blocks are all of the most frequent kind."""

    def cycles(count: int, held: int, sms: int = 1, pace: Pace | None = None) -> float:
        ran = np.zeros(count, np.uint8)
        return _cycles(own, ran, held, sms, pace) * own.scale_of(ran, ran)

    per_block = float(own.instructions[0])
    blocks_per_sm = blocks / busy
    most = -(-blocks // busy)
    if most <= resident:
        sms = sms_alike(blocks, busy, own.budget / (per_block * most))
        count = max(most, round(sms * blocks_per_sm))
        first = cycles(count, most, sms, sharing(own.pace, sms * blocks_per_sm / count))
        return Course(first, first / most, first)
    more = _more(own, resident)
    first = cycles(resident, resident)
    if most <= resident + more:
        total = cycles(most, resident)
        rate = (total - first) / (most - resident)
        total -= rate * (most - blocks_per_sm) * _evenness(blocks_per_sm, resident)
        return Course(first, rate, total)
    rate = (cycles(resident + more, resident) - first) / more
    return Course(first, rate, first + (blocks_per_sm - resident) * rate)


def _more(own: Blocks, resident: int) -> int:
    """Number of blocks to run on an SM after its first ``resident`` ones: one to four times
    ``resident``, as the budget of instructions allows."""
    return int(np.clip(own.budget / (own.instructions[0] * resident), 1, 4)) * resident


def sharing(pace: Pace, share: float) -> Pace:
    """``pace`` with the cycles per byte of L2 and DRAM times ``share``: the blocks that are run
    move ``1 / share`` times the data that their SMs move in the launch, so they need as much more
    bandwidth."""
    return pace._replace(
        l2_cycles_per_byte=pace.l2_cycles_per_byte * share,
        dram_cycles_per_byte=pace.dram_cycles_per_byte * share,
    )


def in_order(kinds: NDArray[np.uint8], count: int) -> NDArray[np.uint8]:
    """Kinds of ``count`` blocks that stand for a launch with blocks of ``kinds`` (blocks,). At each
    point of the sequence the number of blocks of each kind so far differs by less than about one
    from the launch's proportion."""
    if count == len(kinds):
        return kinds
    which = np.unique(kinds)
    ends = np.arange(1, count + 1) * len(kinds) // count
    due = np.stack([np.cumsum(kinds == k)[ends - 1] for k in which], axis=1) * count / len(kinds)
    found = np.empty(count, np.uint8)
    come = np.zeros(len(which))
    for n in range(count):
        k = int(np.argmax(due[n] - come))
        come[k] += 1.0
        found[n] = which[k]
    return found


def sms_alike(blocks: int, busy: int, most: float = MOST_SMS) -> int:
    """How many SMs, up to ``most``, to run in place of ``busy`` SMs that share ``blocks`` evenly:
    the smallest number for which a whole number of blocks comes nearest to the average blocks per
    SM. It is 1 where ``blocks / busy`` is whole."""
    numbers = np.arange(1, max(1, int(min(most, MOST_SMS, busy))) + 1)
    off = np.abs(np.rint(numbers * blocks / busy) / numbers - blocks / busy)
    return int(numbers[np.argmin(off.round(6))])


def _evenness(blocks_per_sm: float, resident: int) -> float:
    """How evenly SMs end, from 0 to 1: the share of the last, partial wave's cost that does not
    occur because blocks go to whichever SM has room. It grows with the number of waves."""
    return float(1.0 - np.exp(-(blocks_per_sm / resident - 1.0)))
