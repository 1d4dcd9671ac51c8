"""What the warps of one SM do and what they wait for, cycle by cycle, in the timeline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placewise.kernel.binary.sass.classes import group
from placewise.kernel.binary.sass.instruction import Instruction
from placewise.memory.simulate.launch import SimulatedLaunch
from placewise.model.evidence.warp_paths import WarpPaths
from placewise.model.timeline.issues import Issue
from placewise.model.timeline.launch import in_order, ready_to_run, sharing
from placewise.model.timeline.schedule import COLUMNS
from placewise.model.timeline.warps import Pace, run

ROOM = 200_000
"""Instructions recorded, at most."""
BLOCKS = 2
"""Times as many blocks as an SM holds are run, where it gets as many."""
REASONS = (
    "stall count",
    "data of arrays",
    "shared memory",
    "other results",
    "code",
    "barrier",
    "load/store queue",
    "busy pipe",
    "other warps",
)
"""What a warp waits for: that the stall count of its last instruction passes; data of global,
local or texture memory; data of shared memory or of other lanes; results of other instructions of
variable latency; its next line of code; the warps of its block; the pipe that all partitions share
for loads and stores; a pipe of its partition; that the scheduler prefers it. Nsight Compute calls
them wait, long scoreboard, short scoreboard (twice), no instruction, barrier, LG, MIO or TEX
throttle, math pipe throttle, and not selected."""
_FIXED, _ARRAYS, _SHARED, _OTHER, _CODE, _BARRIER, _QUEUE, _PIPE, _WARPS = range(len(REASONS))
_GROUPS = {
    "global": _ARRAYS, "global atomic": _ARRAYS, "local": _ARRAYS, "texture": _ARRAYS,
    "surface": _ARRAYS, "shared": _SHARED, "shared atomic": _SHARED, "warp exchange": _SHARED,
}  # fmt: skip
_ROW, _PRODUCER, _SINCE, _GOES_ON, _PIPE_FREE = (
    Issue._fields.index(name) for name in ("row", "producer", "since", "barrier", "pipe")
)


@dataclass(frozen=True, eq=False)
class Watched:
    """The first blocks of one SM, which shares L2 and DRAM with the others as in the launch."""

    cycles: float
    """Until all blocks that were run have ended."""
    blocks: int
    """Blocks that were run."""
    block_warps: int
    slots: int
    """Warps that the SM holds at a time."""
    schedulers: int
    is_complete: bool
    """Whether all instructions were recorded; else the first :data:`ROOM`."""
    issues: NDArray[np.float64]
    """(n, fields of :class:`placewise.model.timeline.issues.Issue`) in the order of time."""
    places: NDArray[np.int64]
    """(n,) offset of each instruction in the machine code."""
    producers: NDArray[np.int64]
    """(n,) offset of the instruction whose result it waited for last; -1 where it waited for
    none."""
    reasons: NDArray[np.int64]
    """(n, steps) numbers of :data:`REASONS`: why each waited up to each of its times, from
    ``Issue.fixed`` on."""

    @property
    def waits(self) -> NDArray[np.float64]:
        """(n, reasons) cycles that the warp waited before each instruction. The cycle in which it
        issued the instruction before is not among them."""
        times = self.times
        steps = np.diff(times, axis=1)
        found = np.zeros((len(steps), len(REASONS)))
        rows = np.arange(len(steps))[:, None]
        np.add.at(found, (np.broadcast_to(rows, steps.shape), self.reasons), steps)
        return found

    @property
    def times(self) -> NDArray[np.float64]:
        """(n, steps + 1) times between which a warp waited before each instruction, for the reason
        of each step; they ascend."""
        times = self.issues[:, _SINCE:].copy()
        # The warp begins to wait a cycle after the issue before; a first instruction waits for
        # nothing before it.
        times[:, 0] = np.minimum(times[:, 0] + 1.0, times[:, 1])
        return np.minimum(np.maximum.accumulate(times, axis=1), times[:, -1:])


# One parameter for each thing that the timeline has at hand.
def watched(
    table: NDArray[np.float64],
    code: tuple[Instruction, ...],
    paths: WarpPaths,
    launch: SimulatedLaunch,
    busy: int,
    pace: Pace,
) -> Watched:
    """Run the first blocks of one of ``busy`` SMs and record what is issued.

    ``table`` has the rows of all instructions of ``code`` for each kind of block, one kind after
    another. Where an SM gets no more blocks than it holds, it runs so many; else up to twice as
    many as it holds, of each kind in proportion.
    """
    blocks = launch.launch.blocks
    resident = max(1, launch.occupancy.blocks)
    most = -(-blocks // busy)
    held = min(most, resident)
    count = min(most, BLOCKS * held)
    if most <= resident:
        pace = sharing(pace, blocks / busy / count)
    kinds = paths.launch if len(paths.launch) == blocks else np.zeros(blocks, np.uint8)
    offsets = np.array([i.offset for i in code], np.int64)
    own = ready_to_run(table, paths, offsets, pace, ROOM)
    order = own.order_of(in_order(kinds, count))
    expected = int(own.length[own.warps[order]].sum())
    issues = np.zeros((min(ROOM, expected), len(Issue._fields)))
    cycles = run(
        own.table, own.path, own.start, own.length, own.warps, held, order, pace, 1, issues
    )
    rows = issues[:, _ROW].astype(np.int64)
    issues[:, _PIPE_FREE] = pipe_free(own.table, rows, issues)
    behind = issues[:, _PRODUCER].astype(np.int64)
    return Watched(
        cycles=float(cycles),
        blocks=count,
        block_warps=own.warps.shape[1],
        slots=held * own.warps.shape[1],
        schedulers=pace.partitions,
        is_complete=len(issues) == expected,
        issues=issues,
        places=offsets[rows % len(offsets)],
        producers=np.where(behind >= 0, offsets[behind % len(offsets)], -1),
        reasons=_reasons(own.table, code, rows, behind),
    )


def pipe_free(
    table: NDArray[np.float64], rows: NDArray[np.int64], issues: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(n,) until when each instruction waited for its pipe.

    A pipe of a partition that takes an instruction every ``busy`` cycles is closed in all but one
    of them; in that one the scheduler prefers another warp. A pipe that is closed for no cycle is
    waited for by nobody. What waits for a shared pipe waits in its queue all the time.
    """
    ready, free = issues[:, _GOES_ON], issues[:, _PIPE_FREE]
    busy = np.maximum(1.0, table[rows, COLUMNS.index("busy")])
    closed = np.where(table[rows, COLUMNS.index("server")] > 0, 1.0, 1.0 - 1.0 / busy)
    until: NDArray[np.float64] = ready + (free - ready) * closed
    return until


def _reasons(
    table: NDArray[np.float64],
    code: tuple[Instruction, ...],
    rows: NDArray[np.int64],
    behind: NDArray[np.int64],
) -> NDArray[np.int64]:
    """(n, 6) reason of each step of waiting: ``rows`` (n,) wait, ``behind`` (n,) are the rows whose
    results they wait for."""
    by_producer = np.array([_GROUPS.get(group(i.opcode), _OTHER) for i in code], np.int64)
    is_shared = table[rows, COLUMNS.index("server")] > 0
    found = np.empty((len(rows), 6), np.int64)
    found[:, 0] = _FIXED
    found[:, 1] = by_producer[np.maximum(behind, 0) % len(code)]
    found[:, 2] = _CODE
    found[:, 3] = _BARRIER
    found[:, 4] = np.where(is_shared, _QUEUE, _PIPE)
    found[:, 5] = _WARPS
    return found
