"""The timeline: resident warps of one SM, cycle by cycle, from issue to issue.

Each partition issues at most one instruction a cycle, from the warp that it issued from last or,
where that one has to wait, from the oldest that is ready (Huerta et al. 2025, section 5, find
"greedy, then youngest" in microbenchmarks with few warps; of loose round robin, greedy then oldest
and greedy then youngest, the second fits measured kernels best, see docs/explanation/models.md). A
warp is ready when the stall count of its last instruction has passed and the scoreboards that the
next one waits for are released. A pipe takes an instruction when it is done with the one before.
Loads and stores of all partitions queue up for one load/store pipe; what misses L1 queues up for
the SM's share of L2 and DRAM bandwidth, and a block ends when its stores have reached L2. A warp
that comes to another line of code waits until its partition's cache of instructions has it; fetches
of all partitions queue up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placewise.compiled_code import compiled
from placewise.kernel.binary.sass.control import SCOREBOARDS
from placewise.model.timeline.schedule import COLUMNS

_FAR = 1e18
_PIPE, _BUSY, _SERVER, _PASSES, _LATENCY, _READ, _STALL, _WRITE_BARRIER, _READ_BARRIER = range(9)
_WAITS, _BARRIER, _L2_BYTES, _DRAM_BYTES, _MISSES, _FAR_MISSES = range(9, 15)
assert len(COLUMNS) == 15

PIPES = 32
"""Most pipes of an SM partition."""
SERVERS = 2
FETCHED = 8
"""Instructions of a line of code: 128 bytes, 16 each."""


class Pace(NamedTuple):
    """What the timeline takes from a machine, in cycles of its SMs."""

    partitions: int
    l2_cycles_per_byte: float
    """Cycles that the SM's share of L2's bandwidth needs for a byte."""
    dram_cycles_per_byte: float
    l2_latency: float
    dram_latency: float
    queue: float
    """Cycles of work that may wait for a shared pipe before partitions have to hold back."""
    hand_over: float
    """Cycles between two instructions of a partition for a shared pipe."""
    barrier: float
    """From the arrival of a block's last warp until all go on."""
    launch: float
    """From a block's place being free until the next one's warps issue."""
    drain: float = 0.0
    """From a store's turn at L2 until the block that issued it may end."""
    code_lines: int = 0
    """Lines that a partition's instruction cache holds (direct-mapped); 0: every fetch hits."""
    fetch: float = 0.0
    """Cycles between two lines of code that partitions receive."""


# One loop over the cycles of an SM; its state is plain numbers, as calls would slow it down.
@compiled(nogil=True, error_model="numpy")
def run(
    table: NDArray[np.float64],
    path: NDArray[np.int64],
    start: NDArray[np.int64],
    length: NDArray[np.int64],
    warps: NDArray[np.int64],
    resident: int,
    blocks: int,
    pace: Pace,
) -> float:
    """Cycles until ``blocks`` blocks have run, ``resident`` at a time.

    ``table`` as of :func:`.schedule.table`; ``path`` are numbers of its rows; warp ``w`` of the
    ``b``-th block takes path ``warps[b mod len(warps), w]``.
    """
    per_block = warps.shape[1]
    slots = resident * per_block
    at = np.zeros(slots, np.int64)
    end = np.zeros(slots, np.int64)
    ready = np.full(slots, _FAR)
    released = np.zeros((slots, SCOREBOARDS))
    resumes = np.zeros(slots)
    waiting = np.zeros(slots, np.int64)
    age = np.zeros(slots, np.int64)
    alive = np.zeros(resident, np.int64)
    arrived = np.zeros(resident, np.int64)
    partitions = pace.partitions
    last = np.full(partitions, -1, np.int64)
    free = np.zeros((partitions, PIPES))
    handed = np.zeros((partitions, SERVERS + 1))
    server = np.zeros(SERVERS + 1)
    held = np.full((partitions, max(1, pace.code_lines)), -1, np.int64)
    in_line = np.full(slots, -1, np.int64)
    drained = np.zeros(resident)
    fetched = 0.0
    debt = np.zeros((table.shape[0], 2))
    l2_free = 0.0
    dram_free = 0.0
    now = 0.0
    begun = 0
    done = 0
    for place in range(resident):
        if begun < blocks:
            _begin(
                place, begun, pace.launch, start, length, warps, at, end, ready, released, age,
                alive,
            )  # fmt: skip
            begun += 1
    while done < blocks:
        soonest = _FAR
        issued = False
        for p in range(partitions):
            best = -1
            oldest = np.int64(1) << 60
            for s in range(p, slots, partitions):
                if ready[s] > now:
                    soonest = min(soonest, ready[s])
                    continue
                row = path[at[s]]
                pipe = np.int64(table[row, _PIPE])
                open_at = free[p, pipe]
                shared = np.int64(table[row, _SERVER])
                if shared:
                    open_at = max(open_at, server[shared] - pace.queue, handed[p, shared])
                if open_at > now:
                    soonest = min(soonest, open_at)
                    continue
                if s == last[p]:
                    best = s
                    break
                if age[s] < oldest:
                    oldest = age[s]
                    best = s
            if best < 0:
                continue
            s = best
            last[p] = s
            issued = True
            row = path[at[s]]
            free[p, np.int64(table[row, _PIPE])] = now + table[row, _BUSY]
            result = now + table[row, _LATENCY]
            read = now + table[row, _READ]
            shared = np.int64(table[row, _SERVER])
            if shared:
                handed[p, shared] = now + pace.hand_over
                taken = max(now, server[shared])
                server[shared] = taken + table[row, _PASSES]
                read = taken + table[row, _READ]
                result = server[shared] + table[row, _LATENCY]
                if table[row, _L2_BYTES] > 0.0:
                    l2_free = max(server[shared], l2_free)
                    l2_free += table[row, _L2_BYTES] * pace.l2_cycles_per_byte
                    debt[row, 0] += table[row, _MISSES]
                    if table[row, _MISSES] == 0.0:
                        drained[s // per_block] = l2_free + pace.drain
                    if table[row, _DRAM_BYTES] > 0.0:
                        dram_free = max(server[shared], dram_free)
                        dram_free += table[row, _DRAM_BYTES] * pace.dram_cycles_per_byte
                    if debt[row, 0] >= 1.0:
                        debt[row, 0] -= 1.0
                        result = max(result, l2_free + pace.l2_latency)
                        debt[row, 1] += table[row, _FAR_MISSES]
                        if debt[row, 1] >= 1.0:
                            debt[row, 1] -= 1.0
                            result = max(result, dram_free + pace.dram_latency)
            barrier = np.int64(table[row, _WRITE_BARRIER])
            if barrier >= 0:
                released[s, barrier] = max(released[s, barrier], result)
            barrier = np.int64(table[row, _READ_BARRIER])
            if barrier >= 0:
                released[s, barrier] = max(released[s, barrier], read)
            at[s] += 1
            place = s // per_block
            if at[s] >= end[s]:
                ready[s] = _FAR
                alive[place] -= 1
                if alive[place] == 0:
                    done += 1
                    if begun < blocks:
                        ended = max(now, drained[place])
                        _begin(
                            place, begun, ended + pace.launch, start, length, warps, at, end, ready,
                            released, age, alive,
                        )  # fmt: skip
                        begun += 1
                    continue
            else:
                then = now + max(1.0, table[row, _STALL])
                wanted = np.int64(table[path[at[s]], _WAITS])
                for n in range(SCOREBOARDS):
                    if wanted >> n & 1:
                        then = max(then, released[s, n])
                line = path[at[s]] // FETCHED
                if pace.code_lines > 0 and in_line[s] != line:
                    in_line[s] = line
                    if held[p, line % pace.code_lines] != line:
                        held[p, line % pace.code_lines] = line
                        fetched = max(now, fetched) + pace.fetch
                        then = max(then, fetched)
                ready[s] = then
                if table[row, _BARRIER] > 0.0:
                    waiting[s] = 1
                    resumes[s] = then
                    ready[s] = _FAR
                    arrived[place] += 1
            if arrived[place] and arrived[place] == alive[place]:
                for w in range(place * per_block, (place + 1) * per_block):
                    if waiting[w]:
                        waiting[w] = 0
                        ready[w] = max(resumes[w], now + pace.barrier)
                arrived[place] = 0
        if issued:
            now += 1.0
        elif soonest >= _FAR:
            break
        else:
            now = max(now + 1.0, np.ceil(soonest))
    return float(max(now, drained.max()))


# Compiled by Numba: the arrays of one warp's state, one parameter each.
@compiled(nogil=True)
def _begin(
    place: int,
    block: int,
    time: float,
    start: NDArray[np.int64],
    length: NDArray[np.int64],
    warps: NDArray[np.int64],
    at: NDArray[np.int64],
    end: NDArray[np.int64],
    ready: NDArray[np.float64],
    released: NDArray[np.float64],
    age: NDArray[np.int64],
    alive: NDArray[np.int64],
) -> None:
    """Put the warps of a block in their places."""
    per_block = warps.shape[1]
    row = block % warps.shape[0]
    for w in range(per_block):
        s = place * per_block + w
        path = warps[row, w]
        at[s] = start[path]
        end[s] = start[path] + length[path]
        ready[s] = time
        age[s] = block * per_block + w
        released[s, :] = 0.0
    alive[place] = per_block
